"""What the counts say about planning: games that a claim needs, and the lift that so many games can find."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_evalharness.stats import paired, power
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Pairs
from pytest_evalharness.verdict.doubts import Arms
from pytest_evalharness.verdict.judgement import MOST_GAMES, ByRule, Judgement, Number
from pytest_evalharness.verdict.words import Rule

if TYPE_CHECKING:
    from pytest_evalharness.stats.enumeration import RuleName

_POWER_TAIL = 0.4
"""Two-sided, the z of 80 % power."""


@dataclass(frozen=True, slots=True)
class Needs:
    """See the attributes of the same names of `Judgement`; `rate` is its `planning_rate`."""

    required_n: ByRule[int]
    required_pairs: int | None
    configs_to_pool: int | None
    detectable_lift: ByRule[float]
    detectable_loss: ByRule[float]
    rate: float


def needs(declaration: Declaration, rule: Rule, arms: Arms, pairs: Pairs | None, diff: float | None) -> Needs:
    """The planning numbers of a comparison.

    Args:
        declaration: What was declared.
        rule: The rule that decides by now.
        arms: The counts.
        pairs: The games pair by pair, if they are paired.
        diff: The observed difference, which tells the direction to plan for; None without games.
    """
    _, baseline = arms
    alpha = declaration.alpha
    lift = declaration.target_lift if diff is None or diff >= 0.0 else -declaration.target_lift
    required: ByRule[int] = _by_rule(
        rule,
        lambda name: power.required_n(baseline.wins, baseline.finished, lift, alpha=alpha, rule=name),
    )
    rate = rate_of(arms)
    return Needs(
        required,
        _required_pairs(pairs, lift, alpha),
        requests_of(required.under(rule)),
        _detectable(rate, arms, rule, alpha),
        _detectable(1.0 - rate, arms, rule, alpha),
        rate,
    )


def games_among(judgement: Judgement) -> int | None:
    """Games an arm with which the target lift is found among as many claims, none of which shows an effect.

    That is the dear end of Holm's procedure, where each of m claims gets alpha / m (Bonferroni).
    """
    declaration = judgement.declaration
    if declaration.measured:
        return _measured_among(judgement)
    among = replace(declaration, alpha=declaration.alpha / (judgement.family or 1))
    arms = judgement.candidate, judgement.baseline
    found = needs(among, judgement.rule, arms, judgement.pairs, judgement.diff)
    return found.required_n.under(judgement.rule)


def _measured_among(judgement: Judgement) -> int | None:
    """The same for a metric that is not the win rate: games go with the square of the critical values."""
    needed, alpha = judgement.required_n.score, judgement.declaration.alpha
    if needed is None:
        return None
    reach = [critical(level) + critical(_POWER_TAIL) for level in (alpha, alpha / (judgement.family or 1))]
    return math.ceil(needed * (reach[1] / reach[0]) ** 2)


def rate_of(arms: Arms) -> float:
    """The baseline's win rate that plans are made for."""
    _, baseline = arms
    return power.shrunk_rate(baseline.wins, baseline.finished)


def requests_of(required: int | None) -> int | None:
    """How many requests so many games take; None where one is enough."""
    return math.ceil(required / MOST_GAMES) if required is not None and required > MOST_GAMES else None


def _detectable(rate: float, arms: Arms, rule: Rule, alpha: float) -> ByRule[float]:
    n_c, n_b = (arm.finished for arm in arms)
    if n_c == 0 or n_b == 0:
        return ByRule()
    return _by_rule(rule, lambda name: power.detectable_lift(rate, n_c, n_b, rule=name, alpha=alpha))


def _by_rule(rule: Rule, number: Callable[[RuleName], Number | None]) -> ByRule[Number]:
    """A planning number under the score rule, the overlap rule and the one that decides."""
    names: set[RuleName] = {"score", "overlap", rules.deciding(rule)}
    return ByRule(**{name: number(name) for name in names})


def _required_pairs(pairs: Pairs | None, lift: float, alpha: float) -> int | None:
    """Pairs for the target lift at the observed share of pairs that differ."""
    if pairs is None or pairs.fewest == 0:
        return None
    discordance = (pairs.only_c + pairs.only_b) / pairs.fewest
    return paired.required_pairs(lift, max(discordance, abs(lift)), alpha)
