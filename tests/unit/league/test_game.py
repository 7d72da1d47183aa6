"""Games beside Crewrift: seats, sides, settings by name; what a plan of them asks, and what is believed of their games."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.arms import SIDES, Arm, build_arm
from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.league.early_look import as_declared
from pytest_evalharness.league.frozen import Frozen
from pytest_evalharness.league.game import CREWRIFT, Game, require_keys, sides_of
from pytest_evalharness.league.games import as_asked
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import Outcome
from pytest_evalharness.league.roster import Member
from pytest_evalharness.league.seating import SeatingMatrix
from pytest_evalharness.league.trust import of_arm
from pytest_evalharness.settings import resolve
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Attribution, Reason

PAINT = Game("paintarena", (0, 1), ticks=True, keys=("maxTicks", "seed", "tokens", "players", "brushSize"))
FLAGS = Game("flags", (0, 1, 0, 1), keys=("captures",))


# ------------------------------------------------------------------- sides


@pytest.mark.parametrize(
    ("word", "seats", "sides"),
    [
        ("parity", 4, (0, 1, 0, 1)), ("blocks", 4, (0, 0, 1, 1)), ("parity/3", 6, (0, 1, 2, 0, 1, 2)),
        ("blocks/3", 6, (0, 0, 1, 1, 2, 2)), ("none", 3, (0, 1, 2)), ("blocks/8", 16, tuple(s // 2 for s in range(16))),
    ],
)  # fmt: skip
def test_the_services_seating_formulas(word, seats, sides):
    assert sides_of(word, seats) == sides


@pytest.mark.parametrize(
    ("word", "seats"), [("parity", 5), ("blocks/3", 4), ("parity/1", 4), ("blocks/0", 4)]
)
def test_seats_that_cannot_be_shared_out(word, seats):
    with pytest.raises(ValueError, match=f"{seats} seats cannot be shared out"):
        sides_of(word, seats)


@pytest.mark.parametrize("word", ["", "teams", "parity/x", "parity/", "PARITY"])
def test_a_word_that_is_no_formula(word):
    with pytest.raises(ValueError, match="teams must be 'parity', 'blocks'"):
        sides_of(word, 4)


@given(st.sampled_from(["parity", "blocks"]), st.integers(2, 8), st.integers(1, 8))
def test_every_side_has_as_many_seats_and_opponents_have_the_others(kind, count, size):
    game = Game("g", sides_of(f"{kind}/{count}", count * size))
    assert game.teams == (size > 1)
    assert len(game.captains) == count
    for tested in game.captains:
        others = [seat for seat in range(game.seats) if seat not in game.with_seat(tested)]
        places = [game.place(seat, tested) for seat in others]
        assert sorted(set(places)) == list(range(count - 1))
        assert all(places.count(place) == size for place in set(places))


# ---------------------------------------------------------------- settings


def test_a_setting_that_the_game_does_not_have_is_told_with_the_nearest():
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        require_keys(["seed", "brushsize"], PAINT)
    assert (
        "config sets 'brushsize', and paintarena has no such setting; did you mean 'brushSize'?"
        in caught.value.what
    )
    with pytest.raises(UsageError, match="it has captures"):
        require_keys(["killRange"], FLAGS)
    require_keys(["brushSize"], PAINT)
    require_keys(["anything"], replace(PAINT, keys=None))


def test_crewrifts_settings_are_the_documented_ones():
    require_keys(["killRange", "voteTimerTicks", "mapPath"], CREWRIFT)
    with pytest.raises(UsageError, match="did you mean 'killRange'"):
        require_keys(["killrange"], CREWRIFT)


# -------------------------------------------------------------------- plans


def asked(make, game=FLAGS, **changes):
    ours = game.with_seat(changes.get("tested_seat", 0))
    said = {
        "candidate": dict.fromkeys(ours, "bot:v2"),
        "baseline": dict.fromkeys(ours, "bot:v1"),
        "game": game,
    }
    return make.plan(**{**said, "declaration": Declaration("better", win=game.win), **changes})


def field(make, count):
    return make.roster(
        opponents=tuple(
            Member(f"ply_{i}", f"Player {i}", f"rival-{i}:v1", f"id-rival-{i}", 0.5) for i in range(count)
        )
    )


@pytest.fixture
def arms(make):
    plan = asked(make)
    return {side: build_arm(plan, side, field(make, 1), make.policies()) for side in SIDES}


def test_the_tested_policy_has_all_seats_of_its_side_and_an_opponent_the_other(arms):
    arm = arms["candidate"]
    assert [seat.policy_version_id for seat in arm.seats] == [
        "id-bot:v2",
        "id-rival-0",
        "id-bot:v2",
        "id-rival-0",
    ]
    assert [seat.captain for seat in arm.seats] == [None, None, 0, 1]
    assert [entry["slot"] for entry in arm.body["roster"]] == [0, 1, 2, 3]
    assert arm.body["game_config_overrides"] == {}, "this game knows no tick limit"
    assert Arm.from_json("candidate", json.loads(json.dumps(arm.to_json()))) == arm


def test_more_games_on_a_further_field_seat_sides(arms, make):
    moved = arms["candidate"].on_field(replace(field(make, 1), division="div_2"), {0, 2}, 6)
    other = replace(field(make, 1).opponents[0], policy_version_id="id-new", label="new:v1")
    again = arms["candidate"].on_field(replace(field(make, 1), opponents=(other,)), {0, 2}, 6)
    assert [seat.policy_version_id for seat in moved.seats] == [
        s.policy_version_id for s in arms["candidate"].seats
    ]
    assert [seat.policy_version_id for seat in again.seats] == ["id-bot:v2", "id-new", "id-bot:v2", "id-new"]


def test_a_game_with_a_tick_limit_is_sent_one_and_nothing_of_crewrifts(make):
    plan = asked(make, PAINT, ticks=900, config={"seed": 7})
    assert plan.game_config() == {"maxTicks": 900, "seed": 7}
    assert plan.seats_from_ranking == 1
    assert plan.subject == "paintarena"


def test_the_game_is_part_of_what_is_asked_and_comes_back(make):
    plan = asked(make, PAINT)
    told = json.loads(canonical_json(plan.to_json()))
    assert told["game"] == {
        "name": "paintarena",
        "sides": [0, 1],
        "roles": "none",
        "ticks": True,
        "win": "highest",
    }
    assert told["declaration"]["win"] == "highest"
    again = ComparisonPlan.from_json(told)
    assert again.to_json() == plan.to_json()
    assert again.game == plan.game
    assert again.reading() == plan.reading()
    assert "game" not in make.plan().to_json(), "ledgers already hold the key of Crewrift's"
    assert make.plan().reading() is None


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"candidate": {0: "bot:v2"}}, "seats 0 and 2 of flags are one side, which wins or loses as a whole: the candidate arm"),
        ({"baseline": {0: "bot:v1", 2: "bot:v3"}}, "the baseline arm must put one policy into all of them"),
        ({"baseline": {0: "bot:v1", 2: "bot:v1", 1: "x:v1"}}, "seats 1 and 3 of flags are one side"),
        ({"tested_seat": 2}, "seats 0 and 2 are one, so name seat 0"),
        ({"candidate": {4: "bot:v2"}, "tested_seat": 4}, "seats are 0 to 3"),
        ({"opponents": ("a", "b")}, "2 opponents were named; 1 sides are open"),
        ({"candidate_drawn": {1: {"random": True}}}, "are not drawn one by one"),
        ({"natural_roles": True}, "flags has no roles that its results tell"),
    ],
)  # fmt: skip
def test_what_a_game_of_teams_cannot_seat_is_refused(make, wrong, told):
    if "tested_seat" in wrong:
        wrong = {"baseline": {0: "bot:v1", 2: "bot:v1", wrong["tested_seat"]: "bot:v1"}, "candidate": {0: "bot:v2", 2: "bot:v2", wrong["tested_seat"]: "bot:v2"}, **wrong}  # fmt: skip
    with pytest.raises(UsageError, match="nothing was submitted") as caught:
        make.plan(**{"game": FLAGS, "candidate": {0: "bot:v2", 2: "bot:v2"}, "baseline": {0: "bot:v1", 2: "bot:v1"}, **wrong})  # fmt: skip
    assert told in caught.value.what


# -------------------------------------------------------------------- games


def game_of(make, arm, number=0, scores=(1.0, 0.0, 1.0, 0.0), **changes):
    said = {"results": {"scores": list(scores), "ticks": 900 + number}, "reading": asked(make).reading()}
    return make.episode(arm, number, **{**said, **changes})


def fillers(make, game, *seats):
    return make.reseated(game, {seat: {"is_filler": True} for seat in seats})


def test_clones_may_be_marked_as_fillers_and_captains_may_not(make, arms):
    arm = arms["candidate"]
    games = [fillers(make, game_of(make, arm, i), 2, 3) for i in range(4)]
    assert of_arm("candidate", arm, make.record(arm, games)) == []
    matrix = SeatingMatrix.of({"candidate": arm}, {"candidate": make.record(arm, games)})
    assert matrix
    cell = matrix.at(games[0].id, 2)
    assert (cell.kind, cell.policy_version_id) == ("filler", "id-bot:v2")
    games[1] = fillers(make, games[1], 0)
    [found] = of_arm("candidate", arm, make.record(arm, games))
    assert found.reason is Reason.SEATS
    assert "seat 0 (the tested seat) holds a filler" in found.detail
    assert not SeatingMatrix.of({"candidate": arm}, {"candidate": make.record(arm, games)})


def test_a_filler_in_a_clones_seat_is_that_sides_policy(make, arms):
    arm = arms["candidate"]
    stranger = make.reseated(game_of(make, arm), {2: {"is_filler": True, "policy_version_id": "id-stranger"}})
    [found] = of_arm(
        "candidate", arm, make.record(arm, [stranger, *[game_of(make, arm, i) for i in range(1, 4)]])
    )
    assert "seat 2 (the tested seat) holds id-stranger, not bot:v2" in found.detail


@pytest.mark.parametrize(
    ("teams", "found"), [([0, 1, 0, 1], []), ([7, 3, 7, 3], []), ([0, 0, 1, 1], [Reason.SEATS])]
)
def test_sides_that_the_game_did_not_play_are_found(make, arms, teams, found):
    """Seats that are dealt by another formula than the game's own play a different game, and nothing fails."""
    results = {"scores": [1.0, 0.0, 1.0, 0.0], "teams": [float(one) for one in teams]}
    games = [game_of(make, arms["candidate"], i, results={**results, "ticks": i}) for i in range(4)]
    told = of_arm("candidate", arms["candidate"], make.record(arms["candidate"], games))
    assert [one.reason for one in told] == found
    for one in told:
        assert "4 episodes were played by other sides than were seated" in one.detail
        assert "seats of sides 0, 0, 1, 1" in one.detail


