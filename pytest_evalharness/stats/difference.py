"""How much better is one arm than another? Intervals and tests for p_C - p_B of independent arms."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import played, shift
from pytest_evalharness.stats.normal import critical, two_sided
from pytest_evalharness.stats.proportions import wilson, wilson_cc
from pytest_evalharness.stats.restricted import score_variance
from pytest_evalharness.stats.roots import limit_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex as Count


def newcombe(x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float = 0.05) -> tuple[float, float]:
    """Newcombe's hybrid score interval (his method 10) for p_C - p_B.

    In words: each limit adds, as a hypotenuse, the distances from the observed rates to the Wilson limits
    that lie on its side. Closed form, always inside [-1, 1], and built from the two intervals that are
    printed anyway.

    When to use it: where a closed form is wanted. The score interval `miettinen_nurminen` is the default
    because a p-value and an equivalence test belong to it.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        (low, high) with -1 <= low <= p_C - p_B <= high <= 1.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.

    Source: Newcombe (1998), Stat. Med. 17, 873-890.
    """
    return _hybrid(x_c, n_c, x_b, n_b, single=lambda x, n: wilson(x, n, alpha))


def newcombe_cc(x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float = 0.05) -> tuple[float, float]:
    """Newcombe's hybrid interval from continuity-corrected Wilson limits (his method 11).

    When to use it: as a conservative closed form. Arguments, range and errors as `newcombe`.

    Source: Newcombe (1998), Stat. Med. 17, 873-890.
    """
    return _hybrid(x_c, n_c, x_b, n_b, single=lambda x, n: wilson_cc(x, n, alpha))


def agresti_caffo(x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float = 0.05) -> tuple[float, float]:
    """Agresti and Caffo's interval: Wald's after adding one win and one loss to each arm, clipped to [-1, 1].

    When to use it: for a check by hand. Arguments and errors as `newcombe`.

    Source: Agresti and Caffo (2000), Am. Stat. 54, 280-288.
    """
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    p_c, p_b = (x_c + 1) / (n_c + 2), (x_b + 1) / (n_b + 2)
    half = critical(alpha) * math.sqrt(p_c * (1.0 - p_c) / (n_c + 2) + p_b * (1.0 - p_b) / (n_b + 2))
    return max(p_c - p_b - half, -1.0), min(p_c - p_b + half, 1.0)


def miettinen_nurminen(
    x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float = 0.05
) -> tuple[float, float]:
    """Miettinen and Nurminen's score interval for p_C - p_B.

    In words: all differences that the score test does not reject, its variance estimated under that very
    difference and multiplied by N/(N-1). Excludes 0 exactly when `score_p` is below alpha.

    When to use it: the default for two independent arms, from five games on.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        (low, high) with -1 <= low <= p_C - p_B <= high <= 1; exactly -1 or 1 where one arm won all and the
        other none.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.

    Source: Miettinen and Nurminen (1985), Stat. Med. 4, 213-226.
    """
    return _score_interval(x_c, n_c, x_b, n_b, alpha, corrected=True)


def mee(x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float = 0.05) -> tuple[float, float]:
    """Mee's score interval for p_C - p_B: `miettinen_nurminen` without the factor N/(N-1).

    When to use it: to compare with programs that print it. Arguments, range and errors as there.

    Source: Mee (1984), Biometrics 40, 1175-1176.
    """
    return _score_interval(x_c, n_c, x_b, n_b, alpha, corrected=False)


def score_z(x_c: Count, n_c: Count, x_b: Count, n_b: Count, delta: float = 0.0) -> float:
    """The score statistic for "p_C - p_B equals delta", positive when the candidate did better than that.

    In words: the observed difference minus delta, over its standard error with both rates estimated under
    that difference, and the variance multiplied by N/(N-1). At delta = 0 this is the square root of the
    "N-1" chi-square; at minus or plus a margin it is the statistic of a non-inferiority or equivalence test.
    Where no variance is left (both arms all wins or all losses, delta = 0) it is 0.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.
        delta: The difference to test, inside (-1, 1).

    Returns:
        A finite z.

    Raises:
        ValueError: A count or delta is invalid, or an arm has no games.

    Source: Miettinen and Nurminen (1985); for delta = 0 Campbell (2007), Stat. Med. 26, 3661-3675.
    """
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    if delta == 0.0:
        wins, total = x_c + x_b, n_c + n_b
        if wins in (0, total):
            return 0.0
        excess = x_c * n_b - x_b * n_c
        return excess * math.sqrt((total - 1) / (n_c * n_b * wins * (total - wins)))
    delta = shift(delta)
    total = n_c + n_b
    variance = score_variance(x_c, n_c, x_b, n_b, delta) * total / (total - 1)
    if variance == 0.0:  # a delta too small for its own variance to be a number
        return score_z(x_c, n_c, x_b, n_b)
    gap = (x_c * n_b - x_b * n_c) / (n_c * n_b) - delta
    return gap / math.sqrt(variance)


def score_p(x_c: Count, n_c: Count, x_b: Count, n_b: Count) -> float:
    """The two-sided p-value of "both arms win equally often": the N-1 chi-square test.

    In words: twice the normal tail beyond `score_z`. It is the test that `miettinen_nurminen` inverts, so the
    two never contradict each other.

    When to use it: from five games on; below ten check with an exact test, because every large-sample test
    rejects too often there.

    Returns:
        p in [0, 1]; exactly 1 where both arms won all or lost all.

    Raises:
        ValueError: A count is invalid, or an arm has no games.

    Source: Campbell (2007), Stat. Med. 26, 3661-3675.
    """
    return two_sided(score_z(x_c, n_c, x_b, n_b))


def pooled_z(x_c: Count, n_c: Count, x_b: Count, n_b: Count) -> float:
    """The pooled two-proportion z statistic, the square root of the uncorrected chi-square.

    When to use it: to explain "the Wilson intervals do not overlap", which for equal arms is |z| > sqrt(2) z.
    Decide with `score_z`. Arguments, range and errors as there.

    Source: Pearson (1900), Philos. Mag. 50, 157-175.
    """
    total = played(x_c, n_c, "candidate")[1] + played(x_b, n_b, "baseline")[1]
    return score_z(x_c, n_c, x_b, n_b) * math.sqrt(total / (total - 1))


def _hybrid(
    x_c: Count, n_c: Count, x_b: Count, n_b: Count, *, single: Callable[[int, int], tuple[float, float]]
) -> tuple[float, float]:
    """The difference and the distances to each arm's own limits, combined as a hypotenuse."""
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    low_c, high_c = single(x_c, n_c)
    low_b, high_b = single(x_b, n_b)
    p_c, p_b = x_c / n_c, x_b / n_b
    d = (x_c * n_b - x_b * n_c) / (n_c * n_b)
    low = d - math.hypot(p_c - low_c, high_b - p_b)
    high = d + math.hypot(high_c - p_c, p_b - low_b)
    return max(low, -1.0), min(high, 1.0)


