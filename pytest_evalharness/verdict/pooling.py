"""One verdict for several declared configurations: all of them are pooled, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_evalharness.stats import pooled
from pytest_evalharness.stats.normal import SQRT2
from pytest_evalharness.verdict import doubts, needs, rules
from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Interval
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.gate import adjusted_p
from pytest_evalharness.verdict.metrics import words_of
from pytest_evalharness.verdict.outcome import Outcome
from pytest_evalharness.verdict.pooled_judgement import Heterogeneity, Pooled, PooledJudgement, total
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.strata import Strata, Stratum, Table
from pytest_evalharness.verdict.weighing import weigh
from pytest_evalharness.verdict.words import (
    Claim,
    Effects,
    Reason,
    Rule,
    Sensitivity,
    Separated,
    Verdict,
)

FEWEST_STRATA = 2
FEWEST_RANDOM = 4
"""Configurations that a spread between them can be learnt from."""
_DISAGREE = 0.10
"""Q finds little with few configurations, so that its level is usually taken higher than .05."""
_ANYTHING: Interval = (-1.0, 1.0)


def require_enough(strata: int) -> None:
    """Check that there is something to pool.

    Raises:
        ValueError: There are fewer than two configurations.
    """
    if strata < FEWEST_STRATA:
        raise ValueError(f"a pool takes at least {FEWEST_STRATA} configurations, got {strata}")


def require_poolable(declaration: Declaration, strata: int, *, looked: bool = False) -> None:
    """Check that a claim about several configurations can be judged at all.

    Args:
        declaration: The claim.
        strata: How many configurations there are.
        looked: Whether results were looked at out of plan. The pooled test at the overlap rule's level decides then,
            whatever rule was declared.

    Raises:
        ValueError: It cannot; the message says why and what to do.
    """
    require_enough(strata)
    if declaration.measured:
        raise ValueError(
            f"metric {words_of(declaration.metric)!r} has no way to pool: the pooled test is one of wins; make each "
            "configuration a comparison of its own"
        )
    if looked and not declaration.rule.decides:
        raise ValueError(f"rule {declaration.rule.value!r} never decides, so there is nothing to pool")
    if not looked and declaration.rule is not Rule.SCORE:
        raise ValueError(
            f"rule {declaration.rule.value!r} has no way to pool: rule must be 'score', whose pooled test is "
            "Cochran-Mantel-Haenszel; or make each configuration a comparison of its own"
        )
    if declaration.claim is Claim.SEPARATED:
        raise ValueError(
            "claim 'separated' is read off one interval an arm, and arms of several configurations have no one rate: "
            "claim better, not_worse, noninferior or equivalent"
        )
    if declaration.pairing is not None:
        raise ValueError(
            f"pairing {declaration.pairing.value!r} cannot be pooled: the pooled test takes independent arms; leave "
            "it out, or make each configuration a comparison of its own"
        )
    if declaration.effects is Effects.RANDOM and strata < FEWEST_RANDOM:
        raise ValueError(
            f"effects 'random' needs at least {FEWEST_RANDOM} configurations to learn a spread from, got {strata}: add "
            "configurations, or declare effects 'fixed'"
        )


def judge_pool(
    declaration: Declaration,
    strata: Sequence[Stratum],
    *,
    trust: Iterable[Finding] = (),
    verified: Sequence[str] = (),
    others: Sequence[float] | None = None,
    beside: Iterable[Finding] = (),
    checks: Iterable[Check] = (),
    unplanned_looks: int = 0,
    aa: bool = False,
) -> PooledJudgement:
    """Judge several configurations as one.

    The precedence is that of `judge`: trust first, in every configuration; then fewer than 5 games in an arm in all
    decide nothing, with 5 to 9 the exact conditional test must agree; worse and better by the Cochran-Mantel-Haenszel
    test, or by the mean effect after Hartung, Knapp, Sidik and Jonkman where random effects were declared; equivalent
    if the 1 - 2 alpha interval lies inside a declared margin; inconclusive otherwise.

    Args:
        declaration: What was declared before the first game, effects included.
        strata: The configurations, at least two; four for random effects. Their order does not matter to any number.
        trust: Checks of the runs that failed, each naming its configuration.
        verified: Names of checks that were made and passed in all configurations.
        others: The p-values (`p_gate`) of the other claims that were tested together; None outside of a family.
        beside: What else a reader must know beside a trustworthy verdict.
        checks: What was looked at in all configurations, and what was seen.
        unplanned_looks: How often results of any configuration were looked at out of plan. The pooled test must then
            reach the level of the overlap rule, which keeps its promise however often one looks: its critical value
            is the square root of 2 times as high.
        aa: Whether both arms are one build by design, as in `judge`.

    Returns:
        The judgement, with every number that a report prints.

    Raises:
        ValueError: The declaration cannot be pooled, or there are too few configurations.
    """
    require_poolable(declaration, len(strata), looked=unplanned_looks > 0)
    rule, stretch = (Rule.OVERLAP, SQRT2) if unplanned_looks else (Rule.SCORE, 1.0)
    declared, declaration = declaration, replace(declaration, rule=Rule.SCORE, looks=())
    counts = Strata.of([stratum.table for stratum in strata], declaration.effects, stretch)
    others = None if aa else others
    p_gate, p_adjusted = _p_values(counts, others)
    counted = _outcome(counts, declaration, others)
    arms = total([stratum.candidate for stratum in strata]), total([stratum.baseline for stratum in strata])
    weighed = weigh(
        declaration,
        counted,
        _missing_bounds(strata, counts, counted, declaration, others),
        counts.fewest,
        trust=trust,
        distrust=lambda shaken: _distrust(strata, arms, shaken),
        alarm=lambda verdict: _alarm(verdict, len(strata)),
        aa=aa,
    )
    counted = weighed.counted
    fixed, random, disagree = _numbers(counts, declaration.alpha)
    deciding = random if declaration.effects is Effects.RANDOM else fixed
    planned = needs.needs(declaration, rule, arms, None, deciding.difference if deciding else None)
    notes = (
        *doubts.notes(weighed.sensitivity, unplanned_looks, moved=unplanned_looks > 0),
        *(note for stratum in strata for note in doubts.at_the_ceiling(stratum.arms, stratum.name)),
        *_disagreement(declaration.effects, disagree),
    )
    return PooledJudgement(
        declaration=declared,
        strata=tuple(strata),
        verdict=weighed.verdict,
        decision=weighed.decision,
        reasons=weighed.reasons(notes, beside),
        verified=tuple(verified),
        checks=tuple(checks),
        statistical_verdict=counted.verdict,
        rule=rule,
        unplanned_looks=unplanned_looks,
        diff=deciding.difference if deciding else None,
        ci=deciding.ci if deciding else _ANYTHING,
        ci_margin=counts.interval(2.0 * declaration.alpha) if deciding else _ANYTHING,
        p=deciding.p if deciding else 1.0,
        p_exact=counted.reading.p_exact,
        p_gate=p_gate,
        p_adjusted=p_adjusted,
        others=None if others is None else tuple(sorted(others)),
        family=None if others is None else 1 + len(others),
        fixed=fixed,
        random=random,
        heterogeneity=disagree,
        within_margin=weighed.within_margin,
        noninferior=weighed.noninferior,
        sensitivity=weighed.sensitivity,
        worst_case=weighed.worst.verdict,
        best_case=weighed.best.verdict,
        worst_claim=weighed.worst.decision,
        best_claim=weighed.best.decision,
        required_n=planned.required_n,
        detectable_lift=planned.detectable_lift,
        detectable_loss=planned.detectable_loss,
        planning_rate=planned.rate,
        ceiling=all(doubts.ceiling(stratum.arms) for stratum in strata),
        aa=aa,
    )


def _p_values(counts: Strata, others: Sequence[float] | None) -> tuple[float, float | None]:
    """The smallest level at which the pool would tell a direction, and Holm's adjusted one; None outside of a family."""
    if counts.fewest < rules.FEWEST:
        p = 1.0
    else:
        p = max(counts.p(), counts.exact_p()) if counts.fewest < rules.SMALL else counts.p()
    return p, None if others is None else adjusted_p(p, others)


