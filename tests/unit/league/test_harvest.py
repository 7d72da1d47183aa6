"""What is read of a failed episode: the seat that its error blames, if anything names one."""

import threading

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import CredentialsRejected
from pytest_evalharness.league.harvest import harvest


class Told:
    """As much of the client as a harvest asks for: one answer to why an episode failed."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = 0

    def episode_error_info(self, _episode, *, late_seconds):
        assert late_seconds >= 0
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def failed_seat(make):
    """The seat blamed for one failed episode, and how often the service was asked for the error's own file."""

    def read(answer=None, **row):
        detail = make.request("failed", "failed")
        episode = detail.episodes[0].model_copy(update=row)
        told = Told(answer)
        found = harvest(
            told,
            detail.model_copy(update={"episodes": (episode,)}),
            lambda _: None,
            threading.Event(),
            clock=SystemClock(),
        )
        return found["episodes"][0]["failed_seat"], told.asked

    return read


def test_the_row_tells_it(failed_seat):
    assert failed_seat(error_type="player_error", failed_policy_index=3) == (3, 0)


def test_the_errors_own_file_tells_it_where_the_row_does_not(failed_seat):
    assert failed_seat({"failed_policy_index": 0}, error_type="player_error") == (0, 1)


@pytest.mark.parametrize(
    "answer",
    [None, {}, {"failed_policy_index": None}, {"failed_policy_index": "0"}, {"failed_policy_index": True}],
)
def test_nobody_tells_it(failed_seat, answer):
    assert failed_seat(answer, error_type="players_missing") == (None, 1)


def test_a_file_that_is_not_given_away_costs_no_game_that_was_played(failed_seat):
    assert failed_seat(CredentialsRejected("not permitted"), error_type="player_error") == (None, 1)


@pytest.mark.parametrize("error_type", [None, "platform_error", "gremlins"])
def test_an_error_that_blames_no_player_is_not_looked_up(failed_seat, error_type):
    assert failed_seat({"failed_policy_index": 0}, error_type=error_type) == (None, 0)
