"""Boschloo's unconditional exact test: Fisher's p-value as the order of the tables."""

from __future__ import annotations

from pytest_evalharness.stats.exact import binomial_row, largest_tail
from pytest_evalharness.stats.inputs import played

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex as Count


def boschloo(x_c: Count, n_c: Count, x_b: Count, n_b: Count) -> float:
    """Boschloo's two-sided p-value, as twice the smaller one-sided one (scipy's convention; others differ).

    When to use it: as Barnard's test, to which it is an equal; arguments, range and errors as there. Imports
    numpy when called.

    Source: Boschloo (1970), Stat. Neerl. 24, 1-35.
    """
    greater = boschloo_greater(x_c, n_c, x_b, n_b)
    less = boschloo_greater(x_b, n_b, x_c, n_c)
    return min(1.0, 2.0 * min(greater, less))


def boschloo_greater(x_c: Count, n_c: Count, x_b: Count, n_b: Count) -> float:
    """Boschloo's one-sided p-value for "the candidate wins more often".

    In words: the probability of a one-sided Fisher p-value at most as large as the observed one, at the common
    win rate that makes it largest. Fisher's p-values are compared as exact fractions.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.

    Returns:
        p in [0, 1], at most Fisher's.

    Raises:
        ValueError: A count is invalid, or an arm has no games.

    Source: Boschloo (1970).
    """
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    total = n_c + n_b
    row_c, row_b, row = binomial_row(n_c), binomial_row(n_b), binomial_row(total)
    tail = sum(row_c[a] * row_b[x_c + x_b - a] for a in range(x_c, min(n_c, x_c + x_b) + 1))
    all_ways = row[x_c + x_b]
    counts = []
    for s in range(total + 1):
        # from the top downwards while tail_s / C(N, s) is at most the observed tail / C(N, s_obs)
        limit = tail * row[s]
        ways = 0
        for a in range(min(n_c, s), max(0, s - n_b) - 1, -1):
            grown = ways + row_c[a] * row_b[s - a]
            if grown * all_ways > limit:
                break
            ways = grown
        counts.append(ways)
    return max(largest_tail(counts, total)[0], largest_tail(counts[::-1], total)[0])
