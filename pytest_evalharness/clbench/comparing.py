"""Did this edit of my agent help? Two runs on the same instances, judged by the shared verdict. Pure; `read_run` reads the runs.

The difference is that of the composites: the unweighted mean over the tasks of the difference in mean normalised reward. Its
unit of evidence is a rollout, because within one rollout memory ties all instances together; each task brings the spread of its
own rollouts (`stats.stratified`). A direction is told where the 1 - alpha interval excludes 0; with fewer than 10 rollouts of an
arm, or 5 of a task, the permutation test must agree; with fewer than 5, or one of some task, nothing is told: one seed is a smoke test.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pytest_evalharness.clbench.comparable import (
    NOTHING,
    common_tasks,
    extremes,
    lost_tasks,
    mean_difference,
    require_one_family,
    require_one_scale,
    too_many_lost,
    trust,
)
from pytest_evalharness.clbench.composites import Composites, RolloutReading, planning, read_rollouts
from pytest_evalharness.clbench.domains import Family
from pytest_evalharness.clbench.pairing import TaskDifference, counted, difference_of, normalising
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.clbench.whole_passes import whole_baseline
from pytest_evalharness.errors import ReferenceMissing
from pytest_evalharness.stats.scores import Means
from pytest_evalharness.stats.stratified import smallest_p, stratified_t
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.figures import signed
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Separated, Verdict

METRIC = "clbench:normalised_reward"
"""The declared metric of every comparison of runs."""


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
        p_gate: the larger of the two tests' p-values, by which a direction is told; 1 where nothing is told.
        p_adjusted: the same among all comparisons that are tested together.
        family: how many these are, itself included; None where it is adjusted for nobody.
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
    p_gate: float = 1.0
    p_adjusted: float = 1.0
    family: int | None = None
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
    others: Sequence[float] | None = None,
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
        others: p-values of the comparisons that are tested together with this one, for Holm's adjustment; None if it is
            adjusted for nobody.
        aa: whether both are one system by design. A direction is then an alarm; no difference is what was to be expected.

    Raises:
        FamiliesMixed: one is of the embedded miniature and another is not.
        RunsIncomparable: there is no task of which both have a whole rollout, or one that was asked for is missing.
        ScalesMixed: rewards of cohort studies are in units that the scale does not bring to one.
        ReferenceMissing: the run that normalises lacks a task's baseline, has another number of instances in it, or leaves
            nothing above it.
    """
    require_one_family(candidate, baseline, reference or baseline)
    common, only = common_tasks(candidate, baseline, tasks)
    sides = [replace(run, tasks={task: run.tasks[task] for task in common}) for run in (candidate, baseline)]
    looked, broken = trust(*sides)
    told = () if broken else _differences(sides[0], sides[1], reference or baseline, scale, common)
    if told:
        broken += too_many_lost(told, lost_tasks(candidate, baseline, only))
    composites = Composites(told)
    tested = None if aa else others
    reading = read_rollouts(composites, Standard.of(declaration), tested or ())
    judged = _judged(declaration, composites, reading, broken, aa=aa)
    trusted = judged.verdict is not Verdict.UNTRUSTWORTHY
    found = composites.means(declaration.alpha) if told and trusted and composites.measurable else None
    detectable, needed = planning(composites, declaration, found)
    p_exact = reading.p_exact if trusted else None
    return RunComparison(
        declaration=declaration,
        names=(candidate.name, baseline.name),
        folders=(str(candidate.folder), str(baseline.folder)),
        normalised_by=(reference or baseline).name,
        scale=scale,
        tasks=told,
        only=only,
        verdict=judged.verdict,
        decision=judged.decision,
        reasons=judged.reasons,
        checks=(*looked, *beside),
        means=_means(told) if told and trusted else None,
        found=found,
        p_exact=p_exact,
        least_p=None if p_exact is None else smallest_p(composites.strata),
        detectable=detectable,
        needed=needed,
        p_gate=reading.p_gate if trusted else 1.0,
        p_adjusted=reading.p_adjusted if trusted else 1.0,
        family=None if tested is None else 1 + len(tested),
        embedded=candidate.family is Family.EMBEDDED,
        aa=aa,
    )


