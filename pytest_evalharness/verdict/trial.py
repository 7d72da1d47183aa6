"""What decides, held against what was declared: wins, or another metric. Both answer the same questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

from pytest_evalharness.stats.normal import critical, two_sided
from pytest_evalharness.verdict import needs, rules
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.counts import Comparison, Interval, Pairs, wilson_of
from pytest_evalharness.verdict.doubts import Arms
from pytest_evalharness.verdict.judgement import Measure
from pytest_evalharness.verdict.measures import MeasureBench, Measures, measure_of, planned
from pytest_evalharness.verdict.metrics import words_of
from pytest_evalharness.verdict.outcome import Bench, Outcome
from pytest_evalharness.verdict.words import Metric, Rule

_ANYTHING: Interval = (-1.0, 1.0)
_NOTHING: Interval = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The difference and what belongs to it; see the attributes of the same names of `Judgement`."""

    diff: float | None
    ci: Interval
    ci_margin: Interval
    p: float
    z: float


class Trial(ABC):
    """Evidence and the bench it is held against."""

    @property
    @abstractmethod
    def fewest(self) -> int:
        """Games of the smaller arm, or pairs."""

    @abstractmethod
    def p_values(self) -> tuple[float, float | None]:
        """The p-value of the claim's gate, and Holm's adjusted one; None outside of a family."""

    @abstractmethod
    def outcome(self) -> Outcome:
        """What the evidence comes to, a direction only if it stands among all the claims that were tested together."""

    @abstractmethod
    def extremes(self, missing_c: int, missing_b: int) -> tuple[Self, Self]:
        """The trial with the missing games all against the candidate, and all for it."""

    @abstractmethod
    def numbers(self) -> Numbers:
        """The difference, its intervals and its test."""

    @abstractmethod
    def needs(self, arms: Arms, pairs: Pairs | None) -> needs.Needs:
        """The planning numbers."""

    @property
    @abstractmethod
    def measure(self) -> Measure | None:
        """The metric of both arms where it is not the win rate."""


@dataclass(frozen=True, slots=True)
class WinTrial(Trial):
    """Wins, in whichever form they were declared."""

    counts: Comparison
    bench: Bench

    @property
    def fewest(self) -> int:
        """See `Trial`."""
        return self.counts.fewest

    def p_values(self) -> tuple[float, float | None]:
        """See `Trial`."""
        return self.bench.p_values(self.counts)

    def outcome(self) -> Outcome:
        """See `Trial`."""
        return self.bench.outcome(self.counts, allowed=self.bench.stands(self.p_values()[1]))

    def extremes(self, missing_c: int, missing_b: int) -> tuple[WinTrial, WinTrial]:
        """See `Trial`."""
        worst, best = self.counts.extremes(missing_c, missing_b)
        return replace(self, counts=worst), replace(self, counts=best)

    def numbers(self) -> Numbers:
        """See `Trial`."""
        counts, standard = self.counts, self.bench.standard
        if counts.fewest == 0:
            return Numbers(None, _ANYTHING, _ANYTHING, 1.0, 0.0)
        wide = counts.interval(2.0 * standard.margin_alpha)
        return Numbers(counts.difference, self._interval(), wide, counts.p(), counts.z())

    def _interval(self) -> Interval:
        """The interval that the rule reads; an interval that contradicted its verdict would help nobody."""
        standard = self.bench.standard
        if standard.rule is Rule.NEWCOMBE:
            return self.counts.newcombe(standard.alpha)
        if standard.rule is Rule.GROUP_SEQUENTIAL:
            return self.counts.interval(two_sided(standard.bar))
        return self.counts.interval(standard.alpha)

    def needs(self, arms: Arms, pairs: Pairs | None) -> needs.Needs:
        """See `Trial`."""
        rule = self.bench.standard.rule
        return needs.needs(self.bench.declaration, rule, arms, pairs, self.numbers().diff)

    @property
    def measure(self) -> None:
        """See `Trial`."""


@dataclass(frozen=True, slots=True)
class MeasureTrial(Trial):
    """A number a game."""

    measures: Measures
    bench: MeasureBench

    @property
    def fewest(self) -> int:
        """See `Trial`."""
        return self.measures.fewest

    def p_values(self) -> tuple[float, float | None]:
        """See `Trial`."""
        return self.bench.p_values_of(self.measures)

    def outcome(self) -> Outcome:
        """See `Trial`."""
        return self.bench.outcome_of(self.measures, allowed=self.bench.stands(self.p_values()[1]))

    def extremes(self, missing_c: int, missing_b: int) -> tuple[MeasureTrial, MeasureTrial]:
        """See `Trial`."""
        worst, best = self.measures.extremes(missing_c, missing_b)
        return replace(self, measures=worst), replace(self, measures=best)

    def numbers(self) -> Numbers:
        """See `Trial`."""
        measures, standard = self.measures, self.bench.standard
        if not measures.measurable:
            return Numbers(None, _NOTHING, _NOTHING, 1.0, 0.0)
        ci, wide = measures.interval(self.bench.level), measures.interval(2.0 * standard.margin_alpha)
        return Numbers(measures.difference, ci, wide, measures.p(), measures.z())

    def needs(self, arms: Arms, pairs: Pairs | None) -> needs.Needs:
        """See `Trial`."""
        del pairs  # of wins
        declared = self.bench.declaration
        found = planned(self.measures, declared.target_lift, declared.alpha)
        return needs.Needs(
            found.required_n,
            found.required_pairs,
            needs.requests_of(found.required_n.under(self.bench.standard.rule)),
            found.detectable,
            found.detectable,
            needs.rate_of(arms),
        )

    @property
    def measure(self) -> Measure:
        """See `Trial`."""
        return measure_of(self.bench.declaration.metric, self.measures)


def trial_of(bench: Bench, counts: Comparison, measures: Measures | None) -> Trial:
    """What decides, and what it is held against.

    Args:
        bench: The declaration, the rule as it stands, the other claims, and what the seat scores object.
        counts: The wins.
        measures: The declared metric, where it is not the win rate.

    Raises:
        ValueError: Measures are given though wins decide, or the reverse, or not one a counted game.
    """
    declared = bench.declaration
    if declared.measured != (measures is not None):
        said = (
            f"metric {words_of(declared.metric)!r} was declared" if declared.measured else "only wins decide"
        )
        raise ValueError(f"measures must be given exactly when they decide, and {said}")
    if measures is None:
        return WinTrial(counts, bench)
    games = tuple(n for _, n in counts.arms)
    if (len(measures.candidate), len(measures.baseline)) != games:
        raise ValueError(f"measures must be one a counted game {games}")
    if measures.paired != (declared.pairing is not None):
        raise ValueError("measures must be paired exactly as the games are")
    apart = rules.separation(*wilson_of(counts, declared.alpha))
    objection = bench.objection or _objection_of_wins(declared, counts)
    return MeasureTrial(measures, MeasureBench(declared, bench.standard, bench.others, objection, apart))


def _objection_of_wins(declared: Declaration, counts: Comparison) -> int:
    """+1 or -1 where wins, as a secondary metric, decide for the candidate or for the baseline; 0 where they do not."""
    if Metric.WINS not in declared.secondary or counts.fewest < rules.SMALL:
        return 0
    z = counts.z()
    return int(z > critical(declared.alpha)) - int(z < -critical(declared.alpha))
