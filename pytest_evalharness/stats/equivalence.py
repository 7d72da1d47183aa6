"""Is the difference small enough not to matter? Equivalence and non-inferiority of independent arms."""

from __future__ import annotations

from pytest_evalharness.stats.difference import score_z
from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import upper_tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex


def noninferiority_p(
    x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex, margin: float
) -> float:
    """The one-sided p-value of "the candidate is worse by at least the margin".

    In words: the normal tail beyond the score statistic for a true difference of -margin. Below .05 exactly
    when the lower limit of the 90 % score interval is above -margin.

    When to use it: to show that a change does no harm worth naming. The margin is chosen before the results.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.
        margin: The loss that would matter, inside (0, 1).

    Returns:
        p in [0, 1].

    Raises:
        ValueError: A count or the margin is invalid, or an arm has no games.

    Source: Farrington and Manning (1990), Stat. Med. 9, 1447-1454.
    """
    return upper_tail(score_z(x_c, n_c, x_b, n_b, -level(margin, "margin")))


def nonsuperiority_p(
    x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex, margin: float
) -> float:
    """The one-sided p-value of "the candidate is better by at least the margin": the mirror image.

    Arguments, range, errors and source as `noninferiority_p`.
    """
    return upper_tail(-score_z(x_c, n_c, x_b, n_b, level(margin, "margin")))


def equivalence_p(
    x_c: SupportsIndex, n_c: SupportsIndex, x_b: SupportsIndex, n_b: SupportsIndex, margin: float
) -> float:
    """The p-value of two one-sided tests (TOST): the larger of the two.

    In words: below .05 exactly when the whole 90 % score interval lies inside (-margin, margin).

    When to use it: to show, rather than assume, that two arms do the same. At a rate of one half and a margin
    of .10 that takes 429 games an arm. Arguments, range and errors as `noninferiority_p`.

    Source: Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657-680, with the score statistics above.
    """
    return max(
        noninferiority_p(x_c, n_c, x_b, n_b, margin),
        nonsuperiority_p(x_c, n_c, x_b, n_b, margin),
    )
