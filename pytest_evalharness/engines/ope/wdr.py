"""The weighted doubly robust estimate: importance sampling with the fitted model as a control variate."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_evalharness.engines.ope.calls import Floats, Ints
from pytest_evalharness.engines.ope.fqe import Fitted
from pytest_evalharness.engines.ope.importance import Sums, Weighted
from pytest_evalharness.engines.ope.tally import Cells, gathering, over


class Corrections:
    """One policy's weights, gathered by what the model says of a row: its step, and its cell or state."""

    def __init__(self, cells: Cells, weighted: Weighted) -> None:
        calls = cells.calls
        self._calls = calls
        held = weighted.weights[calls.call, calls.step]
        before = np.where(calls.step > 0, weighted.weights[calls.call, calls.step - 1], 0.0)
        self._cell_step, self._cell, self._held = _grouped(cells.of_row, held, cells)
        self._state_step, self._state, self._before = _grouped(calls.state, before, cells)
        self._cells, self._of_group = np.unique(self._cell, return_inverse=True)

    def wdr(self, counts: Floats, sums: Sums, fitted: Fitted) -> Floats:
        """The estimate in each resample (b).

        In words: sum over t of gamma^t sum_i [ w_it (x_it - Q) + w_i,t-1 V ], w_it = W_it / sum_j W_jt, w_i,-1 = 1/n.

        A finished call holds its weight in the denominators; a step without any weight adds nothing, so that from there
        on the model speaks alone. Thomas and Brunskill (2016), section 5.

        Args:
            counts: how often each call counts in each resample (n, b).
            sums: the policy's weights in the same resamples.
            fitted: the policy's values in the same resamples.

        Returns:
            nan where the direct method is.
        """
        calls = self._calls
        share = over(calls.discounts[:, None], sums.weight)
        earned = (sums.earned * share).sum(axis=0)
        q = fitted.q(self._cells)[self._of_group]
        modelled = ((self._held @ counts) * q * share[self._cell_step]).sum(axis=0)
        ahead = (self._before @ counts) * fitted.v[self._state] * share[self._state_step - 1]
        robust: Floats = fitted.dm + earned - modelled + calls.gamma * ahead.sum(axis=0)
        return robust


def _grouped(of_row: Ints, weights: Floats, cells: Cells) -> tuple[Ints, Ints, Any]:
    """Rows with weight by their step and their cell or state: the step and the value of each group, and the gathering sum."""
    calls = cells.calls
    (some,) = np.nonzero(weights)
    width = len(cells)
    keys, group = np.unique(calls.step[some] * width + of_row[some], return_inverse=True)
    return (
        keys // width,
        keys % width,
        gathering(group, calls.call[some], weights[some], len(keys), len(calls)),
    )
