"""Checks of what was measured: units, rewards, outages, orders, costs. Pure."""

from __future__ import annotations

from pytest_evalharness.clbench.artifact import TaskArtifact
from pytest_evalharness.clbench.checking import Check, State, every_pass, judged, short
from pytest_evalharness.clbench.domains import BY_TASK, CLOSE, COHORT, DATABASE, Family
from pytest_evalharness.clbench.orders import orders
from pytest_evalharness.clbench.poisoning import Doubt, auto_resolved, flags, is_priced, passes
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale, Unit, divergences, regret_of, reward, rewards, units
from pytest_evalharness.clbench.shapes import Outcome

_BEFORE = {Family.OFFICIAL: "poker hands", Family.EMBEDDED: "rounds of the duel"}
"""What may be over before the system's turn."""


def one_scale(run: PublishedRun) -> Check:
    """Whether cohort studies are in one unit that is told."""
    name, needed = "one scale", "every reward of cohort studies in one unit that the data tell"
    if run.family is Family.EMBEDDED:
        return Check(name, State.OK, "no task of the embedded miniature has more than one", needed)
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


def recomputed(run: PublishedRun) -> Check:
    """Whether stored rewards are those of the stored queries and divergences."""
    problems = []
    for artifact, one in every_pass(run):
        wrong = [outcome.instance_id for outcome in one.outcomes if not _agrees(artifact, outcome)]
        if wrong:
            problems.append(f"{short(artifact.task)}, {one.name}: {len(wrong)} rewards, first {wrong[0]}")
    return judged(
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


def in_range(run: PublishedRun) -> Check:
    """Whether no reward is above the largest."""
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
    return judged(
        "range",
        "no reward above what a perfect answer earns",
        problems,
        "every bounded reward is within it",
        "ask where the artifact comes from: no such reward can be earned",
    )


def rewards_told(run: PublishedRun) -> Check:
    """Whether every instance has a reward."""
    problems = []
    for artifact, one in every_pass(run):
        count = sum(outcome.reward is None for outcome in one.outcomes)
        if count:
            problems.append(f"{short(artifact.task)}, {one.name}: {count} missing, counted as 0")
    return judged(
        "rewards told",
        "a reward for every instance",
        problems,
        "every instance has one",
        "look into the task's log for what kept them from being scored",
        bad=State.INCOMPLETE,
    )


def nothing_poisoned(run: PublishedRun) -> Check:
    """Whether no instance measures an outage."""
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
        for artifact, one in every_pass(run)
        if BY_TASK[artifact.task].auto_resolves
    ]
    beside = (
        f"; {_BEFORE[run.family]} that ended before the system's turn, by pass: {', '.join(hands)}"
        if hands
        else ""
    )
    return judged(
        name,
        needed,
        problems,
        f"none{beside}",
        "quarantine those passes and run them again; keep the evidence, and never average them in",
    )


def nothing_null(run: PublishedRun) -> Check:
    """Whether no pass is as empty as an empty answer."""
    problems = [flag.words for flag in flags(run) if flag.doubt is Doubt.ALL_NULL]
    return judged(
        "no null rollout",
        "no pass in which every instance earned what an empty answer earns",
        problems,
        "none",
        "read the pass's log; disclose it, or run it again. Leaving it out without a word makes the score better than it is",
    )


def seed_orders(run: PublishedRun) -> Check:
    """Whether each seed met another order."""
    problems, untold, compared = [], [], 0
    for task, artifact in run.tasks.items():
        found = orders(artifact)
        if found is None:
            continue
        problems += [
            f"{short(task)}: rollouts {', '.join(map(str, group))} met one and the same sequence"
            for group in found.same
        ]
        if found.first_is_canonical is False:
            problems.append(f"{short(task)}: rollout 0 has not the baseline's order")
        if found.untold:
            untold.append(short(task))
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
    return judged(
        name,
        needed,
        problems,
        f"distinct in {compared} tasks with several rollouts",
        "give run_index to the task (run-all does; the bridge does not) and run those seeds again",
    )


def prices(run: PublishedRun) -> Check:
    """Whether every pass has a cost."""
    problems = []
    for artifact, one in every_pass(run):
        if one.unpriced:
            problems.append(f"{short(artifact.task)}, {one.name}: calls without a known price")
        elif not one.cost and one.outcomes:
            problems.append(f"{short(artifact.task)}, {one.name}: {'no cost' if one.cost is None else '$0'}")
    return judged(
        "prices",
        "every pass has a cost, and every call a price",
        problems,
        "every pass has a cost",
        "a cost of 0 is a missing price or a refused key: look which before believing either",
        bad=State.INCOMPLETE,
    )
