"""From counts to a word: which direction a rule sees, what the counts alone say, what becomes of a claim."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evalharness.stats import proportions
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Comparison, wilson_of
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Rule, Separated, Verdict

FEWEST = 5  # finished games an arm; below it nothing is decided
SMALL = 10  # below it an exact test must agree, because large-sample tests reject too often there


@dataclass(frozen=True, slots=True)
class Reading:
    """What the counts alone say, and why."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    p_exact: float | None


def read(counts: Comparison, declaration: Declaration) -> Reading:
    """The verdict of the counts alone, by the precedence: small n, worse, better, equivalent, inconclusive."""
    if counts.fewest < FEWEST:
        return Reading(Verdict.INCONCLUSIVE, (Reason.SMALL_N,), None)
    towards = direction(counts, declaration)
    p_exact = None
    if towards and counts.fewest < SMALL:
        p_exact = counts.exact_p()
    limits = margins(counts, declaration)
    within = limits is not None and limits.within
    if towards and (p_exact is None or p_exact <= declaration.alpha):
        notes = (Reason.WITHIN_MARGIN,) if within else ()
        return Reading(Verdict.BETTER if towards > 0 else Verdict.WORSE, notes, p_exact)
    if within:
        return Reading(Verdict.EQUIVALENT, (), p_exact)
    if towards:
        return Reading(Verdict.INCONCLUSIVE, (Reason.EXACT_DISAGREES,), p_exact)
    why = Reason.OVERLAP if declaration.rule is Rule.OVERLAP else Reason.SPANS_ZERO
    return Reading(Verdict.INCONCLUSIVE, (why,), None)


def direction(counts: Comparison, declaration: Declaration) -> int:
    """+1 or -1 where the rule sees the candidate better or worse, 0 where it sees neither."""
    if declaration.rule is Rule.OVERLAP:
        return proportions.separated(*wilson_of(counts, declaration.alpha))
    # The score interval excludes 0 exactly when its own statistic exceeds the critical value.
    z = counts.z()
    if abs(z) <= critical(declaration.alpha):
        return 0
    return 1 if z > 0.0 else -1


@dataclass(frozen=True, slots=True)
class Margins:
    """Where the 1 - 2 alpha score interval lies, by the two one-sided tests that belong to it.

    Attributes:
        above: Its lower limit is above -margin.
        wholly_below: Its upper limit is below -margin.
        below: Its upper limit is below +margin.
        wholly_above: Its lower limit is above +margin.
    """

    above: bool
    wholly_below: bool
    below: bool
    wholly_above: bool

    @property
    def within(self) -> bool:
        """The interval lies inside (-margin, margin)."""
        return self.above and self.below

    @property
    def outside(self) -> bool:
        """The interval lies wholly beyond the margin on one side."""
        return self.wholly_below or self.wholly_above


def margins(counts: Comparison, declaration: Declaration) -> Margins | None:
    """Where the interval lies, or None without a declared margin."""
    margin = declaration.margin
    if margin is None:
        return None
    bar = critical(2.0 * declaration.alpha)
    low = counts.z(-margin)
    high = counts.z(margin)
    return Margins(above=low > bar, wholly_below=low < -bar, below=high < -bar, wholly_above=high > bar)


def separation(candidate: tuple[float, float], baseline: tuple[float, float]) -> Separated:
    """Whose interval lies wholly above the other's."""
    towards = proportions.separated(candidate, baseline)
    if towards == 0:
        return Separated.NONE
    return Separated.CANDIDATE if towards > 0 else Separated.BASELINE


def decide(
    declaration: Declaration, verdict: Verdict, apart: Separated, limits: Margins | None, fewest: int
) -> Decision:
    """What becomes of the claim. With fewer than 5 games in an arm no claim is met or refuted, whichever it is.

    Args:
        declaration: The claim.
        verdict: What the evidence says.
        apart: Whose Wilson interval lies above.
        limits: Where the 1 - 2 alpha interval lies; None without a margin or without games.
        fewest: Finished games of the smaller arm.
    """
    if verdict is Verdict.UNTRUSTWORTHY:
        return Decision.UNTRUSTWORTHY
    if fewest < FEWEST:
        return Decision.CANNOT_TELL
    met, not_met = _sides(declaration.claim, verdict, apart, limits)
    if met:
        return Decision.MET
    return Decision.NOT_MET if not_met else Decision.CANNOT_TELL


def _sides(claim: Claim, verdict: Verdict, apart: Separated, limits: Margins | None) -> tuple[bool, bool]:
    """Whether the claim is met, and whether it is not met; neither when the evidence cannot tell."""
    if claim is Claim.BETTER:
        return verdict is Verdict.BETTER, verdict in (Verdict.WORSE, Verdict.EQUIVALENT)
    if claim is Claim.NOT_WORSE:
        return verdict is not Verdict.WORSE, verdict is Verdict.WORSE
    if claim is Claim.SEPARATED:
        return apart is Separated.CANDIDATE, apart is Separated.BASELINE
    if limits is None:
        return False, False
    if claim is Claim.NONINFERIOR:
        return limits.above, limits.wholly_below
    return limits.within, limits.outside
