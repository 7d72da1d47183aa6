"""From counts to a word: which direction a rule sees, what the counts alone say, what becomes of a claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pytest_evalharness.stats import proportions
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Comparison, wilson_of
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Rule, Separated, Verdict

if TYPE_CHECKING:
    from pytest_evalharness.stats.enumeration import RuleName

FEWEST = 5  # finished games an arm; below it nothing is decided
SMALL = 10  # below it an exact test must agree, because large-sample tests reject too often there


@dataclass(frozen=True, slots=True)
class Reading:
    """What the counts alone say, and why."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    p_exact: float | None = None


def read(counts: Comparison, declaration: Declaration) -> Reading:
    """The verdict of the counts alone, by the precedence: small n, worse, better, equivalent, inconclusive."""
    if counts.fewest < FEWEST or not declaration.rule.decides:
        return conclude(counts, declaration, 0)
    p_exact = counts.guaranteed_p() if declaration.rule is Rule.EXACT else None
    towards = direction(counts, declaration, p_exact)
    if not towards or counts.fewest >= SMALL:
        return conclude(counts, declaration, towards, p_exact=p_exact)
    p_agreeing = counts.exact_p()
    agrees = p_agreeing <= declaration.alpha
    return conclude(
        counts, declaration, towards, agrees=agrees, p_exact=p_agreeing if p_exact is None else p_exact
    )


def conclude(
    counts: Comparison,
    declaration: Declaration,
    towards: int,
    *,
    agrees: bool = True,
    p_exact: float | None = None,
) -> Reading:
    """The reading, once it is known which way the rule sees the counts.

    Args:
        counts: The games.
        declaration: The claim and its rule.
        towards: +1 or -1 where the rule sees the candidate better or worse, 0 where it sees neither.
        agrees: Whether the exact test agrees with that direction, where it has to.
        p_exact: The exact test's p-value, to be kept.
    """
    few = (Reason.SMALL_N,) if counts.fewest < FEWEST else ()
    if not declaration.rule.decides:
        return Reading(Verdict.INCONCLUSIVE, (*few, Reason.REPORT_ONLY))
    if few:
        return Reading(Verdict.INCONCLUSIVE, few)
    limits = margins(counts, declaration)
    within = limits is not None and limits.within
    if towards and agrees:
        notes = (Reason.WITHIN_MARGIN,) if within else ()
        return Reading(Verdict.BETTER if towards > 0 else Verdict.WORSE, notes, p_exact)
    if within:
        return Reading(Verdict.EQUIVALENT, (), p_exact)
    why = Reason.EXACT_DISAGREES if towards else _UNDECIDED.get(declaration.rule, Reason.SPANS_ZERO)
    return Reading(Verdict.INCONCLUSIVE, (why,), p_exact)


_UNDECIDED = {Rule.OVERLAP: Reason.OVERLAP, Rule.EXACT: Reason.EXACT_KEEPS}


def direction(counts: Comparison, declaration: Declaration, p_exact: float | None = None) -> int:
    """+1 or -1 where the rule sees the candidate better or worse, 0 where it sees neither.

    Args:
        counts: The games.
        declaration: The rule and its level.
        p_exact: The exact test's p-value if it is known already; the rule "exact" asks for it otherwise.
    """
    rule, alpha = declaration.rule, declaration.alpha
    if not rule.decides:
        return 0
    if rule is Rule.OVERLAP:
        return proportions.separated(*wilson_of(counts, alpha))
    if rule is Rule.NEWCOMBE:
        low, high = counts.newcombe(alpha)
        return int(low > 0.0) - int(high < 0.0)
    z = counts.z()
    if rule is Rule.EXACT:
        rejects = (counts.guaranteed_p() if p_exact is None else p_exact) <= alpha
    else:
        # The score interval excludes 0 exactly when its own statistic exceeds the critical value.
        rejects = abs(z) > critical(alpha)
    return (1 if z > 0.0 else -1) if rejects and z else 0


def deciding(rule: Rule) -> RuleName:
    """The rule whose numbers a plan shows: its own, and the score rule's for one that decides nothing."""
    return cast("RuleName", rule.value if rule.decides else Rule.SCORE.value)


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
    declaration: Declaration,
    verdict: Verdict,
    apart: Separated,
    limits: Margins | None,
    fewest: int,
    *,
    aa: bool = False,
) -> Decision:
    """What becomes of the claim. With fewer than 5 games in an arm, or a rule that is report only, none is decided.

    Args:
        declaration: The claim.
        verdict: What the evidence says.
        apart: Whose Wilson interval lies above.
        limits: Where the 1 - 2 alpha interval lies; None without a margin or without games.
        fewest: Finished games of the smaller arm.
        aa: Whether both arms are one build by design; then that claim is all there is, and it is met by a verdict
            that tells no difference, with however few games.
    """
    if verdict is Verdict.UNTRUSTWORTHY:
        return Decision.UNTRUSTWORTHY
    if aa:
        return Decision.MET if verdict in _EXPECTED_OF_AA else Decision.UNTRUSTWORTHY
    if fewest < FEWEST or not declaration.rule.decides:
        return Decision.CANNOT_TELL
    met, not_met = _sides(declaration.claim, verdict, apart, limits)
    if met:
        return Decision.MET
    return Decision.NOT_MET if not_met else Decision.CANNOT_TELL


_EXPECTED_OF_AA = (Verdict.INCONCLUSIVE, Verdict.EQUIVALENT)


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
