"""From evidence to a judgement: trust first, then the effect, then the claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_evalharness.verdict import doubts
from pytest_evalharness.verdict.checks import Check
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Comparison, Counts, Interval, Pairs, Turn, wilson_of
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judgement import Judgement, Scores
from pytest_evalharness.verdict.measures import Measures
from pytest_evalharness.verdict.outcome import Bench, Outcome
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.trial import Trial, trial_of
from pytest_evalharness.verdict.weighing import weigh
from pytest_evalharness.verdict.words import (
    Metric,
    Pairing,
    Rule,
)

_FEWEST_SCORES = 2


def judge(
    declaration: Declaration,
    candidate: ArmEvidence,
    baseline: ArmEvidence,
    trust: Iterable[Finding] = (),
    *,
    verified: Sequence[str] = (),
    pairs: Pairs | None = None,
    measures: Measures | None = None,
    turns: Sequence[Turn] = (),
    scores: tuple[Sequence[float], Sequence[float]] | None = None,
    look: int | None = None,
    unplanned_looks: int = 0,
    others: Sequence[float] | None = None,
    beside: Iterable[Finding] = (),
    checks: Iterable[Check] = (),
    aa: bool = False,
) -> Judgement:
    """Judge one comparison.

    Trust comes first: any finding, an arm without games, too many or lopsided missing episodes make it
    UNTRUSTWORTHY whatever the counts say. Then the counts: fewer than 5 games decide nothing, with 5 to 9 an
    exact test must agree; a secondary metric that decides the other way leaves it inconclusive; worse and better by
    the declared rule, adjusted for the family; equivalent inside a declared margin; inconclusive otherwise.

    Args:
        declaration: What was declared before the first game.
        candidate: The edited arm.
        baseline: The arm it is compared with.
        trust: Checks of the run that failed.
        verified: Names of checks that were made and passed; "seats" puts "seats verified" into the headline.
        pairs: The games pair by pair, exactly when the declaration pairs them.
        measures: The declared metric in every counted game, exactly when it is not the win rate; it decides then, and wins are
            told beside it.
        turns: The arms' finished games side by side in the order they were asked for, which `always_valid` needs
            unless the games are paired.
        scores: The tested seat's score in each finished game of the candidate and of the baseline; of pairs, in
            their order.
        look: Which planned look this is, from 0; the last when left out.
        unplanned_looks: How often results were looked at out of plan.
        others: The p-values (`p_gate`) of the other claims that were tested together; None outside of a family.
        beside: What else a reader must know beside a trustworthy verdict.
        checks: What was looked at, and what was seen; what fails among it stands in `trust` too.
        aa: Whether both arms are one build by design. A direction is then an alarm and makes the comparison
            UNTRUSTWORTHY; any other verdict is what was to be expected, whatever was claimed.

    Returns:
        The judgement, with every number that a report prints.

    Raises:
        ValueError: Pairs or measures are given though none were declared, or the reverse, or they contradict the arms;
            there is no such look; `always_valid` has no turns.
    """
    arms = (candidate, baseline)
    counts = _counts(declaration, candidate, baseline, pairs, tuple(turns))
    standard = Standard.of(declaration, look=look, unplanned=unplanned_looks > 0)
    told = _scores(declaration, scores)
    wilson_c, wilson_b = wilson_of(counts, declaration.alpha)
    bench = Bench(declaration, standard, None if aa else others, told.objection if told else 0)
    trial = trial_of(bench, counts, measures)
    p_gate, p_adjusted = trial.p_values()
    counted = trial.outcome()
    weighed = weigh(
        declaration,
        counted,
        _missing_bounds(trial, arms, counted),
        trial.fewest,
        trust=trust,
        distrust=lambda shaken: doubts.distrust(arms, shaken),
        alarm=lambda verdict: doubts.alarm(standard, verdict, arms),
        aa=aa,
    )
    counted = weighed.counted
    moved = standard.rule is not declaration.rule
    ceiling = () if declaration.measured else doubts.at_the_ceiling(arms)
    notes = (*doubts.notes(weighed.sensitivity, unplanned_looks, moved=moved), *ceiling)
    found = trial.numbers()
    p_better, expected_loss = _posterior(declaration, counts)
    planned = trial.needs(arms, pairs)
    return Judgement(
        declaration=declaration,
        candidate=candidate,
        baseline=baseline,
        pairs=pairs,
        verdict=weighed.verdict,
        decision=weighed.decision,
        reasons=weighed.reasons(notes, beside),
        verified=tuple(verified),
        checks=tuple(checks),
        statistical_verdict=counted.verdict,
        rule=standard.rule,
        look=standard.look,
        unplanned_looks=unplanned_looks,
        bound=standard.bar if standard.rule is Rule.GROUP_SEQUENTIAL else None,
        z=found.z,
        log_evidence=counts.log_evidence(declaration.alpha) if standard.rule is Rule.ALWAYS_VALID else None,
        diff=found.diff,
        ci=found.ci,
        ci_margin=found.ci_margin,
        p=found.p,
        p_exact=counted.reading.p_exact,
        p_gate=p_gate,
        p_adjusted=p_adjusted,
        family=None if bench.others is None else 1 + len(bench.others),
        others=None if bench.others is None else tuple(sorted(bench.others)),
        scores=told,
        wilson_candidate=wilson_c,
        wilson_baseline=wilson_b,
        separated=counted.apart,
        within_margin=weighed.within_margin,
        noninferior=weighed.noninferior,
        sensitivity=weighed.sensitivity,
        worst_case=weighed.worst.verdict,
        best_case=weighed.best.verdict,
        worst_claim=weighed.worst.decision,
        best_claim=weighed.best.decision,
        required_n=planned.required_n,
        required_pairs=planned.required_pairs,
        configs_to_pool=planned.configs_to_pool,
        detectable_lift=planned.detectable_lift,
        detectable_loss=planned.detectable_loss,
        planning_rate=planned.rate,
        ceiling=not declaration.measured and doubts.ceiling(arms),
        p_better=p_better,
        expected_loss=expected_loss,
        aa=aa,
        measure=trial.measure,
    )


def _missing_bounds(trial: Trial, arms: doubts.Arms, counted: Outcome) -> tuple[Outcome, Outcome]:
    """What it would come to with all missing episodes against the candidate, and with all of them for it."""
    lost_c, lost_b = (arm.posted - arm.finished for arm in arms)
    if lost_c == 0 and lost_b == 0:
        return counted, counted
    worst, best = (extreme.outcome() for extreme in trial.extremes(lost_c, lost_b))
    return worst, best


def _scores(
    declaration: Declaration, scores: tuple[Sequence[float], Sequence[float]] | None
) -> Scores | None:
    """The seat scores as the secondary metric, where there are enough of them."""
    if scores is None or Metric.SCORE not in declaration.secondary or min(map(len, scores)) < _FEWEST_SCORES:
        return None
    from pytest_evalharness.stats.scores import paired_t, welch

    test = welch if declaration.pairing is None else paired_t
    found = test(*scores, declaration.alpha)
    return Scores(
        found.difference, (found.low, found.high), found.p, "Welch" if test is welch else "paired t"
    )


def _posterior(declaration: Declaration, counts: Comparison) -> tuple[float | None, Interval | None]:
    """P(better) and the expected loss of either choice: only where they were asked for, because they load scipy."""
    if declaration.rule is not Rule.BAYES or counts.fewest == 0:
        return None, None
    from pytest_evalharness.stats import bayes

    (x_c, n_c), (x_b, n_b) = counts.arms
    return bayes.probability_better(x_c, n_c, x_b, n_b), bayes.expected_loss(x_c, n_c, x_b, n_b)


def _counts(
    declaration: Declaration,
    candidate: ArmEvidence,
    baseline: ArmEvidence,
    pairs: Pairs | None,
    turns: tuple[Turn, ...],
) -> Comparison:
    """The counts in the form that was declared."""
    if (declaration.pairing is Pairing.SEED) != (pairs is not None):
        said = "no pairs" if declaration.pairing is None else f"pairs by {declaration.pairing.value}"
        raise ValueError(f"pairs must be given exactly when they were declared, and {said} were declared")
    if pairs is not None:
        played = (candidate.wins, candidate.finished), (baseline.wins, baseline.finished)
        if pairs.arms != played:
            raise ValueError(f"pairs must add up to the arms' wins and games {played}, got {pairs.arms}")
        turns = pairs.turns
    if declaration.rule is Rule.ALWAYS_VALID and not turns and min(candidate.finished, baseline.finished):
        raise ValueError("rule 'always_valid' needs the games in their order: turns, or pairs that have them")
    if pairs is not None:
        return pairs
    return Counts(candidate.wins, candidate.finished, baseline.wins, baseline.finished, turns)
