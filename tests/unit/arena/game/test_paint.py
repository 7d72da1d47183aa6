"""Paint Arena: the canvas, the painters, and that a better build is better."""

import io
import json
import zipfile
from random import Random

import jsonschema
import pytest

from pytest_evalharness.arena.game.hosted import Order, RefusedConfigError
from pytest_evalharness.arena.game.paint.arena import PaintArena
from pytest_evalharness.arena.game.paint.canvas import BARE, Canvas, around
from pytest_evalharness.arena.game.paint.match import play
from pytest_evalharness.arena.game.paint.painters import CAST, SKILLS, Painter, Skill

GAME = PaintArena()
CONFIG = GAME.effective_config({})


def order(*builds, seed=5, **fields):
    return Order("paintarena", {}, [(f"p{n}", build) for n, build in enumerate(builds)], seed, **fields)


def test_seats_start_in_opposite_corners_and_paint_where_they_stand():
    canvas = Canvas(4, 3, 2)
    assert canvas.painted() == [0, 0]
    canvas.step(["right", "left"])
    assert (canvas.places, canvas.painted()) == ([1, 10], [1, 1])
    canvas.step(["stay", "stay"])
    assert canvas.painted() == [1, 1]


def test_nobody_leaves_the_canvas():
    canvas = Canvas(4, 3, 2)
    for move in ("up", "left"):
        canvas.step([move, {"up": "down", "left": "right"}[move]])
    assert canvas.places == [0, 11]


def test_paint_goes_over_paint_and_of_two_on_one_tile_each_has_its_turn():
    canvas = Canvas(3, 1, 2)
    canvas.step(["right", "left"])
    first = canvas.owners[1]
    canvas.step(["stay", "stay"])
    assert {first, canvas.owners[1]} == {0, 1}
    canvas.step(["right", "left"])
    assert canvas.owners[0] == 1
    assert canvas.owners[2] == 0


def test_all_other_tiles_are_around_a_tile_nearest_first():
    found = list(around(4, 3, 5, 0))
    assert sorted(tile for _, tile in found) == [tile for tile in range(12) if tile != 5]
    assert [steps for steps, _ in found] == sorted(steps for steps, _ in found)
    assert {tile: steps for steps, tile in found}[11] == 3


def test_a_painter_goes_for_bare_tiles_and_further_for_its_rivals_if_it_has_the_appetite():
    canvas = Canvas(7, 1, 2)
    canvas.places = [3, 6]
    canvas.owners = [BARE, 0, 0, 0, 0, 1, 1]  # bare three steps to the left, the rival's two to the right
    shy, keen = (Painter(Skill(1.0, appetite=appetite), 0, Random(1)) for appetite in (0, 1))
    assert (shy.move(canvas), keen.move(canvas)) == ("right", "right")
    canvas.owners = [0, BARE, 0, 0, 0, 0, 1]  # bare two to the left, the rival's three to the right
    shy, keen = (Painter(Skill(1.0, appetite=appetite), 0, Random(1)) for appetite in (0, 2))
    assert (shy.move(canvas), keen.move(canvas)) == ("left", "right")


def test_what_is_out_of_sight_is_not_gone_for():
    canvas = Canvas(12, 1, 2)
    canvas.owners = [0] * 11 + [BARE]
    blind = Painter(Skill(1.0, sight=3), 0, Random(2))
    assert {blind.move(canvas) for _ in range(40)} == {"up", "down", "left", "right"}


def test_the_same_order_gives_the_same_match_and_another_seed_another():
    assert GAME.play(order("painter-1", "umber-2")) == GAME.play(order("painter-1", "umber-2"))
    played = {tuple(GAME.play(order("painter-1", "umber-2", seed=s)).results["scores"]) for s in range(20)}
    assert len(played) > 10


def test_results_are_as_the_schema_says_and_have_neither_wins_nor_roles():
    results = GAME.play(order("painter-2", "zaffre-2")).results
    jsonschema.validate(results, GAME.results_schema())
    assert results["scores"] == results["painted_tiles"]
    assert results["ticks"] == 100
    assert set(results) == {"scores", "painted_tiles", "ticks"}
    assert sum(results["painted_tiles"]) <= 96


