"""Planned looks: how high the bar is at each of them when the error is spent along the way."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import critical, quantile, upper_tail
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy import float64
    from numpy.typing import NDArray

    Spending = Literal["obrien_fleming", "pocock"]

_NODES = 400
_FAR = 10.0  # standard deviations below 0 from where a path is followed
_HIGHEST = 40.0


def spent(fraction: float, alpha: float = 0.025, spending: Spending = "obrien_fleming") -> float:
    """How much of a one-sided alpha may be used up when this fraction of the information is in.

    In words: like O'Brien and Fleming, `2 P(Z > z_{alpha/2} / sqrt(t))`, almost nothing early; like Pocock,
    `alpha log(1 + (e - 1) t)`, nearly even.

    Args:
        fraction: Share of the final information, in (0, 1].
        alpha: The whole one-sided level.
        spending: "obrien_fleming" or "pocock".

    Raises:
        ValueError: A value is invalid.

    Source: Lan and DeMets (1983), Biometrika 70, 659-663.
    """
    alpha = level(alpha)
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"fraction must lie in (0, 1], got {fraction!r}")
    if spending == "obrien_fleming":
        return 2.0 * upper_tail(critical(alpha) / math.sqrt(fraction))
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1.0) * fraction)
    raise ValueError(f"spending must be 'obrien_fleming' or 'pocock', got {spending!r}")


def group_sequential_bounds(
    information: Sequence[float], alpha: float = 0.025, spending: Spending = "obrien_fleming"
) -> list[float]:
    """The z that each planned look must exceed, so that all looks together reject with probability alpha.

    In words: the paths that have not crossed are carried from look to look by numerical integration; each bound
    is where the next crossing spends exactly what `spent` allows. One-sided; use it on both sides with alpha/2.

    When to use it: for planned looks at 30, 60 and 100 games an arm: almost the power of one look at 100 with a
    third fewer games when the effect is large. Imports numpy and scipy.special when called.

    Args:
        information: The share of all games that each look has, increasing, in (0, 1], the last 1.
        alpha: The whole one-sided level, .025 for a two-sided 5 %.
        spending: "obrien_fleming" or "pocock".

    Returns:
        One z for each look.

    Raises:
        ValueError: A value is invalid, or the looks do not increase to 1.

    Source: Lan and DeMets (1983); Armitage, McPherson and Rowe (1969), J. R. Stat. Soc. A 132, 235-244.
    """
    times = list(information)
    if not times or times[-1] != 1.0 or any(a >= b for a, b in zip([0.0, *times], times, strict=False)):
        raise ValueError(f"information must increase to 1, got {times!r}")
    allowed = [spent(t, alpha, spending) for t in times]
    bounds = [quantile(allowed[0])]
    paths = _start(times[0], bounds[0])
    for before, now, last, goal in zip(times, times[1:], allowed, allowed[1:], strict=False):
        step = math.sqrt(now - before)
        crossing = _crossing(paths, step, math.sqrt(now))
        target = goal - last
        low, high = 0.0, _HIGHEST
        bounds.append(
            illinois(
                lambda z, crossing=crossing, target=target: crossing(z) - target,  # type: ignore[misc]
                (low, crossing(low) - target),
                (high, -target),
                1e-12,
            )
        )
        paths = _carried(paths, step, bounds[-1] * math.sqrt(now), now)
    return bounds


def _nodes(low: float, high: float) -> tuple[NDArray[float64], NDArray[float64]]:
    import numpy as np

    x, w = np.polynomial.legendre.leggauss(_NODES)
    return 0.5 * (high - low) * x + 0.5 * (high + low), 0.5 * (high - low) * w


def _start(time: float, bound: float) -> tuple[NDArray[float64], NDArray[float64]]:
    """Where the sums that did not cross at the first look are, and how much of them is at each node."""
    import numpy as np

    sums, widths = _nodes(-_FAR * math.sqrt(time), bound * math.sqrt(time))
    return sums, widths * np.exp(-0.5 * sums * sums / time) / math.sqrt(2.0 * math.pi * time)


def _crossing(
    paths: tuple[NDArray[float64], NDArray[float64]], step: float, root_time: float
) -> Callable[[float], float]:
    """The probability of first crossing z at the next look."""
    from scipy.special import ndtr

    sums, masses = paths
    return lambda z: float(masses @ ndtr((sums - z * root_time) / step))


def _carried(
    paths: tuple[NDArray[float64], NDArray[float64]], step: float, top: float, time: float
) -> tuple[NDArray[float64], NDArray[float64]]:
    """The sums one look later, those above `top` left out."""
    import numpy as np

    sums, masses = paths
    later, widths = _nodes(-_FAR * math.sqrt(time), top)
    moves = (later[:, None] - sums[None, :]) / step
    return later, widths * (np.exp(-0.5 * moves * moves) @ masses) / (math.sqrt(2.0 * math.pi) * step)
