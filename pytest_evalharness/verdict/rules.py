"""From counts to a word: which direction a rule sees, what the counts alone say, what becomes of a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pytest_evalharness.stats import proportions
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Bounded, Comparison, Margins, wilson_of
from pytest_evalharness.verdict.standard import Standard
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


def read(counts: Comparison, standard: Standard, *, allowed: bool = True, objection: int = 0) -> Reading:
    """The verdict of the counts alone, by the precedence: small n, worse, better, equivalent, inconclusive.

    Args:
        counts: The games.
        standard: The rule that decides, and its level.
        allowed: Whether a direction stands among all the cases that were tested together.
        objection: +1 or -1 where a secondary metric decides for the candidate or for the baseline.
    """
    if counts.fewest < FEWEST or not standard.rule.decides:
        return conclude(counts, standard, 0)
    p_exact = counts.guaranteed_p() if standard.rule is Rule.EXACT else None
    towards = direction(counts, standard, p_exact)
    if not towards:
        return conclude(counts, standard, 0, p_exact=p_exact)
    against = None if allowed else Reason.FAMILY
    if counts.fewest < SMALL:
        p_agreeing = counts.exact_p()
        against = Reason.EXACT_DISAGREES if p_agreeing > standard.alpha else against
        p_exact = p_agreeing if p_exact is None else p_exact
    if against is None and objection == -towards:
        return Reading(Verdict.INCONCLUSIVE, (Reason.METRICS_DISAGREE,), p_exact)
    return conclude(counts, standard, towards, against=against, p_exact=p_exact)


def conclude(
    counts: Bounded,
    standard: Standard,
    towards: int,
    *,
    against: Reason | None = None,
    p_exact: float | None = None,
) -> Reading:
    """The reading, once it is known which way the rule sees the counts.

    Args:
        counts: The games.
        standard: The rule, its level and the margin.
        towards: +1 or -1 where the rule sees the candidate better or worse, 0 where it sees neither.
        against: What keeps that direction from counting; None where nothing does.
        p_exact: The exact test's p-value, to be kept.
    """
    few = (Reason.SMALL_N,) if counts.fewest < FEWEST else ()
    if not standard.rule.decides:
        return Reading(Verdict.INCONCLUSIVE, (*few, Reason.REPORT_ONLY))
    if few:
        return Reading(Verdict.INCONCLUSIVE, few)
    limits = margins(counts, standard)
    within = limits is not None and limits.within
    if towards and against is None:
        notes = (Reason.WITHIN_MARGIN,) if within else ()
        return Reading(Verdict.BETTER if towards > 0 else Verdict.WORSE, notes, p_exact)
    if within:
        return Reading(Verdict.EQUIVALENT, (), p_exact)
    why = against if towards and against is not None else _UNDECIDED.get(standard.rule, Reason.SPANS_ZERO)
    return Reading(Verdict.INCONCLUSIVE, (why,), p_exact)


_UNDECIDED = {
    Rule.OVERLAP: Reason.OVERLAP,
    Rule.EXACT: Reason.EXACT_KEEPS,
    Rule.GROUP_SEQUENTIAL: Reason.BOUND_NOT_REACHED,
    Rule.ALWAYS_VALID: Reason.EVIDENCE_SHORT,
}


def direction(counts: Comparison, standard: Standard, p_exact: float | None = None) -> int:
    """+1 or -1 where the rule sees the candidate better or worse, 0 where it sees neither.

    Args:
        counts: The games.
        standard: The rule and its level.
        p_exact: The exact test's p-value if it is known already; the rule "exact" asks for it otherwise.
    """
    rule, alpha = standard.rule, standard.alpha
    if not rule.decides:
        return 0
    if rule is Rule.OVERLAP:
        return proportions.separated(*wilson_of(counts, alpha))
    if rule is Rule.NEWCOMBE:
        low, high = counts.newcombe(alpha)
        return int(low > 0.0) - int(high < 0.0)
    if rule is Rule.ALWAYS_VALID:
        up, down = counts.log_evidence(alpha)
        if max(up, down) < -math.log(alpha):
            return 0
        return 1 if up > down else -1
    z = counts.z()
    if rule is Rule.EXACT:
        rejects = (counts.guaranteed_p() if p_exact is None else p_exact) <= alpha
    else:
        # The score interval excludes 0 exactly when its own statistic exceeds the critical value.
        rejects = abs(z) > standard.bar
    return (1 if z > 0.0 else -1) if rejects and z else 0


def deciding(rule: Rule) -> RuleName:
    """The rule whose planning numbers are shown: its own where there are any, else the score rule's.

    The rules for results that come in bit by bit need somewhat more games than that: about one in fifty more with
    planned looks, and nearly twice as many where one may look at any time.
    """
    own = rule.decides and not rule.sequential
    return cast("RuleName", rule.value if own else Rule.SCORE.value)


def margins(counts: Bounded, standard: Standard) -> Margins | None:
    """Where the 1 - 2 alpha interval lies, or None without a declared margin."""
    return None if standard.margin is None else counts.margins(standard.margin, standard.margin_alpha)


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
    contested: bool = False,
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
        contested: Whether something keeps every claim open: metrics that contradict each other, for one.
    """
    if verdict is Verdict.UNTRUSTWORTHY:
        return Decision.UNTRUSTWORTHY
    if aa:
        return Decision.MET if verdict in _EXPECTED_OF_AA else Decision.UNTRUSTWORTHY
    if fewest < FEWEST or not declaration.rule.decides or contested:
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
