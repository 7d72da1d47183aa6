"""Planned looks: how high the bar is at each of them when the error is spent along the way."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from pytest_evalharness.stats.inputs import count, level
from pytest_evalharness.stats.normal import critical, quantile, two_sided, upper_tail
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, SupportsIndex

    from numpy import float64
    from numpy.typing import NDArray

    Spending = Literal["obrien_fleming", "pocock"]
    Paths = tuple[NDArray[float64], NDArray[float64]]

_FAR = 10.0  # standard deviations below 0 from where a path is followed
_HIGHEST = 37.0  # beyond it a normal tail is no number any more
_NOTHING = 1e-320
_COARSEST, _FINEST = 128, 1024  # points that follow the paths
_CERTAIN = 1e-9


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
        One z for each look, at least 0; infinite at a look so early that nothing may be spent there.

    Raises:
        ValueError: A value is invalid, or the looks do not increase to 1.

    Source: Lan and DeMets (1983); Armitage, McPherson and Rowe (1969), J. R. Stat. Soc. A 132, 235-244.
    """
    return list(_bounds(_increasing(information), level(alpha), spending))


def repeated_p(
    z: float, look: SupportsIndex, information: Sequence[float], spending: Spending = "obrien_fleming"
) -> float:
    """The p-value of one look of a planned design: the smallest two-sided alpha at which |z| would cross there.

    In words: the bounds fall as alpha grows, so there is one alpha whose bound at this look is |z| itself. At most
    alpha exactly when |z| reaches the bound of `group_sequential_bounds(information, alpha / 2, spending)`, hence
    valid at every look, and never below the p-value of a test that looks once.

    When to use it: as the p-value beside a group sequential decision, whether or not the design stopped there.
    Imports numpy and scipy.special when called.

    Args:
        z: The statistic at that look; its sign is ignored, and beyond 37 it counts as 37.
        look: Which look, 0 for the first.
        information: As in `group_sequential_bounds`, all the planned looks.
        spending: "obrien_fleming" or "pocock".

    Returns:
        p in (0, 1]; 1 where no alpha below 1 would let it cross.

    Raises:
        ValueError: A value is invalid, or there is no such look.

    Source: Jennison and Turnbull (1989), J. R. Stat. Soc. B 51, 305-361.
    """
    times, index = _increasing(information), count(look, "look")
    if index >= len(times):
        raise ValueError(f"look must be below the number of looks, got {index} of {len(times)}")
    size = min(abs(float(z)), _HIGHEST)
    if math.isnan(size):
        raise ValueError(f"z must be a number, not {z!r}")
    before, now, nodes = (0.0, *times)[index], times[index], _resolution(times)

    def excess(level_z: float) -> float:
        """Positive where the level of this critical value is too strict for |z|."""
        alpha = two_sided(level_z) / 2.0
        _, paths = _followed(times[:index], alpha, spending, nodes)
        crossing, target = _next_look(paths, before, now, alpha, spending)
        return _log_ratio(crossing(size), target)

    if size <= _CERTAIN or (at_least := excess(_CERTAIN)) > 0.0:
        return 1.0
    if (at_most := excess(size)) <= 0.0:
        return two_sided(size)  # no bound is below the critical value of a single look
    return two_sided(illinois(excess, (_CERTAIN, at_least), (size, at_most), 1e-13))


def _increasing(information: Sequence[float]) -> tuple[float, ...]:
    times = tuple(information)
    if not times or times[-1] != 1.0 or any(a >= b for a, b in zip((0.0, *times), times, strict=False)):
        raise ValueError(f"information must increase to 1, got {list(times)!r}")
    return times


@lru_cache(maxsize=256)
def _bounds(times: tuple[float, ...], alpha: float, spending: Spending) -> tuple[float, ...]:
    bounds, paths = _followed(times[:-1], alpha, spending, _resolution(times))
    crossing, target = _next_look(paths, (0.0, *times)[-2], times[-1], alpha, spending)
    return (*bounds, _bound(crossing, target))


def _followed(
    times: Sequence[float], alpha: float, spending: Spending, nodes: int
) -> tuple[list[float], Paths | None]:
    """The bounds of these looks, and the paths that crossed none of them; None before the first look."""
    bounds: list[float] = []
    paths: Paths | None = None
    for before, now in pairwise((0.0, *times)):
        bounds.append(_bound(*_next_look(paths, before, now, alpha, spending)))
        top = min(bounds[-1], _HIGHEST) * math.sqrt(now)
        paths = (
            _start(now, top, nodes) if paths is None else _carried(paths, math.sqrt(now - before), top, now)
        )
    return bounds, paths


def _next_look(
    paths: Paths | None, before: float, now: float, alpha: float, spending: Spending
) -> tuple[Callable[[float], float], float]:
    """The probability of first crossing z at this look, as a function of z, and how much of it alpha allows."""
    if paths is None:
        return upper_tail, spent(now, alpha, spending)
    allowed = spent(now, alpha, spending) - spent(before, alpha, spending)
    return _crossing(paths, math.sqrt(now - before), math.sqrt(now)), allowed


def _bound(crossing: Callable[[float], float], target: float) -> float:
    """The z at which this much is spent; infinite where that is less than a normal tail can be."""
    if crossing is upper_tail:
        return quantile(target) if target > 0.0 else math.inf
    at_most = _log_ratio(crossing(_HIGHEST), target)
    if at_most >= 0.0:
        return math.inf
    at_least = _log_ratio(crossing(0.0), target)
    return illinois(lambda z: _log_ratio(crossing(z), target), (0.0, at_least), (_HIGHEST, at_most), 1e-12)


def _log_ratio(one: float, other: float) -> float:
    """By how much one probability exceeds another; finite and smooth however small they are."""
    return math.log(max(one, _NOTHING)) - math.log(max(other, _NOTHING))


def _resolution(times: Sequence[float]) -> int:
    """How many points follow the paths: enough that a step between two looks spans more than one of them."""
    finest = max(math.sqrt(now / (now - before)) for before, now in pairwise((0.0, *times)))
    nodes = _COARSEST
    while nodes < min(40.0 * finest, _FINEST):
        nodes *= 2
    return nodes


@lru_cache(maxsize=8)
def _legendre(nodes: int) -> Paths:
    import numpy as np

    x, w = np.polynomial.legendre.leggauss(nodes)
    return x, w


def _nodes(low: float, high: float, nodes: int) -> Paths:
    x, w = _legendre(nodes)
    return 0.5 * (high - low) * x + 0.5 * (high + low), 0.5 * (high - low) * w


def _start(time: float, top: float, nodes: int) -> Paths:
    """Where the sums that did not cross at the first look are, and how much of them is at each node."""
    import numpy as np

    sums, widths = _nodes(-_FAR * math.sqrt(time), top, nodes)
    return sums, widths * np.exp(-0.5 * sums * sums / time) / math.sqrt(2.0 * math.pi * time)


def _crossing(paths: Paths, step: float, root_time: float) -> Callable[[float], float]:
    """The probability of first crossing z at the next look."""
    from scipy.special import ndtr

    sums, masses = paths
    return lambda z: float(masses @ ndtr((sums - z * root_time) / step))


def _carried(paths: Paths, step: float, top: float, time: float) -> Paths:
    """The sums one look later, those above `top` left out."""
    import numpy as np

    sums, masses = paths
    later, widths = _nodes(-_FAR * math.sqrt(time), top, len(sums))
    moves = (later[:, None] - sums[None, :]) / step
    return later, widths * (np.exp(-0.5 * moves * moves) @ masses) / (math.sqrt(2.0 * math.pi) * step)
