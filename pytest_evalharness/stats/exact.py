"""Exact tests of "both arms win equally often", for counts where the normal curve is a poor guide."""

from __future__ import annotations

import math
from functools import lru_cache

from pytest_evalharness.stats.inputs import played
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, SupportsIndex

    from numpy import float64
    from numpy.typing import NDArray

    Alternative = Literal["two-sided", "greater", "less"]

_WHOLE_NUMBERS_UP_TO = 4000  # games; beyond it the weights are scaled floats, compared with a tolerance
_TIE = 1e-7
_NOTHING = 1e-300
_PEAKS = 3


def fisher(
    x_c: SupportsIndex,
    n_c: SupportsIndex,
    x_b: SupportsIndex,
    n_b: SupportsIndex,
    alternative: Alternative = "two-sided",
) -> float:
    """Fisher's exact test, given the total number of wins.

    In words: the hypergeometric probability of the tables at least as extreme as the observed one. Two-sided
    that means every table that is no more probable; ties are decided in integers, without a tolerance, up to
    4000 games.

    When to use it: for missing episodes and other rare events. For win rates it is conservative (its size at
    30 games is .027): prefer `barnard`, or `fisher_midp`.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.
        alternative: "two-sided", "greater" (the candidate wins more often) or "less".

    Returns:
        p in [0, 1].

    Raises:
        ValueError: A count or the alternative is invalid, or an arm has no games.

    Source: Fisher (1935), J. R. Stat. Soc. 98, 39-82.
    """
    start, weights, observed = _hypergeometric(x_c, n_c, x_b, n_b)
    total = sum(weights)
    if alternative == "greater":
        return min(1.0, sum(weights[observed - start :]) / total)
    if alternative == "less":
        return min(1.0, sum(weights[: observed - start + 1]) / total)
    if alternative != "two-sided":
        raise ValueError(f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}")
    limit = _with_ties(weights[observed - start])
    return min(1.0, sum(w for w in weights if w <= limit) / total)


def fisher_midp(x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex) -> float:
    """The mid-p version of Fisher's two-sided test.

    In words: `fisher` minus half the probability of the tables exactly as probable as the observed one. Not
    guaranteed to keep its level, but close to it and much less conservative. Arguments, range and errors as
    `fisher`.

    Source: Lancaster (1961), J. Am. Stat. Assoc. 56, 223-234.
    """
    start, weights, observed = _hypergeometric(x_c, n_c, x_b, n_b)
    own = weights[observed - start]
    limit = _with_ties(own)
    floor = own if isinstance(own, int) else own * (1.0 - _TIE)
    at_most = sum(w for w in weights if w <= limit)
    equal = sum(w for w in weights if floor <= w <= limit)
    return min(1.0, (2 * at_most - equal) / (2 * sum(weights)))


def barnard(x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex) -> float:
    """Barnard's unconditional exact test, two-sided, ordered by the pooled z statistic.

    In words: the probability of a pooled |z| at least as large as the observed one, at the common win rate
    that makes it largest. Tables count as equally extreme by integer arithmetic; libraries that compare
    floats lose some of them and report a p that is too small.

    When to use it: the check that large-sample tests must pass with five to nine games an arm, and the rule
    "exact". It never rejects a true hypothesis more often than its level.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.

    Returns:
        p in [0, 1], accurate to about 1e-10.

    Raises:
        ValueError: A count is invalid, or an arm has no games.

    Source: Barnard (1945), Nature 156, 177; ordering by z: Suissa and Shuster (1985), J. R. Stat. Soc. A 148.
    """
    return barnard_with_nuisance(x_c, n_c, x_b, n_b)[0]


def barnard_with_nuisance(
    x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex
) -> tuple[float, float]:
    """`barnard`, and the common win rate (at most 1/2, by symmetry) at which its p-value is reached."""
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    wins, total = x_c + x_b, n_c + n_b
    excess = abs(x_c * n_b - x_b * n_c)
    if excess == 0:
        return 1.0, 0.5  # every table is at least as extreme
    return largest_tail(_tail_counts(n_c, n_b, excess * excess, wins * (total - wins)), total)


def _hypergeometric(
    x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex
) -> tuple[int, Sequence[float], int]:
    """(smallest possible x_c, weight of every possible x_c, observed x_c) given the total number of wins."""
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    wins = x_c + x_b
    start, stop = max(0, wins - n_b), min(n_c, wins)
    if n_c + n_b <= _WHOLE_NUMBERS_UP_TO:
        weight = math.comb(n_c, start) * math.comb(n_b, wins - start)
        weights = [weight]
        for k in range(start, stop):
            weight = weight * (n_c - k) * (wins - k) // ((k + 1) * (n_b - wins + k + 1))
            weights.append(weight)
        return start, weights, x_c
    return _scaled_window(n_c, n_b, wins, x_c)


