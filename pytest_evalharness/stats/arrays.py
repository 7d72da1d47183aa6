"""Many tables at once: the intervals and tests of single tables, for arrays of counts.

Counts may be arrays of any integer type, or numbers; they are broadcast against one another. Each function gives
what its namesake in `proportions` or `difference` gives element by element, and refuses what that refuses.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_evalharness.stats import difference
from pytest_evalharness.stats.normal import critical

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

_CLOSED_FORM_UP_TO = 100_000  # games in both arms; beyond it the single-table solver keeps more digits
_STEPS = 100
_NOTHING = -1e-6


def wilson(wins: ArrayLike, games: ArrayLike, alpha: float = 0.05) -> tuple[Numbers, Numbers]:
    """`proportions.wilson` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid.
    """
    x, n = _wins_of(wins, games, "")
    return _wilson(x, n, critical(alpha))


def newcombe(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05
) -> tuple[Numbers, Numbers]:
    """`difference.newcombe` of arrays: (lows, highs) in the broadcast shape.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    return _newcombe(_tables(x_c, n_c, x_b, n_b), critical(alpha))


def miettinen_nurminen(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, alpha: float = 0.05
) -> tuple[Numbers, Numbers]:
    """`difference.miettinen_nurminen` of arrays: (lows, highs) in the broadcast shape.

    In words: the same equation, solved for all tables side by side by false position.

    Raises:
        ValueError: A count or alpha is invalid, or an arm has no games.
    """
    xc, nc, xb, nb = tables = _tables(x_c, n_c, x_b, n_b)
    total = (nc + nb).astype(float)
    z = critical(alpha) * np.sqrt(total / (total - 1.0))
    low = np.where((xc == 0) & (xb == nb), -1.0, _lower_limits((xc, nc, xb, nb), z))
    high = np.where((xc == nc) & (xb == 0), 1.0, -_lower_limits((nc - xc, nc, nb - xb, nb), z))
    for index in np.flatnonzero(total > _CLOSED_FORM_UP_TO):
        i, j, k, m = (int(column.flat[index]) for column in tables)
        low.flat[index], high.flat[index] = difference.miettinen_nurminen(i, j, k, m, alpha)
    return low, high


def score_z(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike) -> Numbers:
    """`difference.score_z` at 0 of arrays, in the broadcast shape.

    Raises:
        ValueError: A count is invalid, or an arm has no games.
    """
    xc, nc, xb, nb = (column.astype(float) for column in _tables(x_c, n_c, x_b, n_b))
    wins, total = xc + xb, nc + nb
    spread = nc * nb * wins * (total - wins)
    z: Numbers = np.zeros_like(spread)
    np.divide((xc * nb - xb * nc) * np.sqrt(total - 1.0), np.sqrt(spread), out=z, where=spread > 0.0)
    return z


def score_p(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike) -> Numbers:
    """`difference.score_p` of arrays, in the broadcast shape. Imports scipy.special when called.

    Raises:
        ValueError: A count is invalid, or an arm has no games.
    """
    from scipy.special import erfc

    p: Numbers = np.asarray(erfc(np.abs(score_z(x_c, n_c, x_b, n_b)) / math.sqrt(2.0)))
    return p


def _whole(values: ArrayLike, name: str) -> Whole:
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, not {array.dtype}")
    if array.size and (least := array.min()) < 0:
        raise ValueError(f"{name} must not be negative, got {least}")
    return array.astype(np.int64, copy=False)


def _wins_of(wins: ArrayLike, games: ArrayLike, prefix: str) -> tuple[Whole, Whole]:
    x, n = np.broadcast_arrays(_whole(wins, f"{prefix}wins"), _whole(games, f"{prefix}games"))
    too_many = x > n
    if too_many.any():
        at = int(np.argmax(too_many))
        raise ValueError(f"{prefix}wins must not exceed {prefix}games, got {x.flat[at]} of {n.flat[at]}")
    return x, n