def _outcome(counts: Strata, declaration: Declaration, others: Sequence[float] | None) -> Outcome:
    """What the counts come to, by the precedence: small n, worse, better, equivalent, inconclusive."""
    standard, alpha = Standard.of(declaration), declaration.alpha
    towards, against, p_exact = 0, None, None
    if counts.fewest >= rules.FEWEST and counts.p() < alpha:
        towards = 1 if counts.difference > 0.0 else -1
        adjusted = _p_values(counts, others)[1]
        against = Reason.FAMILY if adjusted is not None and adjusted > alpha else None
        if counts.fewest < rules.SMALL:
            p_exact = counts.exact_p()
            against = Reason.EXACT_DISAGREES if p_exact > alpha else against
    reading = rules.conclude(counts, standard, towards, against=against, p_exact=p_exact)
    # The pooled test decides, and Yan and Su's interval may just differ from it.
    told = tuple(Reason.POOL_KEEPS if reason is Reason.SPANS_ZERO else reason for reason in reading.reasons)
    limits = rules.margins(counts, standard) if counts.fewest else None
    decision = rules.decide(declaration, reading.verdict, Separated.NONE, limits, counts.fewest)
    return Outcome(replace(reading, reasons=told), Separated.NONE, limits, decision)


def _missing_bounds(
    strata: Sequence[Stratum],
    counts: Strata,
    counted: Outcome,
    declaration: Declaration,
    others: Sequence[float] | None,
) -> tuple[Outcome, Outcome]:
    """What it would come to with the missing episodes of every configuration against the candidate, and for it."""
    if all(arm.posted == arm.finished for stratum in strata for arm in stratum.arms):
        return counted, counted
    tables: tuple[tuple[Table, ...], ...] = tuple(
        zip(*(stratum.extremes() for stratum in strata), strict=True)
    )
    worst, best = (
        _outcome(Strata.of(one, counts.effects, counts.stretch), declaration, others) for one in tables
    )
    return worst, best


