"""From evidence to a judgement: trust first, then the effect, then the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_evalharness.stats import missing, paired, power
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Comparison, Counts, Interval, Pairs, wilson_of
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judgement import MOST_GAMES, ByRule, Judgement, Number
from pytest_evalharness.verdict.words import Reason, Rule, Sensitivity, Verdict

if TYPE_CHECKING:
    from pytest_evalharness.stats.enumeration import RuleName

_ASYMMETRY = 0.05
_ANYTHING: Interval = (-1.0, 1.0)


def judge(
    declaration: Declaration,
    candidate: ArmEvidence,
    baseline: ArmEvidence,
    trust: Iterable[Finding] = (),
    *,
    verified: Sequence[str] = (),
    pairs: Pairs | None = None,
    aa: bool = False,
) -> Judgement:
    """Judge one comparison.

    Trust comes first: any finding, an arm without games, too many or lopsided missing episodes make it
    UNTRUSTWORTHY whatever the counts say. Then the counts: fewer than 5 games decide nothing, with 5 to 9 an
    exact test must agree; worse and better by the declared rule; equivalent inside a declared margin;
    inconclusive otherwise.

    Args:
        declaration: What was declared before the first game.
        candidate: The edited arm.
        baseline: The arm it is compared with.
        trust: Checks of the run that failed.
        verified: Names of checks that were made and passed; "seats" puts "seats verified" into the headline.
        pairs: The games pair by pair, exactly when the declaration pairs them.
        aa: Whether both arms are one build by design. A direction is then an alarm and makes the comparison
            UNTRUSTWORTHY; any other verdict is what was to be expected, whatever was claimed.

    Returns:
        The judgement, with every number that a report prints.

    Raises:
        ValueError: Pairs are given though none were declared, or the reverse, or they contradict the arms.
    """
    arms = (candidate, baseline)
    counts = _counts(declaration, candidate, baseline, pairs)
    alpha = declaration.alpha
    wilson_c, wilson_b = wilson_of(counts, alpha)
    apart = rules.separation(wilson_c, wilson_b)
    playable = counts.fewest > 0
    diff = counts.difference if playable else None
    limits = rules.margins(counts, declaration) if playable else None
    reading = rules.read(counts, declaration)
    worst, best = _missing_bounds(counts, arms, declaration, reading.verdict)
    sensitivity = _sensitivity(reading.verdict, worst, best)
    ceiling = playable and (all(map(_almost_always, arms)) or all(map(_almost_never, arms)))

    broken = (*trust, *_distrust(candidate, baseline, sensitivity))
    if aa and not broken:
        broken = tuple(_alarm(declaration, reading.verdict, arms))
    verdict = Verdict.UNTRUSTWORTHY if broken else reading.verdict
    lift = declaration.target_lift if diff is None or diff >= 0.0 else -declaration.target_lift
    required: ByRule[int] = _by_rule(
        declaration,
        lambda rule: power.required_n(baseline.wins, baseline.finished, lift, alpha=alpha, rule=rule),
    )
    p_better, expected_loss = _posterior(declaration, counts)
    rate = power.shrunk_rate(baseline.wins, baseline.finished)
    return Judgement(
        declaration=declaration,
        candidate=candidate,
        baseline=baseline,
        pairs=pairs,
        verdict=verdict,
        decision=rules.decide(declaration, verdict, apart, limits, counts.fewest, aa=aa),
        reasons=broken or (*map(Finding, reading.reasons), *_notes(sensitivity, ceiling=ceiling)),
        verified=tuple(verified),
        statistical_verdict=reading.verdict,
        diff=diff,
        ci=_interval(declaration, counts) if playable else _ANYTHING,
        ci_margin=counts.interval(2.0 * alpha) if playable else _ANYTHING,
        p=counts.p() if playable else 1.0,
        p_exact=reading.p_exact,
        wilson_candidate=wilson_c,
        wilson_baseline=wilson_b,
        separated=apart,
        within_margin=None if limits is None else limits.within,
        noninferior=None if limits is None else limits.above,
        sensitivity=sensitivity,
        worst_case=worst,
        best_case=best,
        required_n=required,
        required_pairs=_required_pairs(pairs, lift, alpha),
        configs_to_pool=_configs(required.under(declaration.rule)),
        detectable_lift=_detectable(rate, arms, declaration),
        detectable_loss=_detectable(1.0 - rate, arms, declaration),
        planning_rate=rate,
        ceiling=ceiling,
        p_better=p_better,
        expected_loss=expected_loss,
        aa=aa,
    )


def _distrust(candidate: ArmEvidence, baseline: ArmEvidence, sensitivity: Sensitivity) -> Iterable[Finding]:
    """What the counts themselves show to be wrong with the run."""
    for role, arm in (("candidate", candidate), ("baseline", baseline)):
        if arm.finished == 0:
            yield Finding(Reason.NO_GAMES, f"0 of {arm.posted} finished", role)
        elif 10 * arm.missing > arm.posted:
            yield Finding(Reason.MISSING_OVER_LIMIT, f"{arm.missing} of {arm.posted}", role)
    if candidate.missing + baseline.missing and candidate.posted and baseline.posted:
        p = missing.asymmetry_p(candidate.missing, candidate.posted, baseline.missing, baseline.posted)
        if p < _ASYMMETRY:
            lost = f"{candidate.missing} of {candidate.posted} and {baseline.missing} of {baseline.posted}"
            yield Finding(Reason.MISSING_DIFFERS, f"{lost}, Fisher p = {p:.3g}")
    if sensitivity is Sensitivity.REVERSES:
        yield Finding(Reason.MISSING_REVERSES, f"{candidate.missing} and {baseline.missing} missing")


def _alarm(
    declaration: Declaration, verdict: Verdict, arms: tuple[ArmEvidence, ArmEvidence]
) -> Iterable[Finding]:
    """A direction where there can be none."""
    if verdict in (Verdict.BETTER, Verdict.WORSE):
        won = " against ".join(f"{arm.wins}/{arm.finished}" for arm in arms)
        yield Finding(Reason.AA_ALARM, f"{won}, {verdict.value} by the {declaration.rule} rule")


def _missing_bounds(
    counts: Comparison, arms: tuple[ArmEvidence, ArmEvidence], declaration: Declaration, as_counted: Verdict
) -> tuple[Verdict, Verdict]:
    """The counts' verdict with all missing episodes against the candidate, and with all of them for it."""
    lost_c, lost_b = (arm.missing for arm in arms)
    if lost_c == 0 and lost_b == 0:
        return as_counted, as_counted
    worst, best = counts.extremes(lost_c, lost_b)
    return rules.read(worst, declaration).verdict, rules.read(best, declaration).verdict


