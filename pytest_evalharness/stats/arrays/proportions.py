"""`stats.proportions` of arrays: intervals for many win rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_evalharness.stats.arrays.counts import Numbers, Whole, wins_of
from pytest_evalharness.stats.beta import TRUSTED, beta_quantile, beta_upper_quantile
from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import critical

Limits = tuple[Numbers, Numbers]

_HALVINGS = 60
_ORDINARY = 1e-4  # a tail for which the library's inverse need not be led back to it
_NEARER_TO_ONE = 0.5


def wilson(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> Limits:
    """`proportions.wilson` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = wins_of(wins, games)
    return wilson_at(x, n, critical(alpha))


def wilson_at(x: Whole, n: Whole, z: float) -> Limits:
    """`wilson` for counts that were checked before.

    The limits are (s / (n + z^2)) and, by the product of the roots, x^2 / (n s): neither subtracts.
    """
    zz = z * z
    wins, games = np.array(x, dtype=float), np.array(n, dtype=float)
    empty = None if games.all() else games == 0.0
    if empty is not None:
        games[empty] = 1.0
    s = np.asarray(games - wins)
    s *= wins
    s /= games
    s += 0.25 * zz
    np.sqrt(s, out=s)
    s *= z
    s += wins
    s += 0.5 * zz
    low, high = np.asarray(games * s), np.asarray(games + zz)
    wins *= wins
    np.divide(wins, low, out=low)
    np.divide(s, high, out=high)
    high[x == n] = 1.0  # by assignment, not by rounding
    if empty is not None:
        low[empty] = 0.0
    return low, high


