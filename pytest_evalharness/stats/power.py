"""How many games does an answer take, and what could this many have shown?"""

from __future__ import annotations

import math
from functools import lru_cache

from pytest_evalharness.stats.enumeration import binomial, shifted_counts, upper_sums, winning_counts
from pytest_evalharness.stats.inputs import level, proportion, wins_of
from pytest_evalharness.stats.normal import SQRT2, critical, quantile
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

    from pytest_evalharness.stats.enumeration import RuleName

POWER = 0.80
EXACT_UP_TO = 1000  # games in both arms; `detectable_lift` uses the formula beyond, which is then as good


def games_formula(
    p_base: float, p_cand: float, alpha: float = 0.05, power: float = POWER, rule: RuleName = "score"
) -> float:
    """Games per arm, before rounding up, for the given power to tell p_cand from p_base.

    In words: `(z_a sqrt(2 m (1-m)) + z_b sqrt(p1 q1 + p2 q2))^2 / (p1 - p2)^2`, m the mean rate. For the rule
    "overlap" z_a is larger by sqrt(2), because non-overlap of two equal arms' intervals is that z test.
    Within 4 games of exact enumeration below 400 games, and within .6 % beyond; the rules "newcombe" and "exact"
    share the score test's z_a, and the latter asks for a few games more than it says.

    Args:
        p_base: Baseline win rate in [0, 1].
        p_cand: Candidate win rate in [0, 1], different from p_base.
        alpha: Two-sided level, inside (0, 1).
        power: Wanted probability of the right verdict, inside (0, 1).
        rule: "score", "overlap", "newcombe" or "exact".

    Returns:
        A positive, finite number of games.

    Raises:
        ValueError: A value is invalid, or the two rates are equal.

    Source: Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions, ch. 4, without
    continuity correction.
    """
    p_base, p_cand = proportion(p_base, "p_base"), proportion(p_cand, "p_cand")
    if p_base == p_cand:
        raise ValueError(f"p_cand must differ from p_base, both are {p_base!r}")
    z_a = critical(alpha) * _strictness(rule)
    z_b = quantile(1.0 - level(power, "power"))
    mean = 0.5 * (p_base + p_cand)
    spread = z_a * math.sqrt(2.0 * mean * (1.0 - mean))
    spread += z_b * math.sqrt(p_base * (1.0 - p_base) + p_cand * (1.0 - p_cand))
    return (spread / (p_cand - p_base)) ** 2


def required_n(
    x_b: SupportsIndex,
    n_b: SupportsIndex,
    lift: float,
    *,
    alpha: float = 0.05,
    power: float = POWER,
    rule: RuleName = "score",
) -> int | None:
    """Games per arm for a declared target lift, from what the baseline showed.

    In words: the baseline rate is shrunk to (x+1)/(n+2); the candidate's is that plus the lift, or minus it if
    the sum leaves (0, 1); `games_formula`, rounded up. Ask for a lift worth having, decided before: the number
    computed from an observed lift is nearly useless.

    Args:
        x_b: Wins of the baseline.
        n_b: Games of the baseline, 0 included.
        lift: The true difference to be found, inside (-1, 1) and not 0; its sign is the direction.
        alpha: Two-sided level.
        power: Wanted probability of the right verdict.
        rule: "score", "overlap", "newcombe" or "exact".

    Returns:
        A whole number of games per arm, or None when the lift fits on neither side of the baseline rate.

    Raises:
        ValueError: A value is invalid.
    """
    base = shrunk_rate(x_b, n_b)
    if not 0.0 < abs(lift) < 1.0:
        raise ValueError(f"lift must lie inside (-1, 1) and not be 0, got {lift!r}")
    for target in (base + lift, base - lift):
        if 0.0 < target < 1.0:
            return math.ceil(games_formula(base, target, alpha, power, rule))
    return None


def shrunk_rate(wins: SupportsIndex, games: SupportsIndex) -> float:
    """The planning rate (wins + 1) / (games + 2), never 0 or 1 (Laplace 1774); 1/2 with no games."""
    x, n = wins_of(wins, games)
    return (x + 1) / (n + 2)


def exact_power(
    p_cand: float,
    p_base: float,
    n_c: int,
    n_b: int | None = None,
    *,
    rule: RuleName = "score",
    alpha: float = 0.05,
) -> tuple[float, float]:
    """The probabilities that the rule says better, and worse, by exact enumeration.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        n_c: Games of the candidate, at least 1.
        n_b: Games of the baseline; those of the candidate when left out.
        rule: "score", "overlap", "newcombe" or "exact".
        alpha: Two-sided level.

    Returns:
        (P(better), P(worse)), each in [0, 1].

    Raises:
        ValueError: A value is invalid.
    """
    n_b = n_c if n_b is None else n_b
    up = winning_counts(n_c, n_b, rule, alpha)
    mass_b = binomial(n_b, p_base)
    at_least = upper_sums(binomial(n_c, p_cand))
    losses = upper_sums(binomial(n_c, 1.0 - proportion(p_cand, "p_cand")))
    better = math.fsum(m * at_least[x] for m, x in zip(mass_b, up, strict=True))
    worse = math.fsum(m * losses[x] for m, x in zip(mass_b, reversed(up), strict=True))
    return min(better, 1.0), min(worse, 1.0)