def test_in_crewrift_a_filler_is_a_fault_in_every_seat(make):
    arm = make.arms()["candidate"]
    for seat in range(8):
        game = fillers(make, make.episode(arm), seat)
        games = [game, *[make.episode(arm, i) for i in range(1, 4)]]
        assert [one.reason for one in of_arm("candidate", arm, make.record(arm, games))] == [Reason.SEATS]


def broken(seat):
    """The processes of a game in which one broke long before the others ended."""
    return [
        {
            "slot": slot,
            "state": "exited",
            "exit_code": int(slot == seat),
            "finished_at": 0.0 if slot == seat else 900.0,
        }
        for slot in range(4)
    ]


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.WIN),
        ({"scores": (0.0, 1.0, 0.0, 1.0)}, Outcome.LOSS),
        ({"scores": (1.0, 1.0, 1.0, 1.0)}, Outcome.LOSS),
        ({"status": "failed", "error_type": "player_error", "failed_seat": 2, "results": None}, Outcome.LOSS),
        ({"status": "failed", "error_type": "player_error", "failed_seat": 3, "results": None}, Outcome.MISSING),
        ({"players": broken(2)}, Outcome.LOSS),
        ({"players": broken(3)}, Outcome.WIN),
        ({"results": {"ticks": 900}}, Outcome.MISSING),
    ],
)  # fmt: skip
def test_a_game_is_one_outcome_of_a_side(make, arms, changes, outcome):
    game = game_of(make, arms["candidate"], **changes)
    assert game.outcome(0) is outcome
    assert game.outcome(2) is outcome


