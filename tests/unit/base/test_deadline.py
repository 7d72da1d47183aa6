import pytest

from pytest_evalharness.base.deadline import Deadline


class HandClock:
    time = 100.0

    def now(self):
        raise AssertionError("a deadline must not follow the wall clock, which jumps")

    def monotonic(self):
        return self.time


@pytest.fixture
def clock():
    return HandClock()


def test_time_left_shrinks_to_zero_and_no_further(clock):
    deadline = Deadline.after(clock, 5)
    assert (deadline.allowed, deadline.remaining, deadline.expired) == (5, 5, False)
    clock.time += 4.5
    assert deadline.remaining == 0.5
    clock.time += 100
    assert deadline.remaining == 0.0
    assert deadline.expired


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_at_all_is_over_at_once(clock, seconds):
    deadline = Deadline.after(clock, seconds)
    assert deadline.expired
    assert deadline.remaining == 0.0


def test_the_very_moment_counts_as_over(clock):
    deadline = Deadline.after(clock, 1)
    clock.time += 1
    assert deadline.expired
