"""How sure is one win rate? Intervals for a single binomial proportion."""

from __future__ import annotations

import math

from pytest_evalharness.stats.beta import beta_quantile, beta_upper_quantile
from pytest_evalharness.stats.inputs import level, wins_of
from pytest_evalharness.stats.normal import critical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

_HALVINGS = 60
_NEARER_TO_ONE = 0.5


def wilson(wins: SupportsIndex, games: SupportsIndex, alpha: float = 0.05) -> tuple[float, float]:
    """Wilson's score interval for one win rate.

    In words: all rates t for which the observed rate lies within z standard errors of t, the standard error
    taken at t itself. The limits are the roots of `(n + z^2) t^2 - (2x + z^2) t + x^2/n = 0`; the larger root
    is computed and the smaller follows from their product, so nothing cancels for n up to 1e9 or alpha down
    to 1e-300. 0/n gives a lower limit of exactly 0 and n/n an upper limit of exactly 1; no games give (0, 1).

    When to use it: the default interval of one arm. It is short and near its nominal coverage on average; it
    does not guarantee that coverage for rates close to 0 or 1 (`clopper_pearson` does).

    Args:
        wins: Games won, a whole number.
        games: Games finished, a whole number.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        (low, high) with 0 <= low <= wins/games <= high <= 1.

    Raises:
        ValueError: A count or alpha is invalid; the message names it.

    Source: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.
    """
    x, n = wins_of(wins, games)
    return wilson_at(x, n, critical(alpha))


def wilson_at(x: float, n: float, z: float) -> tuple[float, float]:
    """`wilson` for counts that were checked before, whole or effective, at any critical value z > 0."""
    if n == 0:
        return 0.0, 1.0
    if 2 * x > n:  # count losses: with x <= n/2 the upper limit is computed without cancellation
        low, high = wilson_at(n - x, n, z)
        return 1.0 - high, 1.0 - low
    zz = z * z
    denominator = n + zz
    high = (x + 0.5 * zz + z * math.sqrt(x * (n - x) / n + 0.25 * zz)) / denominator
    low = x * x / (n * denominator * high) if x else 0.0
    return low, min(high, 1.0)


def wilson_cc(wins: SupportsIndex, games: SupportsIndex, alpha: float = 0.05) -> tuple[float, float]:
    """Wilson's interval with a continuity correction.

    In words: as `wilson`, with the observed rate moved by half a game away from t. Exactly 0 at no wins and 1 at
    no losses.

    When to use it: where a nearly guaranteed coverage is wanted in closed form. Arguments, range and errors as
    `wilson`.

    Source: Newcombe (1998), Stat. Med. 17, 857-872, method 4.
    """
    x, n = wins_of(wins, games)
    z = critical(alpha)
    if n == 0:
        return 0.0, 1.0
    if 2 * x > n:
        low, high = _wilson_cc_lower_half(n - x, n, z)
        return 1.0 - high, 1.0 - low
    return _wilson_cc_lower_half(x, n, z)


def agresti_coull(wins: SupportsIndex, games: SupportsIndex, alpha: float = 0.05) -> tuple[float, float]:
    """Agresti and Coull's interval: Wald's around the middle of Wilson's, clipped to [0, 1].

    When to use it: for a check by hand; it is wider than `wilson`. Arguments, range and errors as there.

    Source: Agresti and Coull (1998), Am. Stat. 52, 119-126.
    """
    x, n = wins_of(wins, games)
    z = critical(alpha)
    if n == 0:
        return 0.0, 1.0
    total = n + z * z
    middle = (x + 0.5 * z * z) / total
    half = z * math.sqrt(middle * (1.0 - middle) / total)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def clopper_pearson(wins: SupportsIndex, games: SupportsIndex, alpha: float = 0.05) -> tuple[float, float]:
    """Clopper and Pearson's exact interval.

    In words: the rates at which the observed wins, or more, and the observed wins, or fewer, have a probability
    of alpha/2. Exactly 0 at no wins and 1 at no losses.

    When to use it: when coverage of at least 1 - alpha must be guaranteed; it is wide. Arguments, range and
    errors as `wilson`. Imports scipy.special when called.

    Source: Clopper and Pearson (1934), Biometrika 26, 404-413.
    """
    x, n = wins_of(wins, games)
    return _at_most_rate(x, n, 0.5 * level(alpha)), _at_least_rate(x, n, 0.5 * alpha)