def _tables(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike
) -> tuple[Whole, Whole, Whole, Whole]:
    arms = (*_wins_of(x_c, n_c, "candidate "), *_wins_of(x_b, n_b, "baseline "))
    for games, arm in ((arms[1], "candidate"), (arms[3], "baseline")):
        if (games == 0).any():
            raise ValueError(f"{arm} games must be at least 1, got 0")
    xc, nc, xb, nb = np.broadcast_arrays(*arms)
    return xc, nc, xb, nb


def _wilson(x: Whole, n: Whole, z: float) -> tuple[Numbers, Numbers]:
    """The limits are (s / (n + z^2)) and, by the product of the roots, x^2 / (n s): neither subtracts."""
    zz = z * z
    wins, games = np.array(x, dtype=float), np.array(n, dtype=float)
    empty = None if games.all() else games == 0.0
    if empty is not None:
        games[empty] = 1.0
    s = games - wins
    s *= wins
    s /= games
    s += 0.25 * zz
    np.sqrt(s, out=s)
    s *= z
    s += wins
    s += 0.5 * zz
    low, high = games * s, games + zz
    wins *= wins
    np.divide(wins, low, out=low)
    np.divide(s, high, out=high)
    high[x == n] = 1.0  # by assignment, not by rounding
    if empty is not None:
        low[empty] = 0.0
    return low, high


def _newcombe(tables: tuple[Whole, Whole, Whole, Whole], z: float) -> tuple[Numbers, Numbers]:
    xc, nc, xb, nb = tables
    (low_c, high_c), (low_b, high_b) = _wilson(xc, nc, z), _wilson(xb, nb, z)
    p_c, p_b = xc / nc, xb / nb
    d = _difference(tables)
    below = (p_c - low_c) ** 2 + (high_b - p_b) ** 2
    above = (high_c - p_c) ** 2 + (p_b - low_b) ** 2
    return np.maximum(d - np.sqrt(below), -1.0), np.minimum(d + np.sqrt(above), 1.0)


def _difference(tables: tuple[Whole, Whole, Whole, Whole]) -> Numbers:
    xc, nc, xb, nb = (column.astype(float) for column in tables)
    d: Numbers = (xc * nb - xb * nc) / (nc * nb)
    return d


def _lower_limits(tables: tuple[Whole, Whole, Whole, Whole], z: Numbers) -> Numbers:
    """The differences below d at which the score statistics equal z, by the Illinois method side by side."""
    d = _difference(tables)
    columns = tuple(column.astype(float) for column in tables)

    def excess(delta: Numbers) -> Numbers:
        return d - delta - z * np.sqrt(_score_variance(columns, delta))

    a, b = np.full_like(d, -1.0), d.copy()
    f_a = d + 1.0
    f_b = excess(b)
    # no variance at d: only the sign is needed, and this keeps the first step long
    f_b = np.where(f_b > _NOTHING, -1.0, f_b)
    for _ in range(_STEPS):
        slope = f_b - f_a
        step = np.divide(f_b * (a - b), slope, out=np.zeros_like(d), where=slope != 0.0)
        point = b + step
        value = excess(point)
        same = (value > 0.0) == (f_b > 0.0)
        f_a = np.where(same, 0.5 * f_a, f_b)
        a = np.where(same, a, b)
        b, f_b = point, value
        if (np.abs(step) <= 2e-16 * np.maximum(np.abs(d), np.abs(point))).all():
            break
    return np.maximum(b, -1.0)


def _score_variance(tables: tuple[Numbers, ...], delta: Numbers) -> Numbers:
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
    u = np.clip(2.0 * r * np.cos(angle) - bend, 0.0, 1.0 - size)
    upper = u + size
    variance: Numbers = np.maximum(upper * (1.0 - upper) / n_up + u * (1.0 - u) / n, 0.0)
    return variance
