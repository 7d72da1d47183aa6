"""What counts come to once trust, the missing episodes and a declared A/A have had their say: alike for one comparison and a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.outcome import Outcome, sensitivity
from pytest_evalharness.verdict.words import Decision, MissingPolicy, Reason, Sensitivity, Verdict


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is concluded.

    Attributes:
        verdict: What the evidence says, trust included.
        decision: What becomes of the claim.
        counted: What the counts alone come to, after the policy for missing episodes.
        worst: What they would come to with all missing episodes against the candidate.
        best: What they would come to with all of them for it.
        sensitivity: What the missing episodes could do.
        broken: Why it cannot be trusted; empty if it can.
    """

    verdict: Verdict
    decision: Decision
    counted: Outcome
    worst: Outcome
    best: Outcome
    sensitivity: Sensitivity
    broken: tuple[Finding, ...]

    def reasons(self, notes: Iterable[Finding], beside: Iterable[Finding]) -> tuple[Finding, ...]:
        """All reasons: of an untrustworthy comparison what is wrong and nothing else, which could be taken for a result."""
        return self.broken or (*map(Finding, self.counted.reading.reasons), *notes, *beside)

    @property
    def within_margin(self) -> bool | None:
        """Whether the effect's interval lies inside the margin; None without one."""
        return None if self.counted.limits is None else self.counted.limits.within

    @property
    def noninferior(self) -> bool | None:
        """Whether it lies above the margin's lower end; None without one."""
        return None if self.counted.limits is None else self.counted.limits.above


def weigh(
    declaration: Declaration,
    counted: Outcome,
    extremes: tuple[Outcome, Outcome],
    fewest: int,
    *,
    trust: Iterable[Finding],
    distrust: Callable[[Sensitivity], Iterable[Finding]],
    alarm: Callable[[Verdict], Iterable[Finding]],
    aa: bool,
) -> Weighed:
    """Put trust before the counts.

    Args:
        declaration: What was declared.
        counted: What the counts come to.
        extremes: What they would come to with the missing episodes against the candidate, and for it.
        fewest: Games of the arm that has fewer.
        trust: Checks of the run that failed.
        distrust: What the counts themselves show to be wrong, given what the missing episodes could do.
        alarm: Why a direction is an alarm where both arms are one build.
        aa: Whether they are, by design.
    """
    worst, best = extremes
    shaken = sensitivity(declaration, counted, worst, best)
    if declaration.missing is MissingPolicy.STRICT and shaken is Sensitivity.WEAKENS:
        counted = _demoted(counted)
    broken = (*trust, *distrust(shaken))
    if aa and not broken:
        broken = tuple(alarm(counted.verdict))
    verdict = Verdict.UNTRUSTWORTHY if broken else counted.verdict
    decision = counted.decision
    if broken or aa:
        decision = rules.decide(declaration, verdict, counted.apart, counted.limits, fewest, aa=aa)
    return Weighed(verdict, decision, counted, worst, best, shaken, broken)


def _demoted(counted: Outcome) -> Outcome:
    """The outcome that a strict policy leaves where the missing episodes could undo it."""
    reading = replace(counted.reading, verdict=Verdict.INCONCLUSIVE, reasons=(Reason.MISSING_STRICT,))
    return replace(counted, reading=reading, decision=Decision.CANNOT_TELL)
