"""Does each rule keep its promise? Comparisons of one build with itself, counted and held against exact bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.stats import power, proportions
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration, usual_looks
from pytest_evalharness.verdict.counts import Counts
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Rule, Verdict

BEYOND_CHANCE = 0.001
"""The probability with which chance alone puts a rule outside that errs as often as it may."""
Played = tuple[Sequence[int], Sequence[int]]
_RATES = tuple(k / 200 for k in range(1, 101))  # every rule treats wins and losses alike


@dataclass(frozen=True, slots=True)
class Measured:
    """How often a rule told one build from itself.

    Attributes:
        rule: The rule.
        runs: Comparisons.
        errors: Those it called BETTER or WORSE.
        bound: Clopper-Pearson limits of the true error rate, each wrong with probability `BEYOND_CHANCE`.
        promised: The rule's largest error over all true win rates with so many games, by exact enumeration.
    """

    rule: Rule
    runs: int
    errors: int
    bound: tuple[float, float]
    promised: float

    @property
    def rate(self) -> float:
        """The measured error rate."""
        return self.errors / self.runs

    @property
    def inside(self) -> bool:
        """Whether the error rate may be as small as the rule promises."""
        return self.bound[0] <= self.promised

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "bound": list(self.bound),
            "errors": self.errors,
            "inside": self.inside,
            "promised": self.promised,
            "rate": self.rate,
            "rule": self.rule.value,
            "runs": self.runs,
        }


def calibration(arms: Sequence[Played], alpha: float = 0.05) -> list[Measured]:
    """Measure every rule on comparisons of one build with itself.

    Args:
        arms: Of each comparison, the games of both arms in the order they were played, 1 for a win and 0 for none;
            all arms with equally many games. At least one comparison.
        alpha: Two-sided level.

    Raises:
        ValueError: A value is invalid, or there is no comparison.
    """
    games = len(arms[0][0]) if arms else 0
    found = []
    for rule in Rule:
        looks = usual_looks(games) if rule is Rule.GROUP_SEQUENTIAL else ()
        declared = Declaration(Claim.BETTER, rule, alpha=alpha, looks=looks)
        errors = sum(_errs(declared, *pair) for pair in arms)
        bound = proportions.clopper_pearson(errors, len(arms), 2.0 * BEYOND_CHANCE)
        found.append(Measured(rule, len(arms), errors, bound, promised(declared, games)))
    return found


def _errs(declaration: Declaration, candidate: Sequence[int], baseline: Sequence[int]) -> bool:
    """Whether the rule tells the arms apart, at whichever look."""
    turns = tuple(zip(candidate, baseline, strict=True))
    for look, games in enumerate(declaration.looks or (len(turns),)):
        seen = turns[:games]
        won = sum(c for c, _ in seen), sum(b for _, b in seen)
        counts = Counts(won[0], games, won[1], games, seen)
        verdict = rules.read(counts, Standard.of(declaration, look=look)).verdict
        if verdict in (Verdict.BETTER, Verdict.WORSE):
            return True
    return False


def promised(declaration: Declaration, games: int) -> float:
    """The largest probability over all true win rates with which the rule tells equal arms apart.

    A rule that decides by a large-sample test errs a little more often than its level at some rates and less at
    others; the exact and the overlap rule never exceed theirs.
    """
    if not declaration.rule.decides or games < rules.FEWEST:
        return 0.0
    if declaration.rule is Rule.ALWAYS_VALID:
        return declaration.alpha  # by Ville's inequality, whatever the rate and however often one looks
    return max(_error(declaration, rate, games) for rate in _RATES)


def _error(declaration: Declaration, rate: float, games: int) -> float:
    if declaration.rule is Rule.GROUP_SEQUENTIAL:
        from pytest_evalharness.stats.sequential_power import group_sequential_power

        design = group_sequential_power(rate, rate, declaration.looks, alpha=declaration.alpha)
        return design.better + design.worse
    if games >= rules.SMALL:
        rule = rules.deciding(declaration.rule)
        return sum(power.exact_power(rate, rate, games, rule=rule, alpha=declaration.alpha))
    verdicts = outcome_chances(declaration, rate, rate, games).verdicts
    return verdicts[Verdict.BETTER] + verdicts[Verdict.WORSE]
