"""Resampled intervals for a difference of mean scores."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import quantile, upper_tail
from pytest_evalharness.stats.scores import RESAMPLES, checked_rounds, checked_scores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import SupportsIndex

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray


def percentile(
    candidate: Iterable[float],
    baseline: Iterable[float],
    alpha: float = 0.05,
    resamples: SupportsIndex = RESAMPLES,
    *,
    random: Generator,
) -> tuple[float, float]:
    """The percentile bootstrap interval for a difference of means.

    In words: both arms are drawn again with replacement many times; the interval holds the middle 1 - alpha of
    the differences.

    When to use it: to look at; for fewer than 50 scores an arm it is too short, and `scores.welch` is better.
    Imports numpy when called.

    Args:
        candidate: At least two finite scores.
        baseline: At least two finite scores.
        alpha: 1 - confidence, inside (0, 1).
        resamples: How many times, at least 1.
        random: Where the draws come from.

    Returns:
        (low, high), finite.

    Raises:
        ValueError: A score is not finite, an arm has fewer than two, or another value is invalid.

    Source: Efron (1979), Ann. Stat. 7, 1-26.
    """
    differences, _ = _resampled(candidate, baseline, resamples, random)
    return _between(differences, 0.5 * level(alpha), 1.0 - 0.5 * alpha)


def bca(
    candidate: Iterable[float],
    baseline: Iterable[float],
    alpha: float = 0.05,
    resamples: SupportsIndex = RESAMPLES,
    *,
    random: Generator,
) -> tuple[float, float]:
    """The bias-corrected and accelerated bootstrap interval for a difference of means.

    In words: as `percentile`, with its two levels moved by how far the resampled differences are off centre and
    by how their spread changes with the mean, the latter from leaving out one score at a time.

    When to use it: from about 50 scores an arm. At 8 it errs 14 % where 5 % was asked for: do not gate on it.
    Where nothing varies it is the difference itself. Arguments and errors as `percentile`.

    Source: Efron (1987), J. Am. Stat. Assoc. 82, 171-185; two samples: Efron and Tibshirani (1993), ch. 14.
    """
    alpha = level(alpha)
    differences, arms = _resampled(candidate, baseline, resamples, random)
    means = [math.fsum(arm) / len(arm) for arm in arms]
    observed = means[0] - means[1]
    total = len(differences)
    share = (int((differences < observed).sum()) + int((differences <= observed).sum())) / (2.0 * total)
    if not 0.0 < share < 1.0:
        return _between(differences, 0.5 * alpha, 1.0 - 0.5 * alpha)
    bias = -quantile(share)
    # influence of each score: n - 1 times how far its arm's mean moves without it, signed for the baseline
    cubes = squares = 0.0
    for sign, arm, mean in zip((1.0, -1.0), arms, means, strict=True):
        cubes += sign * math.fsum((value - mean) ** 3 for value in arm) / len(arm) ** 3
        squares += math.fsum((value - mean) ** 2 for value in arm) / len(arm) ** 2
    acceleration = cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0
    low, high = (_moved(bias, acceleration, z) for z in (-quantile(0.5 * alpha), quantile(0.5 * alpha)))
    return _between(differences, low, high)


def _moved(bias: float, acceleration: float, z: float) -> float:
    shifted = bias + z
    return upper_tail(-(bias + shifted / max(1.0 - acceleration * shifted, 1e-9)))


def _resampled(
    candidate: Iterable[float], baseline: Iterable[float], resamples: SupportsIndex, random: Generator
) -> tuple[NDArray[float64], tuple[list[float], list[float]]]:
    """The differences of resampled means, and the two arms."""
    import numpy as np

    arms = checked_scores(candidate, "candidate"), checked_scores(baseline, "baseline")
    rounds = checked_rounds(resamples)
    sums: list[NDArray[float64]] = []
    for arm in arms:
        values = np.array(arm)
        drawn = random.integers(0, len(arm), size=(rounds, len(arm)), dtype=np.int32)
        sums.append(values.take(drawn).mean(axis=1))
    return sums[0] - sums[1], arms


def _between(differences: NDArray[float64], low: float, high: float) -> tuple[float, float]:
    import numpy as np

    limits = np.quantile(differences, [low, high])
    return float(limits[0]), float(limits[1])
