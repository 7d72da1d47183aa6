"""One answer from several configurations, each with its own arms: roles, opponents or maps.

A table is (x_c, n_c, x_b, n_b). All configurations that were declared are pooled, or none; raw counts are never
added up, because uneven arms would then turn base rates into effects.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pytest_evalharness.stats.inputs import count, played
from pytest_evalharness.stats.normal import critical, two_sided
from pytest_evalharness.stats.proportions import wilson_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import SupportsIndex

    Table = tuple[int, int, int, int]

_NO_SPREAD = 1e-12
"""Below this share of what chance alone would bring, a spread is rounding."""


class Estimate(NamedTuple):
    """A pooled difference, its standard error, and how much the configurations disagree.

    Attributes:
        difference: The pooled p_C - p_B.
        standard_error: Of that difference.
        q: Cochran's Q, the weighted squared deviations of the configurations.
        tau_squared: Variance of the true effects between configurations; 0 for a fixed effect.
        i_squared: Share of Q that chance does not explain, in [0, 1).
    """

    difference: float
    standard_error: float
    q: float
    tau_squared: float
    i_squared: float


def cmh(tables: Iterable[Table], *, correction: float = 0.0) -> tuple[float, float]:
    """The Cochran-Mantel-Haenszel test: is the candidate better within the configurations, taken together?

    In words: the candidate's wins minus their expectation, summed over configurations, squared, over the summed
    hypergeometric variances. One configuration gives the N-1 chi-square. Configurations of one game in all say
    nothing and are skipped.

    When to use it: the p-value of declared configurations with one question and one expected effect.

    Args:
        tables: (x_c, n_c, x_b, n_b) of each configuration.
        correction: Taken off the absolute sum before squaring, not below 0; 1/2 is the textbook's, none is ours.

    Returns:
        (chi-square with 1 degree of freedom, p); (0, 1) where nothing varies.

    Raises:
        ValueError: There are no tables, or a count is invalid.

    Source: Cochran (1954), Biometrics 10, 417-451; Mantel and Haenszel (1959), J. Natl. Cancer Inst. 22, 719-748.
    """
    excess = variance = 0.0
    for x_c, n_c, x_b, n_b in _checked(tables):
        total, wins = n_c + n_b, x_c + x_b
        excess += (x_c * n_b - x_b * n_c) / total
        variance += n_c * n_b * wins * (total - wins) / (total * total * (total - 1))
    if variance == 0.0:
        return 0.0, 1.0
    chi_square = max(abs(excess) - correction, 0.0) ** 2 / variance
    return chi_square, two_sided(math.sqrt(chi_square))


def mantel_haenszel(tables: Iterable[Table]) -> tuple[float, float]:
    """The Mantel-Haenszel risk difference and Sato's standard error.

    In words: the differences of the configurations, weighted with n_C n_B / N; the standard error stays valid
    both for many small configurations and for few large ones.

    When to use it: as the pooled estimate beside `cmh`; its interval is `yan_su`. Arguments and errors as `cmh`.

    Returns:
        (difference in [-1, 1], standard error >= 0).

    Source: Sato (1989), Biometrics 45, 1323-1324.
    """
    weights = numerator = p_part = q_part = 0.0
    for x_c, n_c, x_b, n_b in _checked(tables):
        total = n_c + n_b
        weights += n_c * n_b / total
        numerator += (x_c * n_b - x_b * n_c) / total
        p_part += (n_c * n_c * x_b - n_b * n_b * x_c + n_c * n_b * (n_b - n_c) / 2.0) / (total * total)
        q_part += (x_c * (n_b - x_b) + x_b * (n_c - x_c)) / (2.0 * total)
    difference = numerator / weights
    return difference, math.sqrt(max(difference * p_part + q_part, 0.0)) / weights


def mantel_haenszel_odds(tables: Iterable[Table]) -> float | None:
    """The Mantel-Haenszel common odds ratio, or None where no loss of the candidate meets a win of the baseline.

    Arguments and errors as `cmh`. Source: Mantel and Haenszel (1959).
    """
    above = below = 0.0
    for x_c, n_c, x_b, n_b in _checked(tables):
        above += x_c * (n_b - x_b) / (n_c + n_b)
        below += (n_c - x_c) * x_b / (n_c + n_b)
    return above / below if below else None


def yan_su(tables: Iterable[Table], alpha: float = 0.05) -> tuple[float, float, float]:
    """Yan and Su's stratified Newcombe interval for the pooled difference.

    In words: each arm's Wilson limits are taken per configuration at a quantile reduced so that their weighted
    average has the right width, and the two averages are combined as in `newcombe`. Weights are those of
    Mantel and Haenszel. One configuration gives Newcombe's interval.

    When to use it: the interval beside `cmh`.

    Args:
        tables: (x_c, n_c, x_b, n_b) of each configuration.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        (difference, low, high) in [-1, 1].

    Raises:
        ValueError: There are no tables, or a count or alpha is invalid.

    Source: Yan and Su (2010), Stat. Biopharm. Res. 2, 323-335.
    """
    strata = _checked(tables)
    raw = [n_c * n_b / (n_c + n_b) for _, n_c, _, n_b in strata]
    weights = [w / math.fsum(raw) for w in raw]
    z = critical(alpha)
    low_c, high_c = _average_limits([(x, n) for x, n, _, _ in strata], weights, z)
    low_b, high_b = _average_limits([(x, n) for _, _, x, n in strata], weights, z)
    lam_c = math.fsum(w * w / n for w, (_, n, _, _) in zip(weights, strata, strict=True))
    lam_b = math.fsum(w * w / n for w, (_, _, _, n) in zip(weights, strata, strict=True))
    difference = math.fsum(
        w * (x_c / n_c - x_b / n_b) for w, (x_c, n_c, x_b, n_b) in zip(weights, strata, strict=True)
    )
    below = z * math.sqrt(lam_c * low_c * (1.0 - low_c) + lam_b * high_b * (1.0 - high_b))
    above = z * math.sqrt(lam_c * high_c * (1.0 - high_c) + lam_b * low_b * (1.0 - low_b))
    return difference, max(difference - below, -1.0), min(difference + above, 1.0)


def fixed_effect(tables: Iterable[Table]) -> Estimate:
    """The inverse-variance average of the differences, with Cochran's Q.

    In words: weights are one over the variance, each rate taken as (x + 1/2)/(n + 1) there so that none is 0.
    Slightly liberal with small arms: decide with `cmh`, report Q and I-squared from here.

    Arguments and errors as `cmh`. Source: Cochran (1954).
    """
    effects, variances = _effects(tables)
    return _combine(effects, variances, 0.0)


def heterogeneity_p(q: float, k: SupportsIndex) -> float:
    """The p-value of "the effect is the same in all configurations": the chi-square tail of Cochran's Q.

    In words: where no effect differs, Q is about chi-square with K - 1 degrees of freedom.

    When to use it: beside Q and I-squared. With few configurations it finds little: a large p shows no agreement.
    Imports scipy.special when called.

    Args:
        q: Cochran's Q, of `fixed_effect` or `random_effects`; not negative.
        k: The number of configurations, at least 1.

    Returns:
        p in [0, 1]; 1 for a single configuration.

    Raises:
        ValueError: q is negative or no number, or k is no count of at least 1.

    Source: Cochran (1954), Biometrics 10, 417-451.
    """
    if not q >= 0.0:
        raise ValueError(f"q must be a number of at least 0, got {q!r}")
    tables = count(k, "k")
    if tables == 0:
        raise ValueError("k must be at least 1, got 0")
    if tables == 1:
        return 1.0
    from scipy.special import gammaincc

    return float(gammaincc(0.5 * (tables - 1), 0.5 * q))


def random_effects(tables: Iterable[Table]) -> Estimate:
    """DerSimonian and Laird's average for effects that differ between configurations.

    In words: the variance between configurations is what Q exceeds its expectation by, not below 0, and is added
    to every variance.

    When to use it: where the configurations are a sample of those one cares about; with `hksj` for the interval.
    Arguments and errors as `cmh`.

    Source: DerSimonian and Laird (1986), Control. Clin. Trials 7, 177-188.
    """
    return _random(*_effects(tables))


def hksj(tables: Iterable[Table], alpha: float = 0.05) -> tuple[float, float, float]:
    """The Hartung-Knapp-Sidik-Jonkman interval around `random_effects`.

    In words: the standard error is taken from how far the configurations lie from their average, and the
    critical value from Student's t with K - 1 degrees of freedom.

    When to use it: with four or more configurations that are a sample; the only method here that keeps its level
    when effects really differ. Imports scipy.special when called.

    Args:
        tables: At least two configurations.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        (difference, low, high) in [-1, 1].

    Raises:
        ValueError: There are fewer than two tables, or a count or alpha is invalid.

    Source: Hartung and Knapp (2001), Stat. Med. 20, 3875-3889.
    """
    from pytest_evalharness.stats.student import t_critical

    difference, error, freedom = _spread(tables)
    half = t_critical(alpha, freedom) * error
    return difference, max(difference - half, -1.0), min(difference + half, 1.0)


def hksj_p(tables: Iterable[Table]) -> float:
    """The two-sided p-value that belongs to the interval of `hksj`: below alpha exactly where that excludes 0.

    Arguments, errors and source as `hksj`.
    """
    from pytest_evalharness.stats.student import t_two_sided

    difference, error, freedom = _spread(tables)
    return t_two_sided(difference / error, freedom)


def _spread(tables: Iterable[Table]) -> tuple[float, float, int]:
    """The average of `random_effects`, its standard error by the spread of the configurations, degrees of freedom.

    Configurations that agree to the last digit have no spread to learn from. The variance within them stands in then,
    as in Knapp and Hartung (2003), Stat. Med. 22, 2693-2710; an error of 0 would decide anything.
    """
    effects, variances = _effects(tables)
    freedom = len(effects) - 1
    if freedom < 1:
        raise ValueError(f"tables must be at least 2 for a spread between them, got {len(effects)}")
    average = _random(effects, variances)
    weights = [1.0 / (v + average.tau_squared) for v in variances]
    spread = math.fsum(w * (d - average.difference) ** 2 for w, d in zip(weights, effects, strict=True))
    factor = spread / freedom
    return (
        average.difference,
        math.sqrt((factor if factor > _NO_SPREAD else 1.0) / math.fsum(weights)),
        freedom,
    )


def _checked(tables: Iterable[Table]) -> list[Table]:
    strata = [
        (*played(x_c, n_c, "candidate"), *played(x_b, n_b, "baseline")) for x_c, n_c, x_b, n_b in tables
    ]
    if not strata:
        raise ValueError("tables must be at least 1, got 0")
    return strata


def _average_limits(
    arms: Sequence[tuple[int, int]], weights: Sequence[float], z: float
) -> tuple[float, float]:
    """The weighted average of one arm's Wilson limits, at the quantile that gives the average its width."""
    errors = [w * math.sqrt(x * (n - x) / n) / n for w, (x, n) in zip(weights, arms, strict=True)]
    if not any(errors):  # all won or all lost everywhere: as if all rates were equal
        errors = [w / math.sqrt(n) for w, (_, n) in zip(weights, arms, strict=True)]
    reduced = z * math.hypot(*errors) / math.fsum(errors)
    limits = [wilson_at(x, n, reduced) for x, n in arms]
    low = math.fsum(w * low for w, (low, _) in zip(weights, limits, strict=True))
    high = math.fsum(w * high for w, (_, high) in zip(weights, limits, strict=True))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def _effects(tables: Iterable[Table]) -> tuple[list[float], list[float]]:
    """Each configuration's difference and its variance, the latter from slightly shrunk rates."""
    effects, variances = [], []
    for x_c, n_c, x_b, n_b in _checked(tables):
        p_c, p_b = (x_c + 0.5) / (n_c + 1), (x_b + 0.5) / (n_b + 1)
        effects.append(x_c / n_c - x_b / n_b)
        variances.append(p_c * (1.0 - p_c) / n_c + p_b * (1.0 - p_b) / n_b)
    return effects, variances


