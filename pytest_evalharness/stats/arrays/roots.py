"""The roots of many continuous functions side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_evalharness.stats.arrays.counts import Numbers

_STEPS = 100
_NOTHING = -1e-6


def limits_below(excess: Callable[[Numbers], Numbers], estimates: Numbers) -> Numbers:
    """The lower confidence limits of inverted tests: the roots of `excess` in [-1, estimates).

    Args:
        excess: Positive left of a limit and negative between it and the estimate; estimate + 1 at -1.
        estimates: The observed differences.

    Source: the Illinois method of Dowell and Jarratt (1971), BIT 11, 168-174.
    """
    a, b = np.full_like(estimates, -1.0), np.array(estimates)
    f_a, f_b = estimates + 1.0, excess(b)
    # no variance at the estimate: only the sign is needed, and this begins with halving
    f_b = np.where(f_b > _NOTHING * f_a, -f_a, f_b)
    for _ in range(_STEPS):
        slope = f_b - f_a
        step = np.divide(f_b * (a - b), slope, out=np.zeros_like(b), where=slope != 0.0)
        point = b + step
        value = excess(point)
        same = (value > 0.0) == (f_b > 0.0)
        f_a = np.where(same, 0.5 * f_a, f_b)
        a = np.where(same, a, b)
        b, f_b = point, value
        if (np.abs(step) <= 2e-16 * np.maximum(np.abs(estimates), np.abs(point))).all():
            break
    limits: Numbers = np.maximum(b, -1.0)
    return limits
