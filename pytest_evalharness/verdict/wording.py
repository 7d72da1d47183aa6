"""A judgement in words. No colour and no escaping here: that is the renderer's part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from pytest_evalharness.stats.normal import SQRT2, critical, two_sided
from pytest_evalharness.verdict import checks, measure_wording, rules
from pytest_evalharness.verdict.counts import Interval
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.figures import amount, plain_amount, signed
from pytest_evalharness.verdict.judgement import MOST_GAMES, ByRule, Judgement
from pytest_evalharness.verdict.metrics import words_of
from pytest_evalharness.verdict.words import Claim, Reason, Rule, Separated, Verdict

if TYPE_CHECKING:
    from pytest_evalharness.verdict.pooled_judgement import PooledJudgement

    AnyJudgement: TypeAlias = Judgement | PooledJudgement

_MOST_EVIDENCE = 700.0
"""Beyond it a float has no room, and nobody needs the digits."""


def headline(judgement: Judgement, name: str) -> str:
    """One line: name, verdict, difference in percentage points, counts, claim, seats.

    An untrustworthy comparison gives its reasons instead of numbers.
    """
    start = f"{name}: {judgement.verdict.upper()}"
    if judgement.verdict is Verdict.UNTRUSTWORTHY:
        return f"{start}, {'; '.join(map(str, judgement.reasons))}"
    parts = [start, points(judgement), _arms(judgement)]
    claim = judgement.declaration.claim
    if judgement.aa:
        parts.append("as an A/A run should")
    elif claim is not Claim.BETTER:
        parts.append(f"{claim_words(judgement)} {judgement.decision.words}")
    if judgement.verified:
        parts.append(f"{' and '.join(judgement.verified)} verified")
    return ", ".join([*parts, *caveats(judgement)])


def caveats(judgement: AnyJudgement) -> list[str]:
    """What no first line may leave out."""
    unproven = any(reason.reason is Reason.BUILDS_UNPROVEN for reason in judgement.reasons)
    return ["builds unproven (allowed)"] if unproven else []


def summary_lines(judgement: Judgement) -> list[str]:
    """The compact report of one comparison."""
    missing = f"missing        : {missing_words(judgement.candidate)} / {missing_words(judgement.baseline)}"
    if judgement.verdict is Verdict.UNTRUSTWORTHY:
        broken = [f"untrustworthy  : {reason}" for reason in judgement.reasons]
        return [*broken, missing, *checks.lines(judgement.checks, trusted=False)]
    lines = [
        _rates(judgement),
        f"wilson-overlap : {_overlap(judgement)}",
        f"{_rule_name(judgement):<14} : {_score_line(judgement)}",
        *measure_wording.lines(judgement),
        *_sequential_line(judgement),
        *_bayes_line(judgement),
        *_seat_scores(judgement),
        *family_line(judgement),
        f"detectable     : {_detectable(judgement)}",
        f"required_n     : {_required(judgement)}",
        f"{missing}{sensitivity_words(judgement)}",
        *_played_line(judgement),
        *checks.lines(judgement.checks, trusted=True),
        f"claim          : {claim_line(judgement)}",
    ]
    if judgement.verdict is Verdict.INCONCLUSIVE:
        lines.append(f"cannot tell    : {undecided(judgement)}")
    lines += [f"note           : {reason}" for reason in judgement.reasons]
    return lines


def missing_words(arm: ArmEvidence) -> str:
    """Missing games, and why they are: what the tested policy itself lost is a loss and not among them."""
    causes = (arm.missing - arm.unknown, "infrastructure"), (arm.unknown, "unknown")
    told = ", ".join(f"{count} {cause}" for count, cause in causes if count)
    return f"{arm.missing} ({told})" if told else "0"


def undecided(judgement: AnyJudgement) -> str:
    """What these games leave open; of a claim that only the family kept open, that the interval alone would not."""
    low, high = judgement.ci
    between = f"difference between {signed(low, 2)} and {signed(high, 2)}"
    if judgement.declaration.measured:
        between = (
            f"{words_of(judgement.declaration.metric)} difference between {amount(low)} and {amount(high)}"
        )
    adjusted = judgement.p_adjusted
    if adjusted is None or all(reason.reason is not Reason.FAMILY for reason in judgement.reasons):
        return between
    return (
        f"{between} alone, where p={judgement.p_gate:.2g} would have decided; among {judgement.family} claims tested "
        f"together it is {adjusted:.2g}, and {judgement.declaration.alpha:g} is allowed"
    )


def points(judgement: AnyJudgement) -> str:
    """The difference in percentage points: -36.7 pp [-57.1, -12.2]; of another metric in its own units."""
    if judgement.diff is None:
        return "no difference measured"
    low, high = judgement.ci
    if judgement.declaration.measured:
        return f"{words_of(judgement.declaration.metric)} {amount(judgement.diff)} [{amount(low)}, {amount(high)}]"
    return f"{signed(100 * judgement.diff, 1)} pp [{signed(100 * low, 1)}, {signed(100 * high, 1)}]"


def _arms(judgement: Judgement) -> str:
    """What both arms brought: wins over games, or the metric's means."""
    if judgement.measure is not None:
        return measure_wording.means(judgement, judgement.measure)
    return f"{score(judgement.candidate)} vs {score(judgement.baseline)}"


