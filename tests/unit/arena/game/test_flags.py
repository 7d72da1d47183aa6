"""Capture the Flag: the field, who is on whose side, and that a better build is better."""

import io
import json
import zipfile

import jsonschema
import pytest

from pytest_evalharness.arena.game.flags.arena import CaptureTheFlag
from pytest_evalharness.arena.game.flags.captains import CAST, SKILLS
from pytest_evalharness.arena.game.flags.field import Field
from pytest_evalharness.arena.game.flags.match import play
from pytest_evalharness.arena.game.hosted import Order, RefusedConfigError

GAME = CaptureTheFlag()
PARITY, BLOCKS = (GAME.effective_config(variant.config) for variant in GAME.variants)


def order(*builds, seed=5, config=PARITY, **fields):
    return Order(
        "capture-the-flag", config, [(f"p{n}", build) for n, build in enumerate(builds)], seed, **fields
    )


def test_sides_are_the_ladders_formulas():
    assert GAME.sides(PARITY) == tuple(seat % 2 for seat in range(4))
    assert GAME.sides(BLOCKS) == tuple(seat // (4 // 2) for seat in range(4))


def test_a_flag_is_taken_from_its_base_and_captured_at_home():
    field = Field(13, 7, "interleaved")
    assert field.places == [(0, 3), (12, 3), (0, 3), (12, 3)]
    field.move(0, (12, 3))
    assert field.carries(0)
    field.move(2, (12, 3))
    assert not field.carries(2), "it is gone already"
    field.move(2, (0, 3))
    assert field.captures == [0, 0], "only who carries it brings it home"
    field.move(0, (0, 3))
    assert (field.captures, field.carriers) == ([1, 0], [None, None])


def test_who_is_tagged_goes_home_without_the_flag():
    field = Field(13, 7, "blocks")
    field.move(2, (0, 3))
    field.tagged(2)
    assert (field.places[2], field.carries(2), field.captures) == ((12, 3), False, [0, 0])


def test_only_the_other_half_is_an_intrusion():
    field = Field(13, 7, "interleaved")
    for seat, columns in ((0, range(7, 13)), (1, range(6))):
        for column in range(13):
            field.places[seat] = (column, 0)
            assert field.intrudes(seat) is (column in columns)


@pytest.mark.parametrize("config", [PARITY, BLOCKS], ids=["parity", "blocks"])
def test_results_are_as_the_schema_says_and_all_seats_of_a_side_have_its_captures(config):
    sides = GAME.sides(config)
    for seed in range(6):
        results = GAME.play(order(*["warden-2"] * 4, seed=seed, config=config)).results
        jsonschema.validate(results, GAME.results_schema())
        assert "win" not in results
        assert results["teams"] == list(sides)
        assert results["scores"] == [results["captures"][side] for side in sides]
        assert min(results["captures"]) < 3, "one side wins, and the match is over"
        assert (max(results["captures"]) == 3) or results["ticks"] == 300


def test_the_layout_decides_who_plays_together():
    """The same four names are two strong against two weak in one layout, and mixed sides in the other."""

    def won(config):
        scores = [
            play(config, ["warden-2", "flanker-1"] * 2, seed, {}).results["captures"] for seed in range(40)
        ]
        return sum(mine > theirs for mine, theirs in scores)

    assert won(PARITY) > 30
    assert 8 < won(BLOCKS) < 32


def test_a_match_may_end_without_a_winner_and_a_higher_score_is_then_no_win():
    ends = [play(PARITY, ["warden-1", "bulwark-2"] * 2, seed, {}).results["captures"] for seed in range(60)]
    undecided = [captures for captures in ends if max(captures) < 3]
    assert len(undecided) > 3
    assert any(one != other for one, other in undecided)


def test_a_target_of_ones_own():
    config = GAME.effective_config({"capturesToWin": 1, "maxTicks": 5000})
    assert {
        max(play(config, ["warden-2", "anvil-2"] * 2, seed, {}).results["captures"]) for seed in range(9)
    } == {1}


def test_the_same_order_gives_the_same_match_and_a_seed_in_the_config_comes_first():
    seats = ["warden-1", "anvil-2"] * 2
    assert GAME.play(order(*seats)) == GAME.play(order(*seats))
    assert len({str(GAME.play(order(*seats, seed=seed)).results) for seed in range(8)}) > 6
    fixed = GAME.effective_config({"seed": 9})
    assert GAME.play(order(*seats, seed=1, config=fixed)) == GAME.play(order(*seats, seed=2, config=fixed))


def test_a_player_that_fails_stands_still_and_the_match_goes_on():
    for how in ("connect", "disconnect", "crash"):
        ends = [
            GAME.play(order(*["warden-1"] * 4, seed=seed, mishaps=[(0, how), (2, how)])).results["captures"]
            for seed in range(8)
        ]
        assert sum(theirs for _, theirs in ends) > 2 * sum(mine for mine, _ in ends)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"max_ticks": 10}, "max_ticks: unknown game config key"),
        ({"slots": []}, "slots: unknown"),
        ({"teamLayout": "diagonal"}, "teamLayout: must be one of interleaved, blocks"),
        ({"teamLayout": ["blocks"]}, "teamLayout: must be one of"),
        ({"teamCount": 4}, "teamCount: must be from 2 to 2"),
        ({"seed": -2}, "seed: must be from -1"),
        ({"maxTicks": 0}, "maxTicks: must be from 1"),
    ],
)
def test_what_the_game_does_not_take_is_refused_by_name(overrides, words):
    with pytest.raises(RefusedConfigError, match=words):
        GAME.effective_config(overrides)
    given = {"tokens": ["a"] * 4, "players": [{"name": "a"}] * 4, **overrides}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(given, GAME.config_schema())


def test_a_record_tells_the_match_that_was_played():
    seats = ["warden-2", "anvil-2"] * 2
    found, played = GAME.record(order(*seats)), GAME.play(order(*seats))
    rows = [json.loads(line) for line in found.game_log.splitlines()]
    captured = [row["seat"] % 2 for row in rows if row["key"] == "captured"]
    assert [captured.count(side) for side in (0, 1)] == played.results["captures"]
    tags = [row["other"] for row in rows if row["key"] == "tagged"]
    assert [tags.count(seat) for seat in range(4)] == played.results["tags"]
    assert [log.splitlines()[1] for log in found.seat_logs] == ["side 0", "side 1"] * 2
    with zipfile.ZipFile(io.BytesIO(found.uploads[0])) as made:
        told = [json.loads(line) for line in made.read("telemetry.jsonl").splitlines()]
    assert len(told) == sum(0 in (row["seat"], row["other"]) for row in rows)


def test_the_second_version_is_better_than_the_first_and_the_third_is_worse():
    games = 60

    def wins(build):
        won = 0
        for seed in range(games):
            mine = seed % 2
            seats = ["citadel-2", build] if mine else [build, "citadel-2"]
            won += play(PARITY, seats * 2, seed, {}).results["captures"][mine] >= 3
        return won / games

    first, second, third = map(wins, ("warden-1", "warden-2", "warden-3"))
    assert second - first > 0.15
    assert first - third > 0.1


def test_every_build_of_the_cast_has_a_skill():
    assert {build for _, builds in CAST for build in builds} == set(SKILLS)
    assert all(len(builds) >= 2 for _, builds in CAST)
