"""At which level would a rule about intervals just decide? p-values that can never contradict those rules."""

from __future__ import annotations

import math

from pytest_evalharness.stats.inputs import count, played
from pytest_evalharness.stats.normal import two_sided
from pytest_evalharness.stats.paired import correlation
from pytest_evalharness.stats.proportions import wilson_at
from pytest_evalharness.stats.roots import illinois

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex as Count

_FURTHEST = 1e6  # a z whose p-value is 0 in every arithmetic


def overlap_p(x_c: Count, n_c: Count, x_b: Count, n_b: Count) -> float:
    """The smallest alpha at which the two Wilson intervals of level 1 - alpha do not overlap.

    In words: intervals that touch do so at the rate t that lies between the observed ones as the square roots of
    the games weigh them; each observed rate is then z standard errors, taken at t, away from it. For equal arms z is
    the pooled statistic over sqrt(2).

    When to use it: beside the rule "separated", which decides at alpha exactly when this is below alpha. It is not
    the p-value of "both arms win equally often": .05 here is .0056 there.

    Args:
        x_c: Wins of the candidate.
        n_c: Games of the candidate, at least 1.
        x_b: Wins of the baseline.
        n_b: Games of the baseline, at least 1.

    Returns:
        p in [0, 1]; exactly 1 where the observed rates are equal.

    Raises:
        ValueError: A count is invalid, or an arm has no games.

    Source: Schenker and Gentleman (2001), Am. Stat. 55, 182-186.
    """
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    excess = x_c * n_b - x_b * n_c
    if excess == 0:
        return 1.0
    root_c, root_b = math.sqrt(n_c), math.sqrt(n_b)
    # t and 1 - t, each times the sum of the roots, and neither by subtraction
    won = x_c / root_c + x_b / root_b
    lost = (n_c - x_c) / root_c + (n_b - x_b) / root_b
    return two_sided(excess / (root_c * root_b * math.sqrt(won * lost)))


def newcombe_p(x_c: Count, n_c: Count, x_b: Count, n_b: Count) -> float:
    """The smallest alpha at which Newcombe's interval `difference.newcombe` excludes 0.

    In words: the distance from the observed difference to the limit on the side of 0 grows with z; p belongs to the
    z at which it is the difference itself.

    When to use it: as the p-value beside the rule "newcombe". Arguments, range and errors as `overlap_p`.

    Source: Newcombe (1998), Stat. Med. 17, 873-890, method 10, inverted.
    """
    x_c, n_c = played(x_c, n_c, "candidate")
    x_b, n_b = played(x_b, n_b, "baseline")
    excess = x_c * n_b - x_b * n_c
    if excess < 0:
        x_c, n_c, x_b, n_b = x_b, n_b, x_c, n_c
    return _level_of(abs(excess) / (n_c * n_b), (x_c, n_c), (x_b, n_b), 0.0)


def newcombe_paired_p(
    both: Count, only_c: Count, only_b: Count, neither: Count, *, corrected: bool = True
) -> float:
    """The smallest alpha at which Newcombe's interval of pairs, `paired.newcombe_paired`, excludes 0.

    In words: as `newcombe_p`, with the two distances combined at the angle whose cosine is the correlation.

    When to use it: as the p-value beside the rule "newcombe" of paired games.

    Args:
        both: Pairs that both arms won.
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.
        neither: Pairs that neither won.
        corrected: Method 10, or else method 8; as in `paired.newcombe_paired`.

    Returns:
        p in [0, 1]; exactly 1 where both arms won as often.

    Raises:
        ValueError: A count is invalid, or there are no pairs.

    Source: Newcombe (1998), Stat. Med. 17, 2635-2650, inverted.
    """
    a, b = count(both, "both"), count(only_c, "only_c")
    c, e = count(only_b, "only_b"), count(neither, "neither")
    phi, n = correlation(a, b, c, e, corrected=corrected), a + b + c + e
    return _level_of(abs(b - c) / n, (a + max(b, c), n), (a + min(b, c), n), phi)


def _level_of(d: float, upper: tuple[int, int], lower: tuple[int, int], phi: float) -> float:
    """The level at which the lower limit of a difference d >= 0 of the upper arm and the lower one is 0."""
    if d == 0.0:
        return 1.0
    (x_u, n_u), (x_l, n_l) = upper, lower

    def excess(z: float) -> float:
        """Falls from d. A Wilson limit t is z standard errors, taken at t, from its rate: nothing is subtracted."""
        low, high = wilson_at(x_u, n_u, z)[0], wilson_at(x_l, n_l, z)[1]
        down, up = low * (1.0 - low) / n_u, high * (1.0 - high) / n_l
        return d - z * math.sqrt(max(down - 2.0 * phi * math.sqrt(down * up) + up, 0.0))

    near, far = 0.0, 1.0
    at_near, at_far = d, excess(far)
    while at_far > 0.0 and far < _FURTHEST:
        near, at_near = far, at_far
        far *= 2.0
        at_far = excess(far)
    return two_sided(illinois(excess, (near, at_near), (far, at_far), 1e-14 * far)) if at_far <= 0.0 else 0.0
