"""The trust report on a published run: of each check what was seen, what is needed, and how to mend it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.domains import BY_TASK, CLOSE, COHORT, DATABASE
from pytest_evalharness.clbench.orders import orders
from pytest_evalharness.clbench.poisoning import Doubt, auto_resolved, flags, is_priced, passes
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale, Unit, divergences, regret_of, reward, rewards, units
from pytest_evalharness.clbench.scoring import usable, whole_baseline
from pytest_evalharness.clbench.shapes import Outcome


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    """Something is not there yet: what is there may be believed."""
    FAILED = "failed"
    """What is there is not to be believed as it is."""
    UNKNOWN = "unknown"
    """The artifacts do not tell."""


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        name: of the check.
        state: how it ended.
        seen: what the artifacts hold.
        needed: what a result that may be believed has.
        mend: what to do; empty where all is well.
    """

    name: str
    state: State
    seen: str
    needed: str
    mend: str = ""


def checks(run: PublishedRun) -> list[Check]:
    """Every check of a run, in the order in which they are told."""
    every: tuple[Callable[[PublishedRun], Check], ...] = (
        _files, _tasks, _rollouts, _baselines, _ended, _schedule, _scale, _recomputed, _in_range, _told_rewards,
        _nothing_poisoned, _nothing_null, _seed_orders, _prices,
    )  # fmt: skip
    return [check(run) for check in every]


def _check(
    name: str, needed: str, problems: list[str], fine: str, mend: str, *, bad: State = State.FAILED
) -> Check:
    if problems:
        return Check(name, bad, "; ".join(problems), needed, mend)
    return Check(name, State.OK, fine, needed)


def _short(task: str) -> str:
    return BY_TASK[task].short


def _all(run: PublishedRun) -> Iterator[tuple[TaskArtifact, Pass]]:
    for artifact in run.tasks.values():
        for one in passes(artifact):
            yield artifact, one


def _files(run: PublishedRun) -> Check:
    problems = [f"{name}: {why}" for name, why in run.unreadable.items()]
    beside = f", beside {', '.join(run.unknown)}" if run.unknown else ""
    return _check(
        "files",
        "every file whole and of the published form",
        problems,
        f"{len(run.tasks)} artifacts{beside}",
        "copy the spoilt files again from where the run was made",
    )


def _tasks(run: PublishedRun) -> Check:
    missing = [_short(task) for task in BY_TASK if task not in run.tasks]
    return _check(
        "coverage",
        "all six tasks, else the mean is over easier or harder ones",
        [f"missing: {', '.join(missing)}"] if missing else [],
        "six of six tasks",
        "run the missing tasks; without them the run has no rank",
        bad=State.INCOMPLETE,
    )


def _rollouts(run: PublishedRun) -> Check:
    problems, full = [], []
    for task, artifact in run.tasks.items():
        kept, excluded = usable(artifact)
        problems += [f"{_short(task)}, rollout {one.run_index}: {one.why}" for one in excluded]
        problems += [
            f"{_short(task)}, {one.name}: its status is {one.status}"
            for one in kept
            if one.status not in {None, "completed"}
        ]
        if not artifact.rollouts:
            problems.append(f"{_short(task)}: no rollout")
        elif artifact.expected is None:
            problems.append(f"{_short(task)}: nothing tells how many instances are complete")
        full.append(f"{_short(task)} {len(kept)}")
    return _check(
        "rollouts",
        "every rollout completed, with every instance",
        problems,
        f"complete: {', '.join(full) or 'none'}",
        "run those rollouts again from their first instance: memory cannot be topped up",
        bad=State.INCOMPLETE,
    )


def _baselines(run: PublishedRun) -> Check:
    problems = []
    for task, artifact in run.tasks.items():
        kept, _ = usable(artifact)
        needed = artifact.expected or (len(kept[0].outcomes) if kept else 0)
        told = artifact.baseline
        if told is None:
            problems.append(f"{_short(task)}: none")
        elif whole_baseline(artifact, needed) is None:
            problems.append(f"{_short(task)}: {len(told.outcomes)} of {needed} instances")
        elif told.blocked:
            problems.append(f"{_short(task)}: {told.blocked} instances blocked by the provider")
    return _check(
        "baselines",
        "the run's own stateless baseline, whole, for each task",
        problems,
        f"{len(run.tasks)} whole",
        "run the task again with its baseline; without it there is no gain",
        bad=State.INCOMPLETE,
    )


