"""How much better is one arm than another when both played the same games? Paired wins and losses.

A table is (both, only_c, only_b, neither): the pairs that both arms won, that only the candidate won, that only
the baseline won, and that neither won. Pairs are made by design, before results: the same seed, opponents and
seats in both arms.
"""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import count, level, proportion, shift
from pytest_evalharness.stats.normal import critical, quantile, two_sided
from pytest_evalharness.stats.proportions import wilson
from pytest_evalharness.stats.roots import limit_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex as Count

_WHOLE_NUMBERS_UP_TO = 2000


def mcnemar_z(only_c: Count, only_b: Count) -> float:
    """McNemar's statistic `(b - c) / sqrt(b + c)`; 0 when no pair differs.

    When to use it: its p-value `mcnemar_p` belongs to `tango`, which excludes 0 exactly when p < alpha.

    Args:
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.

    Returns:
        A finite z, positive when the candidate won more of the pairs that differ.

    Raises:
        ValueError: A count is invalid.

    Source: McNemar (1947), Psychometrika 12, 153-157.
    """
    b, c = count(only_c, "only_c"), count(only_b, "only_b")
    return (b - c) / math.sqrt(b + c) if b + c else 0.0


def mcnemar_p(only_c: Count, only_b: Count) -> float:
    """The two-sided p-value of `mcnemar_z`, without a continuity correction; 1 when no pair differs."""
    return two_sided(mcnemar_z(only_c, only_b))


def score_z(both: Count, only_c: Count, only_b: Count, neither: Count, delta: float = 0.0) -> float:
    """Tango's score statistic for "p_C - p_B equals delta" of paired games; at 0 it is `mcnemar_z`.

    In words: the observed difference minus delta, over its standard error with the differing pairs estimated
    under that difference. At minus or plus a margin it tests non-inferiority or equivalence.

    Args:
        both: Pairs that both arms won.
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.
        neither: Pairs that neither won.
        delta: The difference to test, inside (-1, 1).

    Returns:
        A finite z, 0 where no variance is left.

    Raises:
        ValueError: A count or delta is invalid, or there are no pairs.

    Source: Tango (1998), Stat. Med. 17, 891-908.
    """
    _, b, c, _, n = _pairs(both, only_c, only_b, neither)
    delta = shift(delta)
    variance = _discordant_variance(b, c, n, delta) / n
    return ((b - c) / n - delta) / math.sqrt(variance) if variance > 0.0 else 0.0


def mcnemar_exact(only_c: Count, only_b: Count) -> float:
    """McNemar's exact two-sided p-value: a sign test of the pairs that differ.

    In words: twice the probability of at most min(b, c) heads in b + c tosses of a fair coin, at most 1.
    Conservative: `mcnemar_midp` is preferred. Arguments and errors as `mcnemar_z`.

    Source: McNemar (1947); Fagerland, Lydersen and Laake (2013), BMC Med. Res. Methodol. 13:91.
    """
    tail, _ = _coin_tail(only_c, only_b)
    return min(1.0, 2.0 * tail)


def mcnemar_midp(only_c: Count, only_b: Count) -> float:
    """The mid-p version of `mcnemar_exact`: minus the probability of exactly min(b, c) heads.

    When to use it: the check that Tango's interval must pass with five to nine pairs; close to its level there,
    where the exact test is too careful. 1 when b = c. Arguments and errors as `mcnemar_z`.

    Source: Fagerland, Lydersen and Laake (2013).
    """
    tail, own = _coin_tail(only_c, only_b)
    return min(1.0, 2.0 * tail - own)


def tango(
    both: Count, only_c: Count, only_b: Count, neither: Count, alpha: float = 0.05
) -> tuple[float, float]:
    """Tango's score interval for p_C - p_B of paired games.

    In words: all differences that the paired score test does not reject, the number of differing pairs
    estimated under that very difference. Excludes 0 exactly when `mcnemar_p` is below alpha.

    When to use it: the default when games are paired by seed.

    Args:
        both: Pairs that both arms won.
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.
        neither: Pairs that neither won.
        alpha: 1 - confidence, inside (0, 1).

    Returns:
        (low, high) in [-1, 1] around (only_c - only_b) / pairs.

    Raises:
        ValueError: A count or alpha is invalid, or there are no pairs.

    Source: Tango (1998), Stat. Med. 17, 891-908.
    """
    _, b, c, _, n = _pairs(both, only_c, only_b, neither)
    z = critical(alpha)
    low = -1.0 if c == n else _tango_lower(b, c, n, z)
    high = 1.0 if b == n else -_tango_lower(c, b, n, z)
    return max(low, -1.0), min(high, 1.0)


def newcombe_paired(
    both: Count,
    only_c: Count,
    only_b: Count,
    neither: Count,
    alpha: float = 0.05,
    *,
    corrected: bool = True,
) -> tuple[float, float]:
    """Newcombe's score interval for paired games: Wilson limits of both arms, combined with their correlation.

    In words: as the unpaired hybrid interval, but the two distances meet at the angle whose cosine is phi.
    Corrected (his method 10), a positive numerator of phi is reduced by half the number of pairs and not below
    0; uncorrected it is method 8. phi is 0 when an arm won all or none.

    When to use it: where a closed form is wanted; `tango` is the default. Arguments and errors as there.

    Source: Newcombe (1998), Stat. Med. 17, 2635-2650.
    """
    a, b, c, e, n = _pairs(both, only_c, only_b, neither)
    wins_c, wins_b = a + b, a + c
    phi = correlation(a, b, c, e, corrected=corrected)
    low_c, high_c = wilson(wins_c, n, alpha)
    low_b, high_b = wilson(wins_b, n, alpha)
    p_c, p_b, d = wins_c / n, wins_b / n, (b - c) / n
    low = d - _third_side(p_c - low_c, high_b - p_b, phi)
    high = d + _third_side(high_c - p_c, p_b - low_b, phi)
    return max(low, -1.0), min(high, 1.0)


