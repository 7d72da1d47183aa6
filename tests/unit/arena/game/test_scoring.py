"""Two ways to count one and the same match."""

import pytest

from pytest_evalharness.arena.game.config import parse_config
from pytest_evalharness.arena.game.match import SeatEntry, play
from pytest_evalharness.arena.game.scoring import Scoring

SEATS = [
    SeatEntry(f"p{seat}", build) for seat, build in enumerate(["keeper-1", "rival-3"] + ["aurora-5"] * 6)
]


def both(config, seats=SEATS, seed=7):
    rules = parse_config(config)
    return tuple(play(rules, seats, seed, scoring=scoring) for scoring in (Scoring.OUTCOME, Scoring.REWARD))


@pytest.mark.parametrize("seed", range(6))
def test_scoring_changes_nothing_of_what_is_played(seed):
    now, then = both({}, seed=seed)
    assert (now.ticks, now.ending) == (then.ticks, then.ending)
    kept = set(now.results) - {"scores"}
    assert {key: now.results[key] for key in kept} == {key: then.results[key] for key in kept}
    for seat in range(8):
        won, imposter = now.results["win"][seat], now.results["imposter"][seat]
        assert now.results["scores"][seat] == (0 if not won else 3 if imposter else 1)
        assert then.results["scores"][seat] == (
            100 * won
            + 10 * then.results["kills"][seat]
            + then.results["tasks"][seat]
            - 10 * then.results["vote_timeout"][seat]
        )


def test_at_the_time_limit_the_crew_wins_now_and_nobody_did_then():
    now, then = both({"maxTicks": 150})
    assert now.ending == then.ending == "time limit"
    assert now.results["win"] == [not imposter for imposter in now.results["imposter"]]
    assert then.results["win"] == [False] * 8
    assert then.results["scores"] == then.results["tasks"]


def test_who_never_connected_lost_a_hundred_points():
    seats = [SeatEntry("gone", "keeper-1", absent=True), *SEATS[1:]]
    now, then = both({}, seats)
    assert now.results["scores"] == [0] * 8
    assert then.results["connect_timeout"] == [1, *[0] * 7]
    assert then.results["scores"][0] == -100
    assert min(then.results["scores"][1:]) >= 0