def _ended(run: PublishedRun) -> Check:
    name, needed = "campaign", "run-all came to its end and every task ended well"
    if run.manifest is None:
        return Check(name, State.UNKNOWN, "no manifest.json", needed, "publish the whole run directory")
    told = run.manifest
    problems = [] if told.status in {None, "completed"} else [f"its status is {told.status}"]
    problems += [f"{one.task}: {one.status}" for one in told.tasks or () if one.status not in {None, "ok"}]
    return _check(
        name,
        needed,
        problems,
        "completed",
        "let the campaign end, or run the failed tasks again",
        bad=State.INCOMPLETE,
    )


def _schedule(run: PublishedRun) -> Check:
    """What the artifacts say counts: the manifest says `default` whatever was forwarded."""
    told = {task: artifact.schedule for task, artifact in run.tasks.items()}
    problems = [f"{_short(task)}: {one}" for task, one in told.items() if one not in {None, "default"}]
    arguments = (run.manifest.system_args if run.manifest else None) or []
    if any(one.partition("=")[0] in {"--schedule", "--task.schedule"} for one in arguments):
        problems.append("a --schedule was forwarded to every task")
    sizes = [
        f"{_short(task)}: {artifact.expected} instances, the default schedule has {BY_TASK[task].instances}"
        for task, artifact in run.tasks.items()
        if artifact.expected not in {None, BY_TASK[task].instances}
    ]
    problems += sizes
    name, needed = "schedule", "the default schedule of each task, with all of its instances"
    if not problems and any(one is None for one in told.values()):
        return Check(name, State.UNKNOWN, "not told for every task", needed, "publish the whole artifacts")
    return _check(
        name, needed, problems, "default", "run the default schedules: other instances have another scale"
    )


def _scale(run: PublishedRun) -> Check:
    name, needed = "one scale", "every reward of cohort studies in one unit that the data tell"
    artifact = run.tasks.get(COHORT)
    if artifact is None:
        return Check(name, State.UNKNOWN, "no cohort studies", needed, "run cohort_studies")
    held = {one.name: units(one) for one in passes(artifact) if one.outcomes}
    every = frozenset().union(*held.values()) if held else frozenset()
    shown = ", ".join(sorted(every)) or "none"
    if Unit.UNKNOWN in every or len(every) > 1:
        where = "; ".join(f"{name}: {', '.join(sorted(told))}" for name, told in held.items())
        return Check(
            name,
            State.FAILED,
            where,
            needed,
            "run the task with a benchmark that writes kl_unit, all passes anew",
        )
    mend = ""
    if every == {Unit.NATS}:
        mend = "nothing: evalharness clbench score brings them to bits; the leaderboard's script does not"
    return Check(name, State.OK, f"{shown}, as the data tell", needed, mend)


def _recomputed(run: PublishedRun) -> Check:
    problems = []
    for artifact, one in _all(run):
        wrong = [outcome.instance_id for outcome in one.outcomes if not _agrees(artifact, outcome)]
        if wrong:
            problems.append(f"{_short(artifact.task)}, {one.name}: {len(wrong)} rewards, first {wrong[0]}")
    return _check(
        "recomputed rewards",
        "stored rewards are those of the stored queries and divergences",
        problems,
        "they agree where they can be computed again",
        "find out who changed the artifact; scores here are computed from queries and divergences",
    )


def _agrees(artifact: TaskArtifact, outcome: Outcome) -> bool:
    if outcome.reward is None:
        return True
    if artifact.task == DATABASE and regret_of(outcome) is not None:
        again = reward(DATABASE, outcome, Scale.BITS, budget=artifact.query_budget)
        return abs(again - outcome.reward) <= 2 * CLOSE
    pair = divergences(outcome) if artifact.task == COHORT else None
    if pair is None or outcome.metadata is None or outcome.metadata.kl_unit is None:
        return True  # the clipped ratio is a mean of ratios, which the mean divergences do not determine
    return abs(pair[0] - pair[1] - outcome.reward) <= 2 * CLOSE


