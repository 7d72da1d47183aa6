"""How likely is each outcome of a case whose games are paired by seed? By exact enumeration of the differing pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from pytest_evalharness.stats import paired_power
from pytest_evalharness.stats.normal import critical
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.chances import Chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Pairs
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Decision, Reason, Rule, Separated, Verdict

PLANNABLE = (Rule.SCORE, Rule.EXACT, Rule.BAYES)
"""`overlap` ignores pairing, and Newcombe's interval of pairs depends on more than how many differ."""


def paired_chances(
    declaration: Declaration, p_c: float, p_b: float, pairs: int, correlation: float
) -> Chances:
    """The chances of a case whose pairs all finish and pass every check.

    In words: as `chances.outcome_chances`, over the number of pairs that only the candidate and that only the baseline
    won: the tests of pairs look at nothing else. Whose Wilson interval lies above does not depend on them alone; it is
    enumerated by itself, and a claim about it has no plan for pairs.

    Args:
        declaration: The claim and its rule, one of `PLANNABLE`.
        p_c: True win rate of the candidate in [0, 1].
        p_b: True win rate of the baseline in [0, 1].
        pairs: Pairs of games, at least 1.
        correlation: Within-pair correlation in [0, 1), lowered to what two such rates can have.

    Raises:
        ValueError: A value is invalid, or rule or claim cannot be planned for pairs.
    """
    if declaration.claim is Claim.SEPARATED:
        raise ValueError("claim 'separated' ignores pairing, so it has no plan for pairs")
    if declaration.rule not in PLANNABLE:
        raise ValueError(
            f"rule {declaration.rule.value!r} has no plan for pairs; it must be one of {', '.join(PLANNABLE)}"
        )
    rows = paired_power.at_least(pairs, *paired_power.pair_rates(p_c, p_b, correlation))
    verdicts: dict[Verdict, list[float]] = {v: [] for v in Verdict if v is not Verdict.UNTRUSTWORTHY}
    decisions: dict[Decision, list[float]] = {d: [] for d in Decision if d is not Decision.UNTRUSTWORTHY}
    tipping = _Tipping(declaration, pairs)
    for only_b, row in enumerate(rows):
        for start, stop in pairwise(tipping.cuts(only_b)):
            chance = row[start] - row[stop]
            verdict, decision = tipping.outcome(Pairs(0, start, only_b, pairs - only_b - start))
            verdicts[verdict].append(chance)
            decisions[decision].append(chance)
    return Chances(
        verdicts={verdict: math.fsum(parts) for verdict, parts in verdicts.items()},
        decisions={decision: math.fsum(parts) for decision, parts in decisions.items()},
        separated=paired_power.separated_pairs(p_c, p_b, pairs, correlation, declaration.alpha),
    )


class _Tipping:
    """The numbers of differing pairs at which some test tips over."""

    def __init__(self, declaration: Declaration, pairs: int) -> None:
        self._declaration = declaration
        self._standard = Standard.of(declaration)
        self._pairs = pairs
        alpha, margin = declaration.alpha, declaration.margin
        self._rule = paired_power.winning_pairs(pairs, rules.deciding(declaration.rule), alpha)
        few = pairs < rules.SMALL
        self._agreeing = paired_power.winning_pairs(pairs, "midp", alpha) if few else self._rule
        self._all = [self._rule, self._agreeing]
        if margin is not None:
            bar = critical(2.0 * alpha)
            self._all += [paired_power.shifted_pairs(pairs, -margin, z) for z in (bar, -bar)]

    def cuts(self, only_b: int) -> Sequence[int]:
        """Where an outcome may change as the candidate wins more of the differing pairs, from 0 to one too many."""
        end = self._pairs - only_b + 1
        rising = (up[only_b] for up in self._all)
        # The mirror image tips as soon as the baseline's pairs are too few for this many of the candidate's.
        falling = (sum(bar <= only_b for bar in up[:end]) for up in self._all)
        return sorted({0, end, *(cut for cut in (*rising, *falling) if cut < end)})

    def outcome(self, counts: Pairs) -> tuple[Verdict, Decision]:
        """What these pairs come to, separation left aside."""
        declaration = self._declaration
        towards = self._towards(self._rule, counts) if declaration.rule.decides else 0
        agrees = self._towards(self._agreeing, counts) == towards
        against = None if agrees else Reason.EXACT_DISAGREES
        verdict = rules.conclude(counts, self._standard, towards, against=against).verdict
        limits = rules.margins(counts, self._standard)
        return verdict, rules.decide(declaration, verdict, Separated.NONE, limits, counts.fewest)

    def _towards(self, up: Sequence[int], counts: Pairs) -> int:
        if counts.only_c >= up[counts.only_b]:
            return 1
        return -1 if counts.only_b >= up[counts.only_c] else 0
