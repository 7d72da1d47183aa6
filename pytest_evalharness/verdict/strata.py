"""Several configurations, each with two arms of its own, as one thing that a rule can be held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.stats import conditional, pooled
from pytest_evalharness.stats.normal import critical, two_sided
from pytest_evalharness.verdict.counts import Interval, Margins
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.words import Effects

Table = tuple[int, int, int, int]
_STRONGEST = 1e-300
"""Below it a p-value has no z any more."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One configuration of a pool.

    Args:
        name: Which one, for people. Untrusted text may be in it: escape it where it is rendered.
        candidate: What its candidate arm brought back.
        baseline: What its baseline arm brought back.
    """

    name: str
    candidate: ArmEvidence
    baseline: ArmEvidence

    @property
    def table(self) -> Table:
        """(x_c, n_c, x_b, n_b) of the finished games."""
        return self.candidate.wins, self.candidate.finished, self.baseline.wins, self.baseline.finished

    @property
    def arms(self) -> tuple[ArmEvidence, ArmEvidence]:
        """Its candidate and its baseline."""
        return self.candidate, self.baseline

    @property
    def difference(self) -> float | None:
        """Its own difference in win rate; None without games in both arms."""
        x_c, n_c, x_b, n_b = self.table
        return x_c / n_c - x_b / n_b if n_c and n_b else None

    def extremes(self) -> tuple[Table, Table]:
        """Its table with all missing games against the candidate, and with all of them for it."""
        x_c, n_c, x_b, n_b = self.table
        lost_c, lost_b = (arm.posted - arm.finished for arm in self.arms)
        return (x_c, n_c + lost_c, x_b + lost_b, n_b + lost_b), (
            x_c + lost_c,
            n_c + lost_c,
            x_b,
            n_b + lost_b,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {"baseline": self.baseline.to_json(), "candidate": self.candidate.to_json(), "name": self.name}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Stratum:
        """The stratum that `to_json` gave."""
        arms = (ArmEvidence.from_json(data[side]) for side in ("candidate", "baseline"))
        return cls(str(data["name"]), *arms)


@dataclass(frozen=True, slots=True)
class Strata:
    """The tables of a pool: Cochran-Mantel-Haenszel with Yan and Su's interval, or the mean effect after HKSJ.

    Args:
        tables: (x_c, n_c, x_b, n_b) of each configuration, games in both arms.
        effects: Which of the two decides.
        stretch: What the critical value is multiplied with: 1, or more where results were looked at out of plan.
    """

    tables: tuple[Table, ...]
    effects: Effects = Effects.FIXED
    stretch: float = 1.0

    @classmethod
    def of(cls, tables: Sequence[Table], effects: Effects, stretch: float) -> Strata:
        """The tables, or none at all where an arm has no game: a pool that lacks a configuration says nothing."""
        whole = all(n_c and n_b for _, n_c, _, n_b in tables)
        return cls(tuple(tables) if whole else (), effects, stretch)

    @property
    def fewest(self) -> int:
        """Finished games of the smaller arm, in all configurations together."""
        return min(sum(table[1] for table in self.tables), sum(table[3] for table in self.tables))

    @property
    def difference(self) -> float:
        """The pooled difference in win rate: Mantel and Haenszel's, or the mean of the effects."""
        if self.effects is Effects.RANDOM:
            return pooled.random_effects(self.tables).difference
        return pooled.mantel_haenszel(self.tables)[0]

    def raw_p(self) -> float:
        """The p-value of the pooled test, however often results were looked at."""
        if self.effects is Effects.RANDOM:
            return pooled.hksj_p(self.tables)
        return pooled.cmh(self.tables)[1]

    def p(self) -> float:
        """The level below which the pooled test would tell a direction."""
        p = self.raw_p()
        if self.stretch == 1.0 or p == 1.0:
            return p
        return two_sided(critical(max(p, _STRONGEST)) / self.stretch)

    def exact_p(self) -> float:
        """The exact conditional test of all configurations."""
        return conditional.exact_cmh(self.tables)

    def interval(self, alpha: float) -> Interval:
        """Yan and Su's interval, or that of HKSJ."""
        level = alpha if self.stretch == 1.0 else two_sided(self.stretch * critical(alpha))
        method = pooled.hksj if self.effects is Effects.RANDOM else pooled.yan_su
        _, low, high = method(self.tables, level)
        return low, high

    def margins(self, margin: float, alpha: float) -> Margins:
        """Where the 1 - 2 alpha interval lies against a margin."""
        low, high = self.interval(2.0 * alpha)
        return Margins(
            above=low > -margin, wholly_below=high < -margin, below=high < margin, wholly_above=low > margin
        )
