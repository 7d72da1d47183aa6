"""Scores of one run: rewards, gains and normalised scores by task, and their composites.

With N instances a rollout, R the sum of its rewards, B the sum of the run's own stateless baseline, E that of the reference
run's baseline and M = N times the task's reference reward: gain = R - B, normalised reward = (R - E) / (M - E), normalised gain
= (R - B) / (M - B). Rewards and gains are in the task's own unit, sums over instances; normalised ones have none.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.domains import BY_TASK, COHORT, Family
from pytest_evalharness.clbench.estimates import Composite, Estimate, composite, estimate
from pytest_evalharness.clbench.poisoning import Flag, flags
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale, Unit, total, units
from pytest_evalharness.clbench.shapes import Salvaged
from pytest_evalharness.clbench.whole_passes import Excluded, usable, whole_baseline
from pytest_evalharness.errors import NothingComplete, ReferenceMissing, ScalesMixed

_NO_DENOMINATOR = 1e-12
_NOTHING = "nothing was scored"


@dataclass(frozen=True)
class RolloutScore:
    """One rollout: sums over its instances, in the task's unit; cost in dollars."""

    run_index: int
    reward: float
    gain: float | None
    normalized_reward: float | None
    normalized_gain: float | None
    cost: float | None


@dataclass(frozen=True)
class TaskScore:
    """One task: estimates over its rollouts, and the sums that they are measured from.

    Attributes:
        instances: of a pass.
        baseline: the run's own, None if it is missing or short.
        reference: the reference run's baseline.
        maximum: the reference reward times the instances.
        cost_all: dollars of all passes, the baseline and excluded rollouts too; None where one does not tell.
        units: in which cohort studies are stored; empty for the other tasks.
        salvaged: what its artifact says of a crash; None where the benchmark itself wrote it.
    """

    task: str
    instances: int
    rollouts: tuple[RolloutScore, ...]
    baseline: float | None
    reference: float
    maximum: float
    reward: Estimate
    gain: Estimate | None
    normalized_reward: Estimate | None
    normalized_gain: Estimate | None
    cost: Estimate | None
    cost_all: float | None
    units: tuple[Unit, ...]
    excluded: tuple[Excluded, ...]
    salvaged: Salvaged | None = None


@dataclass(frozen=True)
class Reading:
    """The composites of a run under one scale of cohort studies.

    Attributes:
        units: those that the scale puts together: of the run, of its reference, and bits, in which the task's reference
            reward is; several are a mixture.
        known: whether the unit of every reward is known.
        cohort: the task itself.
        normalized_reward: over all tasks.
        normalized_gain: likewise.
    """

    units: tuple[Unit, ...]
    known: bool
    cohort: TaskScore | None
    normalized_reward: Composite | None
    normalized_gain: Composite | None

    @property
    def mixed(self) -> bool:
        """Whether it adds up numbers of different or unknown units."""
        return len(self.units) > 1 or not self.known


@dataclass(frozen=True)
class RunScore:
    """Everything that is said of a run.

    Attributes:
        run: its name.
        family: whose tasks it ran.
        reference: the name of the run whose baseline normalises it.
        scale: the one that `tasks` and the composites are in.
        tasks: by task, those with a complete rollout.
        missing: tasks of the family that have none.
        readings: every scale beside the others.
        seeds: composites of single seeds, where every scored task has that rollout.
        flags: doubts about passes.
        without_flagged: the composite without rollouts that measure an outage; None if there are none.
        cost_per_pass: dollars of one rollout of every task.
        cost_all: dollars of everything that was run.
    """

    run: str
    family: Family
    reference: str
    scale: Scale
    tasks: dict[str, TaskScore]
    missing: tuple[str, ...]
    normalized_reward: Composite | None
    normalized_gain: Composite | None
    readings: dict[Scale, Reading]
    seeds: dict[int, float]
    flags: tuple[Flag, ...]
    without_flagged: Composite | None
    cost_per_pass: float | None
    cost_all: float | None

    @property
    def complete(self) -> bool:
        """Whether all tasks of the family have a value: only then does a rank mean anything."""
        told = self.normalized_reward
        return told is not None and told.tasks == len(self.family.tasks)

    @property
    def clean(self) -> bool:
        """Whether it is complete, nothing was left out and nothing is doubted."""
        left_out = any(
            one.excluded or one.baseline is None or (one.salvaged is not None and one.salvaged.partial)
            for one in self.tasks.values()
        )
        return self.complete and not left_out and not self.flags and not self.readings[self.scale].mixed