def _distrust(strata: Sequence[Stratum], arms: doubts.Arms, shaken: Sensitivity) -> Iterable[Finding]:
    """What the counts show to be wrong: in a configuration, which is named, or only in all of them together."""
    alone = [
        replace(finding, detail=f"{stratum.name}, {finding.detail}")
        for stratum in strata
        for finding in doubts.distrust(stratum.arms, Sensitivity.HOLDS)
    ]
    told = {finding.reason for finding in alone}
    together = (
        finding for finding in doubts.distrust(arms, shaken) if finding.reason in _SEEN_TOGETHER - told
    )
    return [*alone, *together]


_SEEN_TOGETHER = frozenset({Reason.MISSING_DIFFERS, Reason.MISSING_REVERSES})
"""What no single configuration need show."""


def _alarm(verdict: Verdict, strata: int) -> Iterable[Finding]:
    """A direction where there can be none. One configuration that tells a direction by itself is no alarm."""
    if verdict in (Verdict.BETTER, Verdict.WORSE):
        yield Finding(Reason.AA_ALARM, f"{verdict.value} by the pooled test of {strata} configurations")


def _disagreement(effects: Effects, found: Heterogeneity | None) -> Iterable[Finding]:
    if effects is Effects.FIXED and found is not None and found.p < _DISAGREE:
        yield Finding(Reason.HETEROGENEOUS, f"Q = {found.q:.2f}, p = {found.p:.2g}")


def _numbers(counts: Strata, alpha: float) -> tuple[Pooled | None, Pooled | None, Heterogeneity | None]:
    """Both ways of pooling, the random one from four configurations on, and how much they disagree."""
    if not counts.tables:
        return None, None, None
    found = pooled.fixed_effect(counts.tables)
    disagree = Heterogeneity(found.q, pooled.heterogeneity_p(found.q, len(counts.tables)), found.i_squared)
    ways = [
        None
        if effects is Effects.RANDOM and len(counts.tables) < FEWEST_RANDOM
        else Pooled(way.difference, way.interval(alpha), way.raw_p())
        for effects in (Effects.FIXED, Effects.RANDOM)
        for way in (replace(counts, effects=effects),)
    ]
    return ways[0], ways[1], disagree
