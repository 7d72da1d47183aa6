"""A mean of several strata's differences, each stratum with its own spread: tasks of a benchmark, each with its rollouts."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import NamedTuple

from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.scores import (
    MOST_ENUMERATED,
    RESAMPLES,
    Means,
    checked_rounds,
    checked_scores,
    mean_of,
    variance_of,
)
from pytest_evalharness.stats.student import t_critical, t_two_sided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import SupportsIndex

    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

_TIE = 1e-12


class Stratum(NamedTuple):
    """One stratum's numbers in both arms.

    Attributes:
        candidate: At least two finite numbers.
        baseline: At least two finite numbers.
        paired: Whether they belong together pair by pair, in their order; then there are equally many.
    """

    candidate: Sequence[float]
    baseline: Sequence[float]
    paired: bool = False

    @property
    def difference(self) -> float:
        """The candidate's mean minus the baseline's."""
        return mean_of(self.candidate) - mean_of(self.baseline)


def stratified_t(strata: Iterable[Stratum], alpha: float = 0.05) -> Means:
    """Student's t interval and test for the unweighted mean of the strata's differences.

    In words: each stratum brings the variance of its own difference, of its pairs or of its two arms; the mean's variance is
    their sum over the number of strata squared, compared with Student's t at Satterthwaite's degrees of freedom. Numbers of
    different strata need not have a common spread.

    When to use it: strata that were chosen and not drawn, such as the tasks of a benchmark. It says nothing of other strata.

    Args:
        strata: At least one.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        The difference and its interval; where nothing varies in any stratum, no test.

    Raises:
        ValueError: A number is not finite, an arm of a stratum has fewer than two, pairs are uneven, alpha is invalid, or
            there is no stratum.

    Source: Satterthwaite (1946), Biometrics Bulletin 2, 110-114; Welch (1947), Biometrika 34, 28-35.
    """
    told = _checked(strata)
    alpha = level(alpha)
    difference = mean_of([one.difference for one in told])
    parts = [part for one in told for part in _variances(one)]
    variance = math.fsum(part for part, _ in parts)
    if variance == 0.0:
        return Means(difference, difference, difference, None, None, None, 0.0)
    df = 1.0 / math.fsum((part / variance) ** 2 / freedom for part, freedom in parts)
    error = math.sqrt(variance) / len(told)
    half, t = t_critical(alpha, df) * error, difference / error
    return Means(difference, difference - half, difference + half, t, df, t_two_sided(t, df), error)


def stratified_permutation_p(
    strata: Iterable[Stratum], resamples: SupportsIndex = RESAMPLES, *, random: Generator | None = None
) -> float:
    """The permutation test that belongs to `stratified_t`: within each stratum the arms' names are dealt anew.

    In words: of pairs every difference may have had the other sign, of two arms any division of the stratum's numbers is as
    likely; the share of all deals of all strata together with a mean difference at least as large, either way. All of them up
    to 100,000 deals, else `(1 + hits) / (1 + resamples)` of random ones.

    When to use it: with few numbers, where the t interval's level is not sure. It keeps its level for any distribution.

    Args:
        strata: As of `stratified_t`.
        resamples: Random deals where there are too many to list, at least 1.
        random: Where they come from; needed only then.

    Raises:
        ValueError: As `stratified_t`, or `random` is missing where it is needed.

    Source: Fisher (1935), The Design of Experiments; Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9:39.
    """
    import numpy as np

    told = _checked(strata)
    rounds = checked_rounds(resamples)
    observed = abs(math.fsum(one.difference for one in told))
    largest = max(abs(value) for one in told for value in (*one.candidate, *one.baseline))
    bar = observed - _TIE * max(1.0, largest) * len(told)
    if math.prod(map(_deals, told)) <= MOST_ENUMERATED:
        sums = np.zeros(1)
        for one in told:
            sums = np.add.outer(sums, _every_deal(one)).ravel()
        return float((np.abs(sums) >= bar).mean())
    if random is None:
        raise ValueError("random must be given: there are too many deals to list")
    drawn = np.sum([_random_deals(one, rounds, random) for one in told], axis=0)
    return (1 + int((np.abs(drawn) >= bar).sum())) / (1 + rounds)


def smallest_p(strata: Iterable[Stratum]) -> float:
    """The smallest p-value that `stratified_permutation_p` can give by listing: two of all deals. Arguments as there."""
    return min(1.0, 2.0 / math.prod(_deals(one) for one in _checked(strata)))


def _deals(one: Stratum) -> int:
    if one.paired:
        return int(2 ** len(one.candidate))
    return math.comb(len(one.candidate) + len(one.baseline), len(one.candidate))


def _every_deal(one: Stratum) -> NDArray[float64]:
    import numpy as np

    if one.paired:
        apart = _apart(one)
        found = [
            math.fsum(s * d for s, d in zip(signs, apart, strict=True))
            for signs in product((1.0, -1.0), repeat=len(apart))
        ]
        return np.array(found) / len(apart)
    together = [*one.candidate, *one.baseline]
    total, n_c, n_b = math.fsum(together), len(one.candidate), len(one.baseline)
    sums = np.array([math.fsum(part) for part in combinations(together, n_c)])
    return sums / n_c - (total - sums) / n_b


def _random_deals(one: Stratum, rounds: int, random: Generator) -> NDArray[float64]:
    import numpy as np

    if one.paired:
        apart = np.array(_apart(one))
        signs: NDArray[float64] = random.choice((-1.0, 1.0), size=(rounds, len(apart)))
        means: NDArray[float64] = signs @ apart / len(apart)
        return means
    together = np.array([*one.candidate, *one.baseline])
    n_c, n_b = len(one.candidate), len(one.baseline)
    sums: NDArray[float64] = random.permuted(np.tile(together, (rounds, 1)), axis=1)[:, :n_c].sum(axis=1)
    found: NDArray[float64] = sums / n_c - (together.sum() - sums) / n_b
    return found


def _variances(one: Stratum) -> list[tuple[float, int]]:
    """The parts of the variance of a stratum's difference, each with its degrees of freedom."""
    if one.paired:
        apart = _apart(one)
        return [(variance_of(apart) / len(apart), len(apart) - 1)]
    return [(variance_of(arm) / len(arm), len(arm) - 1) for arm in (one.candidate, one.baseline)]


def _apart(one: Stratum) -> list[float]:
    return [c - b for c, b in zip(one.candidate, one.baseline, strict=True)]


def _checked(strata: Iterable[Stratum]) -> list[Stratum]:
    told = [
        Stratum(
            checked_scores(one.candidate, "candidate"), checked_scores(one.baseline, "baseline"), one.paired
        )
        for one in strata
    ]
    if not told:
        raise ValueError("strata must be at least one")
    uneven = next((one for one in told if one.paired and len(one.candidate) != len(one.baseline)), None)
    if uneven is not None:
        raise ValueError(
            f"paired numbers must be equally many, got {len(uneven.candidate)} and {len(uneven.baseline)}"
        )
    return told