def score(arm: ArmEvidence) -> str:
    """Wins over finished games."""
    failed = f" ({arm.charged} lost by its own failure)" if arm.charged else ""
    return f"{arm.wins}/{arm.finished}{failed}"


def claim_words(judgement: AnyJudgement) -> str:
    """The claim, its margin included."""
    margin = judgement.declaration.margin
    claim = judgement.declaration.claim
    word = claim.value.replace("_", " ")
    if not claim.needs_margin or margin is None:
        return word
    if judgement.declaration.measured:
        return f"{word} within {margin:g} {words_of(judgement.declaration.metric)}"
    return f"{word} within {margin:.2f}"


def claim_line(judgement: AnyJudgement) -> str:
    """The claim and what became of it."""
    if judgement.aa:
        return (
            f"an A/A run tells no difference: {judgement.decision.words} (the declared claim is not judged)"
        )
    return f"{claim_words(judgement)}: {judgement.decision.words}{_unseen(judgement)}"


def _level(alpha: float) -> str:
    return f"{100 * (1 - alpha):.4g} %"


def _rates(judgement: Judgement) -> str:
    def one(role: str, arm: ArmEvidence, limits: Interval) -> str:
        return f"{role}  {score(arm)}  {arm.rate or 0.0:.3f} [{limits[0]:.3f}, {limits[1]:.3f}]"

    candidate = one("candidate", judgement.candidate, judgement.wilson_candidate)
    baseline = one("baseline", judgement.baseline, judgement.wilson_baseline)
    return f"{candidate}   {baseline}     ({_level(judgement.declaration.alpha)} Wilson)"


def _overlap(judgement: Judgement) -> str:
    alpha = two_sided(SQRT2 * critical(judgement.declaration.alpha))
    if judgement.separated is Separated.NONE:
        found = "overlap -> not separated"
    else:
        found = f"no overlap -> {judgement.separated.value} above"
    return f"{found} (strict; safe under repeated looks; alpha {alpha:.2g})"


def _rule_name(judgement: Judgement) -> str:
    """Whose interval the line shows."""
    if judgement.rule is Rule.NEWCOMBE:
        return "newcombe"
    return "score (MN)" if judgement.pairs is None else "score (Tango)"


def _score_line(judgement: Judgement) -> str:
    if judgement.measure is not None:
        return measure_wording.wins_beside(judgement)
    low, high = judgement.ci
    rule = judgement.rule
    p = f"{'score ' if rule is Rule.NEWCOMBE else ''}p={judgement.p:.2g}"
    line = f"{signed(judgement.diff or 0.0, 3)} [{signed(low, 3)}, {signed(high, 3)}]  {p}"
    if judgement.p_exact is not None:
        line += f"  exact p={judgement.p_exact:.2g}"
    if not rule.decides:
        return f"{line}  (for display: the {rule} rule is report only)"
    by = "" if rule is Rule.SCORE else f" by the {rule} rule"
    if rule is not judgement.declaration.rule:
        by += f", not the declared {judgement.declaration.rule}"
    line += f"  -> {judgement.verdict.value}{by}"
    if any(reason.reason is Reason.WITHIN_MARGIN for reason in judgement.reasons):
        line += ", real but smaller than the margin"
    return line


def _sequential_line(judgement: Judgement) -> list[str]:
    """What a rule for results that come in bit by bit looked at."""
    if judgement.bound is not None:
        z = abs(judgement.z)
        found = "crossed" if z > judgement.bound else "not crossed"
        spending = judgement.declaration.spending.value.replace("_", "-")
        return [
            f"planned look   : |z| {z:.2f} against the bound {judgement.bound:.4f} of this look ({spending}): {found}"
        ]
    if judgement.log_evidence is None:
        return []
    up, down = (math.exp(min(one, _MOST_EVIDENCE)) for one in judgement.log_evidence)
    line = f"evidence       : {up:.3g} for the candidate, {down:.3g} for the baseline at their highest; "
    return [f"{line}{1 / judgement.declaration.alpha:g} decides, however often one looks"]


def _seat_scores(judgement: Judgement) -> list[str]:
    """The secondary metric: shown, and never what decides."""
    told = judgement.scores
    if told is None:
        return []
    low, high = (signed(limit, 2) for limit in told.ci)
    p = "no test, no score varies" if told.p is None else f"p={told.p:.2g}"
    return [
        f"seat score     : {signed(told.difference, 2)} [{low}, {high}]  {p}  ({told.test}; secondary, can only object)"
    ]


def family_line(judgement: AnyJudgement) -> list[str]:
    """The p-value alone and among the claims that were tested together."""
    if judgement.family is None:
        return []
    if judgement.family == 1 or judgement.p_adjusted is None:
        return ["family         : none (1 case)"]
    line = f"family         : raw p={judgement.p_gate:.2g}, adjusted p={judgement.p_adjusted:.2g} "
    if judgement.declaration.claim.needs_margin:
        return [
            f"{line}(Holm, {judgement.family} claims with the guards, for its direction only: its margin stands by itself)"
        ]
    return [f"{line}(Holm, {judgement.family} claims tested together)"]


