"""Seat scores instead of wins: differences of means, for any spread of the numbers."""

from __future__ import annotations

import math
from itertools import combinations, product
from operator import mul
from typing import NamedTuple

from pytest_evalharness.stats.inputs import count, level
from pytest_evalharness.stats.student import t_critical, t_two_sided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import SupportsIndex

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

MOST_ENUMERATED = 100_000
RESAMPLES = 9_999
_TIE = 1e-12
_FEWEST = 2


class Means(NamedTuple):
    """A difference of two means.

    Attributes:
        difference: Mean of the candidate minus mean of the baseline.
        low: Lower limit of the interval, or the difference itself where nothing varies.
        high: Upper limit.
        t: The test statistic; None where nothing varies, so that no test is possible.
        df: Its degrees of freedom; None likewise.
        p: The two-sided p-value; None likewise.
        standard_error: Of the difference; 0 where nothing varies.
    """

    difference: float
    low: float
    high: float
    t: float | None
    df: float | None
    p: float | None
    standard_error: float


def welch(candidate: Iterable[float], baseline: Iterable[float], alpha: float = 0.05) -> Means:
    """Welch's t interval and test for two independent arms.

    In words: the difference of means over its standard error, each arm with its own variance, compared with
    Student's t at Satterthwaite's degrees of freedom.

    When to use it: the interval for seat scores, beside `permutation_p`. Not for wins and losses of few games.
    Imports scipy.special when called.

    Args:
        candidate: At least two finite scores.
        baseline: At least two finite scores.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        The difference and its interval; where both arms are constant, no test.

    Raises:
        ValueError: A score is not finite, an arm has fewer than two, or alpha is invalid.

    Source: Welch (1947), Biometrika 34, 28-35.
    """
    a, b = checked_scores(candidate, "candidate"), checked_scores(baseline, "baseline")
    alpha = level(alpha)
    v_a, v_b = variance_of(a) / len(a), variance_of(b) / len(b)
    difference, variance = mean_of(a) - mean_of(b), v_a + v_b
    if variance == 0.0:
        return Means(difference, difference, difference, None, None, None, 0.0)
    share_a, share_b = v_a / variance, v_b / variance  # of the variance, so that tiny ones do not vanish
    df = 1.0 / (share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1))
    return _t_result(difference, math.sqrt(variance), df, alpha)


def paired_t(candidate: Iterable[float], baseline: Iterable[float], alpha: float = 0.05) -> Means:
    """Student's t interval and test for the mean difference of paired scores.

    When to use it: when both arms played the same games by design. Arguments and errors as `welch`; both arms
    must have equally many scores, in the order of their pairs.

    Source: Student (1908), Biometrika 6, 1-25.
    """
    differences = _differences(candidate, baseline)
    alpha = level(alpha)
    mean, variance = mean_of(differences), variance_of(differences) / len(differences)
    if variance == 0.0:
        return Means(mean, mean, mean, None, None, None, 0.0)
    return _t_result(mean, math.sqrt(variance), float(len(differences) - 1), alpha)


def permutation_p(
    candidate: Iterable[float],
    baseline: Iterable[float],
    resamples: SupportsIndex = RESAMPLES,
    *,
    random: Generator | None = None,
) -> float:
    """The permutation test of "both arms' scores come from one distribution", by the absolute mean difference.

    In words: the share of all ways to divide the scores among the arms that give a difference at least as large;
    all of them up to 100,000 ways, else `(1 + hits) / (1 + resamples)` of random ones. Differences equal to
    rounding count as ties.

    When to use it: the p-value for seat scores; it keeps its level for any distribution and any n.

    Args:
        candidate: At least two finite scores.
        baseline: At least two finite scores.
        resamples: Random divisions where there are too many to list, at least 1.
        random: Where they come from; needed only then.

    Returns:
        p in (0, 1].

    Raises:
        ValueError: A score is not finite, an arm has fewer than two, there are no resamples, or `random` is
            missing where it is needed.

    Source: Fisher (1935); Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9:39.
    """
    a, b = checked_scores(candidate, "candidate"), checked_scores(baseline, "baseline")
    rounds = checked_rounds(resamples)
    values, n_a, n_b = [*a, *b], len(a), len(b)
    middle = mean_of(values)
    values = [value - middle for value in values]
    # the sum of one arm around the common mean decides the difference of both
    bar = _bar(abs(math.fsum(values[:n_a])), values)
    ways = math.comb(n_a + n_b, n_a)
    if ways <= MOST_ENUMERATED:
        return _share(abs(math.fsum(part)) >= bar for part in combinations(values, n_a))
    import numpy as np

    shuffled = _generator(random).permuted(np.tile(values, (rounds, 1)), axis=1)
    sums: NDArray[float64] = np.abs(shuffled[:, :n_a].sum(axis=1))
    return (1 + int((sums >= bar).sum())) / (1 + rounds)


