"""Student's t distribution: its two-sided tail, and the critical value of a two-sided level."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import critical

_LOG_SQRT_PI = 0.5 * math.log(math.pi)
_SERIES_FROM = 20.0
_MIDDLE = 0.5
_STEPS = 100
_TERMS = 10_000
_CLOSE = 2e-16
_NEXT_IS_EXACT = 1e-9  # each step squares the error of the one before


def t_two_sided(t: float, df: float) -> float:
    """P(|T| > |t|) with df > 0 degrees of freedom, by the incomplete beta function; in [0, 1].

    Its continued fraction is summed here: loading scipy for it would take longer than everything else that is judged.

    Source: Abramowitz and Stegun (1964), 26.7.1 and 26.5.8.
    """
    t = abs(t)
    if t == 0.0 or math.isinf(t):
        return float(t == 0.0)
    return math.exp(_log_tail(t, df))


def t_critical(alpha: float, df: float) -> float:
    """The t > 0 with P(|T| > t) = alpha: 2.228139 at alpha = .05 and 10 degrees of freedom.

    In words: Newton steps that cannot miss, since the logarithm of the tail is concave in that of t, and the tail's
    complement is concave in t.

    Args:
        alpha: A two-sided level inside (0, 1).
        df: Degrees of freedom, above 0; fractions are allowed.

    Raises:
        ValueError: alpha or df is invalid.
        OverflowError: t is larger than any double: a tiny alpha with df below 1.
    """
    alpha = level(alpha)
    if not df > 0.0:
        raise ValueError(f"df must be above 0, got {df!r}")
    if alpha > _MIDDLE:
        return _from_the_middle(1.0 - alpha, df)
    target, u = math.log(alpha), math.log(critical(alpha))  # below the root: a normal's tail is thinner
    for _ in range(_STEPS):
        value = _log_tail(math.exp(u), df)
        # d/du log P(|T| > e^u) = -2 e^u f(e^u) / P
        step = (value - target) / (2.0 * math.exp(u + _log_density(math.exp(u), df) - value))
        u += step
        if abs(step) <= _NEXT_IS_EXACT:
            break
    return math.exp(u)


def _from_the_middle(within: float, df: float) -> float:
    """The t with P(|T| <= t) = `within`, of at most a half: from the tangent at 0 the steps come from below."""
    t = 0.5 * within / math.exp(_log_density(0.0, df))
    for _ in range(_STEPS):
        step = (within - _within(t, df)) / (2.0 * math.exp(_log_density(t, df)))
        t += step
        if abs(step) <= _NEXT_IS_EXACT * t:
            break
    return t


def _log_tail(t: float, df: float) -> float:
    """The logarithm of P(|T| > t) for t > 0."""
    a = 0.5 * df
    log_x, log_y = _log_shares(t, df)
    x = math.exp(log_x)
    if x < _split(a):
        return a * log_x + 0.5 * log_y - _log_beta(a) + math.log(_continued(a, 0.5, x) / a)
    return math.log1p(-_within(t, df))


def _within(t: float, df: float) -> float:
    """P(|T| <= t) for t > 0."""
    a = 0.5 * df
    log_x, log_y = _log_shares(t, df)
    if math.exp(log_x) < _split(a):
        return -math.expm1(_log_tail(t, df))
    front = math.exp(a * log_x + 0.5 * log_y - _log_beta(a))
    return 2.0 * front * _continued(0.5, a, math.exp(log_y))


def _split(a: float) -> float:
    """Up to which x the continued fraction of I_x(a, 1/2) converges fast; from there on that of its complement does."""
    return (a + 1.0) / (a + 2.5)


def _log_shares(t: float, df: float) -> tuple[float, float]:
    """The logarithms of x = df / (df + t^2) and of 1 - x, where neither over- nor underflows."""
    ratio = t / math.sqrt(df)
    log_x = -2.0 * math.log(math.hypot(1.0, ratio)) if ratio > 1.0 else -math.log1p(ratio * ratio)
    return log_x, 2.0 * math.log(ratio) + log_x


def _log_density(t: float, df: float) -> float:
    """The logarithm of the density at t >= 0."""
    a = 0.5 * df
    log_x = _log_shares(t, df)[0] if t else 0.0
    return (a + 0.5) * log_x - _log_beta(a) - 0.5 * math.log(df)


def _log_beta(a: float) -> float:
    """The logarithm of B(a, 1/2); for large a by the series of its ratio of gamma functions, which loses no digits."""
    if a < _SERIES_FROM:
        return math.lgamma(a) + _LOG_SQRT_PI - math.lgamma(a + 0.5)
    w = 1.0 / (a * a)
    series = (1 / 8 - w * (1 / 192 - w * (1 / 640 - w * (17 / 14336 - w * 31 / 18432)))) / a
    return _LOG_SQRT_PI - 0.5 * math.log(a) + series


def _continued(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function for x < (a + 1) / (a + b + 2), after Lentz."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            value *= c * d
        if abs(c * d - 1.0) <= _CLOSE:
            break
    return value
