"""`stats.equivalence` of arrays: non-inferiority and equivalence of many pairs of independent arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_evalharness.stats.arrays.counts import Numbers
from pytest_evalharness.stats.arrays.difference import score_z
from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import SQRT2


def noninferiority_p(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, margin: float
) -> Numbers:
    """`equivalence.noninferiority_p` of arrays, at one margin, in the broadcast shape. Imports scipy.special.

    Raises:
        ValueError: A count or the margin is invalid, or an arm has no games.
    """
    return _upper_tail(score_z(x_c, n_c, x_b, n_b, -level(margin, "margin")))


def nonsuperiority_p(
    x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, margin: float
) -> Numbers:
    """`equivalence.nonsuperiority_p` of arrays, at one margin, in the broadcast shape. Imports scipy.special.

    Raises:
        ValueError: A count or the margin is invalid, or an arm has no games.
    """
    return _upper_tail(-score_z(x_c, n_c, x_b, n_b, level(margin, "margin")))


def equivalence_p(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike, margin: float) -> Numbers:
    """`equivalence.equivalence_p` of arrays, at one margin, in the broadcast shape. Imports scipy.special.

    Raises:
        ValueError: A count or the margin is invalid, or an arm has no games.
    """
    p: Numbers = np.maximum(
        noninferiority_p(x_c, n_c, x_b, n_b, margin), nonsuperiority_p(x_c, n_c, x_b, n_b, margin)
    )
    return p


def _upper_tail(z: Numbers) -> Numbers:
    from scipy.special import erfc

    p: Numbers = np.asarray(0.5 * erfc(z / SQRT2))
    return p