def test_a_players_error_that_names_nobody_is_the_sides_whose_processes_failed(make, arms):
    def blame(*slots):
        players = [{"slot": slot, "state": "exited", "exit_code": 1} for slot in slots]
        error = {"status": "failed", "error_type": "player_error", "results": None, "players": players}
        return attribution(game_of(make, arms["candidate"], **error), 0)

    assert blame(0, 2) is blame(2) is Attribution.POLICY
    assert blame(3) is Attribution.INFRASTRUCTURE
    assert blame(0, 1) is blame() is Attribution.UNKNOWN


def judged(make, arms, plan, scores):
    records = {
        side: make.record(
            arms[side],
            [game_of(make, arms[side], i, one, reading=plan.reading()) for i, one in enumerate(scores[side])],
        )
        for side in SIDES
    }
    case = Case(plan, Frozen(field(make, 1), arms), records, 0, 0)
    return case, case.judge()


def test_an_episode_counts_once_for_a_side_and_ties_are_told(make, arms):
    plan = asked(make)
    win, tie, loss = (1.0, 0.0, 1.0, 0.0), (1.0,) * 4, (0.0, 1.0, 0.0, 1.0)
    case, found = judged(
        make, arms, plan, {"candidate": [win, win, tie, loss], "baseline": [win, tie, tie, loss]}
    )
    assert (found.candidate.wins, found.candidate.finished) == (2, 4)
    assert (found.baseline.wins, found.baseline.finished) == (1, 4)
    checks = {one.name: one for one in case.checks}
    assert set(checks) == {"wins", "crashes", "errors", "game version", "adviser"}, (
        "no roles, timeouts or votes here"
    )
    assert "strictly highest score, a tie is no win: 1 tie in 4 games" in checks["wins"].seen
    assert {side: counts["ties"] for side, counts in checks["wins"].counts.items()} == {
        "candidate": 1,
        "baseline": 2,
    }
    assert found.verified == ("seats",)
    assert "scores by" not in checks["game version"].seen, (
        "another game's scores follow no regime of Crewrift's"
    )


