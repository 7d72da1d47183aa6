"""A judgement by another metric than the win rate, in words and in the metric's own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalharness.verdict.counts import Comparison, Counts
from pytest_evalharness.verdict.figures import amount, plain_amount, signed
from pytest_evalharness.verdict.metrics import words_of
from pytest_evalharness.verdict.words import Metric, Reason

if TYPE_CHECKING:
    from pytest_evalharness.verdict.judgement import Judgement, Measure


def means(judgement: Judgement, measure: Measure) -> str:
    """Both arms' means in one line."""
    arms = (judgement.candidate, measure.candidate), (judgement.baseline, measure.baseline)
    told = [
        plain_amount(mean) + (f" ({arm.charged} lost by its own failure)" if arm.charged else "")
        for arm, mean in arms
    ]
    games = f"{judgement.candidate.finished} vs {judgement.baseline.finished} games"
    return f"mean {told[0]} vs {told[1]} in {games}"


def lines(judgement: Judgement) -> list[str]:
    """The declared metric where it is not the win rate: what decides."""
    measure = judgement.measure
    if measure is None:
        return []
    low, high = (amount(limit) for limit in judgement.ci)
    metric = words_of(judgement.declaration.metric)
    if judgement.diff is None:
        return [f"{'metric':<14} : {metric}, too few games for a mean"]
    tested = "nothing varies, so nothing is tested" if _untested(judgement) else f"p={judgement.p:.2g}"
    line = f"{metric} {amount(judgement.diff)} [{low}, {high}] ({measure.test})  {tested}"
    if judgement.p_exact is not None:
        line += f"  permutation p={judgement.p_exact:.2g}"
    if judgement.rule is not judgement.declaration.rule:
        line += "  at the overlap rule's level, not the declared rule's"
    line += f"  -> {judgement.verdict.value}"
    if any(reason.reason is Reason.WITHIN_MARGIN for reason in judgement.reasons):
        line += ", real but smaller than the margin"
    means = [
        f"{role}  {plain_amount(mean)} (SD {plain_amount(sd)}, {arm.finished} games)"
        for role, mean, sd, arm in (
            ("candidate", measure.candidate, measure.spread_candidate, judgement.candidate),
            ("baseline", measure.baseline, measure.spread_baseline, judgement.baseline),
        )
    ]
    return [f"{'metric':<14} : {line}", f"{'means':<14} : {'   '.join(means)}"]


def _untested(judgement: Judgement) -> bool:
    return any(reason.reason is Reason.NO_SPREAD for reason in judgement.reasons)


def wins_beside(judgement: Judgement) -> str:
    """The wins where another metric decides: shown, with their own interval and test."""
    counts = counts_of(judgement)
    if counts.fewest == 0:
        return "no game in one of the arms"
    low, high = counts.interval(judgement.declaration.alpha)
    beside = "secondary, can only object" if Metric.WINS in judgement.declaration.secondary else "shown"
    told = f"{signed(counts.difference, 3)} [{signed(low, 3)}, {signed(high, 3)}]  p={counts.p():.2g}"
    return f"{told}  (wins; {beside})"


def counts_of(judgement: Judgement) -> Comparison:
    """The wins of a judgement, as they were counted."""
    candidate, baseline = judgement.candidate, judgement.baseline
    return judgement.pairs or Counts(candidate.wins, candidate.finished, baseline.wins, baseline.finished)


def detectable(judgement: Judgement) -> str:
    """The difference that so many games find at the spread that was seen."""
    found = judgement.detectable_lift
    if found.score is None or found.overlap is None:
        return "nothing is known of the metric's spread"
    games = f"{judgement.candidate.finished} and {judgement.baseline.finished} games"
    metric = words_of(judgement.declaration.metric)
    return (
        f"{metric} difference {plain_amount(found.score)} / {plain_amount(found.overlap)} (declared / overlap level), "
        f"80 % power, {games}, the spread that was seen"
    )


def required(judgement: Judgement) -> str:
    """Games for the target difference, at the spread that was seen."""
    lift, needed = judgement.declaration.target_lift, judgement.required_n
    wanted = f"for a true difference of {lift:g} {words_of(judgement.declaration.metric)}"
    if needed.score is None:
        return f"not known {wanted}: nothing is known of the metric's spread"
    if judgement.required_pairs is not None:
        return f"{judgement.required_pairs} pairs {wanted}"
    return f"{needed.score} per arm {wanted} (overlap level {needed.overlap})"