def _random(effects: Sequence[float], variances: Sequence[float]) -> Estimate:
    weights = [1.0 / v for v in variances]
    total = math.fsum(weights)
    scale = total - math.fsum(w * w for w in weights) / total
    excess = _combine(effects, variances, 0.0).q - (len(effects) - 1)
    return _combine(effects, variances, excess / scale if excess > 0.0 and len(effects) > 1 else 0.0)


def _combine(effects: Sequence[float], variances: Sequence[float], tau_squared: float) -> Estimate:
    """The average with weights 1 / (v + tau^2); Q always with the fixed weights 1 / v."""
    fixed = [1.0 / v for v in variances]
    middle = math.fsum(w * d for w, d in zip(fixed, effects, strict=True)) / math.fsum(fixed)
    q = math.fsum(w * (d - middle) ** 2 for w, d in zip(fixed, effects, strict=True))
    weights = [1.0 / (v + tau_squared) for v in variances]
    total = math.fsum(weights)
    return Estimate(
        difference=math.fsum(w * d for w, d in zip(weights, effects, strict=True)) / total,
        standard_error=math.sqrt(1.0 / total),
        q=q,
        tau_squared=tau_squared,
        i_squared=max(0.0, 1.0 - (len(effects) - 1) / q) if q > 0.0 else 0.0,
    )