def sign_flip_p(
    candidate: Iterable[float],
    baseline: Iterable[float],
    resamples: SupportsIndex = RESAMPLES,
    *,
    random: Generator | None = None,
) -> float:
    """The permutation test for paired scores: every difference may as well have had the other sign.

    Arguments, range and errors as `permutation_p`; both arms must have equally many scores, pair by pair.

    Source: Fisher (1935), The Design of Experiments, section 21.
    """
    differences = _differences(candidate, baseline)
    rounds = checked_rounds(resamples)
    bar = _bar(abs(math.fsum(differences)), differences)
    ways = 2 ** len(differences)
    if ways <= MOST_ENUMERATED:
        flips = product((1.0, -1.0), repeat=len(differences))
        return _share(abs(math.fsum(map(mul, signs, differences))) >= bar for signs in flips)
    import numpy as np

    signs = _generator(random).choice((-1.0, 1.0), size=(rounds, len(differences)))
    return (1 + int((np.abs(signs @ np.array(differences)) >= bar).sum())) / (1 + rounds)


def _share(outcomes: Iterable[bool]) -> float:
    hits = list(outcomes)
    return sum(hits) / len(hits)


def _t_result(difference: float, error: float, df: float, alpha: float) -> Means:
    half = t_critical(alpha, df) * error
    t = difference / error
    return Means(difference, difference - half, difference + half, t, df, t_two_sided(t, df), error)


def checked_scores(values: Iterable[float], arm: str) -> list[float]:
    """At least two finite scores, as a list of floats.

    Raises:
        ValueError: A score is not finite, or there are fewer than two.
    """
    scores = []
    for number, value in enumerate(values, start=1):
        score = float(value)
        if not math.isfinite(score):
            raise ValueError(f"{arm} score {number} must be finite, got {value!r}")
        scores.append(score)
    if len(scores) < _FEWEST:
        raise ValueError(f"{arm} scores must be at least {_FEWEST}, got {len(scores)}")
    return scores


def _differences(candidate: Iterable[float], baseline: Iterable[float]) -> list[float]:
    a, b = checked_scores(candidate, "candidate"), checked_scores(baseline, "baseline")
    if len(a) != len(b):
        raise ValueError(f"paired scores must be equally many, got {len(a)} and {len(b)}")
    return [x - y for x, y in zip(a, b, strict=True)]


def mean_of(values: Sequence[float]) -> float:
    """The mean of at least one number."""
    return math.fsum(values) / len(values)


def variance_of(values: Sequence[float]) -> float:
    """The unbiased variance; exactly 0 for equal values, whatever the mean rounds to."""
    if min(values) == max(values):
        return 0.0
    middle = mean_of(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def _bar(observed: float, values: Sequence[float]) -> float:
    """What a resampled statistic must reach: the observed one, less what rounding may take."""
    return observed - _TIE * max(observed, math.fsum(map(abs, values)))


def checked_rounds(resamples: SupportsIndex) -> int:
    """How often to resample, at least once.

    Raises:
        ValueError: It is no whole number of at least 1.
    """
    rounds = count(resamples, "resamples")
    if rounds == 0:
        raise ValueError("resamples must be at least 1, got 0")
    return rounds


def _generator(random: Generator | None) -> Generator:
    if random is None:
        raise ValueError("random must be given: there are too many divisions to list them all")
    return random
