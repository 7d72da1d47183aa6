"""What a number of games can show about a claim, before it is played: computed once, for dry runs and for `power`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_evalharness.stats import paired, paired_power, power
from pytest_evalharness.stats.inputs import level
from pytest_evalharness.stats.normal import quantile
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.chances import Chances, outcome_chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.pair_chances import paired_chances
from pytest_evalharness.verdict.sequential_plan import Needed, SequentialQuestion, roughly
from pytest_evalharness.verdict.truths import possible_correlation, target, truths
from pytest_evalharness.verdict.words import Claim, Decision, Rule

if TYPE_CHECKING:
    from pytest_evalharness.stats.enumeration import RuleName

PLANNING_RATE = 0.5
"""The baseline win rate that plans assume before anything was played: the one that asks for the most games."""
TABULATED = (8, 30, 100)
"""Games an arm for which the smallest lift that can be found is told."""
_COUNTED_UP_TO = 2000  # games; beyond it a formula is as good
_SLOWLY_COUNTED_UP_TO = 250  # games, where each number of them takes Barnard's test or all kinds of pairs


@dataclass(frozen=True, slots=True)
class Scenario:
    """A truth that a case may meet, and the chances of its outcomes then.

    Attributes:
        words: The truth, for people.
        rate: The candidate's true win rate.
        chances: Of the outcomes.
        expected_games: Games an arm that are played on average where a look may end it early; else None.
        standard_error: Of the chances where they had to be simulated; None where they are exact.
        correlation: Within-pair correlation that was counted with, lowered to what these rates can have; None for
            independent arms.
    """

    words: str
    rate: float
    chances: Chances
    expected_games: float | None = None
    standard_error: float | None = None
    correlation: float | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a case can show.

    Attributes:
        declaration: The claim and its rule.
        base: The baseline's true win rate.
        games: Games an arm and configuration, or pairs.
        configs: Configurations that are pooled, all with the same rates.
        correlation: Within-pair correlation; None for independent arms.
        rule: The rule that answers the claim.
        other: The rule whose numbers stand beside it: strict beside sharp, sharp beside strict. None for pairs.
        needed: Games an arm (or pairs), in all configurations together.
        needed_other: The same under the other rule; None where the claim does not depend on a rule.
        detectable: Games an arm and configuration → the smallest lift (for `not_worse` loss) found with 80 % power,
            under both rules.
        scenarios: No effect, and the effects that the claim is about.
    """

    declaration: Declaration
    base: float
    games: int
    configs: int
    correlation: float | None
    rule: str
    other: str | None
    needed: Needed
    needed_other: Needed | None
    detectable: dict[int, tuple[float | None, float | None]]
    scenarios: tuple[Scenario, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        plain = {
            "base": self.base,
            "configs": self.configs,
            "correlation": self.correlation,
            "declaration": self.declaration.to_json(),
            f"detectable_{self.effect}": {
                str(n): self._by_rule(lift, beside) for n, (lift, beside) in self.detectable.items()
            },
            "games": self.games,
            "needed": self._by_rule(
                _plain(self.needed, self.configs), _plain(self.needed_other, self.configs)
            ),
            "scenarios": [
                {
                    "chances": one.chances.to_json(),
                    "correlation": one.correlation,
                    "expected_games": one.expected_games,
                    "rate": one.rate,
                    "standard_error": one.standard_error,
                    "words": one.words,
                }
                for one in self.scenarios
            ],
        }
        return dict(sorted(plain.items()))

    @property
    def effect(self) -> str:
        """What the claim wants to see: a lift, or for `not_worse` a loss."""
        return "loss" if self.declaration.claim is Claim.NOT_WORSE else "lift"

    def _by_rule(self, first: Any, second: Any) -> dict[str, Any]:
        told = {self.rule: first} if self.other is None else {self.rule: first, self.other: second}
        return dict(sorted(told.items()))


def _plain(needed: Needed | None, configs: int) -> dict[str, Any] | None:
    if needed is None:
        return None
    each = None if needed.games is None else math.ceil(needed.games / configs)
    return {"counted": needed.counted, "games": needed.games, "games_each_config": each}


def outlook(
    declaration: Declaration,
    *,
    base: float = PLANNING_RATE,
    games: int,
    configs: int = 1,
    correlation: float | None = None,
) -> Outlook:
    """Compute what a case can show, by exact enumeration.

    Pooled configurations are counted as one comparison of all their games. With one rate everywhere the
    Cochran-Mantel-Haenszel test that pools them has a little more power than that.

    Args:
        declaration: The claim, its rule and its target lift.
        base: The baseline's true win rate, inside (0, 1).
        games: Games an arm and configuration, or pairs; at least 1.
        configs: Configurations of so many games each, at least 1.
        correlation: Within-pair correlation in [0, 1) if games are paired by seed, else None.

    Raises:
        ValueError: A value is invalid, or rule or claim cannot be planned for pairs.
    """
    question = _question(declaration, level(base, "base"), correlation)
    scenarios = tuple(
        _scenario(
            words,
            rate,
            question,
            games * configs,
            None if correlation is None else possible_correlation(rate, base, correlation),
        )
        for words, rate in truths(declaration, base)
    )
    rule, other = question.rule, question.other
    return Outlook(
        declaration=declaration,
        base=base,
        games=games,
        configs=configs,
        correlation=correlation,
        rule=rule,
        other=other,
        needed=question.needed(),
        needed_other=None
        if other is None or declaration.claim.needs_margin
        else question.needed(beside=True),
        detectable={
            n: (
                question.detectable(n * configs),
                None if other is None else question.detectable(n * configs, beside=True),
            )
            for n in sorted({*TABULATED, games})
        },
        scenarios=scenarios,
    )


def _question(
    declaration: Declaration, base: float, correlation: float | None
) -> _Question | SequentialQuestion:
    """The claim as it is read: once, or at several looks."""
    if declaration.rule.sequential or len(declaration.looks) > 1:
        return SequentialQuestion(declaration, base, correlation)
    return _Question(declaration, base, correlation)


def _scenario(
    words: str,
    rate: float,
    question: _Question | SequentialQuestion,
    games: int,
    correlation: float | None,
) -> Scenario:
    chances = question.chances(rate, games)
    if isinstance(question, _Question):
        return Scenario(words, rate, chances, correlation=correlation)
    design = question.design(rate, games)
    return Scenario(words, rate, chances, design.expected_games, design.standard_error, correlation)


class _Question:
    """A claim under a rule, from a baseline rate: its chances, and how many games answer it with 80 % power."""

    def __init__(self, declaration: Declaration, base: float, correlation: float | None) -> None:
        self._declared = declaration
        self._base = base
        self._correlation = correlation
        strict = declaration.claim is Claim.SEPARATED
        self._own: RuleName = "overlap" if strict else rules.deciding(declaration.rule)
        self._beside: RuleName = "score" if self._own == "overlap" else "overlap"

    @property
    def rule(self) -> str:
        """The rule that answers the claim."""
        return self._own

    @property
    def other(self) -> str | None:
        """The rule whose numbers stand beside it; none does for pairs."""
        return self._beside if self._correlation is None else None

    def chances(self, rate: float, games: int) -> Chances:
        """The chances of the case's outcomes if this is the candidate's true rate."""
        if self._correlation is None:
            return outcome_chances(self._declared, rate, self._base, games)
        return paired_chances(self._declared, rate, self._base, games, self._correlation)

    def detectable(self, games: int, *, beside: bool = False) -> float | None:
        """The smallest lift that so many games find; the smallest loss, which is a lift of losses, for `not_worse`."""
        alpha, phi, rule = self._declared.alpha, self._correlation, self._beside if beside else self._own
        base = 1.0 - self._base if self._declared.claim is Claim.NOT_WORSE else self._base
        if phi is None:
            return power.detectable_lift(base, games, rule=rule, alpha=alpha)
        return paired_power.detectable_paired_lift(base, games, phi, rule=rule, alpha=alpha)

    def needed(self, *, beside: bool = False) -> Needed:
        """Games for 80 % power: to pass where a margin's claim holds, to find the target lift, or to see the loss."""
        if not self._declared.rule.decides:
            return Needed(None)
        rate, rule = self._rate(), self._beside if beside else self._own
        guess = self._formula(rate, rule)
        slow = rule == "exact" or self._correlation is not None
        if guess > (_SLOWLY_COUNTED_UP_TO if slow else _COUNTED_UP_TO):
            return roughly(guess)
        declared = self._declared if not beside else replace(self._declared, rule=Rule(rule))
        few = _Question(declared, self._base, self._correlation)
        right = Decision.NOT_MET if declared.claim is Claim.NOT_WORSE else Decision.MET

        def chance(games: int) -> float:
            if games < rules.SMALL:  # an exact test has a say
                return few.chances(rate, games).decisions[right]
            return self._chance(rate, games, rule)

        return Needed(power.smallest_from(chance, guess))

    def _rate(self) -> float:
        """The candidate's true rate for which games are counted."""
        if self._declared.claim.needs_margin:
            return self._base
        return target(self._declared, self._base).rate

    def _chance(self, rate: float, games: int, rule: RuleName) -> float:
        """The chance of the right answer."""
        alpha, margin, phi = self._declared.alpha, self._declared.margin, self._correlation
        if self._declared.claim.needs_margin and margin is not None:
            either = (
                power.margin_power(rate, self._base, games, margin=margin, alpha=alpha)
                if phi is None
                else paired_power.paired_margin_power(rate, self._base, games, phi, margin, alpha=alpha)
            )
            return either[self._declared.claim is Claim.EQUIVALENT]
        directions = (
            power.exact_power(rate, self._base, games, rule=rule, alpha=alpha)
            if phi is None
            else paired_power.exact_paired_power(rate, self._base, games, phi, rule=rule, alpha=alpha)
        )
        return directions[self._declared.claim is Claim.NOT_WORSE]

    def _formula(self, rate: float, rule: RuleName) -> float:
        """About how many games it will be.

        For a margin `v (z_a + z_b)^2 / margin^2`, v the variance of one pair's difference; equivalence looks at both
        sides and shares its error between them. Infinite where the effect is lost in rounding. Source: Chow, Shao and Wang (2008), Sample Size Calculations in
        Clinical Research, ch. 4.
        """
        declared, phi = self._declared, self._correlation
        if declared.claim.needs_margin and declared.margin is not None:
            beta = 0.20 / 2 if declared.claim is Claim.EQUIVALENT else 0.20
            variance = sum(paired_power.pair_rates(rate, self._base, phi or 0.0))
            ratio = (quantile(declared.alpha) + quantile(beta)) / declared.margin
            return variance * ratio * ratio  # a power would raise where this is infinite
        if rate == self._base:
            return math.inf
        if phi is None:
            return power.games_formula(self._base, rate, declared.alpha, rule=rule)
        discordance = sum(paired_power.pair_rates(rate, self._base, phi))
        return float(paired.required_pairs(rate - self._base, discordance, declared.alpha))
