"""`stats.difference` of arrays: intervals and tests for many pairs of independent arms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pytest_evalharness.stats import difference as single
from pytest_evalharness.stats.arrays import proportions
from pytest_evalharness.stats.arrays.counts import Arms, Numbers, Whole, difference, tables
from pytest_evalharness.stats.arrays.roots import limits_below
from pytest_evalharness.stats.inputs import shift
from pytest_evalharness.stats.normal import SQRT2, critical

Limits = tuple[Numbers, Numbers]

_CLOSED_FORM_UP_TO = 99_999  # games in both arms; beyond it the single-table solver keeps more digits


def newcombe(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05) -> Limits:
    """`difference.newcombe` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    z = critical(alpha)
    return _hybrid(tables(x_c, n_c, x_b, n_b), lambda x, n: proportions.wilson_at(x, n, z))


def newcombe_cc(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05
) -> Limits:
    """`difference.newcombe_cc` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    return _hybrid(tables(x_c, n_c, x_b, n_b), lambda x, n: proportions.wilson_cc(x, n, alpha))


def agresti_caffo(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05
) -> Limits:
    """`difference.agresti_caffo` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    xc, nc, xb, nb = tables(x_c, n_c, x_b, n_b)
    p_c, p_b = (xc + 1) / (nc + 2), (xb + 1) / (nb + 2)
    half = critical(alpha) * np.sqrt(p_c * (1.0 - p_c) / (nc + 2) + p_b * (1.0 - p_b) / (nb + 2))
    return np.maximum(p_c - p_b - half, -1.0), np.minimum(p_c - p_b + half, 1.0)


def miettinen_nurminen(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05
) -> Limits:
    """`difference.miettinen_nurminen` of arrays: (lows, highs) in the broadcast shape.

    In words: the same equation, solved for all tables side by side by false position; tables of 100,000 games
    or more are left to the single-table solver, one by one.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    arms = tables(x_c, n_c, x_b, n_b)
    total = (arms[1] + arms[3]).astype(float)
    return _score_limits(arms, np.sqrt(total / (total - 1.0)), alpha, single.miettinen_nurminen)


def mee(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05) -> Limits:
    """`difference.mee` of arrays, as `miettinen_nurminen` here: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    arms = tables(x_c, n_c, x_b, n_b)
    return _score_limits(arms, np.ones(arms[0].shape), alpha, single.mee)


def score_z(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, delta: float = 0.0) -> Numbers:
    """`difference.score_z` of arrays, at one delta, in the broadcast shape.

    Raises:
        ValueError: A count or delta is invalid, or an arm has no games.
    """
    arms = tables(x_c, n_c, x_b, n_b)
    if delta == 0.0:
        return _score_z_at_0(arms)
    return _score_z_at(arms, shift(delta))


def score_p(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike) -> Numbers:
    """`difference.score_p` of arrays, in the broadcast shape. Imports scipy.special when called.

    Raises:
        ValueError: A count is invalid, or an arm has no games.
    """
    from scipy.special import erfc

    p: Numbers = np.asarray(erfc(np.abs(score_z(x_c, n_c, x_b, n_b)) / SQRT2))
    return p


def pooled_z(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike) -> Numbers:
    """`difference.pooled_z` of arrays, in the broadcast shape.

    Raises:
        ValueError: A count is invalid, or an arm has no games.
    """
    arms = tables(x_c, n_c, x_b, n_b)
    total = (arms[1] + arms[3]).astype(float)
    z: Numbers = np.asarray(_score_z_at_0(arms) * np.sqrt(total / (total - 1.0)))
    return z


def _hybrid(arms: Arms, single_arm: Callable[[Whole, Whole], Limits]) -> Limits:
    """The differences and the distances to each arm's own limits, combined as a hypotenuse."""
    xc, nc, xb, nb = arms
    (low_c, high_c), (low_b, high_b) = single_arm(xc, nc), single_arm(xb, nb)
    p_c, p_b, d = xc / nc, xb / nb, difference(arms)
    below = (p_c - low_c) ** 2 + (high_b - p_b) ** 2
    above = (high_c - p_c) ** 2 + (p_b - low_b) ** 2
    return np.maximum(d - np.sqrt(below), -1.0), np.minimum(d + np.sqrt(above), 1.0)