@pytest.mark.parametrize("how", ["connect", "disconnect", "crash"])
def test_a_player_that_fails_stands_still_and_the_match_goes_on(how):
    alone = GAME.play(order("painter-2", "painter-2", mishaps=[(1, how)])).results
    both = GAME.play(order("painter-2", "painter-2")).results
    assert alone["ticks"] == both["ticks"] == 100
    assert alone["painted_tiles"][1] < both["painted_tiles"][1]
    if how == "connect":
        assert alone["painted_tiles"][1] <= 1


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"maxTicks": 10}, "maxTicks: unknown game config key"),
        ({"seed": 1}, "seed: unknown"),
        ({"tokens": []}, "tokens: set by the runner"),
        ({"players": []}, "players: set by the runner"),
        ({"width": 3}, "width: must be from 4 to 40"),
        ({"width": 12.5}, "width: must be an integer"),
        ({"max_ticks": True}, "max_ticks: must be an integer"),
        ({"max_ticks": "100"}, "max_ticks: must be an integer"),
        ({"tick_rate": 0}, "tick_rate: must be from 0.1"),
        ({"tick_rate": None}, "tick_rate: must be a number"),
    ],
)
def test_what_the_game_does_not_take_is_refused_by_name(overrides, words):
    with pytest.raises(RefusedConfigError, match=words):
        GAME.effective_config(overrides)
    given = {"tokens": ["a", "b"], "players": [{"name": "a"}, {"name": "b"}], **overrides}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(given, GAME.config_schema())


def test_a_canvas_and_a_length_of_ones_own():
    overrides = {"width": 5, "height": 4, "max_ticks": 30, "tick_rate": 10}
    config = GAME.effective_config(overrides)
    assert (GAME.tick_limit(config), GAME.seconds(config, 30)) == (30, 3.0)
    results = play(config, ["painter-2", "umber-2"], 1, {}).results
    assert results["ticks"] == 30
    assert sum(results["painted_tiles"]) <= 20


def test_a_record_tells_the_match_that_was_played():
    found, played = GAME.record(order("painter-1", "umber-2")), GAME.play(order("painter-1", "umber-2"))
    rows = [json.loads(line) for line in found.game_log.splitlines()]
    assert len(rows) == played.ticks
    assert rows[-1]["painted_tiles"] == played.results["painted_tiles"]
    for seat, log in enumerate(found.seat_logs):
        assert log.splitlines()[-1].endswith(f"{played.results['painted_tiles'][seat]} tiles")
        with zipfile.ZipFile(io.BytesIO(found.uploads[seat])) as made:
            assert len(made.read("telemetry.jsonl").splitlines()) == played.ticks


def wins(build, rival, games=150):
    """Wins and ties, seats swapped with every game."""
    won = tied = 0
    for seed in range(games):
        mine = seed % 2
        scores = play(CONFIG, [rival, build] if mine else [build, rival], seed, {}).results["scores"]
        won += scores[mine] > scores[1 - mine]
        tied += scores[0] == scores[1]
    return won / games, tied / games


def test_the_second_version_is_better_than_the_first_and_the_third_is_worse():
    first, second, third = (wins(f"painter-{number}", "umber-2")[0] for number in (1, 2, 3))
    assert second - first > 0.25
    assert first - third > 0.08


def test_no_corner_is_the_better_one_and_ties_happen():
    won = tied = 0
    for seed in range(400):
        scores = play(CONFIG, ["umber-2", "umber-2"], seed, {}).results["scores"]
        won += scores[0] > scores[1]
        tied += scores[0] == scores[1]
    assert 0 < tied < 40
    assert abs(won / (400 - tied) - 0.5) < 4 * (0.25 / 400) ** 0.5


def test_every_build_of_the_cast_has_a_skill():
    assert {build for _, builds in CAST for build in builds} == set(SKILLS)
    assert all(len(builds) >= 2 for _, builds in CAST)
