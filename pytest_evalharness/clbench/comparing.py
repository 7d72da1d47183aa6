"""Did this edit of my agent help? Two runs on the same instances, judged by the shared verdict. Pure; `read_run` reads the runs.

The difference is that of the composites: the unweighted mean over the tasks of the difference in mean normalised reward. Its
unit of evidence is a rollout, because within one rollout memory ties all instances together; each task brings the spread of its
own rollouts (`stats.stratified`). A direction is told where the 1 - alpha interval excludes 0; with fewer than 10 rollouts of an
arm the permutation test must agree; with fewer than 5, or one of some task, nothing is told: one seed is a smoke test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from pytest_evalharness.clbench.checking import State
from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.pairing import TaskDifference, difference_of, normalising, unlike
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.clbench.scoring import usable
from pytest_evalharness.clbench.trust import checks
from pytest_evalharness.errors import ReferenceMissing, RunsIncomparable
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.stats.scores import Means
from pytest_evalharness.stats.stratified import (
    Stratum,
    smallest_p,
    stratified_permutation_p,
    stratified_t,
)
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.checks import Check, CheckState
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Margins
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Decision, Reason, Separated, Verdict

METRIC = "clbench:normalised_reward"
"""The declared metric of every comparison of runs."""
SIDES = ("candidate", "baseline")
_SEED = 20260901
"""Where deals are too many to list they are drawn; the same numbers, the same p-value."""
_POWER_TAIL = 0.4
"""Two-sided, the z of 80 % power."""
_MISSING = 0.10
"""The share of an arm's rollouts that may be lost, as of episodes in the other comparisons."""
_FEWEST_OF_A_TASK = 2
_NOTHING = "nothing was compared"
_ELSEWHERE = frozenset({"schedule", "coverage", "baselines"})
"""Checks of a submission: a comparison asks for the same instances in both arms, whichever they are."""
_STATES = {
    State.OK: CheckState.OK,
    State.INCOMPLETE: CheckState.NOTED,
    State.UNKNOWN: CheckState.UNKNOWN,
    State.FAILED: CheckState.FAILED,
}


@dataclass(frozen=True)
class Composites:
    """The rollouts of every task, as the rules ask them."""

    tasks: tuple[TaskDifference, ...]

    @property
    def strata(self) -> list[Stratum]:
        """A stratum a task."""
        return [one.stratum for one in self.tasks]

    @property
    def fewest(self) -> int:
        """Rollouts of the arm that has fewer, over all tasks."""
        return min(self.rollouts)

    @property
    def rollouts(self) -> tuple[int, int]:
        """Rollouts of the candidate and of the baseline."""
        return sum(len(one.candidate) for one in self.tasks), sum(len(one.baseline) for one in self.tasks)

    @property
    def measurable(self) -> bool:
        """Whether every task tells how far its rollouts differ."""
        return all(one.fewest >= _FEWEST_OF_A_TASK for one in self.tasks)

    def means(self, alpha: float) -> Means:
        """The difference with its 1 - alpha interval; only where it is `measurable`."""
        return stratified_t(self.strata, alpha)

    def exact_p(self) -> float:
        """The permutation test's p-value."""
        import numpy as np

        return stratified_permutation_p(self.strata, random=np.random.default_rng(_SEED))

    def margins(self, margin: float, alpha: float) -> Margins:
        """Where the 1 - 2 alpha interval lies against a margin; nowhere for certain where nothing varies."""
        found = self.means(2.0 * alpha) if self.measurable else None
        if found is None or found.p is None:
            return Margins(above=False, wholly_below=False, below=False, wholly_above=False)
        return Margins(
            above=found.low > -margin,
            wholly_below=found.high < -margin,
            below=found.high < margin,
            wholly_above=found.low > margin,
        )


@dataclass(frozen=True)
class RunComparison:
    """A comparison that has been judged.

    Attributes:
        declaration: what was declared before.
        names: the two runs, candidate first.
        folders: where they are.
        normalised_by: the run whose stateless baselines normalise both.
        scale: of cohort studies.
        tasks: each task's own difference; not judged by itself.
        only: tasks that one of the runs alone has whole rollouts of, with the side.
        verdict: what the evidence says, trust included.
        decision: what becomes of the claim.
        reasons: all reasons; of an untrustworthy comparison every failed check.
        checks: what was looked at before the effect was read.
        means: the mean normalised reward of both arms; None where it must not or cannot be told.
        found: the difference with its interval and test; likewise.
        p_exact: the permutation test's p-value where it had to agree.
        least_p: the smallest that it could have been; likewise.
        detectable: the smallest true difference that such runs find with 80 % power; None where nothing tells the spread.
        needed: rollouts a task with which `target_lift` is found with 80 % power; likewise.
        embedded: whether the runs are of the embedded miniature.
        aa: whether both are one system by design.
    """

    declaration: Declaration
    names: tuple[str, str]
    folders: tuple[str, str]
    normalised_by: str
    scale: Scale
    tasks: tuple[TaskDifference, ...]
    only: tuple[tuple[str, str], ...]
    verdict: Verdict
    decision: Decision
    reasons: tuple[Finding, ...]
    checks: tuple[Check, ...]
    means: tuple[float, float] | None
    found: Means | None
    p_exact: float | None
    least_p: float | None
    detectable: float | None
    needed: int | None
    embedded: bool = False
    aa: bool = False

    @property
    def rollouts(self) -> tuple[int, int]:
        """Whole rollouts of the candidate and of the baseline."""
        return Composites(self.tasks).rollouts