def correlation(
    both: Count, only_c: Count, only_b: Count, neither: Count, *, corrected: bool = False
) -> float:
    """The correlation phi of the two arms' results within pairs; 0 where an arm won all or none.

    Corrected, a positive numerator is reduced by half the number of pairs and not below 0, as in `newcombe_paired`.

    Args:
        both: Pairs that both arms won.
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.
        neither: Pairs that neither won.
        corrected: Whether to correct for continuity.

    Returns:
        phi in [-1, 1].

    Raises:
        ValueError: A count is invalid, or there are no pairs.

    Source: Yule (1912), J. R. Stat. Soc. 75, 579-652; the correction: Newcombe (1998), method 10.
    """
    a, b, c, e, n = _pairs(both, only_c, only_b, neither)
    numerator = float(a * e - b * c)
    if corrected and numerator > 0.0:
        numerator = max(numerator - 0.5 * n, 0.0)
    margins = (a + b) * (c + e) * (a + c) * (b + e)
    return numerator / math.sqrt(margins) if margins else 0.0


def bonett_price(
    both: Count, only_c: Count, only_b: Count, neither: Count, alpha: float = 0.05
) -> tuple[float, float]:
    """Bonett and Price's interval: Wald's after adding one pair to each of the two differing kinds.

    When to use it: for a check by hand. Arguments, range and errors as `tango`.

    Source: Bonett and Price (2012), J. Educ. Behav. Stat. 37, 479-488.
    """
    _, b, c, _, n = _pairs(both, only_c, only_b, neither)
    p12, p21 = (b + 1) / (n + 2), (c + 1) / (n + 2)
    d = p12 - p21
    half = critical(alpha) * math.sqrt((p12 + p21 - d * d) / (n + 2))
    return max(d - half, -1.0), min(d + half, 1.0)


def required_pairs(lift: float, discordance: float, alpha: float = 0.05, power: float = 0.80) -> int:
    """Pairs needed to find a true lift with McNemar's z.

    In words: `(z_a sqrt(psi) + z_b sqrt(psi - lift^2))^2 / lift^2`, psi the share of pairs that differ, rounded
    up.

    Args:
        lift: The true difference, inside (-1, 1) and not 0.
        discordance: The share of pairs that differ, at least |lift| and at most 1.
        alpha: Two-sided level.
        power: Wanted probability of the right verdict.

    Raises:
        ValueError: A value is invalid.

    Source: Connor (1987), Biometrics 43, 207-211.
    """
    size = level(abs(lift), "lift")
    psi = proportion(discordance, "discordance")
    if psi < size:
        raise ValueError(f"discordance must be at least the lift, got {discordance!r} for {lift!r}")
    z_b = quantile(1.0 - level(power, "power"))
    root = critical(alpha) * math.sqrt(psi) + z_b * math.sqrt(psi - size * size)
    return math.ceil((root / size) ** 2)


def _pairs(both: Count, only_c: Count, only_b: Count, neither: Count) -> tuple[int, int, int, int, int]:
    a, b = count(both, "both"), count(only_c, "only_c")
    c, e = count(only_b, "only_b"), count(neither, "neither")
    if a + b + c + e == 0:
        raise ValueError("pairs must be at least 1, got 0")
    return a, b, c, e, a + b + c + e


def _coin_tail(only_c: Count, only_b: Count) -> tuple[float, float]:
    """P(at most min(b, c)) and P(exactly min(b, c)) heads in b + c tosses of a fair coin."""
    b, c = count(only_c, "only_c"), count(only_b, "only_b")
    m, k = b + c, min(b, c)
    if m <= _WHOLE_NUMBERS_UP_TO:
        ways = total = math.comb(m, k)
        own = ways
        for i in range(k, 0, -1):
            ways = ways * i // (m - i + 1)
            total += ways
        return total / (1 << m), own / (1 << m)
    log_own = math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1) - m * math.log(2.0)
    term = share = 1.0
    for i in range(k, 0, -1):
        term *= i / (m - i + 1)
        share += term
        if term < 1e-17 * share:
            break
    mass = math.exp(log_own)
    return mass * share, mass


def _tango_lower(b: int, c: int, n: int, z: float) -> float:
    """The difference below (b - c)/n at which the paired score statistic equals z."""
    d = (b - c) / n

    def excess(delta: float) -> float:
        return d - delta - z * math.sqrt(_discordant_variance(b, c, n, delta) / n)

    return limit_below(excess, d, d - 0.5 * z / (z + math.sqrt(n)) * (1.0 + d))


def _discordant_variance(b: int, c: int, n: int, delta: float) -> float:
    """p12 + p21 - delta^2 at the maximum likelihood rates with p12 - p21 = delta.

    The smaller of the two rates solves a quadratic; the other is delta more. Counting from the smaller one keeps
    every sum free of cancellation.
    """
    if delta < 0.0:
        b, c, delta = c, b, -delta
    linear = (2 * n - b + c) * delta - b - c
    product = c * delta * (1.0 - delta)
    root = math.sqrt(linear * linear + 8.0 * n * product)
    smaller = (root - linear) / (4.0 * n) if linear <= 0.0 else 2.0 * product / (root + linear)
    return 2.0 * smaller + delta * (1.0 - delta)


def _third_side(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(one * one - 2.0 * phi * one * other + other * other, 0.0))