def _score_z_at_0(arms: Arms) -> Numbers:
    xc, nc, xb, nb = arms
    wins, total = (xc + xb).astype(float), (nc + nb).astype(float)
    spread = nc.astype(float) * nb * wins * (total - wins)
    z: Numbers = np.zeros(xc.shape)
    np.divide((xc * nb - xb * nc) * np.sqrt(total - 1.0), np.sqrt(spread), out=z, where=spread > 0.0)
    return z


def _score_z_at(arms: Arms, delta: float) -> Numbers:
    total = (arms[1] + arms[3]).astype(float)
    columns = tuple(column.astype(float) for column in arms)
    variance = _cubic_variance(columns, np.full(total.shape, delta)) * total / (total - 1.0)
    z = np.array(_score_z_at_0(arms))
    np.divide(difference(arms) - delta, np.sqrt(variance), out=z, where=variance > 0.0)
    for index in np.flatnonzero(total > _CLOSED_FORM_UP_TO):
        z.flat[index] = single.score_z(*_one(arms, index), delta)
    return z


def _score_limits(
    arms: Arms, factor: Numbers, alpha: float, solver: Callable[..., tuple[float, float]]
) -> Limits:
    """The score interval with z times the factor; of large tables, what the single-table solver says."""
    xc, nc, xb, nb = arms
    z = critical(alpha) * factor
    low = np.where((xc == 0) & (xb == nb), -1.0, _lower_limits(arms, z))
    high = np.where((xc == nc) & (xb == 0), 1.0, -_lower_limits((nc - xc, nc, nb - xb, nb), z))
    for index in np.flatnonzero(nc + nb > _CLOSED_FORM_UP_TO):
        low.flat[index], high.flat[index] = solver(*_one(arms, index), alpha)
    return low, high


def _one(arms: Arms, index: np.intp) -> tuple[int, int, int, int]:
    x_c, n_c, x_b, n_b = (int(column.flat[index]) for column in arms)
    return x_c, n_c, x_b, n_b


def _lower_limits(arms: Arms, z: Numbers) -> Numbers:
    """The differences below d at which the score statistics equal z."""
    d = difference(arms)
    columns = tuple(column.astype(float) for column in arms)
    return limits_below(lambda delta: d - delta - z * np.sqrt(_cubic_variance(columns, delta)), d)


def _cubic_variance(tables: tuple[Numbers, ...], delta: Numbers) -> Numbers:
    """`restricted.score_variance` of arrays: count losses where most are won, and from the lower arm."""
    xc, nc, xb, nb = tables
    mirrored = 2.0 * (xc + xb) > nc + nb
    xc, xb = np.where(mirrored, nc - xc, xc), np.where(mirrored, nb - xb, xb)
    delta = np.where(mirrored, -delta, delta)
    swapped = delta < 0.0
    x, n = np.where(swapped, xc, xb), np.where(swapped, nc, nb)
    x_up, n_up = np.where(swapped, xb, xc), np.where(swapped, nb, nc)
    size = np.abs(delta)
    total, wins = n + n_up, x + x_up
    a2 = (n_up + 2.0 * n) * size - total - wins
    a1 = (n * size - total - 2.0 * x) * size + wins
    a0 = x * size * (1.0 - size)
    bend = a2 / (3.0 * total)
    q = bend * bend * bend - bend * a1 / (2.0 * total) + a0 / (2.0 * total)
    r = np.copysign(np.sqrt(np.maximum(bend * bend - a1 / (3.0 * total), 0.0)), q)
    cube = r * r * r
    ratio = np.divide(q, cube, out=np.zeros_like(q), where=cube != 0.0)
    angle = (math.pi + np.arccos(np.clip(ratio, -1.0, 1.0))) / 3.0
    rate = 2.0 * r * np.cos(angle) - bend
    root = np.sqrt(np.maximum(a2 * a2 - 4.0 * total * a1, 0.0))
    at_0 = np.divide(2.0 * a1, root - a2, out=np.zeros_like(q), where=a1 > 0.0)
    u = np.clip(np.where(x == 0.0, at_0, rate), 0.0, 1.0 - size)
    upper = u + size
    variance: Numbers = np.maximum(upper * (1.0 - upper) / n_up + u * (1.0 - u) / n, 0.0)
    return variance