def _score_interval(
    x_c: Count, n_c: Count, x_b: Count, n_b: Count, alpha: float, *, corrected: bool
) -> tuple[float, float]:
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    total = n_c + n_b
    z = critical(alpha)
    if corrected:
        z *= math.sqrt(total / (total - 1))
    start_low, start_high = newcombe(x_c, n_c, x_b, n_b, alpha)
    low = -1.0 if x_c == 0 and x_b == n_b else _lower_limit((x_c, n_c, x_b, n_b), z, start_low)
    # The upper limit is the mirror image: count losses instead of wins.
    high = 1.0 if x_c == n_c and x_b == 0 else -_lower_limit((n_c - x_c, n_c, n_b - x_b, n_b), z, -start_high)
    return max(low, -1.0), min(high, 1.0)


def _lower_limit(table: tuple[int, int, int, int], z: float, start: float) -> float:
    """The delta below d at which the score statistic equals z."""
    x_c, n_c, x_b, n_b = table
    d = (x_c * n_b - x_b * n_c) / (n_c * n_b)

    def excess(delta: float) -> float:
        """Positive left of the limit, negative between the limit and d; smooth, and finite at -1."""
        return d - delta - z * math.sqrt(score_variance(x_c, n_c, x_b, n_b, delta))

    return limit_below(excess, d, start)
