"""What counts come to under a declaration: the verdict they speak, and what becomes of the claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Comparison, Margins, wilson_of
from pytest_evalharness.verdict.gate import adjusted_p, gate_p
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Sensitivity, Separated, Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """The counts' own verdict and decision, trust left aside.

    Attributes:
        reading: The verdict and its reasons.
        apart: Whose Wilson interval lies above.
        limits: Where the interval lies against the margin; None without a margin or without games.
        decision: What would become of the claim.
    """

    reading: rules.Reading
    apart: Separated
    limits: Margins | None
    decision: Decision

    @property
    def verdict(self) -> Verdict:
        """The counts' verdict."""
        return self.reading.verdict


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything but the counts: several counts are held against the same.

    Attributes:
        declaration: The claim and its rule.
        standard: The rule as it stands at this look.
        others: The p-values of the other claims of the family; None outside of one.
        objection: +1 or -1 where a secondary metric decides for the candidate or for the baseline.
    """

    declaration: Declaration
    standard: Standard
    others: Sequence[float] | None = None
    objection: int = 0

    def p_values(self, counts: Comparison) -> tuple[float, float | None]:
        """The p-value of the claim's gate, and Holm's adjusted one; None outside of a family."""
        p = gate_p(counts, self.standard, self.declaration.claim)
        return p, None if self.others is None else adjusted_p(p, self.others)

    def stands(self, adjusted: float | None) -> bool:
        """Whether a direction may be told among all the cases that were tested together."""
        return not self.others or adjusted is None or adjusted <= self.standard.alpha

    def outcome(self, counts: Comparison, *, allowed: bool) -> Outcome:
        """What the counts come to."""
        reading = rules.read(counts, self.standard, allowed=allowed, objection=self.objection)
        apart = rules.separation(*wilson_of(counts, self.standard.alpha))
        limits = rules.margins(counts, self.standard) if counts.fewest else None
        contested = Reason.METRICS_DISAGREE in reading.reasons
        if self.declaration.claim is Claim.SEPARATED and not allowed:
            contested = contested or apart is not Separated.NONE
        decision = rules.decide(
            self.declaration, reading.verdict, apart, limits, counts.fewest, contested=contested
        )
        return Outcome(reading, apart, limits, decision)


def sensitivity(declaration: Declaration, counted: Outcome, worst: Outcome, best: Outcome) -> Sensitivity:
    """What the missing episodes could do: to the verdict, and to a claim that is read off an interval, to the claim."""
    if declaration.claim in (Claim.BETTER, Claim.NOT_WORSE):
        return _sensitivity(
            counted.verdict,
            (worst.verdict, best.verdict),
            Verdict.INCONCLUSIVE,
            _OPPOSITE.get(counted.verdict),
        )
    return _sensitivity(
        counted.decision,
        (worst.decision, best.decision),
        Decision.CANNOT_TELL,
        _CONTRARY.get(counted.decision),
    )


_OPPOSITE = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
_CONTRARY = {Decision.MET: Decision.NOT_MET, Decision.NOT_MET: Decision.MET}


def _sensitivity(
    counted: str, extremes: tuple[str, str], undecided: str, opposite: str | None
) -> Sensitivity:
    if all(one == counted for one in extremes):
        return Sensitivity.HOLDS
    if counted == undecided:
        return Sensitivity.COULD_DECIDE
    return Sensitivity.REVERSES if opposite in extremes else Sensitivity.WEAKENS
