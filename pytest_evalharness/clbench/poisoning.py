"""Results that fail open: instances and rollouts whose rewards measure an outage, not a system. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.domains import BY_TASK, Domain
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale, rewards
from pytest_evalharness.clbench.shapes import Outcome

STREAK = 3
"""Poisoned instances in a row that make a rollout poisoned: one may be a blip."""


class Doubt(StrEnum):
    """What is wrong with a pass."""

    INSTANCES = "poisoned instances"
    STREAK = "poisoned streak"
    ALL_NULL = "all null"
    ONE_TURN = "one turn each"

    @property
    def rollout_lost(self) -> bool:
        """Whether the whole pass measures something else."""
        return self is not Doubt.INSTANCES


@dataclass(frozen=True)
class Flag:
    """A doubt about one pass.

    Attributes:
        task: its id.
        run_index: the rollout, None for the baseline.
        doubt: which.
        instances: the ids concerned.
        words: a sentence.
    """

    task: str
    run_index: int | None
    doubt: Doubt
    instances: tuple[str, ...]
    words: str


def is_priced(run: PublishedRun) -> bool:
    """Whether anything in a run cost anything: else a cost of 0 says nothing."""
    return any(
        bool(one.cost) or any(outcome.cost_usd for outcome in one.outcomes)
        for artifact in run.tasks.values()
        for one in passes(artifact)
    )


def passes(artifact: TaskArtifact) -> tuple[Pass, ...]:
    """The baseline, if there is one, and every rollout."""
    return artifact.rollouts if artifact.baseline is None else (artifact.baseline, *artifact.rollouts)


def flags(run: PublishedRun) -> list[Flag]:
    """Every doubt about a run, by task and pass."""
    priced = is_priced(run)
    return [
        flag
        for artifact in run.tasks.values()
        for one in passes(artifact)
        for flag in _of_pass(artifact, one, priced=priced)
    ]


def auto_resolved(task: str, one: Pass, outcome: Outcome) -> bool:
    """Whether an instance, a poker hand say, was over before the system's turn, which costs nothing and is no fault."""
    return (
        BY_TASK[task].auto_resolves
        and not outcome.cost_usd
        and (outcome.reward or 0.0) > 0.0
        and (one.turns is None or outcome.instance_id not in one.turns)
    )


def _of_pass(artifact: TaskArtifact, one: Pass, *, priced: bool) -> Iterator[Flag]:
    task, domain = artifact.task, BY_TASK[artifact.task]
    # Zero and the sign are the same in every unit; the clipped ratio would show losses as null.
    earned = rewards(task, one, Scale.PR9, artifact.query_budget)
    if not earned:
        return
    bad = [
        _poisoned(domain, one, outcome, reward, priced=priced)
        for outcome, reward in zip(one.outcomes, earned, strict=True)
    ]
    ids = tuple(outcome.instance_id for outcome, poisoned in zip(one.outcomes, bad, strict=True) if poisoned)
    cost = "" if one.cost is None else f", at a cost of ${one.cost:.2f}"
    where = f"{domain.short}, {one.name}"
    if all(map(domain.at_null, earned)):
        words = f"{where}: all {len(earned)} instances earned what an empty answer earns{cost}"
        yield Flag(task, one.run_index, Doubt.ALL_NULL, tuple(o.instance_id for o in one.outcomes), words)
    elif (longest := _longest(bad)) >= STREAK:
        words = f"{where}: {_lost(one, ids, len(earned))}, {longest} of them in a row"
        yield Flag(task, one.run_index, Doubt.STREAK, ids, words)
    elif ids:
        words = f"{where}: {_lost(one, ids, len(earned))}"
        yield Flag(task, one.run_index, Doubt.INSTANCES, ids, words)
    none = max(earned) <= 0.0 and not any(outcome.success for outcome in one.outcomes)
    if domain.multi_step and none and _one_turn_each(one):
        words = f"{where}: one turn on every instance of a task that takes several, and none succeeded"
        yield Flag(task, one.run_index, Doubt.ONE_TURN, tuple(o.instance_id for o in one.outcomes), words)


def _lost(one: Pass, ids: tuple[str, ...], total: int) -> str:
    answered = sum(name in one.forfeited for name in ids)
    told = {"earned nothing at no cost": len(ids) - answered, "ended in an error or a forfeit": answered}
    return f"of {total} instances " + " and ".join(f"{count} {how}" for how, count in told.items() if count)


def _poisoned(domain: Domain, one: Pass, outcome: Outcome, reward: float, *, priced: bool) -> bool:
    if outcome.instance_id in one.forfeited:
        return True
    free = priced and not one.unpriced and outcome.cost_usd == 0.0
    return free and not auto_resolved(domain.task, one, outcome) and domain.no_better_than_null(reward)


def _longest(bad: list[bool]) -> int:
    longest = current = 0
    for one in bad:
        current = current + 1 if one else 0
        longest = max(longest, current)
    return longest


def _one_turn_each(one: Pass) -> bool:
    turns = one.turns
    return turns is not None and all(turns.get(outcome.instance_id) == 1 for outcome in one.outcomes)
