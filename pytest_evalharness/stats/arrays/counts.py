"""What an array of counts may be; everything else is a ValueError that names the first value at fault."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]
Arms = tuple[Whole, Whole, Whole, Whole]

_LARGEST = 3_000_000_000  # the product of two such counts is still a whole number of 64 bits


def whole(values: ArrayLike, name: str) -> Whole:
    """Whole numbers of zero or more.

    Raises:
        ValueError: A value is not a whole number, negative, or above 3,000,000,000.
    """
    array = np.asarray(values)
    if not array.size:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, not {array.dtype}")
    if (least := array.min()) < 0:
        raise ValueError(f"{name} must not be negative, got {least}")
    if (most := array.max()) > _LARGEST:
        raise ValueError(f"{name} must be at most {_LARGEST:,} in an array, got {most}")
    return array.astype(np.int64, copy=False)


def wins_of(wins: ArrayLike, games: ArrayLike, arm: str = "") -> tuple[Whole, Whole]:
    """(wins, games) of the same shape with 0 <= wins <= games.

    Raises:
        ValueError: As `whole`, or there are more wins than games.
    """
    prefix = f"{arm} " if arm else ""
    x, n = np.broadcast_arrays(whole(wins, f"{prefix}wins"), whole(games, f"{prefix}games"))
    too_many = x > n
    if too_many.any():
        at = int(np.argmax(too_many))
        raise ValueError(f"{prefix}wins must not exceed {prefix}games, got {x.flat[at]} of {n.flat[at]}")
    return x, n


def tables(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike) -> Arms:
    """The four counts of two arms, of the same shape and with at least one game in each arm.

    Raises:
        ValueError: As `wins_of`, or an arm has no games.
    """
    arms = (*wins_of(x_c, n_c, "candidate"), *wins_of(x_b, n_b, "baseline"))
    for games, arm in ((arms[1], "candidate"), (arms[3], "baseline")):
        if (games == 0).any():
            raise ValueError(f"{arm} games must be at least 1, got 0")
    xc, nc, xb, nb = np.broadcast_arrays(*arms)
    return xc, nc, xb, nb


def pairs(both: ArrayLike, only_c: ArrayLike, only_b: ArrayLike, neither: ArrayLike) -> Arms:
    """The four counts of paired games, of the same shape and with at least one pair in each table.

    Raises:
        ValueError: As `whole`, or there are no pairs.
    """
    a, b, c, e = np.broadcast_arrays(
        whole(both, "both"), whole(only_c, "only_c"), whole(only_b, "only_b"), whole(neither, "neither")
    )
    if (a + b + c + e == 0).any():
        raise ValueError("pairs must be at least 1, got 0")
    return a, b, c, e


def difference(arms: Arms) -> Numbers:
    """The observed differences x_c / n_c - x_b / n_b, rounded once."""
    xc, nc, xb, nb = arms
    d: Numbers = (xc * nb - xb * nc) / (nc * nb)
    return d
