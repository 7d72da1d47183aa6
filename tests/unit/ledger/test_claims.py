"""What happens once."""

import pytest

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import ArmStalled, NoCredentials


@pytest.fixture
def soon(clock):
    return Deadline.after(clock, 5)


def test_once_means_once(ledger, opened, soon):
    calls = []

    def produce():
        calls.append(1)
        return {"n": len(calls), "pair": (1, 2)}

    first = ledger.once("roster", "r1", produce, deadline=soon)
    assert first == {"n": 1, "pair": [1, 2]}  # everybody sees what was written down, the producer too
    assert opened(2).once("roster", "r1", produce, deadline=soon) == first
    assert len(calls) == 1


def test_kinds_and_keys_are_apart(ledger, soon):
    for kind, key in [("roster", "r1"), ("roster", "r2"), ("server", "r1")]:
        assert ledger.once(kind, key, lambda k=kind, y=key: {"is": k + y}, deadline=soon) == {
            "is": kind + key
        }


def test_a_producer_that_raises_lets_the_next_one_try(ledger, opened, soon):
    def fails():
        raise NoCredentials("no token")

    with pytest.raises(NoCredentials):
        ledger.once("roster", "r1", fails, deadline=soon)
    assert opened(2).once("roster", "r1", lambda: {"ok": 1}, deadline=soon) == {"ok": 1}


def test_ctrl_c_lets_the_next_one_try(ledger, opened, soon):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.once("roster", "r1", interrupted, deadline=soon)
    assert opened(2).once("roster", "r1", lambda: {"ok": 1}, deadline=soon) == {"ok": 1}


def test_a_value_that_is_no_json_is_the_producers_error(ledger, opened, soon):
    with pytest.raises(TypeError):
        ledger.once("roster", "r1", lambda: {"x": object()}, deadline=soon)
    assert opened(2).once("roster", "r1", lambda: {"ok": 1}, deadline=soon) == {"ok": 1}


def test_waiting_ends_at_the_deadline_and_names_whom_it_waited_for(ledger, opened, clock, soon):
    def slow():
        with pytest.raises(ArmStalled) as caught:
            opened(2).once("roster", "r1", dict, deadline=soon, poll=2)
        text = str(caught.value)
        assert "roster: process 1 (gw0) on here has not finished it within 5.0 s" in text
        return {"ok": 1}

    assert ledger.once("roster", "r1", slow, deadline=soon) == {"ok": 1}
    assert clock.waits == [2, 2, 1]


def test_a_deadline_that_is_over_still_reads_and_produces(ledger, opened, clock, soon):
    clock.time += 100
    assert ledger.once("roster", "r1", lambda: {"ok": 1}, deadline=soon) == {"ok": 1}
    assert opened(2).once("roster", "r1", dict, deadline=soon) == {"ok": 1}


def test_the_dead_are_taken_over_and_the_first_to_finish_decides(ledger, opened, morgue, soon):
    def thought_dead():
        morgue.dead.add(1)
        assert opened(2).once("roster", "r1", lambda: {"by": 2}, deadline=soon) == {"by": 2}
        return {"by": 1}

    assert ledger.once("roster", "r1", thought_dead, deadline=soon) == {"by": 2}


def test_a_producer_thought_dead_that_fails_spoils_nothing(ledger, opened, morgue, soon):
    def thought_dead():
        morgue.dead.add(1)
        opened(2).once("roster", "r1", lambda: {"by": 2}, deadline=soon)
        raise NoCredentials("no token")

    with pytest.raises(NoCredentials):
        ledger.once("roster", "r1", thought_dead, deadline=soon)
    assert opened(3).once("roster", "r1", dict, deadline=soon) == {"by": 2}


def test_a_producer_thought_dead_finishes_although_whoever_took_over_failed(ledger, opened, morgue, soon):
    def fails():
        raise NoCredentials("no token")

    def thought_dead():
        morgue.dead.add(1)
        with pytest.raises(NoCredentials):
            opened(2).once("roster", "r1", fails, deadline=soon)
        return {"by": 1}

    assert ledger.once("roster", "r1", thought_dead, deadline=soon) == {"by": 1}
    assert opened(3).once("roster", "r1", dict, deadline=soon) == {"by": 1}


def test_a_producer_at_work_is_not_asked_for_heartbeats(ledger, opened, clock, morgue, soon):
    def slow():
        clock.time += 3
        with pytest.raises(ArmStalled):
            opened(2).once("roster", "r1", dict, deadline=soon, poll=9)
        return {}

    ledger.once("roster", "r1", slow, deadline=soon)
    assert morgue.asked == [(1, 3, False), (1, 5, False)]
