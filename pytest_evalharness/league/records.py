"""What an arm left behind, one record an episode, and what is read off the tested seat. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from pytest_evalharness.episodes.player_status import PlayerStatus
from pytest_evalharness.episodes.results import SeatResults
from pytest_evalharness.episodes.wins import Reading
from pytest_evalharness.league.attribution import attribution
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.copies import distinct
from pytest_evalharness.verdict.evidence import ArmEvidence
from pytest_evalharness.verdict.words import Attribution

STATUS, TELEMETRY, LOG = "player-status", "policy-artifact", "policy-logs"
"""Artifacts that an episode may have beside its results, by the service's names."""


class Outcome(StrEnum):
    """What an episode says about the tested seat."""

    WIN = "win"
    LOSS = "loss"
    MISSING = "missing"


@dataclass(frozen=True)
class SeatedAs:
    """Who really sat in a position."""

    position: int
    policy_version_id: str | None
    kind: str
    is_filler: bool


@dataclass(frozen=True)
class EpisodeRecord:
    """One episode as the service reported it, kept whole enough to be judged again without the service.

    Attributes:
        failed_seat: the seat that the service blames for a failure, if it names one.
        coworld_version: the game's version, where the episode's row tells it.
        malformed: keys of its results that are not as they should be, and were left out.
        players: what became of each seat's process, plain data of `PlayerStatus`; None where nothing tells.
        adviser: how often the tested policy's adviser decided and how often the policy did without, by `Telemetry`'s names;
            None where its telemetry was not read.
        ballots: the tested seat's own votes, where its records tell those that the game counted; else None.
        last_words: the error report at the end of the tested seat's log, if that was read and ends with one.
        untold: artifact → why it was not read, of those that were asked for.
        reading: how its results are read; None for the game's own list of wins, each seat by itself. No part of what is kept.
    """

    id: str
    status: str
    error_type: str | None
    seed: int | None
    participants: tuple[SeatedAs, ...]
    config: Mapping[str, Any] | None
    results: Mapping[str, Any] | None
    failed_seat: int | None = None
    coworld_version: str | None = None
    malformed: tuple[str, ...] = ()
    players: Sequence[Mapping[str, Any]] | None = None
    adviser: Mapping[str, int] | None = None
    ballots: Sequence[int] | None = None
    last_words: str = ""
    untold: Mapping[str, str] = field(default_factory=dict)
    reading: Reading | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain data for the journal."""
        told = asdict(self)
        del told["reading"]
        return told

    @classmethod
    def from_json(cls, data: Mapping[str, Any], reading: Reading | None = None) -> EpisodeRecord:
        """A record as it was journalled, to be read in one way or another."""
        participants = tuple(SeatedAs(**seat) for seat in data["participants"])
        malformed = tuple(data.get("malformed", ()))
        return cls(**{**data, "participants": participants, "malformed": malformed, "reading": reading})

    @cached_property
    def told(self) -> SeatResults:
        """Its results, seat by seat; without results everything in them is nothing."""
        return SeatResults(self.results or {}, own_scale=self.reading is not None and self.reading.own_scale)

    def side_of(self, seat: int) -> tuple[int, ...]:
        """The seats of a seat's side: itself alone, unless the game is one of teams."""
        return (seat,) if self.reading is None else self.reading.with_seat(seat)

    def won(self, seat: int) -> bool | None:
        """Whether a seat's side won; None where nothing tells it."""
        if self.reading is None:
            return self.told.won(seat)
        return self.reading.won(self.id, self.told, seat)

    def tied(self, seat: int) -> bool:
        """Whether a seat's side shares the highest score, where the highest score wins."""
        return self.reading is not None and self.reading.tied(self.told, seat)

    @cached_property
    def status_of_players(self) -> PlayerStatus | None:
        """What became of the players' processes; None where nothing tells."""
        return None if self.players is None else PlayerStatus.from_json(self.players)

    def crashed(self, seat: int) -> bool | None:
        """Whether a process of a seat's side ended with an error while the game went on; None where that cannot be told."""
        status = self.status_of_players
        told = [None if status is None else status.crashed(one) for one in self.side_of(seat)]
        return True if True in told else None if None in told else False

    def outcome(self, seat: int) -> Outcome:
        """Win, loss or missing.

        What was not played to its end is the tested seat's loss if its own policy is to blame, and missing otherwise.
        """
        blame = attribution(self, seat)
        if blame is not None:
            return Outcome.LOSS if blame.is_loss else Outcome.MISSING
        return Outcome.WIN if self.won(seat) else Outcome.LOSS

    @property
    def anyone_dropped(self) -> bool:
        """Whether a connection timeout is told of any seat."""
        return bool(self.told.timed_out)

    def count(self, key: str, seat: int) -> int:
        """A seat's entry in one of the per-seat counters of `results.json`; 0 where there is no sensible one."""
        return self.told.count(key, seat)

    def score(self, seat: int) -> float | None:
        """The score of a seat's side, of several seats their mean; only `results.json` has one a seat. None for no finite number."""
        return self.told.score(seat) if self.reading is None else self.reading.score(self.told, seat)

    def role(self, seat: int) -> str | None:
        """The role the seat really played, or None where the results name none."""
        return self.told.role(seat)


@dataclass(frozen=True)
class RequestRecord:
    """One request of an arm: what it asked for, and how many episodes it listed in the end."""

    asked: BlockSpec
    listed: int


