"""Checks of what is there: files, tasks, rollouts, baselines, the schedule. Pure."""

from __future__ import annotations

from pytest_evalharness.clbench.checking import Check, State, judged, short
from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.shapes import Salvaged
from pytest_evalharness.clbench.whole_passes import usable, whole_baseline

_COUNTS = {Family.OFFICIAL: "six", Family.EMBEDDED: "four"}


def files(run: PublishedRun) -> Check:
    """Whether every file can be read."""
    problems = [f"{name}: {why}" for name, why in run.unreadable.items()]
    beside = f", beside {', '.join(run.unknown)}" if run.unknown else ""
    return judged(
        "files",
        "every file whole and of the published form",
        problems,
        f"{len(run.tasks)} artifacts{beside}",
        "copy the spoilt files again from where the run was made",
    )


def coverage(run: PublishedRun) -> Check:
    """Whether all tasks of its family are there."""
    every = run.family.tasks
    count = _COUNTS[run.family]
    missing = [short(task) for task in every if task not in run.tasks]
    return judged(
        "coverage",
        f"all {count} tasks, else the mean is over easier or harder ones",
        [f"missing: {', '.join(missing)}"] if missing else [],
        f"{count} of {count} tasks",
        "run the missing tasks; without them the run has no rank",
        bad=State.INCOMPLETE,
    )


def rollouts(run: PublishedRun) -> Check:
    """Whether every rollout is complete."""
    problems, full = [], []
    for task, artifact in run.tasks.items():
        kept, excluded = usable(artifact)
        problems += [f"{short(task)}, rollout {one.run_index}: {one.why}" for one in excluded]
        problems += [
            f"{short(task)}, {one.name}: its status is {one.status}"
            for one in kept
            if one.status not in {None, "completed"}
        ]
        if not artifact.rollouts:
            problems.append(f"{short(task)}: no rollout")
        elif artifact.expected is None:
            problems.append(f"{short(task)}: nothing tells how many instances are complete")
        full.append(f"{short(task)} {len(kept)}")
    return judged(
        "rollouts",
        "every rollout completed, with every instance",
        problems,
        f"complete: {', '.join(full) or 'none'}",
        "run those rollouts again from their first instance: memory cannot be topped up",
        bad=State.INCOMPLETE,
    )


def baselines(run: PublishedRun) -> Check:
    """Whether each task has its own whole baseline."""
    problems = []
    for task, artifact in run.tasks.items():
        kept, _ = usable(artifact)
        needed = artifact.expected or (len(kept[0].outcomes) if kept else 0)
        told = artifact.baseline
        if told is None:
            problems.append(f"{short(task)}: none")
        elif whole_baseline(artifact, needed) is None:
            problems.append(f"{short(task)}: {len(told.outcomes)} of {needed} instances")
        elif told.blocked:
            problems.append(f"{short(task)}: {told.blocked} instances blocked by the provider")
    return judged(
        "baselines",
        "the run's own stateless baseline, whole, for each task",
        problems,
        f"{len(run.tasks)} whole",
        "run the task again with its baseline; without it there is no gain",
        bad=State.INCOMPLETE,
    )


def campaign(run: PublishedRun) -> Check:
    """Whether the campaign came to its end."""
    name, needed = "campaign", "run-all came to its end and every task ended well"
    if run.manifest is None:
        return Check(name, State.UNKNOWN, "no manifest.json", needed, "publish the whole run directory")
    told = run.manifest
    problems = [] if told.status in {None, "completed"} else [f"its status is {told.status}"]
    problems += [f"{one.task}: {one.status}" for one in told.tasks or () if one.status not in {None, "ok"}]
    return judged(
        name,
        needed,
        problems,
        "completed",
        "let the campaign end, or run the failed tasks again",
        bad=State.INCOMPLETE,
    )


def salvaged(run: PublishedRun) -> Check:
    """Whether artifacts were put together after a crash, and whether rollouts were lost in it."""
    made = {task: told for task, artifact in run.tasks.items() if (told := artifact.salvaged) is not None}
    whole = [
        f"{short(task)}{', of several starts' if len(told.groups or ()) > 1 else ''}"
        for task, told in made.items()
    ]
    return judged(
        "salvage",
        "every pass of a task: rollouts that ended before a crash are no random sample of all",
        [_partial(task, told) for task, told in made.items() if told.partial],
        f"put together from whole passes: {', '.join(whole)}" if whole else "as the benchmark wrote them",
        "evalharness clbench run --missing-only runs these tasks again, each as a whole",
        bad=State.INCOMPLETE,
    )


def _partial(task: str, told: Salvaged) -> str:
    of = "" if told.rollouts_expected is None else f" of {told.rollouts_expected}"
    lost = [
        f"{one.run_index} after {one.instances or 0}{'' if one.expected is None else f' of {one.expected}'} instances"
        for one in told.written_off or ()
    ]
    what = f"{short(task)}: partial, {len(told.rollouts_complete or ())}{of} rollouts"
    if not told.lacks_rollouts:
        return f"{what}, no whole baseline"
    return f"{what}; written off: {', '.join(lost)}" if lost else what


def schedule(run: PublishedRun) -> Check:
    """What the artifacts say counts: the manifest says `default` whatever was forwarded."""
    told = {task: artifact.schedule for task, artifact in run.tasks.items()}
    problems = [f"{short(task)}: {one}" for task, one in told.items() if one not in {None, "default"}]
    arguments = (run.manifest.system_args if run.manifest else None) or []
    if any(one.partition("=")[0] in {"--schedule", "--task.schedule"} for one in arguments):
        problems.append("a --schedule was forwarded to every task")
    sizes = [
        f"{short(task)}: {artifact.expected} instances, the default schedule has {BY_TASK[task].instances}"
        for task, artifact in run.tasks.items()
        if artifact.expected not in {None, BY_TASK[task].instances}
    ]
    problems += sizes
    name, needed = "schedule", "the default schedule of each task, with all of its instances"
    if not problems and any(one is None for one in told.values()):
        return Check(name, State.UNKNOWN, "not told for every task", needed, "publish the whole artifacts")
    return judged(
        name, needed, problems, "default", "run the default schedules: other instances have another scale"
    )
