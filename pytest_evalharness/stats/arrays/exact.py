"""`stats.exact` of arrays: Fisher's test of many pairs of arms.

Its p-values add up whole numbers, which arrays cannot hold: tables are taken one by one, but equal ones only once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pytest_evalharness.stats import exact as single
from pytest_evalharness.stats.arrays.counts import Arms, Numbers, tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pytest_evalharness.stats.exact import Alternative


def fisher(
    x_c: ArrayLike,
    n_c: ArrayLike,
    x_b: ArrayLike,
    n_b: ArrayLike,
    alternative: Alternative = "two-sided",
) -> Numbers:
    """`exact.fisher` of arrays, in the broadcast shape; one table after the other.

    Raises:
        ValueError: A count or the alternative is invalid, or an arm has no games.
    """
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}")
    return _each_once(
        tables(x_c, n_c, x_b, n_b), lambda xc, nc, xb, nb: single.fisher(xc, nc, xb, nb, alternative)
    )


def fisher_midp(x_c: ArrayLike, n_c: ArrayLike, x_b: ArrayLike, n_b: ArrayLike) -> Numbers:
    """`exact.fisher_midp` of arrays, in the broadcast shape; one table after the other.

    Raises:
        ValueError: A count is invalid, or an arm has no games.
    """
    return _each_once(tables(x_c, n_c, x_b, n_b), single.fisher_midp)


def _each_once(arms: Arms, test: Callable[[int, int, int, int], float]) -> Numbers:
    rows = np.stack([column.ravel() for column in arms], axis=1)
    distinct, back = np.unique(rows, axis=0, return_inverse=True)
    values = np.array([test(*row) for row in distinct.tolist()], dtype=float)
    p: Numbers = values[back.ravel()].reshape(arms[0].shape)
    return p
