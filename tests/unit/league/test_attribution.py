"""Who is to blame for an episode that was not played to its end."""

from dataclasses import replace

import pytest

from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.verdict.words import Attribution

POLICY, INFRASTRUCTURE, UNKNOWN = Attribution.POLICY, Attribution.INFRASTRUCTURE, Attribution.UNKNOWN


@pytest.fixture
def failed(make):
    """A failed episode, seen from seat 0."""
    arm = make.arms()["candidate"]

    def blame(error_type, seat=None, status="failed"):
        lost = make.episode(arm, status=status, results=None, error_type=error_type, failed_seat=seat)
        return attribution(lost, 0)

    return blame


@pytest.mark.parametrize("error_type", ["player_error", "players_missing"])
def test_a_players_failure_is_the_policys_only_where_the_tested_seat_is_named(failed, error_type):
    assert failed(error_type, 0) is POLICY
    assert failed(error_type, 3) is INFRASTRUCTURE
    assert failed(error_type) is UNKNOWN


@pytest.mark.parametrize(
    "error_type",
    [
        "platform_error", "episode_inconclusive", "player_never_started", "worker_error", "worker_oom", "config_error",
        "player_file_unavailable", "player_file_mismatch", "node_disruption", "dispatch_failed", "round_failed",
        "cancelled",
    ],
)  # fmt: skip
@pytest.mark.parametrize("seat", [None, 0])
def test_what_blames_nobody_is_never_the_policys(failed, error_type, seat):
    assert failed(error_type, seat) is INFRASTRUCTURE


@pytest.mark.parametrize(
    "error_type",
    [
        "game_unhealthy", "game_contract_violation", "results_missing", "results_malformed", "replay_missing",
        "replay_unloadable", "oom", "game_error", "crash", "episode_timeout",
    ],
)  # fmt: skip
def test_the_games_own_failures_are_not_the_tested_policys(failed, error_type):
    assert failed(error_type) is INFRASTRUCTURE


@pytest.mark.parametrize("error_type", [None, "", "gremlins", "PLAYER_ERROR", "player_error "])
def test_a_word_that_nobody_knows_is_an_unknown_cause(failed, error_type):
    assert failed(error_type, 0) is UNKNOWN


def test_what_was_cancelled_or_never_ended(failed):
    assert failed(None, status="cancelled") is INFRASTRUCTURE
    assert failed(None, status="pending") is UNKNOWN


@pytest.mark.parametrize("results", [None, {}, {"win": [True]}, {"win": "yes"}])
def test_a_completed_game_without_its_seats_result(make, results):
    assert attribution(make.episode(make.arms()["candidate"], results=results), 1) is UNKNOWN


def test_a_game_that_was_played_to_its_end_blames_nobody(make):
    arm = make.arms()["candidate"]
    assert attribution(make.episode(arm), 0) is None
    assert attribution(make.episode(arm, win=False), 0) is None
    assert attribution(make.episode(arm, error_type="player_error", failed_seat=0), 0) is None


@pytest.mark.parametrize("key", ["connect_timeout", "disconnect_timeout"])
def test_a_draw_by_timeout_is_the_fault_of_whoever_dropped_out(make, key):
    game = make.episode(make.arms()["candidate"])
    drawn = replace(game, results={**game.results, "win": [False] * 8, key: [0, 0, 1, 0, 0, 0, 0, 0]})
    assert attribution(drawn, 2) is POLICY
    assert attribution(drawn, 0) is INFRASTRUCTURE