def _played_line(judgement: Judgement) -> list[str]:
    """Looks, seeds and different games: how the evidence was had."""
    declared = judgement.declaration
    planned = max(len(declared.looks), 1)
    looks = f"look {judgement.look + 1} of {planned}"
    if declared.looks:
        looks += f" planned (at {', '.join(map(str, declared.looks))})"
    if judgement.unplanned_looks:
        looks += f", {judgement.unplanned_looks} unplanned"
    seeds = "paired by seed" if judgement.pairs is not None else "unpaired"
    parts = [looks, seeds]
    distinct = judgement.candidate.distinct, judgement.baseline.distinct
    if None not in distinct:
        parts.append(f"{distinct[0]} / {distinct[1]} distinct games")
    charged = judgement.candidate.charged, judgement.baseline.charged
    if any(charged):
        parts.append(f"{charged[0]} / {charged[1]} lost by the tested policy's own failure")
    unpaired = judgement.candidate.unpaired, judgement.baseline.unpaired
    if any(unpaired):
        parts.append(f"{unpaired[0]} / {unpaired[1]} left out without their partner")
    return [f"played         : {'; '.join(parts)}"]


def _bayes_line(judgement: Judgement) -> list[str]:
    if judgement.p_better is None or judgement.expected_loss is None:
        return []
    loss_c, loss_b = judgement.expected_loss
    line = f"P(better) {judgement.p_better:.3f}, expected loss {loss_c:.3f} with the candidate, {loss_b:.3f} with"
    return [f"bayes          : {line} the baseline (Jeffreys priors); reported, decides nothing"]


def _detectable(judgement: Judgement) -> str:
    if judgement.measure is not None:
        return measure_wording.detectable(judgement)
    rule = judgement.rule
    shown = rules.deciding(rule if rule is not Rule.OVERLAP else Rule.SCORE)
    up, down = judgement.detectable_lift, judgement.detectable_loss
    n_c, n_b = judgement.candidate.finished, judgement.baseline.finished
    games = f"{n_c} games an arm" if n_c == n_b else f"{n_c} and {n_b} games"
    return (
        f"lift {_either(up, rule)}, loss {_either(down, rule)} ({shown} / overlap), 80 % power, {games},"
        f" rate {judgement.planning_rate:.2f}"
    )


def _either(values: ByRule[float], rule: Rule) -> str:
    """The declared rule's number beside the overlap rule's; where that is the declared one, the score rule's."""
    first = values.score if rule is Rule.OVERLAP else values.under(rule)
    return " / ".join("none" if value is None else f"{value:.2f}" for value in (first, values.overlap))


def _required(judgement: Judgement) -> str:
    if judgement.measure is not None:
        return measure_wording.required(judgement)
    lift, needed = judgement.declaration.target_lift, judgement.required_n
    first = needed.score if judgement.rule is Rule.OVERLAP else needed.under(judgement.rule)
    if first is None:
        return f"a true lift of {lift:.2f} is not possible from a rate of {judgement.planning_rate:.2f}"
    line = f"{first} per arm for a true lift of {lift:.2f} (overlap rule {needed.overlap})"
    if judgement.required_pairs is not None:
        return f"{judgement.required_pairs} pairs for a true lift of {lift:.2f} ({needed.score} per arm unpaired)"
    if judgement.rule.sequential:
        line += f"; the {judgement.rule} rule needs more than the score rule, whose numbers these are"
    if judgement.configs_to_pool is not None:
        line += f", as {judgement.configs_to_pool} requests of {MOST_GAMES}"
    return line


def sensitivity_words(judgement: AnyJudgement) -> str:
    """What the missing episodes could do, in brackets; nothing where none are missing."""
    if judgement.candidate.missing == 0 and judgement.baseline.missing == 0:
        return ""
    cases = judgement.worst_case.value, judgement.best_case.value
    if judgement.declaration.claim not in (
        Claim.BETTER,
        Claim.NOT_WORSE,
    ):  # read off an interval, not off the verdict
        cases = f"claim {judgement.worst_claim.words}", f"claim {judgement.best_claim.words}"
    return f" ({judgement.sensitivity.words}: worst case {cases[0]}, best case {cases[1]})"


def _unseen(judgement: AnyJudgement) -> str:
    """What "not worse" could have missed: without it the word would promise too much."""
    declared = judgement.declaration
    if (
        declared.claim is not Claim.NOT_WORSE
        or judgement.verdict is Verdict.WORSE
        or not declared.rule.decides
    ):
        return ""
    loss = judgement.detectable_loss.under(judgement.rule)
    if loss is None:
        return ", but no loss at all could have been seen reliably with so few games"
    if declared.measured:
        return f", but a true loss below {plain_amount(loss)} {words_of(declared.metric)} would often not have been seen"
    return f", but a true loss below {loss:.2f} would often not have been seen"
