"""What can pairs of games show? Thresholds and exact chances, where a correlation tells how alike a pair's games are."""

from __future__ import annotations

import math
from functools import lru_cache

from pytest_evalharness.stats.enumeration import binomial, upper_sums, winning_counts
from pytest_evalharness.stats.inputs import count, level, proportion
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.stats.paired import mcnemar_exact, mcnemar_midp, mcnemar_z, score_z
from pytest_evalharness.stats.power import POWER
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def pair_rates(p_cand: float, p_base: float, correlation: float) -> tuple[float, float]:
    """The probabilities that only the candidate, and only the baseline, wins a pair.

    In words: `P(both) = p_C p_B + phi sqrt(p_C q_C p_B q_B)`. Two rates that differ cannot be correlated beyond the
    point at which the weaker arm wins only where the stronger does; a larger phi is lowered to that.

    Args:
        p_cand: True win rate of the candidate in [0, 1].
        p_base: True win rate of the baseline in [0, 1].
        correlation: Within-pair correlation phi in [0, 1).

    Raises:
        ValueError: A value is invalid.
    """
    p_c, p_b = proportion(p_cand, "p_cand"), proportion(p_base, "p_base")
    if not 0.0 <= correlation < 1.0:
        raise ValueError(f"correlation must be at least 0 and below 1, got {correlation!r}")
    both = p_c * p_b + correlation * math.sqrt(p_c * (1.0 - p_c) * p_b * (1.0 - p_b))
    both = min(both, p_c, p_b)
    return p_c - both, p_b - both


@lru_cache(maxsize=64)
def winning_pairs(n: int, rule: str = "score", alpha: float = 0.05) -> tuple[int, ...]:
    """For each number 0..n of pairs that only the baseline won, the fewest only the candidate must win to be better.

    In words: as `enumeration.winning_counts`; n + 1 stands for "none". The mirror image counts the other arm's.

    Args:
        n: Pairs, at least 1.
        rule: "score" (McNemar's z exceeds its critical value), "exact" (McNemar's exact p is at most alpha), or
            "midp" (its mid-p is, the check of few pairs).
        alpha: Two-sided level.

    Raises:
        ValueError: A value is invalid.
    """
    alpha = level(alpha)
    bar = critical(alpha)
    tests: dict[str, Callable[[int, int], bool]] = {
        "score": lambda b, c: mcnemar_z(b, c) > bar,
        "exact": lambda b, c: b > c and mcnemar_exact(b, c) <= alpha,
        "midp": lambda b, c: b > c and mcnemar_midp(b, c) <= alpha,
    }
    if rule not in tests:
        raise ValueError(f"rule must be one of {', '.join(tests)}, got {rule!r}")
    return _thresholds(n, tests[rule])


@lru_cache(maxsize=64)
def shifted_pairs(n: int, delta: float, z: float) -> tuple[int, ...]:
    """As `winning_pairs`, for Tango's statistic of a true difference of delta exceeding z."""
    return _thresholds(n, lambda b, c: score_z(0, b, c, n - b - c, delta) > z)


def _thresholds(n: int, better: Callable[[int, int], bool]) -> tuple[int, ...]:
    """One pass: a test grows with every pair won by the candidate alone, and falls with the baseline's."""
    if count(n, "n") == 0:
        raise ValueError("n must be at least 1, got 0")
    thresholds, b = [], 0
    for c in range(n + 1):
        while b + c <= n and not better(b, c):
            b += 1
        thresholds.append(b if b + c <= n else n + 1)
    return tuple(thresholds)


def at_least(n: int, only_c: float, only_b: float) -> list[list[float]]:
    """For each number c of pairs that only the baseline wins: P(c, and at least k that only the candidate wins).

    Returns:
        n + 1 lists; list c has the probabilities for k = 0..n - c, and zeros up to k = n + 1.
    """
    share = only_c / (1.0 - only_b) if only_b < 1.0 else 0.0
    rows = []
    for c, mass in enumerate(binomial(n, only_b)):
        sums = upper_sums(binomial(n - c, min(share, 1.0)))
        rows.append([mass * value for value in sums] + [0.0] * c)
    return rows


def exact_paired_power(
    p_cand: float, p_base: float, n: int, correlation: float, *, rule: str = "score", alpha: float = 0.05
) -> tuple[float, float]:
    """The probabilities that n pairs say better, and worse, by exact enumeration; as `power.exact_power`."""
    only_c, only_b = pair_rates(p_cand, p_base, correlation)
    up = winning_pairs(n, rule, alpha)
    return _chance(up, at_least(n, only_c, only_b)), _chance(up, at_least(n, only_b, only_c))


def paired_margin_power(
    p_cand: float, p_base: float, n: int, correlation: float, margin: float, *, alpha: float = 0.05
) -> tuple[float, float]:
    """The probabilities that Tango's 1 - 2 alpha interval lies above -margin, and inside; as `power.margin_power`."""
    only_c, only_b = pair_rates(p_cand, p_base, correlation)
    rows, up = at_least(n, only_c, only_b), shifted_pairs(n, -margin, critical(2.0 * alpha))
    noninferior = _chance(up, rows)
    # Inside: and not beyond the mirror image's bar on the other side.
    inside = 0.0
    for c, row in enumerate(rows):
        top = max((b for b in range(n - c + 1) if c >= up[b]), default=-1)
        inside += max(0.0, row[min(up[c], n + 1)] - row[top + 1])
    return noninferior, inside


def separated_pairs(
    p_cand: float, p_base: float, n: int, correlation: float, alpha: float = 0.05
) -> tuple[float, float]:
    """The probabilities that the Wilson interval of the candidate, and of the baseline, lies above the other's.

    In words: given the baseline's wins, the candidate's are those of pairs that the baseline won and of pairs that it
    lost, two independent binomial numbers. Imports numpy when called.
    """
    import numpy as np

    only_c, only_b = pair_rates(p_cand, p_base, correlation)
    both = p_base - only_b
    up = winning_counts(n, n, "overlap", alpha)
    given_win = both / p_base if p_base else 0.0
    given_loss = only_c / (1.0 - p_base) if p_base < 1.0 else 0.0
    better = worse = 0.0
    for x_b, mass in enumerate(binomial(n, p_base)):
        won = np.convolve(binomial(x_b, min(given_win, 1.0)), binomial(n - x_b, min(given_loss, 1.0)))
        better += mass * float(won[up[x_b] :].sum())
        worse += mass * float(won[: n + 1 - up[n - x_b]].sum())
    return better, worse


@lru_cache(maxsize=64)
def detectable_paired_lift(
    p_base: float,
    n: int,
    correlation: float,
    *,
    rule: str = "score",
    alpha: float = 0.05,
    power: float = POWER,
) -> float | None:
    """The smallest true lift that n pairs find with the given power; as `power.detectable_lift`."""
    up = winning_pairs(n, rule, alpha)

    def excess(p_cand: float) -> float:
        return _chance(up, at_least(n, *pair_rates(p_cand, p_base, correlation))) - power

    at_best, at_base = excess(1.0), excess(p_base)
    if at_best < 0.0 or at_base >= 0.0:
        return None
    return illinois(excess, (p_base, at_base), (1.0, at_best), 1e-7) - p_base


def _chance(up: Sequence[int], rows: list[list[float]]) -> float:
    return min(1.0, math.fsum(row[min(bar, len(row) - 1)] for bar, row in zip(up, rows, strict=True)))