def compare(
    declaration: Declaration,
    candidate: PublishedRun,
    baseline: PublishedRun,
    *,
    reference: PublishedRun | None = None,
    scale: Scale = Scale.BITS,
    tasks: Collection[str] = (),
    beside: Collection[Check] = (),
    aa: bool = False,
) -> RunComparison:
    """Compare two runs: trust first, then the effect, then the claim.

    Args:
        declaration: what was declared; its metric is `METRIC`.
        candidate: the run of the edited agent.
        baseline: the run that it is compared with.
        reference: the run whose stateless baselines normalise both arms; the baseline run if left out.
        scale: of cohort studies.
        tasks: those that are compared; all that both have if left out.
        beside: what else was looked at, and is told with the checks of the runs.
        aa: whether both are one system by design. A direction is then an alarm; no difference is what was to be expected.

    Raises:
        RunsIncomparable: there is no task of which both have a whole rollout, or one that was asked for is missing.
        ReferenceMissing: the run that normalises lacks a task's baseline, or has another number of instances in it.
    """
    common, only = _common(candidate, baseline, tasks)
    sides = [replace(run, tasks={task: run.tasks[task] for task in common}) for run in (candidate, baseline)]
    looked, broken = _trust(*sides)
    told = () if broken else _differences(sides[0], sides[1], reference or baseline, scale, common)
    broken += _lost(told)
    composites = Composites(told)
    standard = Standard.of(declaration)
    reading, notes, p_exact = _reading(composites, standard)
    if aa and not broken and reading.verdict in {Verdict.BETTER, Verdict.WORSE}:
        broken.append(Finding(Reason.AA_ALARM, f"the rollouts say {reading.verdict}"))
    verdict = Verdict.UNTRUSTWORTHY if broken else reading.verdict
    limits = rules.margins(composites, standard) if told and composites.fewest else None
    fewest = composites.fewest if composites.measurable else 0
    measured = bool(told) and not broken and composites.measurable
    found = composites.means(declaration.alpha) if measured else None
    detectable, needed = _planning(composites, declaration, found)
    return RunComparison(
        declaration,
        (candidate.name, baseline.name),
        (str(candidate.folder), str(baseline.folder)),
        (reference or baseline).name,
        scale,
        told,
        only,
        verdict,
        rules.decide(declaration, verdict, Separated.NONE, limits, fewest, aa=aa),
        tuple(broken) or notes,
        (*looked, *beside),
        _means(told) if told and not broken else None,
        found,
        None if broken else p_exact,
        smallest_p(composites.strata) if p_exact is not None and not broken else None,
        detectable,
        needed,
        embedded=candidate.family is Family.EMBEDDED,
        aa=aa,
    )


def _common(
    candidate: PublishedRun, baseline: PublishedRun, asked: Collection[str]
) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    whole = [
        {task for task, artifact in run.tasks.items() if usable(artifact)[0]} for run in (candidate, baseline)
    ]
    lacking = [
        (task, side) for side, has in zip(SIDES, whole, strict=True) for task in asked if task not in has
    ]
    common = [task for task in BY_TASK if task in whole[0] & whole[1] and (not asked or task in asked)]
    if lacking or not common:
        told = ", ".join(f"the {side} has no whole rollout of {task}" for task, side in lacking)
        raise RunsIncomparable(
            f"{candidate.name} and {baseline.name} cannot be compared: {told or 'no task has a whole rollout in both'}",
            not_done=_NOTHING,
            next_step=f"evalharness clbench check {candidate.folder} (and {baseline.folder}) lists what each rollout lacks",
        )
    only = tuple(
        (task, side)
        for side, has, other in zip(SIDES, whole, reversed(whole), strict=True)
        for task in BY_TASK
        if not asked and task in has - other
    )
    return common, only