def _differences(
    candidate: PublishedRun, baseline: PublishedRun, reference: PublishedRun, scale: Scale, tasks: list[str]
) -> tuple[TaskDifference, ...]:
    require_one_scale(candidate, baseline, reference, scale)
    found = []
    for task in tasks:
        instances = len(counted(candidate.tasks[task])[0][0].outcomes)
        held = reference.tasks.get(task)
        scaled = None if held is None else normalising(held, instances, scale)
        if scaled is None:
            why = f"has no stateless baseline of {instances} instances of it"
            if held is not None and whole_baseline(held, instances) is not None:
                why = "has a stateless baseline that earns all that there is to earn: nothing is left to measure by"
            raise ReferenceMissing(
                f"{task} cannot be normalised: {reference.name} {why}",
                not_done=f"{NOTHING}; no other baseline was taken in its place",
                next_step='name a run whose baselines are whole: reference="RUNDIR" in the mark, or --eval-clbench-reference',
            )
        found.append(difference_of(candidate.tasks[task], baseline.tasks[task], scaled))
    return tuple(found)


@dataclass(frozen=True)
class _Judged:
    """Trust first, then what the rollouts say, then what becomes of the claim."""

    verdict: Verdict
    decision: Decision
    reasons: tuple[Finding, ...]


def _judged(
    declaration: Declaration,
    composites: Composites,
    reading: RolloutReading,
    broken: Sequence[Finding],
    *,
    aa: bool,
) -> _Judged:
    failed, notes = list(broken), reading.notes
    if aa and not failed and reading.verdict in {Verdict.BETTER, Verdict.WORSE}:
        failed.append(Finding(Reason.AA_ALARM, f"the rollouts say {reading.verdict}"))
    limits = (
        rules.margins(composites, Standard.of(declaration))
        if composites.tasks and composites.fewest
        else None
    )
    fewest = composites.fewest if composites.measurable else 0
    if fewest and not failed:
        unshaken = rules.decide(declaration, reading.verdict, Separated.NONE, limits, fewest)
        turned, weakened = _shaken(composites, declaration, reading.verdict, unshaken)
        failed += turned
        notes += weakened
    verdict = Verdict.UNTRUSTWORTHY if failed else reading.verdict
    decision = rules.decide(declaration, verdict, Separated.NONE, limits, fewest, aa=aa)
    return _Judged(verdict, decision, tuple(failed) or notes)


def _shaken(
    composites: Composites, declaration: Declaration, verdict: Verdict, decision: Decision
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What lost rollouts could do to what was found: turn it around, which nobody may believe, or only weaken it."""
    lost = sum(len(names) for one in composites.tasks for names in one.left_out.values())
    if not lost:
        return (), ()
    against, towards = extremes(composites.tasks)
    worst, best = mean_difference(against), mean_difference(towards)
    told = f"with {lost} lost the difference may be {signed(worst, 4)} to {signed(best, 4)}"
    margin = declaration.margin or 0.0
    noninferior = declaration.claim is Claim.NONINFERIOR
    turned = (
        (verdict is Verdict.BETTER and worst <= 0.0)
        or (verdict is Verdict.WORSE and best >= 0.0)
        or (verdict is Verdict.EQUIVALENT and max(-worst, best) >= margin)
        or (noninferior and decision is Decision.MET and worst <= -margin)
        or (noninferior and decision is Decision.NOT_MET and best >= -margin)
    )
    if turned:
        return (Finding(Reason.MISSING_REVERSES, told),), ()
    weakened = (verdict is Verdict.BETTER and stratified_t(against, declaration.alpha).low <= 0.0) or (
        verdict is Verdict.WORSE and stratified_t(towards, declaration.alpha).high >= 0.0
    )
    return (), (Finding(Reason.MISSING_WEAKENS, told),) if weakened else ()


def _means(tasks: tuple[TaskDifference, ...]) -> tuple[float, float]:
    arms = [
        [sum(numbers) / len(numbers) for numbers in arm]
        for arm in zip(*((one.candidate, one.baseline) for one in tasks), strict=True)
    ]
    return sum(arms[0]) / len(tasks), sum(arms[1]) / len(tasks)