def _sensitivity(verdict: Verdict, worst: Verdict, best: Verdict) -> Sensitivity:
    if worst is verdict and best is verdict:
        return Sensitivity.HOLDS
    if verdict is Verdict.INCONCLUSIVE:
        return Sensitivity.COULD_DECIDE
    opposite = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}.get(verdict)
    return Sensitivity.REVERSES if opposite in (worst, best) else Sensitivity.WEAKENS


def _notes(sensitivity: Sensitivity, *, ceiling: bool) -> Iterable[Finding]:
    """What a reader should know beside a trustworthy verdict."""
    if sensitivity is Sensitivity.WEAKENS:
        yield Finding(Reason.MISSING_WEAKENS)
    elif sensitivity is Sensitivity.COULD_DECIDE:
        yield Finding(Reason.MISSING_COULD_DECIDE)
    if ceiling:
        yield Finding(Reason.CEILING)


def _almost_always(arm: ArmEvidence) -> bool:
    return 20 * arm.wins >= 19 * arm.finished


def _almost_never(arm: ArmEvidence) -> bool:
    return 20 * arm.wins <= arm.finished


def _configs(required: int | None) -> int | None:
    return math.ceil(required / MOST_GAMES) if required is not None and required > MOST_GAMES else None


def _detectable(
    rate: float, arms: tuple[ArmEvidence, ArmEvidence], declaration: Declaration
) -> ByRule[float]:
    n_c, n_b = (arm.finished for arm in arms)
    if n_c == 0 or n_b == 0:
        return ByRule()
    return _by_rule(
        declaration,
        lambda rule: power.detectable_lift(rate, n_c, n_b, rule=rule, alpha=declaration.alpha),
    )


def _by_rule(declaration: Declaration, number: Callable[[RuleName], Number | None]) -> ByRule[Number]:
    """A planning number under the score rule, the overlap rule and the declared one."""
    names: set[RuleName] = {"score", "overlap", rules.deciding(declaration.rule)}
    return ByRule(**{name: number(name) for name in names})


def _interval(declaration: Declaration, counts: Comparison) -> Interval:
    """The interval that the declared rule reads; an interval that contradicted its verdict would help nobody."""
    if declaration.rule is Rule.NEWCOMBE:
        return counts.newcombe(declaration.alpha)
    return counts.interval(declaration.alpha)


def _posterior(declaration: Declaration, counts: Comparison) -> tuple[float | None, Interval | None]:
    """P(better) and the expected loss of either choice: only where they were asked for, because they load scipy."""
    if declaration.rule is not Rule.BAYES or counts.fewest == 0:
        return None, None
    from pytest_evalharness.stats import bayes

    (x_c, n_c), (x_b, n_b) = counts.arms
    return bayes.probability_better(x_c, n_c, x_b, n_b), bayes.expected_loss(x_c, n_c, x_b, n_b)


def _counts(
    declaration: Declaration, candidate: ArmEvidence, baseline: ArmEvidence, pairs: Pairs | None
) -> Comparison:
    """The counts in the form that was declared."""
    if (declaration.pairing is None) != (pairs is None):
        said = "no pairs" if declaration.pairing is None else f"pairs by {declaration.pairing.value}"
        raise ValueError(f"pairs must be given exactly when they were declared, and {said} were declared")
    if pairs is None:
        return Counts(candidate.wins, candidate.finished, baseline.wins, baseline.finished)
    played = (candidate.wins, candidate.finished), (baseline.wins, baseline.finished)
    if pairs.arms != played:
        raise ValueError(f"pairs must add up to the arms' wins and games {played}, got {pairs.arms}")
    return pairs


def _required_pairs(pairs: Pairs | None, lift: float, alpha: float) -> int | None:
    """Pairs for the target lift at the observed share of pairs that differ."""
    if pairs is None or pairs.fewest == 0:
        return None
    discordance = (pairs.only_c + pairs.only_b) / pairs.fewest
    return paired.required_pairs(lift, max(discordance, abs(lift)), alpha)
