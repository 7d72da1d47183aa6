"""What the league needs of a game, whichever it is: its seats, its variants, its schemas, and that it can be played."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_evalharness.arena.game.scoring import Scoring

MISHAPS = ("connect", "disconnect", "crash")
"""How a player can fail a game that is played: it never connects, loses its connection, or breaks unnoticed."""


class RefusedConfigError(ValueError):
    """The game does not take this configuration; the message says why."""


@dataclass(frozen=True)
class Variant:
    """A way to play a game: `config` is what it sets; overrides replace whole keys on top."""

    id: str
    name: str
    description: str
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Order:
    """A match to play: the game, configuration overrides (variant included), seats as (display name, build), a seed."""

    game: str
    overrides: Mapping[str, Any]
    seats: Sequence[tuple[str, str]]
    seed: int
    scoring: Scoring = Scoring.OUTCOME
    mishaps: Sequence[tuple[int, str]] = ()
    """Seats whose player fails, and in which of the `MISHAPS`."""


@dataclass(frozen=True)
class Played:
    """What a match left: `results` is results.json, `ticks` its length."""

    results: dict[str, Any]
    ticks: int


@dataclass(frozen=True)
class Recorded:
    """A match played for its record: the game's log, one log a seat, and what each seat would upload of its own play.

    `uploads` are zip archives of an adviser that answers, `silent_uploads` of one whose calls all fail.
    """

    game_log: str
    seat_logs: list[str]
    uploads: list[bytes]
    silent_uploads: list[bytes]


class Hosted(ABC):
    """A game as the league hosts it. Importing one costs nothing: what plays is imported when something is played.

    Attributes:
        name: what the service calls it.
        title, version, description: for people.
        seats: how many every variant has.
        variants: the first is the one that is played where none is asked for.
        gone_at: the tick at which a player that drops out, or breaks, does so.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str]
    description: ClassVar[str]
    seats: ClassVar[int]
    variants: ClassVar[tuple[Variant, ...]]
    gone_at: ClassVar[int]

    def variant(self, variant_id: str) -> Variant:
        """A variant by its id.

        Raises:
            KeyError: there is none.
        """
        return {each.id: each for each in self.variants}[variant_id]

    @abstractmethod
    def cast(self) -> list[tuple[str, list[str]]]:
        """The players of the game's cast, each with its builds, oldest first."""

    @abstractmethod
    def effective_config(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """The whole configuration a match with these overrides has, under its public keys.

        Raises:
            RefusedConfigError: an unknown key or a value the game does not take.
        """

    @abstractmethod
    def tick_limit(self, config: Mapping[str, Any]) -> int:
        """How many ticks a match of this whole configuration has at most; 0 is no limit."""

    @abstractmethod
    def seconds(self, config: Mapping[str, Any], ticks: int) -> float:
        """How long so many ticks take at the pace of the hosted service."""

    def sides(self, config: Mapping[str, Any]) -> tuple[int, ...]:
        """The side of each seat under a whole configuration: everybody's own, except in a game of teams."""
        del config
        return tuple(range(self.seats))

    def attending(self, order: Order) -> tuple[list[str], dict[int, int]]:
        """The builds by seat, and the tick at which each seat that drops out does so: 0 for one that never connects."""
        gone = {seat: 0 if how == "connect" else self.gone_at for seat, how in order.mishaps}
        return [build for _, build in order.seats], gone

    @abstractmethod
    def play(self, order: Order) -> Played:
        """Play a match. Runs in a worker process. The same order gives the same match, everywhere."""

    @abstractmethod
    def record(self, order: Order) -> Recorded:
        """Play a match again and keep what the first time did not: the same seed gives the same match."""

    def rescored(self, results: Mapping[str, Any], scoring: Scoring) -> dict[str, Any]:
        """A match's results as another way of scoring has them; most games know only one."""
        del scoring
        return dict(results)

    @abstractmethod
    def config_schema(self) -> dict[str, Any]:
        """The JSON schema of the game's configuration, as its manifest has it."""

    @abstractmethod
    def results_schema(self) -> dict[str, Any]:
        """The JSON schema of results.json, as the game's manifest has it."""
