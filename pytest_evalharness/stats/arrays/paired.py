"""`stats.paired` of arrays: intervals and tests for many tables of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_evalharness.stats.arrays.counts import Numbers, Whole, pairs, whole
from pytest_evalharness.stats.arrays.proportions import wilson_at
from pytest_evalharness.stats.arrays.roots import limits_below
from pytest_evalharness.stats.normal import SQRT2, critical

Limits = tuple[Numbers, Numbers]


def mcnemar_z(only_c: ArrayLike, only_b: ArrayLike) -> Numbers:
    """`paired.mcnemar_z` of arrays, in the broadcast shape.

    Raises:
        ValueError: A count is invalid.
    """
    b, c = _differing(only_c, only_b)
    z: Numbers = np.zeros(b.shape)
    np.divide(b - c, np.sqrt(b + c), out=z, where=b + c > 0)
    return z


def mcnemar_p(only_c: ArrayLike, only_b: ArrayLike) -> Numbers:
    """`paired.mcnemar_p` of arrays, in the broadcast shape. Imports scipy.special when called.

    Raises:
        ValueError: A count is invalid.
    """
    from scipy.special import erfc

    p: Numbers = np.asarray(erfc(np.abs(mcnemar_z(only_c, only_b)) / SQRT2))
    return p


def mcnemar_exact(only_c: ArrayLike, only_b: ArrayLike) -> Numbers:
    """`paired.mcnemar_exact` of arrays, in the broadcast shape. Imports scipy.special when called.

    Raises:
        ValueError: A count is invalid.
    """
    at_most, _ = _coin_tails(*_differing(only_c, only_b))
    p: Numbers = np.minimum(2.0 * at_most, 1.0)
    return p


def mcnemar_midp(only_c: ArrayLike, only_b: ArrayLike) -> Numbers:
    """`paired.mcnemar_midp` of arrays, in the broadcast shape. Imports scipy.special when called.

    Raises:
        ValueError: A count is invalid.
    """
    b, c = _differing(only_c, only_b)
    at_most, below = _coin_tails(b, c)
    return np.where(b == c, 1.0, np.minimum(at_most + below, 1.0))


def tango(
    both: ArrayLike, only_c: ArrayLike, only_b: ArrayLike, neither: ArrayLike, alpha: float = 0.05
) -> Limits:
    """`paired.tango` of arrays: (lows, highs) in the broadcast shape.

    In words: the same equation, solved for all tables side by side by false position.

    Raises:
        ValueError: A count or alpha is invalid, or there are no pairs.
    """
    a, b, c, e = pairs(both, only_c, only_b, neither)
    n, z = (a + b + c + e).astype(float), critical(alpha)
    low = np.where(c == n, -1.0, _tango_lower(b.astype(float), c.astype(float), n, z))
    high = np.where(b == n, 1.0, -_tango_lower(c.astype(float), b.astype(float), n, z))
    return low, high


def newcombe_paired(
    both: ArrayLike,
    only_c: ArrayLike,
    only_b: ArrayLike,
    neither: ArrayLike,
    alpha: float = 0.05,
    *,
    corrected: bool = True,
) -> Limits:
    """`paired.newcombe_paired` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or there are no pairs.
    """
    a, b, c, e = pairs(both, only_c, only_b, neither)
    z, n = critical(alpha), a + b + c + e
    wins_c, wins_b = a + b, a + c
    numerator = (a * e - b * c).astype(float)
    if corrected:
        numerator = np.where(numerator > 0.0, np.maximum(numerator - 0.5 * n, 0.0), numerator)
    margins = wins_c.astype(float) * (n - wins_c) * wins_b * (n - wins_b)
    phi = np.divide(numerator, np.sqrt(margins), out=np.zeros(n.shape), where=margins > 0.0)
    (low_c, high_c), (low_b, high_b) = wilson_at(wins_c, n, z), wilson_at(wins_b, n, z)
    p_c, p_b, d = wins_c / n, wins_b / n, (b - c) / n
    low = d - _third_side(p_c - low_c, high_b - p_b, phi)
    high = d + _third_side(high_c - p_c, p_b - low_b, phi)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def bonett_price(
    both: ArrayLike, only_c: ArrayLike, only_b: ArrayLike, neither: ArrayLike, alpha: float = 0.05
) -> Limits:
    """`paired.bonett_price` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or there are no pairs.
    """
    a, b, c, e = pairs(both, only_c, only_b, neither)
    n = a + b + c + e
    p12, p21 = (b + 1) / (n + 2), (c + 1) / (n + 2)
    d = p12 - p21
    half = critical(alpha) * np.sqrt((p12 + p21 - d * d) / (n + 2))
    return np.maximum(d - half, -1.0), np.minimum(d + half, 1.0)


def _differing(only_c: ArrayLike, only_b: ArrayLike) -> tuple[Whole, Whole]:
    b, c = np.broadcast_arrays(whole(only_c, "only_c"), whole(only_b, "only_b"))
    return b, c


def _coin_tails(b: Whole, c: Whole) -> Limits:
    """P(at most min(b, c)) and P(fewer than min(b, c)) heads in b + c tosses of a fair coin."""
    from scipy.special import betainc

    few, many = np.minimum(b, c), np.maximum(b, c)
    at_most, below = np.ones(b.shape), np.zeros(b.shape)
    some, tosses = few > 0, many > 0
    at_most[tosses] = betainc(many[tosses], few[tosses] + 1, 0.5)
    below[some] = betainc(many[some] + 1, few[some], 0.5)
    return at_most, below


def _tango_lower(b: Numbers, c: Numbers, n: Numbers, z: float) -> Numbers:
    """The differences below (b - c)/n at which the paired score statistics equal z."""
    d = (b - c) / n

    def excess(delta: Numbers) -> Numbers:
        return d - delta - z * np.sqrt(_discordant_variance(b, c, n, delta) / n)

    return limits_below(excess, d)


def _discordant_variance(b: Numbers, c: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """p12 + p21 - delta^2 at the maximum likelihood rates with p12 - p21 = delta; counted from the smaller rate."""
    swapped = delta < 0.0
    b, c, delta = np.where(swapped, c, b), np.where(swapped, b, c), np.abs(delta)
    linear = (2.0 * n - b + c) * delta - b - c
    product = c * delta * (1.0 - delta)
    root = np.sqrt(linear * linear + 8.0 * n * product)
    by_quotient = np.divide(2.0 * product, root + linear, out=np.zeros(n.shape), where=linear > 0.0)
    smaller = np.where(linear > 0.0, by_quotient, (root - linear) / (4.0 * n))
    variance: Numbers = np.maximum(2.0 * smaller + delta * (1.0 - delta), 0.0)
    return variance


def _third_side(one: Numbers, other: Numbers, phi: Numbers) -> Numbers:
    side: Numbers = np.sqrt(np.maximum(one * one - 2.0 * phi * one * other + other * other, 0.0))
    return side