def score_run(run: PublishedRun, reference: PublishedRun, scale: Scale = Scale.BITS) -> RunScore:
    """The scores of a run.

    Args:
        run: what was published.
        reference: the run whose stateless baselines normalise rewards.
        scale: of cohort studies; the other scales are told beside it.

    Raises:
        RunUnreadable: a file of either is spoilt.
        NothingComplete: no task has a complete rollout.
        ReferenceMissing: the reference lacks a task of the run, or has another number of instances in it.
        ScalesMixed: bits are asked for and some rewards of cohort studies are in a unit that nobody tells.
    """
    run.require_readable()
    reference.require_readable()
    kept = {task: usable(artifact) for task, artifact in run.tasks.items()}
    scored = [task for task in run.tasks if kept[task][0]]
    if not scored:
        raise NothingComplete(
            f"{run.name} has no complete rollout of any task",
            not_done=_NOTHING,
            next_step=f"evalharness clbench check {run.folder} lists what each rollout lacks",
        )
    baselines = {task: _reference_baseline(run, reference, task, kept[task][0]) for task in scored}
    held = _stored_units(run, reference, kept)
    if scale is Scale.BITS and Unit.UNKNOWN in held:
        raise _unknown_unit(run, reference)
    readings, by_scale = {}, {}
    for one in Scale:
        tasks = {task: _task(run.tasks[task], kept[task], baselines[task], one) for task in scored}
        by_scale[one] = tasks
        readings[one] = _reading(one, tasks, held)
    doubts = tuple(flags(run))
    tasks = by_scale[scale]
    return RunScore(
        run=run.name,
        family=run.family,
        reference=reference.name,
        scale=scale,
        tasks=tasks,
        missing=tuple(task for task in run.family.tasks if task not in tasks),
        normalized_reward=readings[scale].normalized_reward,
        normalized_gain=readings[scale].normalized_gain,
        readings=readings,
        seeds=_seeds(tasks),
        flags=doubts,
        without_flagged=_without(tasks, doubts),
        cost_per_pass=_sum([one.cost.mean if one.cost else None for one in tasks.values()]),
        cost_all=_sum([one.cost_all for one in tasks.values()]),
    )


def _reference_baseline(
    run: PublishedRun, reference: PublishedRun, task: str, rollouts: tuple[Pass, ...]
) -> TaskArtifact:
    artifact = reference.tasks.get(task)
    sizes = sorted({len(one.outcomes) for one in rollouts})
    if artifact is None or artifact.baseline is None:
        why = f"has no baseline of {task}"
    elif any(whole_baseline(artifact, size) is None for size in sizes):
        told = ", ".join(map(str, sizes))
        why = f"has {len(artifact.baseline.outcomes)} baseline instances of {task}, and rollouts of {run.name} have {told}"
    else:
        return artifact
    raise ReferenceMissing(
        f"{run.name} cannot be normalised: the reference run {reference.name} {why}",
        not_done=f"{_NOTHING}; no other baseline was taken in its place",
        next_step="--reference RUNDIR names a run whose baselines are whole",
    )


def _task(
    artifact: TaskArtifact,
    kept: tuple[tuple[Pass, ...], tuple[Excluded, ...]],
    reference: TaskArtifact,
    scale: Scale,
) -> TaskScore:
    rollouts, excluded = kept
    task, instances = artifact.task, len(rollouts[0].outcomes)
    own = whole_baseline(artifact, instances)
    base = None if own is None else total(task, own, scale, artifact.query_budget)
    outer = whole_baseline(reference, instances)
    fixed = 0.0 if outer is None else total(task, outer, scale, reference.query_budget)
    maximum = BY_TASK[task].largest * instances
    scores = []
    for one in rollouts:
        earned = total(task, one, scale, artifact.query_budget)
        gain = None if base is None else earned - base
        rewarded = _share(earned - fixed, maximum - fixed)
        gained = None if base is None else _share(earned - base, maximum - base)
        scores.append(RolloutScore(one.run_index or 0, earned, gain, rewarded, gained, one.cost))
    reward = estimate([one.reward for one in scores])
    assert reward is not None
    return TaskScore(
        task=task,
        instances=instances,
        rollouts=tuple(scores),
        baseline=base,
        reference=fixed,
        maximum=maximum,
        reward=reward,
        gain=_estimate([one.gain for one in scores]),
        normalized_reward=_estimate([one.normalized_reward for one in scores]),
        normalized_gain=_estimate([one.normalized_gain for one in scores]),
        cost=_estimate([one.cost for one in scores]),
        cost_all=_sum(
            [one.cost for one in (*artifact.rollouts, *([artifact.baseline] if artifact.baseline else []))]
        ),
        units=tuple(sorted(frozenset().union(*map(units, rollouts)))) if task == COHORT else (),
        excluded=excluded,
        salvaged=artifact.salvaged,
    )


