"""Looking before the end: tests that stay valid when results are watched while they come in."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import count, level, proportion
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import SupportsIndex

_EMPTY_CELL = 0.001


def sprt_bounds(alpha: float = 0.05, beta: float = 0.05) -> tuple[float, float]:
    """Wald's bounds for the log likelihood ratio of a sequential probability ratio test.

    In words: reject the alternative below `log(beta / (1 - alpha))`, the hypothesis above
    `log((1 - beta) / alpha)`.

    Args:
        alpha: Chance of accepting the alternative though the hypothesis is true.
        beta: Chance of the reverse; alpha + beta < 1.

    Raises:
        ValueError: A level is invalid, or they add up to 1 or more.

    Source: Wald (1945), Ann. Math. Stat. 16, 117-186.
    """
    alpha, beta = level(alpha), level(beta, "beta")
    if alpha + beta >= 1.0:
        raise ValueError(f"alpha + beta must be below 1, got {alpha!r} + {beta!r}")
    return math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha)


def gsprt_llr(counts: Sequence[SupportsIndex], score0: float, score1: float) -> float:
    """The generalised log likelihood ratio of two expected scores, from counts of game or pair results.

    In words: the most likely distributions over the results with mean score1 and with mean score0, and the
    log of how much better the first explains the counts. Empty cells count .001.

    When to use it: for thousands of games, against `sprt_bounds`. At 100 games its error rate is .06 to .08
    where .05 was asked for: use `group_sequential` there.

    Args:
        counts: How often each result came, from worst to best, equally spaced scores from 0 to 1: three for
            loss, draw, win; five for pairs of games.
        score0: Expected score under the hypothesis, inside (0, 1).
        score1: Expected score under the alternative, inside (0, 1).

    Returns:
        A finite log likelihood ratio, positive in favour of score1.

    Raises:
        ValueError: There are fewer than two cells, no results, or a value is invalid.

    Source: Van den Bergh (2018), the GSPRT of fishtest; Li, Liu and Ying (2014), Seq. Anal. 33, 375-395.
    """
    total, scores, shares = _distribution(counts)
    s0, s1 = level(score0, "score0"), level(score1, "score1")
    ones, zeros = _tilted(scores, shares, s1), _tilted(scores, shares, s0)
    return total * math.fsum(p * math.log(b / a) for p, a, b in zip(shares, ones, zeros, strict=True))


def gsprt_llr_normal(counts: Sequence[SupportsIndex], score0: float, score1: float) -> float | None:
    """The normal approximation of `gsprt_llr`: `N (s1 - s0)(2 mean - s0 - s1) / (2 variance)`.

    Arguments, errors and source as `gsprt_llr`, but empty cells stay empty; None where nothing varies.
    """
    total, scores, shares = _distribution(counts, empty=0.0)
    s0, s1 = level(score0, "score0"), level(score1, "score1")
    mean = math.fsum(p * a for p, a in zip(shares, scores, strict=True))
    variance = math.fsum(p * (a - mean) ** 2 for p, a in zip(shares, scores, strict=True))
    return total * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance) if variance > 0.0 else None


def mcnemar_log_e(only_c: SupportsIndex, only_b: SupportsIndex, prior: float = 0.5) -> float:
    """The logarithm of the sequential McNemar e-value of paired games.

    In words: how much better a Beta(prior, prior) mixture of coins explains the pairs that differ than a fair
    coin does: `B(h + b, h + c) / B(h, h) * 2^(b + c)`. Reject when it reaches log(1/alpha); that holds at any
    time, however often one looked.

    Args:
        only_c: Pairs so far that only the candidate won.
        only_b: Pairs so far that only the baseline won.
        prior: The mixture's shape, above 0; larger bets more carefully.

    Returns:
        A finite number; 0 when no pair differs.

    Raises:
        ValueError: A count or the prior is invalid.

    Source: Krichevsky and Trofimov (1981), IEEE Trans. Inf. Theory 27; Grunwald, de Heide and Koolen (2024),
    J. R. Stat. Soc. B 86.
    """
    b, c = count(only_c, "only_c"), count(only_b, "only_b")
    if not 0.0 < prior < math.inf:
        raise ValueError(f"prior must be above 0 and finite, got {prior!r}")
    return _log_beta(prior + b, prior + c) - _log_beta(prior, prior) + (b + c) * math.log(2.0)


def betting_log_capital(
    outcomes: Iterable[tuple[float, float]], alpha: float = 0.05, cap: float = 1.0
) -> tuple[float, float]:
    """Hedged betting on unpaired games that come in turn by turn: the best log capital so far, either way.

    In words: each turn one game of either arm ends with scores (w_C, w_B); y = (w_C - w_B + 1) / 2 averages 1/2
    if the arms are equal. One gambler bets on more, another on less; the stake shrinks with the spread seen so
    far. Reject, in the direction of the richer one, when either has reached log(2/alpha) at any time.

    Args:
        outcomes: (score of the candidate's game, score of the baseline's), each in [0, 1], in the order played.
        alpha: The level, which only sets the stakes.
        cap: The largest stake, inside (0, 2).

    Returns:
        (highest log capital of the gambler on the candidate, of the one on the baseline), both at least 0.

    Raises:
        ValueError: A score, alpha or the cap is invalid.

    Source: Waudby-Smith and Ramdas (2024), J. R. Stat. Soc. B 86, 1-27.
    """
    alpha = level(alpha)
    if not 0.0 < cap < 2.0:  # noqa: PLR2004 - at 2 one lost game takes everything
        raise ValueError(f"cap must lie inside (0, 2), got {cap!r}")
    stake_scale = 2.0 * math.log(2.0 / alpha)
    total, squares = 0.5, 0.25
    up = down = best_up = best_down = 0.0
    for turn, (score_c, score_b) in enumerate(outcomes, start=1):
        y = 0.5 * (proportion(score_c, "score_c") - proportion(score_b, "score_b") + 1.0)
        stake = min(cap, math.sqrt(stake_scale / (squares * math.log(turn + 1.0))))
        up += math.log1p(stake * (y - 0.5))
        down += math.log1p(-stake * (y - 0.5))
        best_up, best_down = max(best_up, up), max(best_down, down)
        total += y
        squares += (y - total / (turn + 1)) ** 2
    return best_up, best_down


def mixture_half_width(variance: float, n: SupportsIndex, n_opt: float, alpha: float = 0.05) -> float:
    """Half the width of the normal-mixture confidence sequence for a mean after n results.

    In words: an interval around the running mean that covers the truth at all n at once, asymptotically; it is
    tightest near n_opt. At 100 games its error rate is .061 where .05 was asked for.

    Args:
        variance: Of one result, not negative and finite.
        n: Results so far, at least 1.
        n_opt: Where the sequence should be tightest, above 0.
        alpha: The level.

    Returns:
        A finite half-width >= 0.

    Raises:
        ValueError: A value is invalid.

    Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), Ann. Stat. 52, 2613-2640.
    """
    alpha, total = level(alpha), count(n, "n")
    if total == 0:
        raise ValueError("n must be at least 1, got 0")
    for value, name in ((variance, "variance"), (n_opt, "n_opt")):
        if not 0.0 <= value < math.inf:
            raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    spread = total * mixture_rho_squared(n_opt, alpha)
    return math.sqrt(
        variance * 2.0 * (spread + 1.0) / (total * spread) * math.log(math.sqrt(spread + 1.0) / alpha)
    )


def mixture_rho_squared(n_opt: float, alpha: float = 0.05) -> float:
    """The tuning of `mixture_half_width`: `(-2 log alpha + log(1 - 2 log alpha)) / n_opt`.

    Args:
        n_opt: the number of observations at which the interval is to be narrowest.
        alpha: the two-sided error level.

    Raises:
        ValueError: `n_opt` is not above 0 and finite, or `alpha` is no level.
    """
    alpha = level(alpha)
    if not 0.0 < n_opt < math.inf:
        raise ValueError(f"n_opt must be above 0 and finite, got {n_opt!r}")
    return (-2.0 * math.log(alpha) + math.log(1.0 - 2.0 * math.log(alpha))) / n_opt


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _distribution(
    counts: Sequence[SupportsIndex], empty: float = _EMPTY_CELL
) -> tuple[float, list[float], list[float]]:
    """Number of results, the score of each cell, and its share; empty cells are filled first."""
    if len(counts) < 2:  # noqa: PLR2004 - one result compares nothing
        raise ValueError(f"counts must have at least 2 cells, got {len(counts)}")
    whole = [count(value, "counts") for value in counts]
    if not any(whole):
        raise ValueError("counts must hold at least 1 result, got none")
    filled = [value or empty for value in whole]
    total = math.fsum(filled)
    return total, [i / (len(filled) - 1) for i in range(len(filled))], [value / total for value in filled]


def _tilted(scores: Sequence[float], shares: Sequence[float], mean: float) -> list[float]:
    """For each cell 1 + x (score - mean), by which its share is divided to give the distribution that mean.

    x is the root of a falling function between the poles at the extreme scores.
    """

    def excess(x: float) -> float:
        return math.fsum(p * (a - mean) / (1.0 + x * (a - mean)) for p, a in zip(shares, scores, strict=True))

    low, high = -1.0 / (1.0 - mean), 1.0 / mean
    left, right = low, high
    inset = 1e-3
    while True:  # approach the poles until the signs differ
        left, right = low + inset * (high - low), high - inset * (high - low)
        value_left, value_right = excess(left), excess(right)
        if value_left >= 0.0 >= value_right:
            break
        inset *= 1e-2
    x = illinois(excess, (left, value_left), (right, value_right), 1e-15)
    return [1.0 + x * (a - mean) for a in scores]
