"""Student's t distribution: its two-sided tail, and the critical value of a two-sided level."""

from __future__ import annotations

import math

from pytest_evalharness.stats.beta import beta_quantile, beta_upper_quantile
from pytest_evalharness.stats.inputs import level


def t_two_sided(t: float, df: float) -> float:
    """P(|T| > |t|) with df > 0 degrees of freedom, by the incomplete beta function; in [0, 1].

    Source: Abramowitz and Stegun (1964), 26.7.1. Imports scipy.special when called.
    """
    from scipy.special import betainc

    return float(betainc(0.5 * df, 0.5, df / (df + t * t)))


def t_critical(alpha: float, df: float) -> float:
    """The t > 0 with P(|T| > t) = alpha: 2.228139 at alpha = .05 and 10 degrees of freedom.

    Args:
        alpha: A two-sided level inside (0, 1).
        df: Degrees of freedom, above 0; fractions are allowed.

    Raises:
        ValueError: alpha or df is invalid.
    """
    alpha = level(alpha)
    if not df > 0.0:
        raise ValueError(f"df must be above 0, got {df!r}")
    # t^2 / (df + t^2) and df / (df + t^2), each from its own tail so that neither loses digits
    return math.sqrt(df * beta_upper_quantile(0.5, 0.5 * df, alpha) / beta_quantile(0.5 * df, 0.5, alpha))
