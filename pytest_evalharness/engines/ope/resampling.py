"""The bootstrap over calls: one set of counts for every policy, so that differences are paired."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_evalharness.engines.ope.calls import Floats

_BLOCK_BYTES = 16 * 2**20
FEWEST_FINITE = 0.95
"""Below this share of resamples that have a value there is no interval."""


def counts(calls: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each call is drawn, resample by resample, with replacement.

    The draws follow from the three numbers alone: which policies are scored, and in which order, changes none. They come in
    blocks so that memory stays bounded; resamples are independent, so the blocks' size changes no number.

    Args:
        calls: n.
        resamples: B.
        seed: of `numpy.random.default_rng`.

    Yields:
        (n, b), the b of all blocks adding up to B.
    """
    rng = np.random.default_rng(seed)
    most = max(1, _BLOCK_BYTES // (8 * calls))
    for start in range(0, resamples, most):
        block = np.empty((min(most, resamples - start), calls))
        for row in block:
            row[:] = np.bincount(rng.integers(0, calls, calls), minlength=calls)
        yield np.ascontiguousarray(block.T)


def interval(draws: Floats, level: float = 0.95) -> tuple[float, float] | None:
    """The percentile interval of resampled values, linear between order statistics.

    Args:
        draws: one value a resample, nan where it has none (B).
        level: the share of resamples inside.

    Returns:
        None where fewer than 95 % of the resamples have a value: an interval of the others would be one of another question.
    """
    finite = draws[np.isfinite(draws)]
    if not len(draws) or len(finite) < FEWEST_FINITE * len(draws):
        return None
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(finite, [tail, 100.0 - tail])
    return float(low), float(high)


def simultaneous(lifts: Floats, draws: Floats, level: float = 0.95) -> list[tuple[float, float] | None]:
    """Intervals that hold for all policies at once: the largest studentised deviation of each resample decides their width.

    Of eight policies none of which is better, one in six runs shows at least one whose plain interval excludes 0.

    Args:
        lifts: the estimated lift of each policy, nan where it has none (P).
        draws: the resampled lifts (P, B).
        level: the share of resamples in which every policy is inside.

    Returns:
        Each policy's interval; None for a policy that has none by itself.

    Source: the max-t bootstrap of Romano and Wolf (2005), Econometrica 73, 1237-1282.
    """
    found: list[tuple[float, float] | None] = [None] * len(lifts)
    usable = [
        at for at, lift in enumerate(lifts) if np.isfinite(lift) and interval(draws[at], level) is not None
    ]
    spread = np.array([np.nanstd(draws[at], ddof=1) for at in usable])
    wide = [at for at, one in zip(usable, spread, strict=True) if one > 0.0]
    for at in set(usable) - set(wide):
        found[at] = (float(lifts[at]), float(lifts[at]))
    if not wide:
        return found
    scale = spread[spread > 0.0][:, None]
    away = np.abs(draws[wide] - lifts[wide][:, None]) / scale
    worst = np.nanmax(np.where(np.isfinite(away), away, 0.0), axis=0)
    reach = float(np.quantile(worst, level))
    for at, one in zip(wide, scale[:, 0], strict=True):
        found[at] = (float(lifts[at] - reach * one), float(lifts[at] + reach * one))
    return found
