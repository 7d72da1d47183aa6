"""The p-value of a claim's gate: the smallest level at which the declared rule would tell a direction.

Several claims that were tested together are adjusted by it, whatever rule each of them has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_evalharness.stats.multiplicity import holm
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.counts import Testable
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Rule

_SMALLEST = 1e-12
_HALVINGS = 60


def gate_p(counts: Testable, standard: Standard, claim: Claim) -> float:
    """The two-sided p-value that belongs to the rule which gates a claim.

    In words: the level below which the rule would no longer tell a direction. With fewer than 10 games the exact test
    has its say too; with fewer than 5, and under a rule that is report only, nothing is ever told: 1.

    Args:
        counts: The games.
        standard: The rule; its level matters only to the stakes of the betting sequence.
        claim: `separated` is gated by the overlap of the arms' intervals, whatever the rule.

    Returns:
        A number in (0, 1].
    """
    if claim is Claim.SEPARATED:
        standard = replace(standard, rule=Rule.OVERLAP)
    if counts.fewest < rules.FEWEST or not standard.rule.decides:
        return 1.0
    p = _of_rule(counts, standard)
    return max(p, counts.exact_p()) if counts.fewest < rules.SMALL else p


def _of_rule(counts: Testable, standard: Standard) -> float:
    if standard.rule is Rule.SCORE:
        return counts.p()
    if standard.rule is Rule.EXACT:
        return counts.guaranteed_p()
    if standard.rule is Rule.ALWAYS_VALID:
        # An e-value turned round is a p-value that holds at any time.
        return math.exp(-max(0.0, *counts.log_evidence(standard.alpha)))
    return _smallest(lambda alpha: rules.direction(counts, standard.at(alpha)) != 0)


def _smallest(decides: Callable[[float], bool]) -> float:
    """The smallest level at which something decides that decides at every larger one."""
    if not decides(1.0 - 1e-9):
        return 1.0
    low, high = math.log(_SMALLEST), 0.0
    if decides(_SMALLEST):
        return _SMALLEST
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if decides(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def adjusted_p(own: float, others: Sequence[float]) -> float:
    """Holm's adjusted p-value of one claim among those that were tested together.

    Args:
        own: The claim's own p-value.
        others: Those of the other members; 1 for one that was not played or cannot be trusted.

    Raises:
        ValueError: A value lies outside [0, 1].

    Source: Holm (1979), Scand. J. Stat. 6, 65-70.
    """
    return holm([own, *others])[0]