def test_scores_of_another_game_are_never_taken_for_two_regimes(make, arms):
    plan = asked(make)
    scores = {"candidate": [(1.0, 0.0, 1.0, 0.0)] * 4, "baseline": [(412.5, 3.0, 412.5, 3.0)] * 4}
    case, _ = judged(make, arms, plan, scores)
    assert case.found() == []


# ------------------------------------------------------------- an early look


def high(game):
    return game.score > 1.5


@pytest.mark.parametrize(
    ("win", "won"),
    [("highest", [True, True]), ("score > 1.5", [False, True]), (f"{__name__}:high", [False, True])],
)
def test_an_early_look_counts_what_was_declared(make, arms, win, won):
    plan = asked(make, declaration=Declaration("better", win=win))
    games = [
        game_of(make, arms["candidate"], i, (score, 0.0, score, 0.0), reading=None)
        for i, score in enumerate((1.0, 2.0))
    ]
    read = as_declared(plan, games)
    assert [game.outcome(0) is Outcome.WIN for game in read] == won
    unplayed = replace(games[0], id="ereq_x", status="failed", error_type="platform_error", results=None)
    assert as_declared(plan, [unplayed])[0].outcome(0) is Outcome.MISSING


def test_a_list_of_wins_that_the_results_do_not_have_is_refused_before_anything_is_posted():
    settings = resolve({}.get, {}, lambda _: None)
    told = replace(PAINT, tells=("scores", "painted_tiles", "ticks"))
    with pytest.raises(ValueError, match=r"have no list 'win', so no game of it would count .*painted_tiles"):
        as_asked(told, {"win": "win"}, settings)
    for game in (
        PAINT,
        replace(told, tells=("scores", "win")),
    ):  # nobody knows its results; they have the list
        assert as_asked(game, {"win": "win"}, settings)[2] == "win"
    assert as_asked(told, {}, settings)[2] == "highest"
