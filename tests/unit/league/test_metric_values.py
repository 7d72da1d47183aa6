"""The declared metric in each counted game: asked once, charged games at the least, and what tells nothing named."""

import json
from dataclasses import asdict, replace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.judging import Case
from pytest_evalharness.league.metric_values import kept_values, numbers, values_of
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.words import Metric, Reason, Verdict

ASKED = []


def kills(game):
    ASKED.append(game.id)
    return game.own("kills")


def fails(game):
    raise RuntimeError(game.id)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("t", "")) as opened:
        yield opened


@pytest.fixture
def arm(make):
    return make.arms()["candidate"]


@pytest.fixture
def block(make, arm):
    games = [make.episode(arm, 0), make.episode(arm, 1), make.episode(arm, 2, status="failed", results=None)]
    games[1] = replace(games[1], results={**games[1].results, "kills": [7] * 8})
    told = json.loads(json.dumps({"episodes": [asdict(game) for game in games]}))
    empty = dict.fromkeys(
        ["request_id", "error", "progress", "owner", "heartbeat_at", "ended_session", "posted_at", "accepted_at",
         "running_at", "finished_at"]
    )  # fmt: skip
    return Block(
        block_id="block-1", arm_key="arm-1", position=0, state=BlockState.FINISHED, token="evh-1", idempotency_key="k",
        body={}, evidence=told, created_at=0.0, **empty,
    )  # fmt: skip


def here(function):
    return f"{__name__}:{function.__name__}"


def test_a_function_is_asked_once_of_every_played_game(ledger, block):
    ASKED.clear()
    first = values_of(ledger, here(kills), 0, [block], SystemClock())
    assert first == {"ereq_candidate_0": 1.0, "ereq_candidate_1": 7.0}
    assert values_of(ledger, here(kills), 0, [block], SystemClock()) == first
    assert ASKED == ["ereq_candidate_0", "ereq_candidate_1"]
    assert kept_values(ledger, here(kills), 0, block) == first


def test_reading_what_is_kept_runs_nobodys_code(ledger, block):
    ASKED.clear()
    assert kept_values(ledger, here(kills), 0, block) == {}
    assert ASKED == []
    assert values_of(ledger, here(kills), 0, [block], SystemClock()) != {}


def test_a_function_that_fails_keeps_nothing(ledger, block):
    with pytest.raises(UsageError, match="failed with RuntimeError: ereq_candidate_0"):
        values_of(ledger, here(fails), 0, [block], SystemClock())
    assert kept_values(ledger, here(fails), 0, block) == {}


def test_what_is_no_function_is_not_asked(ledger, block):
    for metric in Metric:
        assert values_of(ledger, metric, 0, [block], SystemClock()) == {}
        assert kept_values(ledger, metric, 0, block) == {}


# ------------------------------------------------------------------- numbers


def scored(make, arm, number, score, **changes):
    game = make.episode(arm, number)
    return replace(game, results={**game.results, "scores": [score] * 8}, **changes)


def test_a_seat_score_is_read_off_the_results(make, arm):
    games = [scored(make, arm, 0, 110.0), scored(make, arm, 1, -3.0)]
    (found,), untold = numbers(Metric.SCORE, 0, [games], {})
    assert (found, untold) == ((110.0, -3.0), [])


def test_what_the_tested_policy_lost_itself_is_the_least_of_all(make, arm):
    own = make.episode(arm, 2, status="failed", results=None, error_type="player_error", failed_seat=0)
    points = [scored(make, arm, 0, 110.0), own], [scored(make, arm, 1, 17.0)]
    (candidate, baseline), untold = numbers(Metric.SCORE, 0, points, {})
    assert (candidate, baseline, untold) == ((110.0, 17.0), (17.0,), [])
    outcomes = [make.episode(arm, 0), own], [make.episode(arm, 1)]
    (candidate, _), _ = numbers(Metric.SCORE, 0, outcomes, {})
    assert candidate == (1.0, 0.0), "a lost game scores nothing"
    (candidate, _), _ = numbers("m:f", 0, outcomes, {"ereq_candidate_0": 5.0, "ereq_candidate_1": -2.0})
    assert candidate == (5.0, -2.0)


def test_games_that_tell_nothing_of_it_are_named(make, arm):
    silent = make.episode(arm, 1)
    silent = replace(silent, results={key: v for key, v in silent.results.items() if key != "scores"})
    _, untold = numbers(Metric.SCORE, 0, [[make.episode(arm, 0), silent]], {})
    assert [game.id for game in untold] == ["ereq_candidate_1"]


def test_a_case_with_such_a_game_cannot_be_believed(make):
    from types import SimpleNamespace

    plan = make.plan(declaration=Declaration("better", metric="seat score"), episodes=6)
    arms = make.arms(plan)
    records = {}
    for side, arm in arms.items():
        games = [make.episode(arm, i, win=i % 2 == 0) for i in range(6)]
        if side == "candidate":
            games[0] = replace(games[0], results={k: v for k, v in games[0].results.items() if k != "scores"})
        records[side] = make.record(arm, games)
    frozen = SimpleNamespace(arms=arms, caveats=lambda *_: [])
    judged = Case(plan, frozen, records, 0, 0).judge()
    assert judged.verdict is Verdict.UNTRUSTWORTHY
    assert [one.reason for one in judged.reasons] == [Reason.UNMEASURED]
    assert judged.reasons[0].detail == "1 of 12 games, ereq_candidate_0"
