"""What a case can show whose results are read more than once: enumerated look by look, simulated only where it must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from pytest_evalharness.stats import paired, paired_power, power
from pytest_evalharness.stats.roots import illinois
from pytest_evalharness.verdict.chances import Chances
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.truths import target
from pytest_evalharness.verdict.words import Claim, Decision, Rule, Verdict

_MORE = {Rule.GROUP_SEQUENTIAL: 1.05, Rule.ALWAYS_VALID: 2.0, Rule.OVERLAP: 1.7}
"""About how many times the score rule's games a rule takes: where the search begins."""
_COUNTED_UP_TO = 400
_SIMULATED_UP_TO = 10_000
_SEARCH_PATHS, PATHS = 4_000, 20_000
_STEPS = 12
TOO_MANY = 10_000_000
"""Games an arm beyond which no number is told: nobody plays so many."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Games an arm (or pairs) for 80 % power.

    Attributes:
        games: How many; None where no number of games would do, or more than `TOO_MANY`.
        counted: Whether it was counted out exactly; a formula or a simulation says it otherwise.
    """

    games: int | None
    counted: bool = True

    def __str__(self) -> str:
        return "none" if self.games is None else f"{'' if self.counted else 'about '}{self.games}"


def roughly(games: float) -> Needed:
    """What a formula says: about so many; None where they are too many, or infinitely many."""
    return Needed(None if games > TOO_MANY else math.ceil(games), counted=False)


@dataclass(frozen=True, slots=True)
class Design:
    """What comes of so many games.

    Attributes:
        better: Probability of deciding for the candidate.
        worse: Probability of deciding for the baseline.
        expected_games: Mean games an arm (or pairs) played; None where all are played.
        standard_error: Of a simulated probability; None where they are exact.
    """

    better: float
    worse: float
    expected_games: float | None = None
    standard_error: float | None = None


class SequentialQuestion:
    """A claim that is read at several looks, from a baseline rate. See `planning._Question` for the rest.

    Args:
        declaration: The claim, its rule and its looks.
        base: The baseline's true win rate.
        correlation: Within-pair correlation; None for independent arms.

    Raises:
        ValueError: Looks at pairs cannot be planned under the declared rule.
    """

    def __init__(self, declaration: Declaration, base: float, correlation: float | None) -> None:
        if correlation is not None and declaration.rule is not Rule.ALWAYS_VALID:
            raise ValueError(f"rule {declaration.rule.value!r} has no plan for looks at pairs")
        self._declared = declaration
        self._base = base
        self._correlation = correlation
        self.rule: str = declaration.rule.value
        self.other: str | None = None
        self.design = cache(self._design)

    def looks(self, games: int) -> tuple[int, ...]:
        """The declared looks, moved to another number of games."""
        declared = self._declared.looks or (games,)
        return tuple(sorted({max(1, round(games * look / declared[-1])) for look in declared}))

    def chances(self, rate: float, games: int) -> Chances:
        """The chances of the case's outcomes if this is the candidate's true rate."""
        found = self.design(rate, games)
        open_ = max(0.0, 1.0 - found.better - found.worse)
        verdicts = {Verdict.BETTER: found.better, Verdict.WORSE: found.worse}
        verdicts |= {Verdict.EQUIVALENT: 0.0, Verdict.INCONCLUSIVE: open_}
        if self._declared.claim is Claim.NOT_WORSE:
            decisions = {
                Decision.MET: 1.0 - found.worse,
                Decision.NOT_MET: found.worse,
                Decision.CANNOT_TELL: 0.0,
            }
        else:
            decisions = {
                Decision.MET: found.better,
                Decision.NOT_MET: found.worse,
                Decision.CANNOT_TELL: open_,
            }
        return Chances(verdicts, decisions, self._separated(rate, games))

    def _separated(self, rate: float, games: int) -> tuple[float, float]:
        if self._correlation is None:
            return power.exact_power(rate, self._base, games, rule="overlap", alpha=self._declared.alpha)
        return paired_power.separated_pairs(rate, self._base, games, self._correlation, self._declared.alpha)

    def _design(self, rate: float, games: int, paths: int = PATHS) -> Design:
        from pytest_evalharness.stats import sequential_power

        declared = self._declared
        if declared.rule is Rule.ALWAYS_VALID and self._correlation is not None:
            pairs = sequential_power.evalue_power(
                rate, self._base, self._correlation, games, alpha=declared.alpha
            )
            return Design(pairs.better, pairs.worse)
        if declared.rule is Rule.ALWAYS_VALID:
            told = sequential_power.betting_power(rate, self._base, games, alpha=declared.alpha, paths=paths)
            return Design(told.better, told.worse, standard_error=told.standard_error)
        if declared.rule is Rule.OVERLAP:
            found = sequential_power.overlap_power(rate, self._base, self.looks(games), declared.alpha)
        else:
            found = sequential_power.group_sequential_power(
                rate, self._base, self.looks(games), alpha=declared.alpha, spending=declared.spending.value
            )
        return Design(found.better, found.worse, found.expected_games)

    def _right(self, rate: float, games: int) -> float:
        """The chance of seeing what the claim is about."""
        found = self._design(rate, games, _SEARCH_PATHS)
        return found.worse if self._declared.claim is Claim.NOT_WORSE else found.better

    def detectable(self, games: int, *, beside: bool = False) -> float | None:
        """The smallest lift (for `not_worse` loss) that so many games find with 80 % power."""
        del beside
        down = self._declared.claim is Claim.NOT_WORSE
        most = self._base if down else 1.0 - self._base

        def excess(lift: float) -> float:
            return self._right(self._base - lift if down else self._base + lift, games) - power.POWER

        at_most = excess(most)
        if at_most < 0.0:
            return None
        return illinois(excess, (0.0, excess(0.0)), (most, at_most), 1e-3)

    def needed(self, *, beside: bool = False) -> Needed:
        """Games for 80 % power at the target lift (or loss).

        None where even far more games than the rule usually takes would not do, or more than `TOO_MANY`.
        """
        del beside
        rate = target(self._declared, self._base).rate
        guess = self._guess(rate) * _MORE[self._declared.rule]
        simulated = self._declared.rule is Rule.ALWAYS_VALID and self._correlation is None
        if guess > (_SIMULATED_UP_TO if simulated else _COUNTED_UP_TO):
            return roughly(guess)
        if self._declared.rule is not Rule.ALWAYS_VALID:
            return Needed(power.smallest_from(lambda games: self._right(rate, games), guess))
        found = _first(lambda games: self._right(rate, games) >= power.POWER, math.ceil(guess))
        return Needed(found, counted=False)

    def _guess(self, rate: float) -> float:
        alpha = self._declared.alpha
        if rate == self._base:  # the effect is lost in rounding
            return math.inf
        if self._correlation is None:
            return power.games_formula(self._base, rate, alpha, rule="score")
        discordance = sum(paired_power.pair_rates(rate, self._base, self._correlation))
        return float(paired.required_pairs(rate - self._base, discordance, alpha))


def _first(enough: Callable[[int], bool], guess: int) -> int | None:
    """About the first number that is enough, by halving; None if four times the guess is not."""
    low, high = 0, guess
    while not enough(high):
        low, high = high, high * 2
        if high > 4 * guess:
            return None
    for _ in range(_STEPS):
        if high - low <= max(1, high // 50):
            break
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
