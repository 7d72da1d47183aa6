"""The p-value of a claim's gate: the smallest level at which the declared rule would tell a direction.

Several claims that were tested together are adjusted by it, whatever rule each of them has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pytest_evalharness.stats import dual
from pytest_evalharness.stats.multiplicity import holm
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.counts import Comparison
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Rule


def gate_p(counts: Comparison, standard: Standard, claim: Claim) -> float:
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


def _of_rule(counts: Comparison, standard: Standard) -> float:
    if standard.rule is Rule.OVERLAP:
        (x_c, n_c), (x_b, n_b) = counts.arms
        return dual.overlap_p(x_c, n_c, x_b, n_b)
    if standard.rule is Rule.NEWCOMBE:
        return counts.newcombe_p()
    if standard.rule is Rule.EXACT:
        return counts.guaranteed_p()
    if standard.rule is Rule.GROUP_SEQUENTIAL:
        from pytest_evalharness.stats.group_sequential import repeated_p

        return repeated_p(counts.z(), standard.look, standard.information, standard.spending)
    if standard.rule is Rule.ALWAYS_VALID:
        # An e-value turned round is a p-value that holds at any time.
        return math.exp(-max(0.0, *counts.log_evidence(standard.alpha)))
    return counts.p()


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