def _in_range(run: PublishedRun) -> Check:
    problems = []
    for task, artifact in run.tasks.items():
        domain = BY_TASK[task]
        most = {
            one.name: max(rewards(task, one, Scale.PREFIX, artifact.query_budget), default=0.0)
            for one in passes(artifact)
            if domain.bounded
        }
        above = {name: value for name, value in most.items() if value > domain.largest + CLOSE}
        if above:
            worst = max(above, key=lambda name: above[name])
            problems.append(f"{domain.short}: {above[worst]:g} in {worst}, and {len(above) - 1} more passes")
    return _check(
        "range",
        "no reward above what a perfect answer earns",
        problems,
        "every bounded reward is within it",
        "ask where the artifact comes from: no such reward can be earned",
    )


def _told_rewards(run: PublishedRun) -> Check:
    problems = []
    for artifact, one in _all(run):
        count = sum(outcome.reward is None for outcome in one.outcomes)
        if count:
            problems.append(f"{_short(artifact.task)}, {one.name}: {count} missing, counted as 0")
    return _check(
        "rewards told",
        "a reward for every instance",
        problems,
        "every instance has one",
        "look into the task's log for what kept them from being scored",
        bad=State.INCOMPLETE,
    )


def _nothing_poisoned(run: PublishedRun) -> Check:
    problems = [flag.words for flag in flags(run) if flag.doubt is not Doubt.ALL_NULL]
    name, needed = (
        "no poisoned instance",
        "no instance that earned nothing at no cost, none that was forfeited",
    )
    if not problems and not is_priced(run):
        return Check(
            name,
            State.UNKNOWN,
            "nothing in the run has a price",
            needed,
            "publish costs, or look into the logs",
        )
    hands = [
        str(sum(auto_resolved(artifact.task, one, outcome) for outcome in one.outcomes))
        for artifact, one in _all(run)
        if artifact.task == "exploitable_poker"
    ]
    beside = (
        f"; poker hands that ended before the system's turn, by pass: {', '.join(hands)}" if hands else ""
    )
    return _check(
        name,
        needed,
        problems,
        f"none{beside}",
        "quarantine those passes and run them again; keep the evidence, and never average them in",
    )


def _nothing_null(run: PublishedRun) -> Check:
    problems = [flag.words for flag in flags(run) if flag.doubt is Doubt.ALL_NULL]
    return _check(
        "no null rollout",
        "no pass in which every instance earned what an empty answer earns",
        problems,
        "none",
        "read the pass's log; disclose it, or run it again. Leaving it out without a word makes the score better than it is",
    )


def _seed_orders(run: PublishedRun) -> Check:
    problems, untold, compared = [], [], 0
    for task, artifact in run.tasks.items():
        found = orders(artifact)
        if found is None:
            continue
        problems += [
            f"{_short(task)}: rollouts {', '.join(map(str, group))} met one and the same sequence"
            for group in found.same
        ]
        if found.first_is_canonical is False:
            problems.append(f"{_short(task)}: rollout 0 has not the baseline's order")
        if found.untold:
            untold.append(_short(task))
        compared += len(found.digests) > 1
    name, needed = (
        "seed orders",
        "another order of instances for each seed, sales excepted; seed 0 in the baseline's",
    )
    if not problems and untold:
        return Check(
            name,
            State.UNKNOWN,
            f"cannot be told for {', '.join(untold)}",
            needed,
            "publish the interactions: without prompts positions are all there is",
        )
    return _check(
        name,
        needed,
        problems,
        f"distinct in {compared} tasks with several rollouts",
        "give run_index to the task (run-all does; the bridge does not) and run those seeds again",
    )


def _prices(run: PublishedRun) -> Check:
    problems = []
    for artifact, one in _all(run):
        if one.unpriced:
            problems.append(f"{_short(artifact.task)}, {one.name}: calls without a known price")
        elif not one.cost and one.outcomes:
            problems.append(f"{_short(artifact.task)}, {one.name}: {'no cost' if one.cost is None else '$0'}")
    return _check(
        "prices",
        "every pass has a cost, and every call a price",
        problems,
        "every pass has a cost",
        "a cost of 0 is a missing price or a refused key: look which before believing either",
        bad=State.INCOMPLETE,
    )


def full_rollouts(run: PublishedRun) -> dict[str, int]:
    """Complete rollouts by task, of all six."""
    return {task: len(usable(run.tasks[task])[0]) if task in run.tasks else 0 for task in BY_TASK}