def wilson_cc(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> Limits:
    """`proportions.wilson_cc` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = wins_of(wins, games)
    z = critical(alpha)
    zz = z * z
    mirrored = 2 * x > n
    few, many = np.where(mirrored, n - x, x).astype(float), np.maximum(n, 1).astype(float)
    twice = 2.0 * (many + zz)
    root = np.sqrt(np.maximum(zz + 2.0 - 1.0 / many + 4.0 * few * (many - few - 1.0) / many, 0.0))
    high = np.where(n == 0, 1.0, np.minimum((2.0 * few + 1.0 + zz + z * root) / twice, 1.0))
    root = np.sqrt(np.maximum(zz - 2.0 - 1.0 / many + 4.0 * few * (many - few + 1.0) / many, 0.0))
    other = np.maximum(2.0 * few - 1.0 + zz + z * root, zz) / twice  # the bound is for few = 0 alone
    low = np.where(few == 0.0, 0.0, (few - 0.5) * (few - 0.5) / (many * (many + zz) * other))
    return np.where(mirrored, 1.0 - high, low), np.where(mirrored, 1.0 - low, high)


def agresti_coull(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> Limits:
    """`proportions.agresti_coull` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = wins_of(wins, games)
    z = critical(alpha)
    total = n + z * z
    middle = (x + 0.5 * z * z) / total
    half = z * np.sqrt(middle * (1.0 - middle) / total)
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    return np.where(n == 0, 0.0, low), np.where(n == 0, 1.0, high)


def clopper_pearson(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> Limits:
    """`proportions.clopper_pearson` of arrays: (lows, highs) in the broadcast shape. Imports scipy.special.

    In words: tables that occur more than once are computed once.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = wins_of(wins, games)
    tail = 0.5 * level(alpha)
    return _each_once(x, n, lambda x, n: (_at_most_rate(x, n, tail), _at_least_rate(x, n, tail)))


def jeffreys(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> Limits:
    """`proportions.jeffreys` of arrays: (lows, highs) in the broadcast shape. Imports scipy.special.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = wins_of(wins, games)
    tail = 0.5 * level(alpha)

    def limits(x: Whole, n: Whole) -> Limits:
        low, high = np.zeros(x.shape), np.ones(x.shape)
        some, short = x > 0, x < n
        low[some] = _quantile(x[some] + 0.5, (n - x)[some] + 0.5, tail)
        high[short] = _upper_quantile(x[short] + 0.5, (n - x)[short] + 0.5, tail)
        return low, high

    return _each_once(x, n, limits)


def midp(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> Limits:
    """`proportions.midp` of arrays: (lows, highs) in the broadcast shape. Imports scipy.special.

    In words: the same equations, solved for all tables side by side by bisection.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = wins_of(wins, games)
    alpha = level(alpha)

    def limits(x: Whole, n: Whole) -> Limits:
        low, high = np.zeros(x.shape), np.ones(x.shape)
        none, all_ = (x == 0) & (n > 0), (x == n) & (n > 0)
        high[none] = -np.expm1(np.log(alpha) / n[none])
        low[all_] = alpha ** (1.0 / n[all_])
        inner = (x > 0) & (x < n)
        low[inner] = _midp_lower(x[inner], n[inner], alpha)
        high[inner] = _midp_upper(x[inner], n[inner], alpha)
        return low, high

    return _each_once(x, n, limits)


def _each_once(x: Whole, n: Whole, limits: Callable[[Whole, Whole], Limits]) -> Limits:
    """Limits that take long, computed once for each table that differs."""
    keys = (n * (n + 1) // 2 + x).ravel()  # one number for each pair with x <= n
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    low, high = limits(x.ravel()[first], n.ravel()[first])
    return low[back].reshape(x.shape), high[back].reshape(x.shape)


def _at_most_rate(x: Whole, n: Whole, tail: float) -> Numbers:
    low = np.zeros(x.shape)
    all_, inner = (x == n) & (n > 0), (x > 0) & (x < n)
    low[all_] = tail ** (1.0 / n[all_])
    low[inner] = _quantile(x[inner], (n - x)[inner] + 1.0, tail)
    return low


def _at_least_rate(x: Whole, n: Whole, tail: float) -> Numbers:
    high = np.ones(x.shape)
    none, inner = (x == 0) & (n > 0), (x > 0) & (x < n)
    high[none] = -np.expm1(np.log(tail) / n[none])
    high[inner] = _upper_quantile(x[inner] + 1.0, (n - x)[inner], tail)
    return high


def _quantile(a: ArrayLike, b: ArrayLike, p: float) -> Numbers:
    """`beta.beta_quantile` of arrays; where the library is not to be believed, one by one."""
    from scipy.special import betainc, betaincinv

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    rates: Numbers = np.asarray(betaincinv(a, b, p))
    back = betainc(a, b, rates) if p < _ORDINARY else p * np.isfinite(rates)
    for i in np.flatnonzero(~(np.abs(back / p - 1.0) < TRUSTED)):
        rates[i] = beta_quantile(float(a[i]), float(b[i]), p)
    return rates


def _upper_quantile(a: ArrayLike, b: ArrayLike, p: float) -> Numbers:
    """`beta.beta_upper_quantile` of arrays; where the library is not to be believed, one by one."""
    from scipy.special import betaincc, betainccinv

    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    rates: Numbers = np.asarray(betainccinv(a, b, p))
    back = betaincc(a, b, rates) if p < _ORDINARY else p * np.isfinite(rates)
    for i in np.flatnonzero(~(np.abs(back / p - 1.0) < TRUSTED)):
        rates[i] = beta_upper_quantile(float(a[i]), float(b[i]), p)
    return rates


def _midp_lower(x: Whole, n: Whole, alpha: float) -> Numbers:
    """The lower limits for 0 < x < n: between the exact ones at alpha/2 and at alpha, on the log scale."""
    from scipy.special import betainc

    left, right = _at_most_rate(x, n, 0.5 * alpha), _at_most_rate(x, n, alpha)
    return _bisected(left, right, lambda t: betainc(x, n - x + 1, t) + betainc(x + 1, n - x, t) < alpha)


def _midp_upper(x: Whole, n: Whole, alpha: float) -> Numbers:
    """The upper limits for 0 < x < n: the mirror image, but themselves on the log scale where they are small."""
    from scipy.special import betaincc

    narrow, wide = _at_least_rate(x, n, alpha), _at_least_rate(x, n, 0.5 * alpha)
    limits = _bisected(narrow, wide, lambda t: betaincc(x, n - x + 1, t) + betaincc(x + 1, n - x, t) > alpha)
    far = wide > _NEARER_TO_ONE
    limits[far] = 1.0 - _midp_lower((n - x)[far], n[far], alpha)
    return limits


def _bisected(left: Numbers, right: Numbers, below: Callable[[Numbers], NDArray[np.bool]]) -> Numbers:
    """Where `below` turns from true to false between left and right, halving the ratio of the two."""
    left, right = np.log(left), np.log(right)
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        further = below(np.exp(middle))
        left, right = np.where(further, middle, left), np.where(further, right, middle)
    found: Numbers = np.exp(0.5 * (left + right))
    return found
