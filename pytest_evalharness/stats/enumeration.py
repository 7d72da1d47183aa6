"""Every table of two arms at once: thresholds that say where a rule tips over, and binomial masses."""

from __future__ import annotations

import math
from functools import lru_cache

from pytest_evalharness.stats.difference import newcombe, score_z
from pytest_evalharness.stats.exact import barnard
from pytest_evalharness.stats.inputs import count, level, proportion
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.stats.proportions import wilson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    RuleName = Literal["score", "overlap", "newcombe", "exact"]


@lru_cache(maxsize=64)
def winning_counts(n_c: int, n_b: int, rule: RuleName = "score", alpha: float = 0.05) -> tuple[int, ...]:
    """For each baseline count 0..n_b, the smallest candidate count that the rule calls better.

    In words: every rule is monotone in the candidate's wins, so one number per baseline count is the whole
    decision; n_c + 1 stands for "none". The mirror image `n_c - winning_counts[n_b - x_b]` is the largest
    count called worse. These thresholds turn exact enumeration of all (n_c + 1)(n_b + 1) tables into one pass.

    Args:
        n_c: Games of the candidate, at least 1.
        n_b: Games of the baseline, at least 1.
        rule: "score" (the score interval excludes 0), "overlap" (the Wilson intervals do not overlap), "newcombe"
            (Newcombe's interval excludes 0) or "exact" (Barnard's p is at most alpha).
        alpha: Two-sided level of the interval, of each of the two intervals, or of the test.

    Returns:
        n_b + 1 whole numbers in 0..n_c + 1, never decreasing.

    Raises:
        ValueError: A value is invalid.
    """
    for games, name in ((n_c, "n_c"), (n_b, "n_b")):
        if count(games, name) == 0:
            raise ValueError(f"{name} must be at least 1, got 0")
    if rule not in _DECIDES:
        raise ValueError(f"rule must be one of {', '.join(_DECIDES)}, got {rule!r}")
    better = _DECIDES[rule](n_c, n_b, level(alpha))
    thresholds = []
    x_c = 0
    for x_b in range(n_b + 1):
        while x_c <= n_c and not better(x_c, x_b):
            x_c += 1
        thresholds.append(x_c)
    return tuple(thresholds)


@lru_cache(maxsize=64)
def shifted_counts(n_c: int, n_b: int, delta: float, z: float) -> tuple[int, ...]:
    """For each baseline count 0..n_b, the smallest candidate count whose score statistic at delta exceeds z.

    In words: as `winning_counts`, for a test against a margin; n_c + 1 stands for "none". The statistic grows
    with every win of the candidate and falls with every win of the baseline.

    Args:
        n_c: Games of the candidate, at least 1.
        n_b: Games of the baseline, at least 1.
        delta: The difference tested, inside (-1, 1).
        z: The bar.

    Raises:
        ValueError: A value is invalid.
    """
    thresholds = []
    x_c = 0
    for x_b in range(n_b + 1):
        while x_c <= n_c and not score_z(x_c, n_c, x_b, n_b, delta) > z:
            x_c += 1
        thresholds.append(x_c)
    return tuple(thresholds)


def binomial(n: int, p: float) -> list[float]:
    """The masses of Binomial(n, p) at 0..n: neighbours by their ratio from the mode, which loses no digits.

    Raises:
        ValueError: n is no count, or p is outside [0, 1].
    """
    n, p = count(n, "n"), proportion(p, "p")
    masses = [0.0] * (n + 1)
    if p in (0.0, 1.0):
        masses[n if p else 0] = 1.0
        return masses
    mode = min(int((n + 1) * p), n)
    odds = p / (1.0 - p)
    masses[mode] = mass = 1.0
    for k in range(mode, n):
        mass *= (n - k) / (k + 1) * odds
        masses[k + 1] = mass
    mass = 1.0
    for k in range(mode, 0, -1):
        mass *= k / ((n - k + 1) * odds)
        masses[k - 1] = mass
    total = math.fsum(masses)
    return [m / total for m in masses]


def upper_sums(masses: list[float]) -> list[float]:
    """P(X >= k) for k = 0..n+1 from the masses at 0..n; the last is 0."""
    sums = [0.0] * (len(masses) + 1)
    running = 0.0
    for k in range(len(masses) - 1, -1, -1):
        running += masses[k]
        sums[k] = running
    return sums


def _score_decides(n_c: int, n_b: int, alpha: float) -> Callable[[int, int], bool]:
    total = n_c + n_b
    bar = critical(alpha) ** 2 * n_c * n_b / (total - 1)

    def better(x_c: int, x_b: int) -> bool:
        excess, wins = x_c * n_b - x_b * n_c, x_c + x_b
        return excess > 0 and excess * excess > bar * wins * (total - wins)

    return better


def _overlap_decides(n_c: int, n_b: int, alpha: float) -> Callable[[int, int], bool]:
    lows = [wilson(x, n_c, alpha)[0] for x in range(n_c + 1)]
    highs = [wilson(x, n_b, alpha)[1] for x in range(n_b + 1)]
    return lambda x_c, x_b: lows[x_c] > highs[x_b]


def _newcombe_decides(n_c: int, n_b: int, alpha: float) -> Callable[[int, int], bool]:
    return lambda x_c, x_b: newcombe(x_c, n_c, x_b, n_b, alpha)[0] > 0.0


def _exact_decides(n_c: int, n_b: int, alpha: float) -> Callable[[int, int], bool]:
    """Barnard's test rejects nested sets of tables: all whose z^2 is large enough.

    So what is known of one table is known of every table beyond it, and the test itself is asked for a few
    tables near the boundary only. z^2 is kept as a fraction: ties must not depend on rounding.
    """
    # Imported here: with `decimal` in tow it is a third of what importing this package would cost.
    from fractions import Fraction

    total = n_c + n_b
    kept, rejected = Fraction(0), Fraction(n_c * n_b * total + 1)  # no statistic is as large as the latter

    def better(x_c: int, x_b: int) -> bool:
        nonlocal kept, rejected
        excess, wins = x_c * n_b - x_b * n_c, x_c + x_b
        if excess <= 0:
            return False
        size = Fraction(excess * excess, wins * (total - wins))
        if kept < size < rejected:
            if barnard(x_c, n_c, x_b, n_b) <= alpha:
                rejected = size
            else:
                kept = size
        return size >= rejected

    return better


_DECIDES: dict[str, Callable[[int, int, float], Callable[[int, int], bool]]] = {
    "score": _score_decides,
    "overlap": _overlap_decides,
    "newcombe": _newcombe_decides,
    "exact": _exact_decides,
}
