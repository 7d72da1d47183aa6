"""What the rollouts of two runs say, as the verdict's rules ask them: each task a stratum, every rollout a unit. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_evalharness.clbench.domains import BY_TASK
from pytest_evalharness.clbench.pairing import TaskDifference
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.stats.scores import Means
from pytest_evalharness.stats.stratified import (
    Stratum,
    smallest_p,
    stratified_permutation_p,
    stratified_t,
)
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Margins
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.gate import adjusted_p
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Reason, Verdict

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
class RolloutReading:
    """What the rollouts alone say.

    Attributes:
        verdict: whatever becomes of trust and of the claim.
        notes: why, with the particulars of every reason.
        p_exact: the permutation test's p-value where it had to agree.
        p_gate: the larger of the two tests' p-values; 1 where nothing is told.
        p_adjusted: the same among all comparisons that are tested together.
    """

    verdict: Verdict
    notes: tuple[Finding, ...]
    p_exact: float | None = None
    p_gate: float = 1.0
    p_adjusted: float = 1.0


def read_rollouts(composites: Composites, standard: Standard, others: Sequence[float]) -> RolloutReading:
    """The verdict of the rollouts alone.

    Args:
        composites: of the tasks that both runs have.
        standard: the level.
        others: p-values of the comparisons that are tested together with this one.
    """
    if not composites.tasks or not composites.measurable or composites.fewest < rules.FEWEST:
        told = "; ".join(_few(composites.tasks))
        return RolloutReading(Verdict.INCONCLUSIVE, (Finding(Reason.FEW_ROLLOUTS, told),))
    found = composites.means(standard.alpha)
    if found.p is None:
        told = "rollouts of each arm earned one and the same"
        return RolloutReading(Verdict.INCONCLUSIVE, (Finding(Reason.NO_SPREAD, told),))
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
    return RolloutReading(reading.verdict, notes, p_exact, p_gate, p_adjusted)


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


def planning(
    composites: Composites, declaration: Declaration, found: Means | None
) -> tuple[float | None, int | None]:
    """What such runs find, and rollouts a task that the target takes, at the spread that was seen (Cohen 1988, ch. 2)."""
    if found is None or found.p is None:
        return None, None
    detectable = (critical(declaration.alpha) + critical(_POWER_TAIL)) * found.standard_error
    smallest = min(one.fewest for one in composites.tasks)
    return detectable, max(
        _FEWEST_OF_A_TASK, math.ceil(smallest * (detectable / declaration.target_lift) ** 2)
    )
