"""Elo differences and the expected scores they stand for."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import proportion

_SCALE = 400.0
_LIMIT = 1e5  # beyond it the expected score is no number above 0


def elo(score: float) -> float | None:
    """The Elo difference that an expected score stands for: `-400 log10(1/s - 1)`.

    When to use it: to speak to people who think in Elo; decide on win rates.

    Args:
        score: Expected score per game in [0, 1], a draw counting one half.

    Returns:
        A finite difference, or None at 0 and 1, where none is large enough.

    Raises:
        ValueError: The score is no number in [0, 1].

    Source: Elo (1978), The Rating of Chessplayers; the logistic curve of Berkson (1944).
    """
    s = proportion(score, "score")
    return None if s in (0.0, 1.0) else _SCALE * (math.log10(s) - math.log10(1.0 - s))


def expected_score(difference: float) -> float:
    """The expected score of an Elo difference, the inverse of `elo`; in [0, 1]."""
    return 1.0 / (1.0 + 10.0 ** (-difference / _SCALE)) if difference > -_LIMIT else 0.0


def normalised_elo(mean: float, pair_variance: float) -> float | None:
    """Elo in units of the noise of one game, so that it does not depend on how often games are drawn.

    In words: `(mean - 1/2) / sigma * 800 / ln 10`, sigma the standard deviation of one game, estimated as
    sqrt(2 * variance of a pair's mean score).

    Args:
        mean: Mean score per game in [0, 1].
        pair_variance: Variance of the mean score of a pair of games, not negative.

    Returns:
        A finite number, or None where nothing varies.

    Raises:
        ValueError: A value is out of range.

    Source: Van den Bergh (2019), Normalized Elo, as used by fishtest.
    """
    mean = proportion(mean, "mean")
    variance = proportion(pair_variance, "pair_variance")
    if variance == 0.0:
        return None
    return (mean - 0.5) / math.sqrt(2.0 * variance) * 800.0 / math.log(10.0)
