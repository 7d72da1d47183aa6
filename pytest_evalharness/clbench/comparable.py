"""Whether two runs may be compared at all: what both have, their checks, their instances, and what is lost of either. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pytest_evalharness.clbench.checking import State
from pytest_evalharness.clbench.domains import BY_TASK, COHORT
from pytest_evalharness.clbench.pairing import TaskDifference, counted, unlike
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale, Unit, units
from pytest_evalharness.clbench.trust import checks
from pytest_evalharness.errors import FamiliesMixed, RunsIncomparable, ScalesMixed
from pytest_evalharness.stats.scores import mean_of
from pytest_evalharness.stats.stratified import Stratum
from pytest_evalharness.verdict.checks import Check, CheckState
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

SIDES = ("candidate", "baseline")
NOTHING = "nothing was compared"
_MISSING = 0.10
"""The share of an arm's rollouts that may be lost, as of episodes in the other comparisons."""
_ELSEWHERE = frozenset({"schedule", "coverage", "baselines"})
"""Checks of a submission: a comparison asks for the same instances in both arms, whichever they are."""
_STATES = {
    State.OK: CheckState.OK,
    State.INCOMPLETE: CheckState.NOTED,
    State.UNKNOWN: CheckState.UNKNOWN,
    State.FAILED: CheckState.FAILED,
}


def require_one_family(*runs: PublishedRun) -> None:
    """Refuse runs of the benchmark beside runs of the embedded miniature.

    Raises:
        FamiliesMixed: some are of one and some of the other; the sentence names each.
    """
    if len({one.family for one in runs}) > 1:
        told = ", ".join(dict.fromkeys(f"{one.name} ({one.family})" for one in runs))
        raise FamiliesMixed(
            f"runs of different tasks cannot be compared: {told}",
            not_done=NOTHING,
            next_step="name two runs of the benchmark, or two of the embedded miniature",
        )


def common_tasks(
    candidate: PublishedRun, baseline: PublishedRun, asked: Collection[str]
) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """Tasks that are compared, and those of which one side alone has a whole rollout, with the side.

    Raises:
        RunsIncomparable: there is none in common, or one that was asked for is missing.
    """
    whole = [
        {task for task, artifact in run.tasks.items() if counted(artifact)[0]}
        for run in (candidate, baseline)
    ]
    lacking = [
        (task, side) for side, has in zip(SIDES, whole, strict=True) for task in asked if task not in has
    ]
    common = [task for task in BY_TASK if task in whole[0] & whole[1] and (not asked or task in asked)]
    if lacking or not common:
        told = ", ".join(f"the {side} has no whole rollout of {task}" for task, side in lacking)
        raise RunsIncomparable(
            f"{candidate.name} and {baseline.name} cannot be compared: {told or 'no task has a whole rollout in both'}",
            not_done=NOTHING,
            next_step=f"evalharness clbench check {candidate.folder} (and {baseline.folder}) lists what each rollout lacks",
        )
    only = tuple(
        (task, side)
        for side, has, other in zip(SIDES, whole, reversed(whole), strict=True)
        for task in BY_TASK
        if not asked and task in has - other
    )
    return common, only


def require_one_scale(
    candidate: PublishedRun, baseline: PublishedRun, reference: PublishedRun, scale: Scale
) -> None:
    """Refuse cohort studies whose rewards the scale does not bring to one unit.

    Raises:
        ScalesMixed: the reference's unit is not known, or a scale other than bits meets several units.
    """
    told = {"the candidate": candidate, "the baseline": baseline, "the reference's baseline": reference}
    held: dict[str, frozenset[Unit]] = {}
    for name, run in told.items():
        artifact = run.tasks.get(COHORT)
        if artifact is None or COHORT not in candidate.tasks:
            continue
        passes = [artifact.baseline] if run is reference else list(artifact.rollouts)
        held[name] = frozenset().union(*(units(one) for one in passes if one is not None))
    every = frozenset().union(*held.values()) if held else frozenset()
    if Unit.UNKNOWN in every or (scale is not Scale.BITS and len(every) > 1):
        where = "; ".join(f"{name}: {', '.join(sorted(found)) or 'none'}" for name, found in held.items())
        raise ScalesMixed(
            f"{COHORT}: rewards of different or unknown units cannot be compared on the scale {scale}: {where}",
            not_done=NOTHING,
            next_step='scale="bits" brings known units to one; leave cohort out of tasks= where a unit is not known',
        )


