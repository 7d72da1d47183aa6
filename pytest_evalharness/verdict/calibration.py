"""Does each rule keep its promise? Comparisons of one build with itself, counted and held against exact bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.stats import power, proportions
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.chances import outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Counts
from pytest_evalharness.verdict.standard import Standard
from pytest_evalharness.verdict.words import Claim, Rule, Verdict

BEYOND_CHANCE = 0.001
"""The probability with which chance alone puts a rule outside that errs as often as it may."""
_RATES = tuple(k / 200 for k in range(1, 200))


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


def calibration(wins: Sequence[tuple[int, int]], games: int, alpha: float = 0.05) -> list[Measured]:
    """Measure every rule on comparisons of one build with itself.

    Args:
        wins: Of each comparison, the wins of both arms; at least one comparison.
        games: Games of each arm, at least 1.
        alpha: Two-sided level.

    Raises:
        ValueError: A value is invalid, or there is no comparison.
    """
    found = []
    for rule in Rule:
        if rule.sequential:  # their looks are measured by `evalharness power`
            continue
        declared = Declaration(Claim.BETTER, rule, alpha=alpha)
        verdicts = [
            rules.read(Counts(x_c, games, x_b, games), Standard.of(declared)).verdict for x_c, x_b in wins
        ]
        errors = sum(verdict in (Verdict.BETTER, Verdict.WORSE) for verdict in verdicts)
        bound = proportions.clopper_pearson(errors, len(wins), 2.0 * BEYOND_CHANCE)
        found.append(Measured(rule, len(wins), errors, bound, promised(declared, games)))
    return found


def promised(declaration: Declaration, games: int) -> float:
    """The largest probability over all true win rates with which the rule tells equal arms apart.

    A rule that decides by a large-sample test errs a little more often than its level at some rates and less at
    others; the exact and the overlap rule never exceed theirs.
    """
    if not declaration.rule.decides or games < rules.FEWEST:
        return 0.0
    return max(_error(declaration, rate, games) for rate in _RATES)


def _error(declaration: Declaration, rate: float, games: int) -> float:
    if games >= rules.SMALL:
        rule = rules.deciding(declaration.rule)
        return sum(power.exact_power(rate, rate, games, rule=rule, alpha=declaration.alpha))
    verdicts = outcome_chances(declaration, rate, rate, games).verdicts
    return verdicts[Verdict.BETTER] + verdicts[Verdict.WORSE]
