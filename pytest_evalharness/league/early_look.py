"""A look at a comparison whose games are still being played: written down before it is shown. Posts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import Untrustworthy
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.league.harvest import episode_record
from pytest_evalharness.league.kept import Kept, Part
from pytest_evalharness.league.metric_values import measured_now, numbers, who_won
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import EpisodeRecord, Outcome
from pytest_evalharness.league.trust import seating_problem
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.stats.normal import SQRT2, critical, two_sided
from pytest_evalharness.stats.proportions import wilson
from pytest_evalharness.verdict import rules
from pytest_evalharness.verdict.measures import Measures, mean
from pytest_evalharness.verdict.metrics import is_function, words_of
from pytest_evalharness.verdict.words import Metric, Rule, Separated

_OVERLAP = {
    Separated.CANDIDATE: "better by the overlap rule so far",
    Separated.BASELINE: "worse by the overlap rule so far",
    Separated.NONE: "the overlap rule cannot tell yet",
}


@dataclass(frozen=True)
class ArmSeen:
    """What an arm has brought so far.

    Attributes:
        label: who plays.
        wins: games won.
        finished: games finished.
        asked: games asked for.
        mean: the declared metric's mean over the finished games that tell it, where it is not the win rate; None before any does.
    """

    label: str
    wins: int
    finished: int
    asked: int
    mean: float | None = None

    def words(self, metric: str) -> str:
        """What it has brought, by the declared metric."""
        if metric == Metric.WINS:
            return f"{printable(self.label)} won {self.wins} of {self.finished} finished games ({self.asked} asked for)"
        told = "no" if self.mean is None else f"{self.mean:.3g} mean"
        return f"{printable(self.label)} has {told} {printable(words_of(metric))} in {self.finished} finished games ({self.asked} asked for)"


@dataclass(frozen=True)
class PartSeen:
    """Two arms as they stand: of a comparison, or of one configuration of a pool.

    Attributes:
        name: which configuration; empty for a comparison that has only one.
        candidate: the candidate arm.
        baseline: the baseline arm.
        separated: whose Wilson interval lies wholly above the other's; of another metric, whose mean is larger by an interval at the
            overlap rule's level.
        metric: the declared metric.
    """

    name: str
    candidate: ArmSeen
    baseline: ArmSeen
    separated: Separated
    metric: str = Metric.WINS

    def to_json(self) -> dict[str, Any]:
        """Plain data for the journal and for programs."""
        return {**asdict(self), "separated": self.separated.value}

    def __str__(self) -> str:
        """The counts and the overlap rule's word, names made harmless."""
        arms = ", ".join(
            f"{side} {arm.words(self.metric)}"
            for side, arm in zip(SIDES, (self.candidate, self.baseline), strict=True)
        )
        where = f"{printable(self.name)}: " if self.name else ""
        return f"{where}{arms}: {_OVERLAP[self.separated]}"


def over(kept: Kept) -> bool:
    """Whether there is nothing left to look at early."""
    return kept.judgement is not None or kept.played


def moves_to_overlap(ledger: Ledger, kept: Kept) -> bool:
    """Whether a look now is what makes the overlap rule take over: the first one out of plan, under a rule that does not stand it."""
    if kept.declaration.rule.survives_any_look:
        return False
    return all(look.position is not None for look in ledger.looks.of(kept.comparison.id))


def look(
    ledger: Ledger, observatory: Observatory, kept: Kept, *, run_id: str, clock: Clock
) -> tuple[PartSeen, ...]:
    """Read what has finished of a comparison, and write down that it was seen before anybody sees it.

    Args:
        ledger: where looks are kept.
        observatory: the server that plays it.
        kept: the comparison.
        run_id: the run that looks.
        clock: for what is read.

    Raises:
        EvalHarnessError: the server does not tell; then nothing was seen and nothing is written down.
    """
    seen = tuple(_seen(ledger, observatory, part, kept, clock) for part in kept.parts)
    ledger.looks.unplanned(kept.comparison.id, {"parts": [part.to_json() for part in seen]}, run_id=run_id)
    return seen