def trust(candidate: PublishedRun, baseline: PublishedRun) -> tuple[list[Check], list[Finding]]:
    """Every check of both runs, whether they are two, and whether they met the same instances."""
    looked, broken = [], []
    if candidate.folder.resolve() == baseline.folder.resolve():
        broken.append(Finding(Reason.SAME_BUILD, f"both are {candidate.folder}"))
    elif copied := _copied(candidate, baseline):
        broken.append(Finding(Reason.SAME_BUILD, copied))
    for side, run in zip(SIDES, (candidate, baseline), strict=True):
        for one in checks(run):
            if one.name in _ELSEWHERE:
                continue
            looked.append(Check(f"{side}: {one.name}", _STATES[one.state], one.seen))
            if one.state is State.FAILED:
                broken.append(Finding(Reason.RUN_CHECK, f"{one.name}: {one.seen}", side))
    apart = [
        told for task in candidate.tasks if (told := unlike(candidate.tasks[task], baseline.tasks[task]))
    ]
    seen = "; ".join(apart) or "the same in both arms, as far as ids and prompts tell"
    looked.append(Check("instances", CheckState.FAILED if apart else CheckState.OK, seen))
    if apart:
        broken.append(Finding(Reason.INSTANCES, "; ".join(apart)))
    return looked, broken


def _copied(candidate: PublishedRun, baseline: PublishedRun) -> str:
    """Which tasks were run once and stand in both folders: a copy differs from its original by nothing at all."""
    shared = [
        BY_TASK[task].short
        for task, artifact in candidate.tasks.items()
        if artifact.group is not None and artifact.group == baseline.tasks[task].group
    ]
    return (
        f"one and the same start of the benchmark stands in both folders: {', '.join(shared)}"
        if shared
        else ""
    )


# --------------------------------------------------------------- lost rollouts


def lost_tasks(
    candidate: PublishedRun, baseline: PublishedRun, only: Collection[tuple[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Rollouts of tasks that one side began and has no whole rollout of, by side: it is not compared, and it is not forgotten.

    Args:
        candidate: a run.
        baseline: another.
        only: tasks of which one side alone has a whole rollout, with that side.
    """
    runs = dict(zip(SIDES, (candidate, baseline), strict=True))
    found: dict[str, tuple[str, ...]] = dict.fromkeys(SIDES, ())
    for task, has in only:
        side = next(one for one in SIDES if one != has)
        run, short = runs[side], BY_TASK[task].short
        begun = task in {one.task for one in (run.manifest.tasks if run.manifest else None) or ()}
        if task in run.tasks:
            lost = counted(run.tasks[task])[1]
            found[side] += tuple(f"{short}, rollout {one.run_index}: {one.why}" for one in lost)
        elif begun:
            count = len(counted(runs[has].tasks[task])[0])
            found[side] += tuple(f"{short}, rollout {index}: it is not there" for index in range(count))
    return found


def too_many_lost(tasks: Sequence[TaskDifference], beside: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Arms that lost too many rollouts: a crash in a rollout that went badly would make what is left look good.

    Args:
        tasks: those that are compared.
        beside: rollouts of other tasks that are lost, by side.
    """
    found = []
    for side in SIDES:
        lost = [*(one for task in tasks for one in task.left_out[side]), *beside[side]]
        posted = len(lost) + sum(len(getattr(task, side)) for task in tasks)
        if lost and len(lost) > _MISSING * posted:
            told = f"{len(lost)} of {posted} rollouts: {'; '.join(lost)}"
            found.append(Finding(Reason.MISSING_OVER_LIMIT, told, side))
    return found


def extremes(tasks: Sequence[TaskDifference]) -> tuple[list[Stratum], list[Stratum]]:
    """The strata with every lost rollout against the candidate, and for it.

    What a lost rollout would have earned is not known. It is taken to be no more than the best rollout of either arm of its
    task, and no less than the worst, or than empty answers throughout.
    """
    against, towards = [], []
    for one in tasks:
        seen = (*one.candidate, *one.baseline, one.empty)
        low, high = min(seen), max(seen)
        lost_c, lost_b = (len(one.left_out[side]) for side in SIDES)
        paired = one.stratum.paired and not lost_c + lost_b
        against.append(Stratum((*one.candidate, *[low] * lost_c), (*one.baseline, *[high] * lost_b), paired))
        towards.append(Stratum((*one.candidate, *[high] * lost_c), (*one.baseline, *[low] * lost_b), paired))
    return against, towards


def mean_difference(strata: Sequence[Stratum]) -> float:
    """The unweighted mean of the strata's differences."""
    return mean_of([one.difference for one in strata])
