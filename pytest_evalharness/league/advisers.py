"""Whether a tested policy's adviser, a language model, was asked and answered, and how well its votes aimed. Pure.

A policy whose every call is refused plays on by its rules, and its scores look plausible: only its own telemetry tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.ballots import accuracy
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.records import TELEMETRY, ArmRecord, EpisodeRecord
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason

_LIMIT = 10
"""One in so many games may lack telemetry, as one in so many may be missing."""


@dataclass(frozen=True)
class Adviser:
    """What is told of an arm's adviser.

    Attributes:
        played: games with results.
        looked_into: those whose telemetry was asked for.
        told: those whose telemetry was read.
        decisions: how often it decided.
        fallbacks: how often the policy had to do without.
        out_of_reach: games in which it was noted to be out of reach, and decided nothing.
        untold: why telemetry was not read, in the commonest words.
    """

    played: int
    looked_into: int
    told: int
    decisions: int
    fallbacks: int
    out_of_reach: int
    untold: str

    @property
    def rate(self) -> float | None:
        """Decisions over decisions and fallbacks; 0 where it was always out of reach, None where nothing tells of it."""
        asked = self.decisions + self.fallbacks
        if asked:
            return self.decisions / asked
        return 0.0 if self.out_of_reach else None

    @property
    def words(self) -> str:
        """All of it, for people."""
        where = f"in {self.told} of {self.played} games"
        if self.rate is None:
            if self.told:
                return f"telemetry tells of no adviser, {where}"
            return f"no telemetry was read, {where}" + (f" ({self.untold})" if self.untold else "")
        asked = self.decisions + self.fallbacks
        share = f"{self.decisions} of {asked} times ({100 * self.rate:.0f} %)" if asked else "nothing"
        told = f"decided {share}, {where}"
        if self.out_of_reach:
            told += f", out of reach in {self.out_of_reach}"
        return told + (f" ({self.untold} in others)" if self.untold else "")


def of(record: ArmRecord) -> Adviser:
    """What is told of an arm's adviser."""
    games = [episode for episode in record.episodes if episode.results is not None]
    told = [game.adviser for game in games if game.adviser is not None]
    refused = [game.untold[TELEMETRY] for game in games if TELEMETRY in game.untold]
    return Adviser(
        played=len(games),
        looked_into=len(told) + len(refused),
        told=len(told),
        decisions=sum(one["decisions"] for one in told),
        fallbacks=sum(one["fallbacks"] for one in told),
        out_of_reach=sum(bool(one["disabled"]) and not one["decisions"] for one in told),
        untold=_commonest(refused),
    )


def _commonest(words: Iterable[str]) -> str:
    return ", ".join(printable(word, 80) for word, _ in Counter(words).most_common(1))


def findings(records: Mapping[str, ArmRecord], min_fire_rate: float | None) -> Iterable[Finding]:
    """What forbids trust in an arm whose adviser had to decide at least so often."""
    if min_fire_rate is None:
        return
    for side in SIDES:
        why = _objection(of(records[side]), min_fire_rate)
        if why:
            yield Finding(Reason.ADVISER, f"{why}; at least {100 * min_fire_rate:g} % was asked for", side)


def _objection(found: Adviser, least: float) -> str:
    """What is wrong; empty if nothing is."""
    if found.rate is None or found.rate < least:
        return found.words
    if _LIMIT * (found.played - found.told) > found.played:
        return f"telemetry was read of only {found.told} of {found.played} games" + (
            f" ({found.untold})" if found.untold else ""
        )
    if found.out_of_reach > (1.0 - least) * found.told:
        return found.words
    return ""


def silent(records: Mapping[str, ArmRecord]) -> Iterable[Finding]:
    """What a reader must know where nobody asked for a rate: an adviser that never decided anything."""
    for side in SIDES:
        found = of(records[side])
        if found.rate == 0.0:
            yield Finding(Reason.ADVISER_SILENT, found.words, side)


@dataclass(frozen=True)
class Votes:
    """Votes at players of an arm's tested seat, in the games whose votes are told."""

    games: int
    votes: int
    hits: int


def votes_of(record: ArmRecord) -> Votes:
    """How many votes of an arm's tested seat are told, and how many of them were aimed at a true imposter."""
    games: list[EpisodeRecord] = [
        episode for episode in record.episodes if episode.results is not None and episode.ballots is not None
    ]
    found = [accuracy(game.ballots or (), game.told.imposters) for game in games]
    return Votes(len(games), sum(one.votes for one in found), sum(one.hits for one in found))
