"""How likely is each outcome of a case before it is played? By exact enumeration, not simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pytest_evalharness.stats import enumeration, power
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Counts, wilson_of
from pytest_evalharness.verdict.words import Decision, Verdict


@dataclass(frozen=True, slots=True)
class Chances:
    """The probability of each verdict, and of each decision of the claim, given true win rates.

    Attributes:
        verdicts: BETTER, WORSE, EQUIVALENT and INCONCLUSIVE with their probabilities, which add up to 1.
        decisions: MET, NOT_MET and CANNOT_TELL with theirs.
        separated: Probability that the candidate's Wilson interval lies above, and that the baseline's does.
    """

    verdicts: dict[Verdict, float]
    decisions: dict[Decision, float]
    separated: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "decisions": {word.value: self.decisions[word] for word in sorted(self.decisions)},
            "separated": list(self.separated),
            "verdicts": {word.value: self.verdicts[word] for word in sorted(self.verdicts)},
        }


def outcome_chances(
    declaration: Declaration, p_c: float, p_b: float, n_c: int, n_b: int | None = None
) -> Chances:
    """The chances of a case whose episodes all finish and pass every check.

    In words: the verdict of every possible pair of counts, weighted with its binomial probability. Between the
    counts at which some test tips over the verdict is constant, so only one table in each stretch is judged.

    Args:
        declaration: The claim and its rule.
        p_c: True win rate of the candidate in [0, 1].
        p_b: True win rate of the baseline in [0, 1].
        n_c: Games of the candidate, at least 1.
        n_b: Games of the baseline; those of the candidate when left out.

    Raises:
        ValueError: A value is invalid.
    """
    n_b = n_c if n_b is None else n_b
    mass_b = enumeration.binomial(n_b, p_b)
    at_least = enumeration.upper_sums(enumeration.binomial(n_c, p_c))
    verdicts: dict[Verdict, list[float]] = {v: [] for v in Verdict if v is not Verdict.UNTRUSTWORTHY}
    decisions: dict[Decision, list[float]] = {d: [] for d in Decision if d is not Decision.UNTRUSTWORTHY}
    for x_b, cuts in enumerate(_cuts(declaration, n_c, n_b)):
        for start, stop in pairwise(cuts):
            chance = mass_b[x_b] * (at_least[start] - at_least[stop])
            verdict, decision = _outcome(declaration, Counts(start, n_c, x_b, n_b))
            verdicts[verdict].append(chance)
            decisions[decision].append(chance)
    return Chances(
        verdicts={verdict: math.fsum(parts) for verdict, parts in verdicts.items()},
        decisions={decision: math.fsum(parts) for decision, parts in decisions.items()},
        separated=power.exact_power(p_c, p_b, n_c, n_b, rule="overlap", alpha=declaration.alpha),
    )


def _outcome(declaration: Declaration, counts: Counts) -> tuple[Verdict, Decision]:
    verdict = rules.read(counts, declaration).verdict
    apart = rules.separation(*wilson_of(counts, declaration.alpha))
    return verdict, rules.decide(
        declaration, verdict, apart, rules.margins(counts, declaration), counts.fewest
    )


def _cuts(declaration: Declaration, n_c: int, n_b: int) -> Sequence[Sequence[int]]:
    """For each baseline count, the candidate counts at which an outcome may change: 0, ..., n_c + 1."""
    if min(n_c, n_b) < rules.SMALL:
        return [range(n_c + 2)] * (n_b + 1)  # an exact test has a say, table by table
    alpha, margin = declaration.alpha, declaration.margin
    rising = [enumeration.winning_counts(n_c, n_b, rule, alpha) for rule in ("score", "overlap")]
    if margin is not None:
        bar = critical(2.0 * alpha)
        rising += [enumeration.shifted_counts(n_c, n_b, -margin, z) for z in (bar, -bar)]
    # Every test has a mirror image that counts losses.
    return [
        sorted({0, n_c + 1, *(up[x_b] for up in rising), *(n_c + 1 - up[n_b - x_b] for up in rising)})
        for x_b in range(n_b + 1)
    ]
