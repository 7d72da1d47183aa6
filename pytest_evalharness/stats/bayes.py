"""What two win rates may be, given a prior: reported beside a verdict, never instead of one."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import wins_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy import float64
    from numpy.typing import NDArray

_REACH = 40.0  # standard deviations, on the log-odds scale, beyond which nothing is left
_PER_SD = 6.0


def probability_better(
    x_c: SupportsIndex,
    n_c: SupportsIndex,
    x_b: SupportsIndex,
    n_b: SupportsIndex,
    prior: tuple[float, float] = (0.5, 0.5),
) -> float:
    """The posterior probability that the candidate's win rate is the higher one.

    In words: independent Beta posteriors; one density times the other's distribution function, summed over an
    even grid of log-odds, where the trapezoidal rule is exact to rounding and nothing cancels.

    When to use it: to report. As a rule "above .95" errs twice as often as 5 %. Imports scipy.special when called.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, 0 included.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, 0 included.
        prior: Shapes of the Beta prior of both arms, above 0; (1/2, 1/2) is Jeffreys'.

    Returns:
        A probability in [0, 1].

    Raises:
        ValueError: A count or the prior is invalid.

    Source: Altham (1969), J. R. Stat. Soc. B 31, 261-269.
    """
    import numpy as np
    from scipy.special import betainc

    candidate, baseline = _posterior(x_c, n_c, prior), _posterior(x_b, n_b, prior)
    odds, _ = _log_odds(candidate, baseline)
    wins, losses = -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)  # logarithms of t and 1 - t
    a, b = candidate
    logs = a * wins + b * losses
    density = np.exp(logs - logs.max())  # divided by its own sum, so that no constant can lose digits
    return min(1.0, float(density @ betainc(*baseline, np.exp(wins)) / density.sum()))


def expected_loss(
    x_c: SupportsIndex,
    n_c: SupportsIndex,
    x_b: SupportsIndex,
    n_b: SupportsIndex,
    prior: tuple[float, float] = (0.5, 0.5),
) -> tuple[float, float]:
    """What choosing an arm costs on average where it is the worse one: (the candidate, the baseline).

    In words: E[(p_B - p_C)+] is the integral over t of P(p_C < t) P(p_B > t), and the mirror.

    When to use it: to report the risk of shipping. Arguments and errors as `probability_better`.

    Returns:
        (loss of choosing the candidate, loss of choosing the baseline), each in [0, 1].

    Source: Stucchio (2015), Bayesian A/B Testing at VWO.
    """
    import numpy as np
    from scipy.special import betainc, expit

    candidate, baseline = _posterior(x_c, n_c, prior), _posterior(x_b, n_b, prior)
    odds, width = _log_odds(candidate, baseline)
    t, rest = expit(odds), expit(-odds)
    weight = t * rest * width
    below = [np.asarray(betainc(a, b, t)) for a, b in (candidate, baseline)]
    above = [np.asarray(betainc(b, a, rest)) for a, b in (candidate, baseline)]
    return float((below[0] * above[1]) @ weight), float((above[0] * below[1]) @ weight)


def _posterior(wins: SupportsIndex, games: SupportsIndex, prior: tuple[float, float]) -> tuple[float, float]:
    x, n = wins_of(wins, games)
    for value in prior:
        if not 0.0 < value < math.inf:
            raise ValueError(f"prior must have two shapes above 0, got {prior!r}")
    return prior[0] + x, prior[1] + n - x


def _log_odds(*shapes: tuple[float, float]) -> tuple[NDArray[float64], float]:
    """An even grid of log-odds that holds all of every posterior, and its spacing."""
    import numpy as np

    sds = [math.sqrt(1.0 / a + 1.0 / b) for a, b in shapes]
    middles = [math.log(a / b) for a, b in shapes]
    low = min(m - _REACH * sd for m, sd in zip(middles, sds, strict=True))
    high = max(m + _REACH * sd for m, sd in zip(middles, sds, strict=True))
    # a product of both curves is as narrow as the posterior of all games together
    narrowest = math.sqrt(1.0 / sum(a for a, _ in shapes) + 1.0 / sum(b for _, b in shapes))
    steps = math.ceil((high - low) / narrowest * _PER_SD)
    return np.linspace(low, high, steps + 1), (high - low) / steps
