"""Instances of a live pass that measure an outage, not the system: the rules of `poisoning` on snapshots. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_evalharness.clbench.campaign.snapshot import LivePass, PassState
from pytest_evalharness.clbench.domains import BY_TASK
from pytest_evalharness.clbench.poisoning import STREAK
from pytest_evalharness.clbench.shapes import Outcome


@dataclass(frozen=True)
class Streak:
    """Poisoned instances in a row.

    Attributes:
        instances: their ids.
        forfeits: how many of them the adapter, or an error, answered in the system's place.
        lasting: whether the pass's last instance is one of them.
    """

    instances: tuple[str, ...]
    forfeits: int
    lasting: bool

    @property
    def words(self) -> str:
        """What is wrong with them."""
        free = len(self.instances) - self.forfeits
        told = [f"{free} earned no more than an empty answer at no cost"] if free else []
        if self.forfeits:
            told.append(
                f"{self.forfeits} {'was' if self.forfeits == 1 else 'were'} not answered by the system"
            )
        return " and ".join(told)


def is_poisoned(one: LivePass, outcome: Outcome, *, priced: bool) -> bool:
    """Whether an instance measures an outage.

    Args:
        one: its pass.
        outcome: what it earned.
        priced: whether the campaign's calls cost anything: else a cost of 0 says nothing.
    """
    if outcome.instance_id in one.forfeited:
        return True
    domain = BY_TASK.get(one.task)
    free = priced and not one.unpriced and outcome.cost_usd == 0.0
    return free and domain is not None and domain.no_better_than_null(outcome.reward or 0.0)


def streaks(one: LivePass, *, priced: bool, least: int = STREAK) -> tuple[Streak, ...]:
    """Every run of at least `least` poisoned instances of a pass, in order."""
    return tuple(found for found in _runs(one, priced=priced) if len(found.instances) >= least)


def _runs(one: LivePass, *, priced: bool) -> Iterator[Streak]:
    current: list[str] = []
    for outcome in one.outcomes:
        if is_poisoned(one, outcome, priced=priced):
            current.append(outcome.instance_id)
        elif current:
            yield _streak(one, current, lasting=False)
            current = []
    if current:
        yield _streak(one, current, lasting=True)


def _streak(one: LivePass, instances: list[str], *, lasting: bool) -> Streak:
    return Streak(tuple(instances), sum(name in one.forfeited for name in instances), lasting)


def measures_nothing(one: LivePass) -> str:
    """Why a pass that is through measures nothing, whatever it cost; empty where it does.

    All its instances earned what an empty answer earns, or each took one turn of a task that takes several and none succeeded.
    """
    domain = BY_TASK.get(one.task)
    if domain is None or one.state is not PassState.COMPLETE or one.done < STREAK:
        return ""
    earned = [outcome.reward or 0.0 for outcome in one.outcomes]
    if all(map(domain.at_null, earned)):
        return f"all {one.done} instances earned what an empty answer earns"
    none = max(earned) <= 0.0 and not any(outcome.success for outcome in one.outcomes)
    if domain.multi_step and none and one.interactions == one.done:
        return "one turn on every instance of a task that takes several, and none succeeded"
    return ""