@dataclass(frozen=True)
class ArmRecord:
    """Everything an arm's requests left behind.

    Attributes:
        requested: games in all of them together.
        episodes: what they listed, request by request.
        requests: how those belong to them; empty for a single request that asked for all games.
    """

    request_ids: tuple[str, ...]
    request_statuses: tuple[str, ...]
    coworlds: tuple[str, ...]
    requested: int
    episodes: tuple[EpisodeRecord, ...]
    requests: tuple[RequestRecord, ...] = ()

    @classmethod
    def from_blocks(
        cls,
        evidence: Sequence[Mapping[str, Any]],
        asked: Sequence[BlockSpec],
        reading: Reading | None = None,
    ) -> ArmRecord:
        """Put an arm together from its blocks' journalled evidence, in the order of the blocks.

        Args:
            evidence: what each block left.
            asked: what each block asked for.
            reading: how results are read; as of `EpisodeRecord`.
        """
        episodes = [EpisodeRecord.from_json(e, reading) for block in evidence for e in block["episodes"]]
        coworlds = {f"{b['request']['coworld_name']} {b['request']['coworld_version']}" for b in evidence}
        return cls(
            request_ids=tuple(str(block["request"]["id"]) for block in evidence),
            request_statuses=tuple(str(block["request"]["status"]) for block in evidence),
            coworlds=tuple(sorted(coworlds)),
            requested=sum(spec.episodes for spec in asked),
            episodes=tuple(episodes),
            requests=tuple(
                RequestRecord(spec, len(block["episodes"]))
                for spec, block in zip(asked, evidence, strict=True)
            ),
        )

    @property
    def versions(self) -> frozenset[str]:
        """The versions of the game that were played, by the requests and by every row that tells one; empty if nobody does."""
        names = {told.rpartition(" ")[0] for told in self.coworlds}
        by_requests = {told for told in self.coworlds if told.rpartition(" ")[2] != "None"}
        by_rows = {
            f"{name} {episode.coworld_version}"
            for name in names
            for episode in self.episodes
            if episode.coworld_version is not None
        }
        return frozenset(by_requests | by_rows)

    @classmethod
    def joined(cls, records: Sequence[ArmRecord]) -> ArmRecord:
        """The records of one side's arms, one after the other."""
        return cls(
            request_ids=tuple(one for record in records for one in record.request_ids),
            request_statuses=tuple(one for record in records for one in record.request_statuses),
            coworlds=tuple(sorted({one for record in records for one in record.coworlds})),
            requested=sum(record.requested for record in records),
            episodes=tuple(one for record in records for one in record.episodes),
            requests=tuple(one for record in records for one in record.request_records()),
        )

    def by_request(self) -> list[tuple[BlockSpec, tuple[EpisodeRecord, ...]]]:
        """What each request asked for, with the episodes that it listed."""
        found, start = [], 0
        for request in self.request_records():
            found.append((request.asked, self.episodes[start : start + request.listed]))
            start += request.listed
        return found

    def request_records(self) -> tuple[RequestRecord, ...]:
        """How its episodes belong to its requests."""
        return self.requests or (RequestRecord(BlockSpec(self.requested), len(self.episodes)),)

    @property
    def games(self) -> list[EpisodeRecord | None]:
        """The games that were asked for, each in its own place; None where no episode is listed.

        A request that lists more than it asked for, because a failed episode was played again, brings those that have
        results. So a game that is lost or listed twice moves none of the games after it, and the games at one place in
        both arms are those that were asked for together.
        """
        places: list[EpisodeRecord | None] = []
        for asked, listed in self.by_request():
            kept = listed
            if len(listed) > asked.episodes:
                kept = tuple(sorted(listed, key=lambda e: not e.results))[: asked.episodes]
            places += [*kept, *[None] * (asked.episodes - len(kept))]
        return places

    def outcomes(self, seat: int) -> list[Outcome]:
        """What each game says about a seat, in the order in which they were asked for."""
        return [Outcome.MISSING if game is None else game.outcome(seat) for game in self.games]

    def scores(self, seat: int, counted: Sequence[bool]) -> list[float] | None:
        """A seat's score in each counted game; None where one of them has none."""
        told = [game.score(seat) for game in self.counted(counted)]
        known = [score for score in told if score is not None]
        return known if len(known) == len(told) else None

    def counted(self, counted: Sequence[bool]) -> list[EpisodeRecord]:
        """The games that count, in the order in which they were asked for; a missing one never does."""
        return [game for game, counts in zip(self.games, counted, strict=True) if counts and game is not None]

    def evidence(self, label: str, seat: int, counted: Sequence[bool] | None = None) -> ArmEvidence:
        """The numbers that the verdict is made of.

        Args:
            label: who sat in the tested seat.
            seat: the tested seat.
            counted: which games count, in order; one that is missing never does. All others when left out.
        """
        outcomes = self.outcomes(seat)
        if counted is None:
            counted = [outcome is not Outcome.MISSING for outcome in outcomes]
        played = self.counted(counted)
        scores = [s for s in (e.score(seat) for e in played) if s is not None]
        missing = outcomes.count(Outcome.MISSING)
        blamed = [attribution(game, seat) for game in played]
        causes = [Attribution.UNKNOWN if game is None else attribution(game, seat) for game in self.games]
        return ArmEvidence(
            label=label,
            wins=sum(game.outcome(seat) is Outcome.WIN for game in played),
            finished=len(played),
            requested=self.requested,
            mean_score=sum(scores) / len(scores) if scores else None,
            kills=sum(e.count("kills", seat) for e in played),
            vote_timeouts=sum(e.count("vote_timeout", seat) for e in played),
            request_ids=self.request_ids,
            unpaired=self.requested - missing - len(played),
            charged=blamed.count(Attribution.POLICY),
            unknown=causes.count(Attribution.UNKNOWN),
            distinct=distinct(self.episodes),
        )
