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
from pytest_evalharness.verdict.counts import Counts
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Decision, Reason, Separated, Verdict


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
    tipping = _Tipping(declaration, n_c, n_b)
    for x_b in range(n_b + 1):
        for start, stop in pairwise(tipping.cuts(x_b)):
            chance = mass_b[x_b] * (at_least[start] - at_least[stop])
            verdict, decision = tipping.outcome(Counts(start, n_c, x_b, n_b))
            verdicts[verdict].append(chance)
            decisions[decision].append(chance)
    return Chances(
        verdicts={verdict: math.fsum(parts) for verdict, parts in verdicts.items()},
        decisions={decision: math.fsum(parts) for decision, parts in decisions.items()},
        separated=power.exact_power(p_c, p_b, n_c, n_b, rule="overlap", alpha=declaration.alpha),
    )


class _Tipping:
    """The counts at which some test tips over. The tests themselves, the exact one above all, are asked once."""

    def __init__(self, declaration: Declaration, n_c: int, n_b: int) -> None:
        self._declaration = declaration
        self._standard = Standard.of(declaration)
        self._n_c, self._n_b = n_c, n_b
        alpha, margin = declaration.alpha, declaration.margin
        self._rule = enumeration.winning_counts(n_c, n_b, rules.deciding(declaration.rule), alpha)
        self._apart = enumeration.winning_counts(n_c, n_b, "overlap", alpha)
        few = min(n_c, n_b) < rules.SMALL
        self._agreeing = enumeration.winning_counts(n_c, n_b, "exact", alpha) if few else self._rule
        self._all = [self._rule, self._apart, self._agreeing]
        if margin is not None:
            bar = critical(2.0 * alpha)
            self._all += [enumeration.shifted_counts(n_c, n_b, -margin, z) for z in (bar, -bar)]

    def cuts(self, x_b: int) -> Sequence[int]:
        """The candidate counts at which an outcome may change: 0, ..., n_c + 1."""
        n_c = self._n_c
        rising = (up[x_b] for up in self._all)
        # Every test has a mirror image that counts losses.
        falling = (n_c + 1 - up[self._n_b - x_b] for up in self._all)
        return sorted({0, n_c + 1, *rising, *falling})

    def outcome(self, counts: Counts) -> tuple[Verdict, Decision]:
        """What these counts come to; every count up to the next cut comes to the same."""
        declaration = self._declaration
        towards = self._towards(self._rule, counts) if declaration.rule.decides else 0
        agrees = self._towards(self._agreeing, counts) == towards
        against = None if agrees else Reason.EXACT_DISAGREES
        verdict = rules.conclude(counts, self._standard, towards, against=against).verdict
        apart = _APART[self._towards(self._apart, counts)]
        return verdict, rules.decide(
            declaration, verdict, apart, rules.margins(counts, self._standard), counts.fewest
        )

    def _towards(self, up: Sequence[int], counts: Counts) -> int:
        """+1 or -1 where a test sees the candidate better or worse."""
        if counts.x_c >= up[counts.x_b]:
            return 1
        return -1 if counts.x_c <= counts.n_c - up[counts.n_b - counts.x_b] else 0


_APART = {1: Separated.CANDIDATE, 0: Separated.NONE, -1: Separated.BASELINE}