def _trust(candidate: PublishedRun, baseline: PublishedRun) -> tuple[list[Check], list[Finding]]:
    """Every check of both runs, and whether they met the same instances."""
    looked, broken = [], []
    if candidate.folder.resolve() == baseline.folder.resolve():
        broken.append(Finding(Reason.SAME_BUILD, f"both are {candidate.folder}"))
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


def _differences(
    candidate: PublishedRun, baseline: PublishedRun, reference: PublishedRun, scale: Scale, tasks: list[str]
) -> tuple[TaskDifference, ...]:
    found = []
    for task in tasks:
        instances = len(usable(candidate.tasks[task])[0][0].outcomes)
        held = reference.tasks.get(task)
        scaled = None if held is None else normalising(held, instances, scale)
        if scaled is None:
            raise ReferenceMissing(
                f"{task} cannot be normalised: {reference.name} has no stateless baseline of {instances} instances of it",
                not_done=f"{_NOTHING}; no other baseline was taken in its place",
                next_step='name a run whose baselines are whole: reference="RUNDIR" in the mark, or --eval-clbench-reference',
            )
        found.append(difference_of(candidate.tasks[task], baseline.tasks[task], scaled))
    return tuple(found)


def _lost(tasks: tuple[TaskDifference, ...]) -> list[Finding]:
    """Arms that lost too many rollouts: a crash in a rollout that went badly would make what is left look good."""
    found = []
    for side in SIDES:
        lost = [one for task in tasks for one in task.left_out[side]]
        posted = len(lost) + sum(len(getattr(task, side)) for task in tasks)
        if lost and len(lost) > _MISSING * posted:
            told = f"{len(lost)} of {posted} rollouts: {'; '.join(lost)}"
            found.append(Finding(Reason.MISSING_OVER_LIMIT, told, side))
    return found


def _reading(
    composites: Composites, standard: Standard
) -> tuple[rules.Reading, tuple[Finding, ...], float | None]:
    """What the rollouts alone say, with the particulars of every reason."""
    if not composites.tasks or not composites.measurable or composites.fewest < rules.FEWEST:
        told = "; ".join(_few(composites.tasks))
        reading = rules.Reading(Verdict.INCONCLUSIVE, (Reason.FEW_ROLLOUTS,))
        return reading, (Finding(Reason.FEW_ROLLOUTS, told),), None
    found = composites.means(standard.alpha)
    if found.p is None:
        reading = rules.Reading(Verdict.INCONCLUSIVE, (Reason.NO_SPREAD,))
        return reading, (Finding(Reason.NO_SPREAD, "rollouts of each arm earned one and the same"),), None
    towards, p_exact, against = int(found.low > 0.0) - int(found.high < 0.0), None, None
    if composites.fewest < rules.SMALL:
        p_exact = composites.exact_p()
        against = Reason.EXACT_DISAGREES if p_exact > standard.alpha else None
    reading = rules.conclude(composites, standard, towards, against=against, p_exact=p_exact)
    return reading, tuple(_particulars(composites, reading, p_exact)), p_exact


def _few(tasks: tuple[TaskDifference, ...]) -> Iterator[str]:
    for one in tasks:
        if one.fewest < _FEWEST_OF_A_TASK:
            yield f"{BY_TASK[one.task].short} has {len(one.candidate)} and {len(one.baseline)}"
    if tasks:
        n_c, n_b = Composites(tasks).rollouts
        yield f"{n_c} and {n_b} in all"


def _particulars(composites: Composites, reading: rules.Reading, p_exact: float | None) -> Iterator[Finding]:
    for reason in reading.reasons:
        detail = ""
        if reason is Reason.EXACT_DISAGREES and p_exact is not None:
            detail = f"rollouts: p={p_exact:.2g}, and so few cannot give less than {smallest_p(composites.strata):.2g}"
        yield Finding(reason, detail)


def _means(tasks: tuple[TaskDifference, ...]) -> tuple[float, float]:
    arms = [
        [sum(numbers) / len(numbers) for numbers in arm]
        for arm in zip(*((one.candidate, one.baseline) for one in tasks), strict=True)
    ]
    return sum(arms[0]) / len(tasks), sum(arms[1]) / len(tasks)


def _planning(
    composites: Composites, declaration: Declaration, found: Means | None
) -> tuple[float | None, int | None]:
    """What such runs find, and rollouts a task that the target takes, at the spread that was seen (Cohen 1988, ch. 2)."""
    import math

    if found is None or found.p is None:
        return None, None
    detectable = (critical(declaration.alpha) + critical(_POWER_TAIL)) * found.standard_error
    smallest = min(one.fewest for one in composites.tasks)
    return detectable, max(
        _FEWEST_OF_A_TASK, math.ceil(smallest * (detectable / declaration.target_lift) ** 2)
    )
