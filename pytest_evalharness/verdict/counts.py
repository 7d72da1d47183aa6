"""The numbers a verdict is read from: two independent arms, or pairs of games, each with its own tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from pytest_evalharness.stats import difference, dual, exact, missing, paired, proportions, sequential
from pytest_evalharness.stats.normal import critical

Interval = tuple[float, float]
Arm = tuple[int, int]
Turn = tuple[int, int]
"""What the candidate's and the baseline's game of one turn scored: 1 for a win, 0 for none."""

_EITHER_WAY = math.log(2.0)
"""Two gamblers share the level; a single e-value looks both ways by itself."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Where the 1 - 2 alpha interval lies against the margin.

    Attributes:
        above: Its lower limit is above -margin.
        wholly_below: Its upper limit is below -margin.
        below: Its upper limit is below +margin.
        wholly_above: Its lower limit is above +margin.
    """

    above: bool
    wholly_below: bool
    below: bool
    wholly_above: bool

    @property
    def within(self) -> bool:
        """The interval lies inside (-margin, margin)."""
        return self.above and self.below

    @property
    def outside(self) -> bool:
        """The interval lies wholly beyond the margin on one side."""
        return self.wholly_below or self.wholly_above


class Bounded(Protocol):
    """Games that bound a difference, of one comparison or of several configurations."""

    @property
    def fewest(self) -> int:
        """Finished games of the smaller arm, or pairs."""

    def margins(self, margin: float, alpha: float) -> Margins:
        """Where the 1 - 2 alpha interval lies against a margin, by the two one-sided tests that belong to it."""


class Comparison(Bounded, Protocol):
    """What every kind of counts can answer."""

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """(wins, games) of the candidate and of the baseline."""

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

    def newcombe_p(self) -> float:
        """The p-value that belongs to Newcombe's interval."""

    def log_evidence(self, alpha: float) -> tuple[float, float]:
        """The highest evidence so far for the candidate and for the baseline: it decides at log(1 / alpha)."""

    def extremes(self, missing_c: int, missing_b: int) -> tuple[Self, Self]:
        """The counts with the missing games all against the candidate, and all for it."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Wins and finished games of two independent arms: Miettinen-Nurminen, N-1 score test, Barnard, betting.

    Args:
        x_c: The candidate's wins.
        n_c: Its games.
        x_b: The baseline's wins.
        n_b: Its games.
        turns: The arms' games side by side in the order they were asked for; only `log_evidence` needs them.
    """

    x_c: int
    n_c: int
    x_b: int
    n_b: int
    turns: tuple[Turn, ...] = ()

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

    def margins(self, margin: float, alpha: float) -> Margins:
        """Where the 1 - 2 alpha score interval lies against a margin."""
        return _margins(self, margin, alpha)

    def interval(self, alpha: float) -> Interval:
        """Miettinen and Nurminen's interval."""
        return difference.miettinen_nurminen(self.x_c, self.n_c, self.x_b, self.n_b, alpha)

    def newcombe(self, alpha: float) -> Interval:
        """Newcombe's hybrid interval, his method 10."""
        return difference.newcombe(self.x_c, self.n_c, self.x_b, self.n_b, alpha)

    def newcombe_p(self) -> float:
        """The smallest level at which that interval excludes 0."""
        return dual.newcombe_p(self.x_c, self.n_c, self.x_b, self.n_b)

    def log_evidence(self, alpha: float) -> tuple[float, float]:
        """Hedged betting on the turns; half the level for each direction."""
        up, down = sequential.betting_log_capital(self.turns, alpha)
        return up - _EITHER_WAY, down - _EITHER_WAY

    def extremes(self, missing_c: int, missing_b: int) -> tuple[Counts, Counts]:
        """The counts with the missing games all against the candidate, and all for it."""
        arms = (self.x_c, self.n_c, missing_c), (self.x_b, self.n_b, missing_b)
        worst, best = missing.extremes(*arms)
        late = max(missing_c, missing_b)
        return Counts(*worst, (*self.turns, *[(0, 1)] * late)), Counts(*best, (*self.turns, *[(1, 0)] * late))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of games that shared their seed: Tango, McNemar's z, and its mid-p test.

    Args:
        both: Pairs that both arms won.
        only_c: Pairs that only the candidate won.
        only_b: Pairs that only the baseline won.
        neither: Pairs that neither won.
        turns: The pairs one by one in the order they were asked for; only `log_evidence` needs them.
    """

    both: int
    only_c: int
    only_b: int
    neither: int
    turns: tuple[Turn, ...] = ()

    @classmethod
    def of(cls, turns: tuple[Turn, ...]) -> Pairs:
        """Pairs counted from their turns."""
        both, only_c, only_b, neither = (turns.count(kind) for kind in ((1, 1), (1, 0), (0, 1), (0, 0)))
        return cls(both, only_c, only_b, neither, turns)

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

    def margins(self, margin: float, alpha: float) -> Margins:
        """Where the 1 - 2 alpha score interval lies against a margin."""
        return _margins(self, margin, alpha)

    def interval(self, alpha: float) -> Interval:
        """Tango's interval."""
        return paired.tango(self.both, self.only_c, self.only_b, self.neither, alpha)

    def newcombe(self, alpha: float) -> Interval:
        """Newcombe's interval for pairs, his method 10."""
        return paired.newcombe_paired(self.both, self.only_c, self.only_b, self.neither, alpha)

    def newcombe_p(self) -> float:
        """The smallest level at which that interval excludes 0."""
        return dual.newcombe_paired_p(self.both, self.only_c, self.only_b, self.neither)

    def log_evidence(self, alpha: float) -> tuple[float, float]:
        """The sequential McNemar e-value after each pair, for whoever was ahead then; alpha does not matter."""
        del alpha
        best = [0.0, 0.0]
        only_c = only_b = 0
        for turn in self.turns:
            if turn[0] == turn[1]:
                continue
            only_c, only_b = only_c + turn[0], only_b + turn[1]
            if only_c != only_b:
                ahead = int(only_b > only_c)
                best[ahead] = max(best[ahead], sequential.mcnemar_log_e(only_c, only_b))
        return best[0], best[1]

    def extremes(self, missing_c: int, missing_b: int) -> tuple[Pairs, Pairs]:
        """The pairs with every incomplete one won by the baseline alone, and by the candidate alone."""
        lost = max(missing_c, missing_b)
        worst = replace(self, only_b=self.only_b + lost, turns=(*self.turns, *[(0, 1)] * lost))
        best = replace(self, only_c=self.only_c + lost, turns=(*self.turns, *[(1, 0)] * lost))
        return worst, best

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "both": self.both,
            "neither": self.neither,
            "only_b": self.only_b,
            "only_c": self.only_c,
            "turns": [list(turn) for turn in self.turns],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Pairs:
        """The pairs that `to_json` gave."""
        return cls(**{**data, "turns": tuple((int(c), int(b)) for c, b in data["turns"])})


def wilson_of(counts: Comparison, alpha: float) -> tuple[Interval, Interval]:
    """The Wilson intervals of the candidate and of the baseline; (0, 1) without games."""
    (x_c, n_c), (x_b, n_b) = counts.arms
    return proportions.wilson(x_c, n_c, alpha), proportions.wilson(x_b, n_b, alpha)


def _margins(counts: Comparison, margin: float, alpha: float) -> Margins:
    bar = critical(2.0 * alpha)
    low, high = counts.z(-margin), counts.z(margin)
    return Margins(above=low > bar, wholly_below=low < -bar, below=high < -bar, wholly_above=high > bar)
