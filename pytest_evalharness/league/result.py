"""A finished comparison as a case sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.results import ScoreRegime
from pytest_evalharness.league.arms import Arm
from pytest_evalharness.league.claimed import Claimed
from pytest_evalharness.league.episodes_view import episodes_view
from pytest_evalharness.league.family import Settled
from pytest_evalharness.league.game import CREWRIFT
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.provenance import Provenance
from pytest_evalharness.league.records import ArmRecord
from pytest_evalharness.league.regime import regime
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.league.seating import SeatingMatrix
from pytest_evalharness.report.model import requests_told
from pytest_evalharness.settings import LARGEST_REQUEST
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.metrics import words_of
from pytest_evalharness.verdict.needs import games_among
from pytest_evalharness.verdict.words import Reason, Verdict


@dataclass
class ABResult(Claimed[Judgement]):
    """What a comparison found. `require()` is the way to use it.

    Whoever asks for the verdict, in whichever way, waits until every claim that is tested together with it has ended. The
    evidence itself (`candidate`, `baseline`, `records`) waits for nobody.

    Attributes:
        name: what was compared, for people (`A/B crew`).
        plan: what was asked for.
        alone: the judgement as if no other claim had been tested. It decides nothing but trust.
        roster: the frozen field.
        records: everything the episodes left, by arm.
        arms: who was placed where, by side; without them a report has no episodes.
        builds: what was found about the two builds; None where an older release froze the comparison.
        attempt: 1 for the first look at this question, 2 for the next, …
        earlier: the verdicts of earlier attempts, oldest first; a later one never replaces them.
        elsewhere: what earlier runs found about the same builds in the same seat by other questions.
        pooled: all attempts at the question together, in words; empty for a first one.
        age: seconds since the evidence was complete if it was read again, or None if this run brought it.
        settle: judges it among the claims that are tested together, once all of them have ended; None if there are none.
        consumed: whether the case has looked at the verdict.
    """

    name: str
    plan: ComparisonPlan
    alone: Judgement
    roster: Roster
    records: Mapping[str, ArmRecord]
    attempt: int = 1
    earlier: tuple[str, ...] = ()
    age: float | None = None
    elsewhere: tuple[str, ...] = ()
    pooled: str = ""
    settle: Callable[[], Settled[Judgement]] | None = field(default=None, repr=False, compare=False)
    arms: Mapping[str, Arm] = field(default_factory=dict, repr=False)
    builds: Provenance | None = None
    consumed: bool = field(default=False, repr=False)
    _settled: Settled[Judgement] | None = field(default=None, init=False, repr=False, compare=False)

    def _larger(self) -> str:
        """What would decide it: more games if the service gives them in one request."""
        declared = self.plan.declaration
        if not declared.rule.decides:
            return (
                f'declare a rule that decides, such as rule="score": the {declared.rule} rule is report only'
            )
        if any(reason.reason is Reason.FAMILY for reason in self.judgement.reasons):
            return self._larger_family()
        needed, asked = self.judgement.required_n.under(declared.rule), self.plan.episodes
        lift = self._lift
        if self.plan.adopted is not None:
            return f"more requests of the same two arms, named together with these ({needed or 'more'} games an arm for {lift})"
        if asked >= LARGEST_REQUEST or needed is None:
            return f"accept that {asked} games cannot tell; {lift} needs {needed or 'more'} an arm"
        return f"--eval-num {min(max(needed, asked), LARGEST_REQUEST)} asks again with more games ({needed} for {lift})"

    @property
    def _lift(self) -> str:
        """The difference that games are planned for, in its units."""
        declared = self.plan.declaration
        if declared.measured:
            return f"a true difference of {declared.target_lift:g} {words_of(declared.metric)}"
        return f"a true lift of {declared.target_lift:.2f}"

    def _larger_family(self) -> str:
        """What would decide a claim that would have been decided alone."""
        judgement, asked = self.judgement, self.plan.episodes
        needed = games_among(judgement)
        fewer = "declare fewer claims together in a new run (--eval-fresh)"
        kept = f"the games that were played stay in their family of {judgement.family}"
        if asked >= LARGEST_REQUEST or needed is None:
            return f"{fewer}; {kept}"
        lift = f"{needed} for {self._lift} among {judgement.family} claims"
        return f"--eval-num {min(max(needed, asked + 1), LARGEST_REQUEST)} asks again with more games ({lift}), or {fewer}; {kept}"

    def _arm_lines(self) -> list[str]:
        shown = self.judgement.verdict is not Verdict.UNTRUSTWORTHY
        arms = ("candidate", self.candidate), ("baseline", self.baseline)
        meaning = self.score_regime if self.plan.game == CREWRIFT else None
        lines = [_arm_line(side, arm, meaning, numbers=shown) for side, arm in arms]
        if self.builds is not None:
            lines += [f"{'builds':<15}: {line}" for line in self.builds.summary()]
        return lines

    @property
    def seating(self) -> SeatingMatrix:
        """Who really sat where, cell by cell, in both arms."""
        return SeatingMatrix.of(self.arms, self.records)

    @property
    def score_regime(self) -> ScoreRegime:
        """What a seat's score means in these games; scores of two regimes are never compared or added up."""
        return regime(self.records)

    def __repr__(self) -> str:
        """The whole verdict in one line: what a bare assert shows."""
        return self.in_one_line()

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        return {
            "name": self.name,
            "headline": self.headline,
            "lines": self._numbers(),
            "next_step": self.next_step,
            "episodes": episodes_view(self.arms, self.records),
            "builds": None if self.builds is None else self.builds.to_json(),
            "judgement": self.judgement.to_json(),
            "family": None if self.together is None else self.together.to_json(),
            "plan": self.plan.to_json(),
            "roster": self.roster.to_json(),
            "score_regime": self.score_regime.value,
            "attempt": self.attempt,
            "earlier": list(self.earlier),
            "elsewhere": list(self.elsewhere),
            "pooled": self.pooled,
            "evidence_age_seconds": self.age,
        }


def _arm_line(side: str, arm: ArmEvidence, regime: ScoreRegime | None, *, numbers: bool) -> str:
    """Who played, and what Crewrift's results tell of it; without a regime, of another game, its mean score."""
    requests = requests_told(arm.request_ids)
    if not numbers:  # the effect could be read from them
        return f"{side:<15}: {printable(arm.label)}, {requests}"
    if regime is None:
        mean = "none" if arm.mean_score is None else f"{arm.mean_score:.2f}"
        return f"{side:<15}: {printable(arm.label)}, mean score {mean}, {requests}"
    score = "none" if arm.mean_score is None else f"{arm.mean_score:.2f} ({regime.words})"
    return (
        f"{side:<15}: {printable(arm.label)}, mean seat score {score}, kills {arm.kills}, "
        f"vote timeouts {arm.vote_timeouts}, {requests}"
    )
