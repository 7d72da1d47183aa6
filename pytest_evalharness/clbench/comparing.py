"""Did this edit of my agent help? Two runs on the same instances, judged by the shared verdict. Pure; `read_run` reads the runs.

The difference is that of the composites: the unweighted mean over the tasks of the difference in mean normalised reward. Its
unit of evidence is a rollout, because within one rollout memory ties all instances together; each task brings the spread of its
own rollouts (`stats.stratified`). A direction is told where the 1 - alpha interval excludes 0; with fewer than 10 rollouts of an
arm, or 5 of a task, the permutation test must agree; with fewer than 5, or one of some task, nothing is told: one seed is a smoke test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
from pytest_evalharness.clbench.domains import BY_TASK, Family
from pytest_evalharness.clbench.pairing import TaskDifference, counted, difference_of, normalising
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.scales import Scale
from pytest_evalharness.clbench.scoring import whole_baseline
from pytest_evalharness.errors import ReferenceMissing
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.stats.scores import Means
from pytest_evalharness.stats.stratified import (
    Stratum,
    smallest_p,
    stratified_permutation_p,
    stratified_t,
)
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Margins
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.figures import signed
from pytest_evalharness.verdict.gate import adjusted_p
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Separated, Verdict

METRIC = "clbench:normalised_reward"
"""The declared metric of every comparison of runs."""
_SEED = 20260901
"""Where deals are too many to list they are drawn; the same numbers, the same p-value."""
_POWER_TAIL = 0.4
"""Two-sided, the z of 80 % power."""
_FEWEST_OF_A_TASK = 2


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
    def small(self) -> bool:
        """Whether the permutation test has to agree: with few rollouts in all, or of one task.

        With 2 or 3 of a task that varies far more than the others, the t interval errs in up to 9 % where 5 % are allowed.
        """
        return self.fewest < rules.SMALL or any(one.fewest < rules.FEWEST for one in self.tasks)

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
    standard = Standard.of(declaration)
    reading = _reading(composites, standard, () if others is None or aa else others)
    notes, p_exact = reading.notes, reading.p_exact
    if aa and not broken and reading.verdict in {Verdict.BETTER, Verdict.WORSE}:
        broken.append(Finding(Reason.AA_ALARM, f"the rollouts say {reading.verdict}"))
    limits = rules.margins(composites, standard) if told and composites.fewest else None
    fewest = composites.fewest if composites.measurable else 0
    if fewest and not broken:
        alone = rules.decide(declaration, reading.verdict, Separated.NONE, limits, fewest)
        turned, weakened = _shaken(composites, declaration, reading.verdict, alone)
        broken += turned
        notes += weakened
    verdict = Verdict.UNTRUSTWORTHY if broken else reading.verdict
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
        1.0 if broken else reading.p_gate,
        1.0 if broken else reading.p_adjusted,
        None if others is None or aa else 1 + len(others),
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


@dataclass(frozen=True)
class _Read:
    """What the rollouts alone say, with the particulars of every reason and the p-values behind it."""

    verdict: Verdict
    notes: tuple[Finding, ...]
    p_exact: float | None = None
    p_gate: float = 1.0
    p_adjusted: float = 1.0


def _reading(composites: Composites, standard: Standard, others: Sequence[float]) -> _Read:
    if not composites.tasks or not composites.measurable or composites.fewest < rules.FEWEST:
        told = "; ".join(_few(composites.tasks))
        return _Read(Verdict.INCONCLUSIVE, (Finding(Reason.FEW_ROLLOUTS, told),))
    found = composites.means(standard.alpha)
    if found.p is None:
        told = "rollouts of each arm earned one and the same"
        return _Read(Verdict.INCONCLUSIVE, (Finding(Reason.NO_SPREAD, told),))
    towards, p_exact, p_gate = int(found.low > 0.0) - int(found.high < 0.0), None, found.p
    if composites.small:
        p_exact = composites.exact_p()
        p_gate = max(p_gate, p_exact)
    p_adjusted = adjusted_p(p_gate, others)
    against = Reason.FAMILY if p_adjusted > standard.alpha else None
    if p_exact is not None and p_exact > standard.alpha:
        against = Reason.EXACT_DISAGREES
    reading = rules.conclude(composites, standard, towards, against=against, p_exact=p_exact)
    notes = tuple(_particulars(composites, reading, p_exact))
    return _Read(reading.verdict, notes, p_exact, p_gate, p_adjusted)


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
