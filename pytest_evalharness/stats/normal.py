"""The standard normal distribution: tails, and the critical value of a two-sided level."""

from __future__ import annotations

import math
from functools import lru_cache

from pytest_evalharness.stats.inputs import level

SQRT2 = math.sqrt(2.0)
_LOG_SQRT_PI = 0.5 * math.log(math.pi)
_FAR_TAIL = 25.0  # beyond it `erfc` nears the smallest double and the series is exact to rounding
_MIDDLE = 0.5
_STEPS = 60


def upper_tail(z: float) -> float:
    """P(Z > z). Keeps its relative accuracy down to the smallest double; range [0, 1]."""
    return 0.5 * math.erfc(z / SQRT2)


def two_sided(z: float) -> float:
    """P(|Z| > |z|), the p-value of a z statistic; range [0, 1]."""
    return math.erfc(abs(z) / SQRT2)


@lru_cache(maxsize=256)
def critical(alpha: float) -> float:
    """The z with P(|Z| > z) = alpha: 1.959964 at alpha = .05.

    The level itself is the argument, never `1 - alpha`, so that alpha = 1e-300 is as exact as .05: Newton
    steps on the logarithm of the complementary error function, which is concave, so they always converge.

    Args:
        alpha: A two-sided level inside (0, 1).

    Returns:
        A finite z > 0.

    Raises:
        ValueError: alpha is not a number inside (0, 1).
    """
    alpha = level(alpha)
    if alpha > _MIDDLE:
        return SQRT2 * _inverse_erf(1.0 - alpha)
    target = math.log(alpha)
    x = math.sqrt(max(-target - math.log(2.0), 0.25))
    for _ in range(_STEPS):
        value = _log_erfc(x)
        # d/dx log erfc(x) = -2/sqrt(pi) * exp(-x^2) / erfc(x)
        slope = -2.0 * math.exp(-x * x - _LOG_SQRT_PI - value)
        step = (value - target) / slope
        x -= step
        if abs(step) <= 1e-16 * x:
            break
    return SQRT2 * x


def quantile(p: float) -> float:
    """The z with P(Z > z) = p, the upper quantile: 1.644854 at p = .05, negative for p > 1/2.

    Args:
        p: An upper tail probability inside (0, 1).

    Raises:
        ValueError: p is not a number inside (0, 1).
    """
    p = level(p, "p")
    if p == _MIDDLE:
        return 0.0
    return critical(2.0 * p) if p < _MIDDLE else -critical(2.0 * (1.0 - p))


def _log_erfc(x: float) -> float:
    """The logarithm of erfc(x) for x >= 0, by the asymptotic series where `erfc` itself would underflow."""
    if x < _FAR_TAIL:
        return math.log(math.erfc(x))
    term = total = 1.0
    for k in range(1, 8):
        term *= -(2 * k - 1) / (2.0 * x * x)
        total += term
    return -x * x - math.log(x) - _LOG_SQRT_PI + math.log(total)


def _inverse_erf(y: float) -> float:
    """The x with erf(x) = y for 0 < y <= 1/2, where Newton from the tangent at 0 converges from below."""
    x = y * math.sqrt(math.pi) / 2.0
    for _ in range(_STEPS):
        step = (math.erf(x) - y) * math.exp(x * x) * math.sqrt(math.pi) / 2.0
        x -= step
        if abs(step) <= 1e-16 * x:
            break
    return x