def jeffreys(wins: SupportsIndex, games: SupportsIndex, alpha: float = 0.05) -> tuple[float, float]:
    """The equal-tailed interval of the Beta posterior under Jeffreys' prior (1/2, 1/2).

    In words: the alpha/2 quantiles of Beta(x + 1/2, n - x + 1/2), with 0 for the lower one at no wins and 1 for
    the upper one at no losses.

    When to use it: as a short interval with a Bayesian reading. Arguments, range and errors as `wilson`. Imports
    scipy.special when called.

    Source: Brown, Cai and DasGupta (2001), Stat. Sci. 16, 101-133.
    """
    x, n = wins_of(wins, games)
    tail = 0.5 * level(alpha)
    if n == 0:
        return 0.0, 1.0
    low = 0.0 if x == 0 else beta_quantile(x + 0.5, n - x + 0.5, tail)
    high = 1.0 if x == n else beta_upper_quantile(x + 0.5, n - x + 0.5, tail)
    return low, high


def midp(wins: SupportsIndex, games: SupportsIndex, alpha: float = 0.05) -> tuple[float, float]:
    """The mid-P interval: `clopper_pearson`, but the observed count itself counts only half.

    When to use it: exact-like without all of its conservatism. Arguments, range and errors as `wilson`. Imports
    scipy.special when called.

    Source: Berry and Armitage (1995), Statistician 44, 417-423.
    """
    x, n = wins_of(wins, games)
    alpha = level(alpha)
    if n == 0:
        return 0.0, 1.0
    if x == 0:
        return 0.0, -math.expm1(math.log(alpha) / n)
    if x == n:
        return alpha ** (1.0 / n), 1.0
    return _midp_lower(x, n, alpha), _midp_upper(x, n, alpha)


def _wilson_cc_lower_half(x: int, n: int, z: float) -> tuple[float, float]:
    """The corrected limits for x <= n/2: each is a root of a quadratic, the lower one by the product of roots."""
    zz = z * z
    twice = 2.0 * (n + zz)
    high = (2 * x + 1 + zz + z * math.sqrt(zz + 2.0 - 1.0 / n + 4.0 * x * (n - x - 1) / n)) / twice
    if x == 0:
        return 0.0, min(high, 1.0)
    other = (2 * x - 1 + zz + z * math.sqrt(zz - 2.0 - 1.0 / n + 4.0 * x * (n - x + 1) / n)) / twice
    return (x - 0.5) * (x - 0.5) / (n * (n + zz) * other), min(high, 1.0)


def _at_most_rate(x: int, n: int, tail: float) -> float:
    """The rate at which x or more wins have this probability; 0 at no wins."""
    if x == 0:
        return 0.0
    return tail ** (1.0 / n) if x == n else beta_quantile(x, n - x + 1, tail)


def _at_least_rate(x: int, n: int, tail: float) -> float:
    """The rate at which x or fewer wins have this probability; 1 at no losses."""
    if x == n:
        return 1.0
    return -math.expm1(math.log(tail) / n) if x == 0 else beta_upper_quantile(x + 1, n - x, tail)


def _midp_lower(x: int, n: int, alpha: float) -> float:
    """The lower mid-P limit for 0 < x < n: between the exact ones at alpha/2 and at alpha."""
    from scipy.special import betainc

    left, right = _at_most_rate(x, n, 0.5 * alpha), _at_most_rate(x, n, alpha)
    return _bisected(
        left, right, lambda t: float(betainc(x, n - x + 1, t) + betainc(x + 1, n - x, t)) < alpha
    )


def _midp_upper(x: int, n: int, alpha: float) -> float:
    """The upper mid-P limit for 0 < x < n: the mirror image, but itself searched where it is small."""
    from scipy.special import betaincc

    narrow, wide = _at_least_rate(x, n, alpha), _at_least_rate(x, n, 0.5 * alpha)
    if wide > _NEARER_TO_ONE:
        return 1.0 - _midp_lower(n - x, n, alpha)
    return _bisected(
        narrow, wide, lambda t: float(betaincc(x, n - x + 1, t) + betaincc(x + 1, n - x, t)) > alpha
    )


def _bisected(left: float, right: float, below: Callable[[float], bool]) -> float:
    """Where `below` turns from true to false between left and right, halving the ratio of the two.

    For alpha near the smallest double the library's tails are noise; halving still ends between the exact limits.
    """
    low, high = math.log(left), math.log(right)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if below(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


def separated(
    candidate: tuple[float, float],
    baseline: tuple[float, float],
) -> int:
    """+1 if the candidate's interval lies wholly above the baseline's, -1 if below, 0 if they overlap.

    Two 95 % Wilson intervals of equal arms do not overlap exactly when the pooled z statistic exceeds
    sqrt(2) * 1.96: a two-sided test at .0056, not .05 (see Schenker and Gentleman 2001, Am. Stat. 55). Touching
    intervals overlap.
    """
    if candidate[0] > baseline[1]:
        return 1
    return -1 if candidate[1] < baseline[0] else 0