def _scaled_window(n_c: int, n_b: int, wins: int, x_c: int) -> tuple[int, Sequence[float], int]:
    """As `_hypergeometric` for large arms: weights relative to the mode, as far as they matter."""
    start, stop = max(0, wins - n_b), min(n_c, wins)
    mode = min(stop, max(start, (n_c + 1) * (wins + 1) // (n_c + n_b + 2)))
    above, weight, k = [1.0], 1.0, mode
    while k < stop and (weight > _NOTHING or k < x_c):
        weight *= (n_c - k) * (wins - k) / ((k + 1) * (n_b - wins + k + 1))
        k += 1
        above.append(weight)
    below: list[float] = []
    weight, k = 1.0, mode
    while k > start and (weight > _NOTHING or k > x_c):
        weight *= k * (n_b - wins + k) / ((n_c - k + 1) * (wins - k + 1))
        k -= 1
        below.append(weight)
    return k, [*reversed(below), *above], x_c


def _with_ties(weight: float) -> float:
    return weight if isinstance(weight, int) else weight * (1.0 + _TIE)


def _tail_counts(n_c: int, n_b: int, excess_squared: int, spread: int) -> list[int]:
    """For each total number of wins, the number of ways to reach tables with a pooled |z| this large.

    |z| of (a, b) is at least the observed one when `(a n_B - b n_C)^2 * spread_obs` is at least
    `excess_obs^2 * s (N - s)`. For a fixed total s only a moves the left side, so the tables in the tail are
    those outside an interval around the equal rate.
    """
    total = n_c + n_b
    row_c, row_b = binomial_row(n_c), binomial_row(n_b)
    counts = [0] * (total + 1)
    for s in range(1, total // 2 + 1):
        # a n_B - (s - a) n_C = a N - s n_C; the smallest whole number whose square reaches the bound
        bound = -(-excess_squared * s * (total - s) // spread)
        root = math.isqrt(bound - 1) + 1
        first_above = -(-(s * n_c + root) // total)
        last_below = (s * n_c - root) // total
        low, high = max(0, s - n_b), min(n_c, s)
        ways = 0
        for a in range(max(first_above, low), high + 1):
            ways += row_c[a] * row_b[s - a]
        for a in range(low, min(last_below, high) + 1):
            ways += row_c[a] * row_b[s - a]
        counts[s] = counts[total - s] = ways
    return counts


def binomial_row(n: int) -> list[int]:
    """The number of ways to win 0, 1, ..., n of n games, each from the one before."""
    row = [1]
    for k in range(n):
        row.append(row[-1] * (n - k) // (k + 1))
    return row


def largest_tail(counts: list[int], total: int) -> tuple[float, float]:
    """The largest probability of a set of tables over common win rates pi in (0, 1/2], and that pi.

    In words: the largest `sum_s counts[s] pi^s (1 - pi)^(total - s)`: a grid even on the arcsine scale, then the
    slope's zero at the three highest points.

    Args:
        counts: For each total number of wins 0..total, the number of ways to reach a table of the set.
        total: Games of both arms together.
    """
    import numpy as np

    grid, pmf = _binomial_grid(total)
    tail = pmf @ np.array([ways / of_all for ways, of_all in zip(counts, binomial_row(total), strict=True)])
    padded = np.concatenate(([-1.0], tail, [-1.0]))
    peaks = np.flatnonzero((tail >= padded[:-2]) & (tail >= padded[2:]))
    peaks = peaks[np.argsort(-tail[peaks])][:_PEAKS]
    reached = np.array([s for s, ways in enumerate(counts) if ways], dtype=float)
    logs = np.array([math.log(ways) for ways in counts if ways])

    def at(pi: float) -> tuple[float, float]:
        """The tail probability at pi, and a number with the sign of its slope."""
        terms = np.exp(logs + reached * math.log(pi) + (total - reached) * math.log1p(-pi))
        return float(terms.sum()), float(terms @ (reached - total * pi))

    best = (0.0, 0.5)
    for peak in (int(index) for index in peaks):
        left = float(grid[max(peak - 1, 0)])
        right = float(grid[min(peak + 1, len(grid) - 1)])
        for pi in (_level_point(at, left, right), float(grid[peak])):
            best = max(best, (at(pi)[0], pi))
    return min(best[0], 1.0), best[1]


def _level_point(at: Callable[[float], tuple[float, float]], left: float, right: float) -> float:
    """Where the slope changes from rising to falling between left and right, or the higher end."""
    rising, falling = at(left)[1], at(right)[1]
    if rising <= 0.0:
        return left
    if falling >= 0.0:
        return right
    return illinois(lambda pi: at(pi)[1], (left, rising), (right, falling), 1e-10)


@lru_cache(maxsize=4)
def _binomial_grid(total: int) -> tuple[NDArray[float64], NDArray[float64]]:
    """Win rates in (0, 1/2], evenly spread on the arcsine scale, and the binomial masses at each of them."""
    import numpy as np

    steps = 128 + 4 * math.isqrt(total)
    grid = np.sin(np.linspace(0.0, math.pi / 4.0, steps + 1)[1:]) ** 2
    grid[-1] = 0.5
    s = np.arange(total + 1.0)
    log_ways = np.array([math.log(ways) for ways in binomial_row(total)])
    pmf = np.exp(log_ways + np.outer(np.log(grid), s) + np.outer(np.log1p(-grid), total - s))
    return grid, pmf
