"""Quantiles of the Beta distribution, also where the library has no answer."""

from __future__ import annotations

import math

_BISECTIONS = 200
TRUSTED = 1e-9


def beta_quantile(a: float, b: float, p: float) -> float:
    """The x with P(Beta(a, b) <= x) = p.

    In words: scipy's inverse, believed only if it leads back to p; for tiny p it gives nan or worse, and the
    logarithm of x is bisected instead.

    Args:
        a: First shape, positive.
        b: Second shape, positive.
        p: A lower tail probability inside (0, 1).

    Returns:
        x inside [0, 1].
    """
    from scipy.special import betainc, betaincinv

    x = float(betaincinv(a, b, p))
    if abs(float(betainc(a, b, x)) / p - 1.0) < TRUSTED:
        return x
    low, high = math.log(5e-324), 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if float(betainc(a, b, math.exp(middle))) < p:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


def beta_upper_quantile(a: float, b: float, p: float) -> float:
    """The x with P(Beta(a, b) > x) = p; accurate also for tiny x. Arguments and range as `beta_quantile`."""
    from scipy.special import betaincc, betainccinv

    x = float(betainccinv(a, b, p))
    if abs(float(betaincc(a, b, x)) / p - 1.0) < TRUSTED:
        return x
    return 1.0 - beta_quantile(b, a, p)