def margin_power(
    p_cand: float, p_base: float, n_c: int, n_b: int | None = None, *, margin: float, alpha: float = 0.05
) -> tuple[float, float]:
    """The probabilities that the 1 - 2 alpha score interval lies above -margin, and inside (-margin, margin).

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        n_c: Games of the candidate, at least 1.
        n_b: Games of the baseline; those of the candidate when left out.
        margin: The difference that would not matter, inside (0, 1).
        alpha: One-sided level of either test, inside (0, 0.5).

    Returns:
        (P(non-inferior), P(equivalent)), each in [0, 1].

    Raises:
        ValueError: A value is invalid.
    """
    n_b = n_c if n_b is None else n_b
    up = shifted_counts(n_c, n_b, -level(margin, "margin"), critical(2.0 * alpha))
    mass_b = binomial(n_b, p_base)
    at_least = upper_sums(binomial(n_c, p_cand))
    noninferior = math.fsum(m * at_least[x] for m, x in zip(mass_b, up, strict=True))
    # Inside: and the mirror image, which counts losses, holds as well.
    tops = [n_c + 1 - x for x in reversed(up)]
    inside = math.fsum(
        m * max(0.0, at_least[x] - at_least[max(top, x)]) for m, x, top in zip(mass_b, up, tops, strict=True)
    )
    return min(noninferior, 1.0), min(inside, 1.0)


def smallest_from(chance: Callable[[int], float], guess: float, power: float = POWER) -> int:
    """The smallest number of games from which on the chance stays at the wanted power.

    In words: exact chances rise in a sawtooth, so the first number that reaches the power may be followed by one
    that does not. The search starts a little above the guess and goes down as long as the chance holds.

    Args:
        chance: The exact chance of the wanted outcome, for a number of games of at least 1.
        guess: About how many it will be; a formula's answer.
        power: The wanted chance.

    Raises:
        ValueError: No number up to twice the guess and 50 more reaches the power.
    """
    games = math.ceil(guess * 1.01) + 6
    while chance(games) < power:
        games += 1
        if games > 2.0 * guess + 50:
            raise ValueError(f"no number of games near {guess:.0f} reaches a chance of {power}")
    while games > 1 and chance(games - 1) >= power:
        games -= 1
    return games


@lru_cache(maxsize=512)
def detectable_lift(
    p_base: float,
    n_c: int,
    n_b: int | None = None,
    *,
    rule: RuleName = "score",
    alpha: float = 0.05,
    power: float = POWER,
) -> float | None:
    """The smallest true lift that these games find with the given power.

    In words: the candidate rate at which the exact probability of "better" reaches the power; above 1000 games
    together, the lift for which `games_formula` asks for (the harmonic mean of) these games.

    Args:
        p_base: True win rate of the baseline in [0, 1].
        n_c: Games of the candidate, at least 1.
        n_b: Games of the baseline; those of the candidate when left out.
        rule: "score", "overlap", "newcombe" or "exact".
        alpha: Two-sided level.
        power: Wanted probability of the verdict "better".

    Returns:
        A lift in (0, 1 - p_base], or None when even a candidate that always wins would be missed too often.

    Raises:
        ValueError: A value is invalid.
    """
    p_base = proportion(p_base, "p_base")
    power = level(power, "power")
    n_b = n_c if n_b is None else n_b
    if n_c + n_b > EXACT_UP_TO:
        return _lift_by_formula(p_base, 2.0 / (1.0 / n_c + 1.0 / n_b), rule, alpha, power)
    up = winning_counts(n_c, n_b, rule, alpha)
    needed = [(m, x) for m, x in zip(binomial(n_b, p_base), up, strict=True) if x <= n_c]

    def excess(p_cand: float) -> float:
        at_least = upper_sums(binomial(n_c, p_cand))
        return math.fsum(m * at_least[x] for m, x in needed) - power

    at_best, at_base = excess(1.0), excess(p_base)
    if at_best < 0.0 or at_base >= 0.0:
        return None
    return illinois(excess, (p_base, at_base), (1.0, at_best), 1e-9) - p_base


def detectable_loss(
    p_base: float,
    n_c: int,
    n_b: int | None = None,
    *,
    rule: RuleName = "score",
    alpha: float = 0.05,
    power: float = POWER,
) -> float | None:
    """The smallest true loss that these games find with the given power: `detectable_lift` of the losses."""
    return detectable_lift(1.0 - proportion(p_base, "p_base"), n_c, n_b, rule=rule, alpha=alpha, power=power)


def _lift_by_formula(p_base: float, games: float, rule: RuleName, alpha: float, power: float) -> float | None:
    """The lift for which `games_formula` asks for this many games."""

    def excess(p_cand: float) -> float:
        return math.log(games / games_formula(p_base, p_cand, alpha, power, rule))

    if p_base == 1.0 or (at_best := excess(1.0)) < 0.0:
        return None
    nearest = p_base + 1e-9 * (1.0 - p_base)
    at_nearest = excess(nearest)
    if at_nearest >= 0.0:
        return nearest - p_base
    return illinois(excess, (nearest, at_nearest), (1.0, at_best), 1e-9) - p_base


def _strictness(rule: str) -> float:
    """By how much a rule's critical value exceeds that of its level, for equal arms."""
    if rule in ("score", "newcombe", "exact"):
        return 1.0
    if rule == "overlap":
        return SQRT2
    raise ValueError(f"rule must be one of score, overlap, newcombe, exact, got {rule!r}")
