"""A pool in words. No colour and no escaping here: that is the renderer's part."""

from __future__ import annotations

from pytest_evalharness.verdict import checks, wording
from pytest_evalharness.verdict.counts import Interval
from pytest_evalharness.verdict.figures import signed
from pytest_evalharness.verdict.pooled_judgement import Pooled, PooledJudgement
from pytest_evalharness.verdict.strata import Stratum
from pytest_evalharness.verdict.words import Claim, Effects, Rule, Verdict


def headline(judgement: PooledJudgement, name: str) -> str:
    """One line: name, verdict, pooled difference in percentage points, configurations, claim, seats.

    An untrustworthy pool gives its reasons instead of numbers.
    """
    start = f"{name}: {judgement.verdict.upper()}"
    if judgement.verdict is Verdict.UNTRUSTWORTHY:
        return f"{start}, {'; '.join(map(str, judgement.reasons))}"
    games = f"{judgement.candidate.finished} vs {judgement.baseline.finished} games"
    parts = [start, wording.points(judgement), f"{len(judgement.strata)} configurations, {games}"]
    if judgement.aa:
        parts.append("as an A/A run should")
    elif judgement.declaration.claim is not Claim.BETTER:
        parts.append(f"{wording.claim_words(judgement)} {judgement.decision.words}")
    if judgement.verified:
        parts.append(f"{' and '.join(judgement.verified)} verified")
    return ", ".join([*parts, *wording.caveats(judgement)])


def summary_lines(judgement: PooledJudgement) -> list[str]:
    """The compact report of one pool."""
    arms = judgement.candidate, judgement.baseline
    missing = f"missing        : {' / '.join(map(wording.missing_words, arms))}"
    if judgement.verdict is Verdict.UNTRUSTWORTHY:
        broken = [f"untrustworthy  : {reason}" for reason in judgement.reasons]
        return [*broken, missing, *checks.lines(judgement.checks, trusted=False)]
    lines = [
        *(stratum_line(stratum) for stratum in judgement.strata),
        *_ways(judgement),
        *_heterogeneity(judgement),
        *wording.family_line(judgement),
        *_planning(judgement),
        f"{missing}{wording.sensitivity_words(judgement)}",
        *_looked_at(judgement),
        *checks.lines(judgement.checks, trusted=True),
        f"claim          : {wording.claim_line(judgement)}",
    ]
    if judgement.verdict is Verdict.INCONCLUSIVE:
        lines.append(f"cannot tell    : {wording.undecided(judgement)}")
    lines += [f"note           : {reason}" for reason in judgement.reasons]
    return lines


def stratum_line(stratum: Stratum) -> str:
    """A configuration's own counts and difference: shown, not judged."""
    own = "no difference" if stratum.difference is None else signed(stratum.difference, 3)
    scores = " vs ".join(map(wording.score, stratum.arms))
    return f"configuration  : {stratum.name}  {scores}  {own}"


def _ways(judgement: PooledJudgement) -> list[str]:
    """The two ways of pooling, and which of them decided."""
    random = judgement.declaration.effects is Effects.RANDOM
    lines = []
    for label, way, interval, decides in (
        ("CMH", judgement.fixed, "Yan-Su", not random),
        ("random effects", judgement.random, "HKSJ", random),
    ):
        if way is None:
            continue
        line = f"{label:<15}: {_way(way, interval)}"
        lines.append(line + (_decision(judgement, way) if decides else "  (shown, does not decide)"))
    return lines


def _way(way: Pooled, interval: str) -> str:
    low, high = way.ci
    return f"{signed(way.difference, 3)} [{signed(low, 3)}, {signed(high, 3)}] ({interval})  p={way.p:.2g}"


def _decision(judgement: PooledJudgement, way: Pooled) -> str:
    told = f"  -> {judgement.verdict.value}"
    if judgement.p_exact is not None:
        told = f"  exact p={judgement.p_exact:.2g}{told}"
    if judgement.rule is Rule.OVERLAP:
        told += " at the overlap rule's level"
        told += ", not the declared rule's" if judgement.declaration.rule is not Rule.OVERLAP else ""
    directed = judgement.verdict in (Verdict.BETTER, Verdict.WORSE)
    if directed and _spans_zero(way.ci):
        told += ", by the test: the interval, a little wider, just includes 0"
    return told


def _spans_zero(interval: Interval) -> bool:
    return interval[0] <= 0.0 <= interval[1]


def _heterogeneity(judgement: PooledJudgement) -> list[str]:
    found = judgement.heterogeneity
    if found is None:
        return []
    freedom = len(judgement.strata) - 1
    return [
        f"heterogeneity  : Q {found.q:.2f} on {freedom} df, p={found.p:.2g}, I2 {100 * found.i_squared:.0f} %"
    ]


def _planning(judgement: PooledJudgement) -> list[str]:
    """What all games together can show; a pool of one rate has a little more power than that."""
    lift = judgement.declaration.target_lift
    needed = judgement.required_n.under(judgement.rule)
    found, lost = (
        each.under(judgement.rule) for each in (judgement.detectable_lift, judgement.detectable_loss)
    )
    told = " / ".join("none" if one is None else f"{one:.2f}" for one in (found, lost))
    by = ", by the Cochran-Mantel-Haenszel test" if judgement.declaration.effects is Effects.RANDOM else ""
    lines = [
        f"detectable     : lift / loss {told} with 80 % power, all configurations together, rate {judgement.planning_rate:.2f}{by}"
    ]
    if by:
        lines.append(
            "required_n     : no number of games alone: with random effects it takes more configurations, the more the more they differ"
        )
        return lines
    if needed is not None:
        lines.append(
            f"required_n     : {needed} per arm in all for a true lift of {lift:.2f} in every configuration"
        )
    return lines


def _looked_at(judgement: PooledJudgement) -> list[str]:
    looks = f", {judgement.unplanned_looks} unplanned" if judgement.unplanned_looks else ""
    return [f"played         : look 1 of 1{looks}; {len(judgement.strata)} configurations"]
