"""The numbers a verdict is read from: two independent arms, or pairs of games, each with its own tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from pytest_evalharness.stats import difference, exact, missing, paired, proportions

Interval = tuple[float, float]
Arm = tuple[int, int]


class Comparison(Protocol):
    """What every kind of counts can answer."""

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """(wins, games) of the candidate and of the baseline."""

    @property
    def fewest(self) -> int:
        """Finished games of the smaller arm, or pairs."""

    @property
    def difference(self) -> float:
        """The candidate's win rate minus the baseline's."""

    def z(self, delta: float = 0.0) -> float:
        """The score statistic for a true difference of delta."""

    def p(self) -> float:
        """The two-sided p-value of that statistic at 0."""

    def exact_p(self) -> float:
        """The p-value that must agree when games are few."""

    def guaranteed_p(self) -> float:
        """The p-value of an exact test that never rejects more often than its level: the rule "exact"."""

    def interval(self, alpha: float) -> Interval:
        """The score interval for the difference."""

    def newcombe(self, alpha: float) -> Interval:
        """Newcombe's interval for the difference."""

    def extremes(self, missing_c: int, missing_b: int) -> tuple[Self, Self]:
        """The counts with the missing games all against the candidate, and all for it."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Wins and finished games of two independent arms: Miettinen-Nurminen, N-1 score test, Barnard."""

    x_c: int
    n_c: int
    x_b: int
    n_b: int

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """(wins, games) of the candidate and of the baseline."""
        return (self.x_c, self.n_c), (self.x_b, self.n_b)

    @property
    def fewest(self) -> int:
        """Finished games of the smaller arm."""
        return min(self.n_c, self.n_b)

    @property
    def difference(self) -> float:
        """The candidate's win rate minus the baseline's."""
        return (self.x_c * self.n_b - self.x_b * self.n_c) / (self.n_c * self.n_b)

    def z(self, delta: float = 0.0) -> float:
        """The score statistic for a true difference of delta."""
        return difference.score_z(self.x_c, self.n_c, self.x_b, self.n_b, delta)

    def p(self) -> float:
        """The N-1 score test."""
        return difference.score_p(self.x_c, self.n_c, self.x_b, self.n_b)

    def exact_p(self) -> float:
        """Barnard's test."""
        return exact.barnard(self.x_c, self.n_c, self.x_b, self.n_b)

    def guaranteed_p(self) -> float:
        """Barnard's test."""
        return self.exact_p()

    def interval(self, alpha: float) -> Interval:
        """Miettinen and Nurminen's interval."""
        return difference.miettinen_nurminen(self.x_c, self.n_c, self.x_b, self.n_b, alpha)

    def newcombe(self, alpha: float) -> Interval:
        """Newcombe's hybrid interval, his method 10."""
        return difference.newcombe(self.x_c, self.n_c, self.x_b, self.n_b, alpha)

    def extremes(self, missing_c: int, missing_b: int) -> tuple[Counts, Counts]:
        """The counts with the missing games all against the candidate, and all for it."""
        arms = (self.x_c, self.n_c, missing_c), (self.x_b, self.n_b, missing_b)
        worst, best = missing.extremes(*arms)
        return Counts(*worst), Counts(*best)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of games that shared their seed: Tango, McNemar's z, and its mid-p test.

    Args:
        both: Pairs that both arms won.
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.
        neither: Pairs that neither won.
    """

    both: int
    only_c: int
    only_b: int
    neither: int

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """(wins, games) of the candidate and of the baseline."""
        n = self.fewest
        return (self.both + self.only_c, n), (self.both + self.only_b, n)

    @property
    def fewest(self) -> int:
        """Pairs."""
        return self.both + self.only_c + self.only_b + self.neither

    @property
    def difference(self) -> float:
        """The candidate's win rate minus the baseline's."""
        return (self.only_c - self.only_b) / self.fewest

    def z(self, delta: float = 0.0) -> float:
        """Tango's score statistic for a true difference of delta."""
        return paired.score_z(self.both, self.only_c, self.only_b, self.neither, delta)

    def p(self) -> float:
        """McNemar's test."""
        return paired.mcnemar_p(self.only_c, self.only_b)

    def exact_p(self) -> float:
        """McNemar's mid-p test."""
        return paired.mcnemar_midp(self.only_c, self.only_b)

    def guaranteed_p(self) -> float:
        """McNemar's exact test: the mid-p version keeps its level on average only."""
        return paired.mcnemar_exact(self.only_c, self.only_b)

    def interval(self, alpha: float) -> Interval:
        """Tango's interval."""
        return paired.tango(self.both, self.only_c, self.only_b, self.neither, alpha)

    def newcombe(self, alpha: float) -> Interval:
        """Newcombe's interval for pairs, his method 10."""
        return paired.newcombe_paired(self.both, self.only_c, self.only_b, self.neither, alpha)

    def extremes(self, missing_c: int, missing_b: int) -> tuple[Pairs, Pairs]:
        """The pairs with every incomplete one won by the baseline alone, and by the candidate alone."""
        lost = max(missing_c, missing_b)
        worst = Pairs(self.both, self.only_c, self.only_b + lost, self.neither)
        best = Pairs(self.both, self.only_c + lost, self.only_b, self.neither)
        return worst, best

    def to_json(self) -> dict[str, int]:
        """Plain values under sorted keys."""
        return {"both": self.both, "neither": self.neither, "only_b": self.only_b, "only_c": self.only_c}


def wilson_of(counts: Comparison, alpha: float) -> tuple[Interval, Interval]:
    """The Wilson intervals of the candidate and of the baseline; (0, 1) without games."""
    (x_c, n_c), (x_b, n_b) = counts.arms
    return proportions.wilson(x_c, n_c, alpha), proportions.wilson(x_b, n_b, alpha)
