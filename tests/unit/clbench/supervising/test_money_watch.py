import pytest

from pytest_evalharness.clbench.campaign.money import BALANCE, KEY, Bound, Known, Spendable
from pytest_evalharness.clbench.campaign.money_watch import MoneyWatch
from pytest_evalharness.clbench.campaign.snapshot import LivePass, LiveTask, PassState, Snapshot
from pytest_evalharness.clbench.domains import DATABASE, SALES
from pytest_evalharness.clbench.shapes import Outcome


class HandClock:
    time = 0.0

    def now(self):
        return self.time

    def monotonic(self):
        return self.time

    def wait(self, seconds, stop=None):
        self.time += seconds
        return False


def rollout(task, done, cost):
    outcomes = tuple(
        Outcome(instance_id=str(at), instance_index=at, reward=1.0, metadata={}) for at in range(done)
    )
    return LivePass(task, 0, "g", PassState.RUNNING, "running", 10, outcomes, cost=cost, seconds=60.0)


SNAPSHOT = Snapshot(
    "mine",
    "running",
    0.0,
    0.0,
    (
        LiveTask(DATABASE, "running", "g", (rollout(DATABASE, 8, 8.0),)),
        LiveTask(SALES, "running", "g", (rollout(SALES, 2, 4.0),)),
    ),
)


@pytest.fixture
def watch():
    clock, asked = HandClock(), []

    def make(dollars):
        def ask():
            asked.append(clock.time)
            known = Known.UNKNOWN if dollars is None else Known.DOLLARS
            return Spendable(Bound(KEY, known, dollars, "told"), Bound.unknown(BALANCE, "not told"))

        found = MoneyWatch(ask, clock, {})

        def look():
            lines = list(found.look(SNAPSHOT))
            found._asking.join()
            return lines

        return look, clock, asked

    return make


def test_money_that_is_short_lists_the_least_complete_first(watch):
    look, clock, asked = watch(17.0)  # 2 + 16 dollars are still to be spent
    first, head, *rollouts = [
        *look(),
        *look(),
    ]  # the answer is awaited by nobody: it may come with the next look
    assert first.startswith("money runs short: spendable $17.00")
    assert first.endswith("about $18.00 are still to be spent")
    assert "least complete first" in head
    assert [line.split(",")[0].strip() for line in rollouts] == [SALES, DATABASE]
    assert "20% done, $4.00 spent, ending it saves about $16.00" in rollouts[0]
    assert look() == [], "each answer is told once"
    assert asked == [0.0]
    clock.time = 601.0
    assert len([*look(), *look()]) == 4
    assert asked == [0.0, 601.0]


@pytest.mark.parametrize("dollars", [18.0, 1_000.0, None])
def test_enough_or_unknown_is_no_alarm(watch, dollars):
    look, _, asked = watch(dollars)
    assert [*look(), *look(), *look()] == []
    assert asked == [0.0]
