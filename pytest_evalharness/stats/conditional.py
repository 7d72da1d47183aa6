"""The exact test of several configurations: for games too few for `pooled.cmh`."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import played

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalharness.stats.pooled import Table


def exact_cmh(tables: Iterable[Table]) -> float:
    """The exact conditional test that the candidate wins as often as the baseline in every configuration.

    In words: given how many games were won in each configuration, the candidate's share of them is hypergeometric
    there. The sum over the configurations has its exact distribution, and p is the chance of all sums that are no more
    likely than the one that was seen. One configuration gives Fisher's test.

    When to use it: where an arm has few games in all configurations together. It never errs more often than its level.

    Args:
        tables: (x_c, n_c, x_b, n_b) of each configuration.

    Returns:
        p in (0, 1].

    Raises:
        ValueError: There are no tables, or a count is invalid.

    Source: Birch (1964), J. R. Stat. Soc. B 26, 313-324; Mehta, Patel and Gray (1985), J. Am. Stat. Assoc. 80, 969-973.
    """
    # Whole numbers throughout: sums that are equally likely are told apart by no rounding.
    ways, seen = [1], 0
    strata = list(tables)
    if not strata:
        raise ValueError("tables must be at least 1, got 0")
    for x_c, n_c, x_b, n_b in strata:
        played(x_c, n_c, "candidate")
        played(x_b, n_b, "baseline")
        wins = x_c + x_b
        fewest, most = max(0, wins - n_b), min(wins, n_c)
        ways = _convolved(
            ways, [math.comb(n_c, k) * math.comb(n_b, wins - k) for k in range(fewest, most + 1)]
        )
        seen += x_c - fewest
    bar = ways[seen]
    return sum(one for one in ways if one <= bar) / sum(ways)


def _convolved(first: list[int], second: list[int]) -> list[int]:
    out = [0] * (len(first) + len(second) - 1)
    for i, one in enumerate(first):
        for k, other in enumerate(second):
            out[i + k] += one * other
    return out
