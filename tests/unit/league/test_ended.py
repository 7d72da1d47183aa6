import pytest

from pytest_evalharness.league.poll import ended

LIVE = ["pending", "submitted", "running"]
TERMINAL = ["completed", "failed", "cancelled"]


@pytest.mark.parametrize("status", [*LIVE, "paused", ""])
@pytest.mark.parametrize("child", [*LIVE, *TERMINAL])
def test_a_request_that_lives_has_not_ended_whatever_its_episodes_say(make, status, child):
    assert not ended(make.request(status, child, child))


def test_a_failed_episode_is_tried_again_while_its_request_lives(make):
    assert not ended(make.request("running", "completed", "failed"))
    assert ended(make.request("completed", "completed", "failed"))
    assert ended(make.request("failed", "failed", "failed"))


@pytest.mark.parametrize("status", ["completed", "failed"])
@pytest.mark.parametrize("child", [*LIVE, "paused"])
def test_an_episode_that_goes_on_is_waited_for(make, status, child):
    assert not ended(make.request(status, "completed", child))


@pytest.mark.failure_mode(number=16)
def test_after_a_cancel_only_running_episodes_are_waited_for(make):
    assert ended(make.request("cancelled", "completed", "pending", "submitted", "failed"))
    assert ended(make.request("cancelled", "pending", "pending"))
    assert not ended(make.request("cancelled", "running", "pending"))


@pytest.mark.parametrize("status", TERMINAL)
def test_a_request_without_episodes_has_nothing_to_wait_for(make, status):
    assert ended(make.request(status))


@pytest.mark.parametrize("word", ["success", "error", "canceled", "timeout", "COMPLETED"])
def test_the_words_of_old_records_end_too(make, word):
    assert ended(make.request(word, word))
