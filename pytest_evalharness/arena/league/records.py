"""A request for games and the episodes it consists of, as they stand right now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pytest_evalharness.arena.league.world import Coworld, Version

PLAYER_ERROR = "player_error"
"""The error type that blames a seat. Only a fault brings it about: policies of the cast do not break."""


class State(StrEnum):
    """Where an episode, or a request, is in its life."""

    PENDING = "pending"
    SUBMITTED = "submitted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether nothing more will happen."""
        return self in {State.COMPLETED, State.FAILED, State.CANCELLED}


@dataclass(frozen=True)
class Marks:
    """What faults do to one request; kept with it, so that a restarted server treats it the same.

    Attributes:
        wedged: (seat, `name:vN` or None): episodes with that policy (or any) in that seat never end.
        shuffled: everybody sits one seat further than asked.
        queue_seconds: how long the request stays pending.
        failing: so many of its first episodes fail.
        hidden_seconds: how long after its creation it cannot be read.
        doomed: how its first episodes fail, each once: (policy, error type).
        own_seeds: whether its games have seeds of the server's choice, whatever it asks for.
        scoring: how its games are scored, where that is not the server's usual way.
        mishaps: how players fail in its games, one in each, after those that end as failed: (policy, mishap).
        rolled: the number of the episode from which on another version of the game is played, and which.
        silent: the policies whose adviser never answers.
        retried: so many of its first episodes fail once before they are played.
    """

    wedged: tuple[tuple[int, str | None], ...] = ()
    shuffled: bool = False
    queue_seconds: float = 0.0
    failing: int = 0
    hidden_seconds: float = 0.0
    doomed: tuple[tuple[str, str], ...] = ()
    own_seeds: bool = False
    scoring: str | None = None
    mishaps: tuple[tuple[str, str], ...] = ()
    rolled: tuple[int, str] | None = None
    silent: tuple[str, ...] = ()
    retried: int = 0

    @property
    def lost(self) -> int:
        """How many of the first episodes end as failed."""
        return max(self.failing, len(self.doomed))


@dataclass(eq=False)
class Episode:
    """One game of a request. `scores` and `ticks` are there once it is completed."""

    id: str
    request: Request
    index: int
    seed: int
    seats: tuple[Version, ...]
    state: State = State.PENDING
    revision: int = 0
    started_at: float | None = None
    completed_at: float | None = None
    scores: dict[str, float] = field(default_factory=dict)
    ticks: int | None = None
    error_type: str | None = None
    error: str | None = None
    retried: bool = False
    """Whether it has failed once and was, or is about to be, dispatched again."""

    @property
    def stumbles(self) -> bool:
        """Whether it fails now and is dispatched again."""
        return self.index < self.request.marks.retried and not self.retried

    @property
    def wedged(self) -> bool:
        """Whether a fault keeps it from ever ending."""
        return any(
            policy is None or self.seats[seat].label == policy for seat, policy in self.request.marks.wedged
        )

    @property
    def fate(self) -> str | None:
        """The error type with which a fault makes it fail; None if it is to be played."""
        marks = self.request.marks
        if self.index < marks.failing:
            return "platform_error"
        return marks.doomed[self.index][1] if self.index < len(marks.doomed) else None

    @property
    def mishaps(self) -> tuple[tuple[int, str], ...]:
        """The seats whose player fails in it, and how."""
        marks, place = self.request.marks, self.index - self.request.marks.lost
        if not 0 <= place < len(marks.mishaps):
            return ()
        policy, mishap = marks.mishaps[place]
        return tuple((seat, mishap) for seat, version in enumerate(self.seats) if version.label == policy)

    @property
    def coworld_version(self) -> str:
        """The version of the game that it is played in."""
        rolled = self.request.marks.rolled
        return rolled[1] if rolled is not None and self.index >= rolled[0] else self.request.coworld.version

    @property
    def blamed_seat(self) -> int | None:
        """The seat whose player made it fail, if one did."""
        if self.state is not State.FAILED or self.error_type != PLAYER_ERROR:
            return None
        policy = self.request.marks.doomed[self.index][0]
        return next((seat for seat, version in enumerate(self.seats) if version.label == policy), None)


@dataclass(eq=False)
class Request:
    """An experience request. `config` is the effective game configuration, `overrides` what the game is told."""

    id: str
    body: Mapping[str, Any]
    coworld: Coworld
    variant: str
    league_id: str | None
    config: Mapping[str, Any]
    overrides: Mapping[str, Any]
    marks: Marks
    created_at: float
    cancelled_at: float | None = None
    frozen_counts: dict[str, int] | None = None
    episodes: list[Episode] = field(default_factory=list)

    @property
    def state(self) -> State:
        """The request's own state, rolled up from its episodes; a cancelled one stays cancelled."""
        if self.cancelled_at is not None:
            return State.CANCELLED
        states = {episode.state for episode in self.episodes}
        if any(
            each.state is State.FAILED and each.retried and each.completed_at is None
            for each in self.episodes
        ):
            return State.RUNNING  # what has failed is dispatched again, so this is not over
        if all(state.terminal for state in states):
            return State.COMPLETED if State.COMPLETED in states else State.FAILED
        if states - {State.PENDING, State.SUBMITTED}:
            return State.RUNNING
        return State.SUBMITTED if State.SUBMITTED in states else State.PENDING

    @property
    def counts(self) -> dict[str, int]:
        """Episodes by state; after a cancel, as they were at that moment."""
        return self.frozen_counts if self.frozen_counts is not None else self.count()

    def count(self) -> dict[str, int]:
        """Episodes by state, now."""
        states = [episode.state for episode in self.episodes]
        return {state.value: states.count(state) for state in State}

    @property
    def started_at(self) -> float | None:
        """When its first episode started."""
        return min((each.started_at for each in self.episodes if each.started_at is not None), default=None)

    @property
    def completed_at(self) -> float | None:
        """When its last episode ended, or when it was cancelled."""
        if self.cancelled_at is not None:
            return self.cancelled_at
        if not self.state.terminal:
            return None
        return max(
            (each.completed_at for each in self.episodes if each.completed_at is not None), default=None
        )


def filler_seats(sides: Sequence[int], seats: Sequence[Version]) -> tuple[bool, ...]:
    """Which seats are not credited: those of a side whose version has an earlier seat of that side."""
    entrants = [(side, version.id) for side, version in zip(sides, seats, strict=True)]
    return tuple(entrants.index(entrant) < seat for seat, entrant in enumerate(entrants))


def policy_scores(seats: tuple[Version, ...], scores: list[float]) -> dict[str, float]:
    """Scores by policy version: seats of the same version share one entry, their mean."""
    by_version: dict[str, list[float]] = {}
    for version, score in zip(seats, scores, strict=True):
        by_version.setdefault(version.id, []).append(float(score))
    return {key: sum(each) / len(each) for key, each in by_version.items()}