def _seen(ledger: Ledger, observatory: Observatory, part: Part, kept: Kept, clock: Clock) -> PartSeen:
    arms, counted, alpha = [], [], kept.declaration.alpha
    for side in SIDES:
        blocks = [block for key in part.keys(side) for block in ledger.blocks(key)]
        episodes = [one for block in blocks for one in _episodes(observatory, block, clock)]
        _require_seats(part, side, episodes, kept.comparison.run_id)
        episodes = as_declared(part.plan, episodes)
        outcomes = [episode.outcome(part.plan.tested_seat) for episode in episodes]
        wins, losses = outcomes.count(Outcome.WIN), outcomes.count(Outcome.LOSS)
        asked = part.plan.episodes if part.frozen is None else part.frozen.arms[side].episodes
        arms.append(ArmSeen(part.plan.label(side), wins, wins + losses, asked))
        counted.append(
            [one for one, end in zip(episodes, outcomes, strict=True) if end is not Outcome.MISSING]
        )
    if part.plan.declaration.measured:
        return _measured(part, arms, counted, alpha)
    intervals = [wilson(arm.wins, arm.finished, alpha) for arm in arms]
    return PartSeen(part.name, arms[0], arms[1], rules.separation(intervals[0], intervals[1]))


def _measured(
    part: Part, arms: Sequence[ArmSeen], counted: Sequence[Sequence[EpisodeRecord]], alpha: float
) -> PartSeen:
    """Two arms by a metric that is not the win rate. A function is asked now, and nothing that it says is kept."""
    metric, seat = part.plan.declaration.metric, part.plan.tested_seat
    values = measured_now(metric, seat, [one for games in counted for one in games])
    told, untold = numbers(metric, seat, counted, values)
    known = [
        tuple(value for value, game in zip(found, games, strict=True) if game not in untold)
        for found, games in zip(told, counted, strict=True)
    ]
    seen = [replace(arm, mean=mean(found) if found else None) for arm, found in zip(arms, known, strict=True)]
    return PartSeen(part.name, seen[0], seen[1], _larger(Measures(known[0], known[1]), alpha), metric)


def _larger(measures: Measures, alpha: float) -> Separated:
    """Whose mean is larger at the level that stands any number of looks; nobody's while there are few games."""
    if measures.fewest < rules.SMALL or measures.constant:
        return Separated.NONE
    low, high = measures.interval(two_sided(SQRT2 * critical(alpha)))
    return Separated.CANDIDATE if low > 0.0 else Separated.BASELINE if high < 0.0 else Separated.NONE


def as_declared(plan: ComparisonPlan, episodes: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """The episodes as the plan reads them."""
    reading = plan.reading()
    read = [replace(episode, reading=reading) for episode in episodes]
    if reading is None or not is_function(reading.win):
        return read
    played = [one for one in read if attribution(one, plan.tested_seat) is None]
    told = plan.reading(who_won(reading, plan.tested_seat, played))
    return [replace(episode, reading=told) for episode in episodes]


def _require_seats(part: Part, side: str, episodes: Sequence[EpisodeRecord], run_id: str) -> None:
    """Refuse to show what cannot be believed.

    Raises:
        Untrustworthy: somebody sat where nobody had placed him.
    """
    if part.frozen is None:
        return
    for episode in episodes:
        problem = seating_problem(part.frozen.arms[side], episode) if episode.results is not None else ""
        if problem:
            raise Untrustworthy(
                f"{part.name or side}: players did not sit where they were placed ({episode.id}: {problem})",
                not_done="nothing is shown and no look was written down: nothing can be read from such games",
                next_step=f"evalharness runs cancel {printable(run_id)}, then find out why before anything else is posted",
            )


def _episodes(observatory: Observatory, block: Block, clock: Clock) -> Iterator[EpisodeRecord]:
    """The episodes of a request that have ended by now."""
    if block.evidence is not None:
        yield from (EpisodeRecord.from_json(told) for told in block.evidence["episodes"])
    elif block.request_id is not None:
        now = Deadline.after(clock, 0.0)  # results that are late are left for the run itself
        for row in observatory.experience_request(block.request_id, fresh=True).episodes:
            if row.status.terminal:
                yield episode_record(observatory, row, now)


def rule_by_now(ledger: Ledger, kept: Kept) -> Rule:
    """The rule that will decide: the declared one, or `overlap` once results were looked at out of plan."""
    unplanned = any(look.position is None for look in ledger.looks.of(kept.comparison.id))
    declared = kept.declaration.rule
    return Rule.OVERLAP if unplanned and not declared.survives_any_look else declared