def _share(part: float, whole: float) -> float | None:
    return None if abs(whole) < _NO_DENOMINATOR else part / whole


def _estimate(values: list[float | None]) -> Estimate | None:
    """Of values that are told for every rollout; a mean over some of them would be another thing."""
    told = [one for one in values if one is not None]
    return estimate(told) if len(told) == len(values) else None


def _sum(values: list[float | None]) -> float | None:
    told = [one for one in values if one is not None]
    return math.fsum(told) if len(told) == len(values) else None


def _stored_units(
    run: PublishedRun,
    reference: PublishedRun,
    kept: dict[str, tuple[tuple[Pass, ...], tuple[Excluded, ...]]],
) -> frozenset[Unit]:
    """The units of everything that a score of cohort studies adds up."""
    if COHORT not in kept or not kept[COHORT][0]:
        return frozenset()
    used = [*kept[COHORT][0], run.tasks[COHORT].baseline, reference.tasks[COHORT].baseline]
    return frozenset().union(*(units(one) for one in used if one is not None))


def _reading(scale: Scale, tasks: dict[str, TaskScore], held: frozenset[Unit]) -> Reading:
    known = Unit.UNKNOWN not in held
    together = frozenset({Unit.BITS}) if scale is Scale.BITS and known else held | {Unit.BITS}
    return Reading(
        tuple(sorted(together)) if held else (),
        known,
        tasks.get(COHORT),
        composite({task: one.normalized_reward for task, one in tasks.items()}),
        composite({task: one.normalized_gain for task, one in tasks.items()}),
    )


def _seeds(tasks: dict[str, TaskScore]) -> dict[int, float]:
    """The composite of each seed that every task has."""
    told = [
        {one.run_index: one.normalized_reward for one in task.rollouts if one.normalized_reward is not None}
        for task in tasks.values()
    ]
    common = sorted(frozenset.intersection(*map(frozenset, told)))
    return {index: math.fsum(one[index] for one in told) / len(told) for index in common}


def _without(tasks: dict[str, TaskScore], doubts: Collection[Flag]) -> Composite | None:
    """The composite without rollouts that measure an outage; never taken for the score: it is better by construction."""
    lost = {(one.task, one.run_index) for one in doubts if one.doubt.rollout_lost}
    if not any((task, one.run_index) in lost for task, score in tasks.items() for one in score.rollouts):
        return None
    left = {
        task: _estimate(
            [one.normalized_reward for one in score.rollouts if (task, one.run_index) not in lost]
        )
        for task, score in tasks.items()
    }
    return composite(left) if all(left.values()) else None


def _unknown_unit(run: PublishedRun, reference: PublishedRun) -> ScalesMixed:
    where = [
        f"{one.name} of {run.name}"
        for one in (*run.tasks[COHORT].rollouts, run.tasks[COHORT].baseline)
        if one is not None and Unit.UNKNOWN in units(one)
    ]
    other = reference.tasks[COHORT].baseline
    if other is not None and Unit.UNKNOWN in units(other):
        where.append(f"the baseline of {reference.name}")
    return ScalesMixed(
        f"{COHORT}: {', '.join(dict.fromkeys(where))}: no unit of their rewards is told, so they cannot be brought to bits",
        not_done=_NOTHING,
        next_step="run the task with a benchmark that writes kl_unit; --scale pr9 or --scale prefix shows the scripts' numbers",
    )
