"""The `player-status` artifact: what became of each seat's process. Pure.

It is evidence about processes, not about play: exit code 0 proves nothing, and many players end with an error once the game
closes their connection. So a process broke only if it ended with an error while others still had a game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_evalharness.base.clock import parse_iso
from pytest_evalharness.episodes.untrusted import MIB, MOST_SEATS, object_of, text, unreadable, whole

KIND = "player-status"
LARGEST = MIB
"""What the service itself reads at most."""
SCHEMA_VERSION = "1"
EARLY_SECONDS = 30.0
"""A process that ends within so many seconds of the last one ended with the game: its closing screens take 15."""
_MOST_EXIT_CODE = 2**32


class PlayerState(StrEnum):
    """Where a seat's process stood when the game had ended. A word that nobody knows is `unavailable`."""

    RUNNING = "running"
    EXITED = "exited"
    NOT_STARTED = "not_started"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True)
class PlayerEnd:
    """One seat's process.

    Attributes:
        exit_code: None where it is not told.
        reason: the platform's word for it, such as `Completed`, `Error` or `OOMKilled`.
        finished_at: seconds since 1970; None where it is not told.
    """

    slot: int
    state: PlayerState
    exit_code: int | None = None
    reason: str | None = None
    finished_at: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it ended with an error, be it early or with the game."""
        return self.state is PlayerState.EXITED and self.exit_code not in (None, 0)

    def to_json(self) -> dict[str, Any]:
        """Plain data, which `from_json` takes."""
        return {
            "slot": self.slot,
            "state": self.state.value,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "finished_at": self.finished_at,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PlayerEnd:
        """What `to_json` gave."""
        return cls(**{**data, "state": PlayerState(data["state"])})


@dataclass(frozen=True)
class PlayerStatus:
    """Every seat's process, by slot."""

    players: tuple[PlayerEnd, ...]

    def of(self, slot: int) -> PlayerEnd | None:
        """A seat's process; None where nothing tells of it."""
        return next((player for player in self.players if player.slot == slot), None)

    def crashed(self, slot: int) -> bool | None:
        """Whether a seat's process ended with an error while the game went on; None where that cannot be told.

        It cannot be told where its state is not available, where it never started, or where it failed at a time that nothing
        can be held against.
        """
        player = self.of(slot)
        if player is None or player.state in (PlayerState.NOT_STARTED, PlayerState.UNAVAILABLE):
            return None
        if player.state is PlayerState.EXITED and player.exit_code is None:
            return None
        if not player.failed:
            return False
        others = [one.finished_at for one in self.players if one.slot != slot and one.finished_at is not None]
        if player.finished_at is None or not others:
            return None
        return max(others) - player.finished_at > EARLY_SECONDS

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data, which `from_json` takes."""
        return [player.to_json() for player in self.players]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> PlayerStatus:
        """What `to_json` gave."""
        return cls(tuple(PlayerEnd.from_json(player) for player in data))


def read_player_status(data: bytes | Mapping[str, Any]) -> PlayerStatus:
    """A `player-status` artifact, from its bytes or as parsed.

    Raises:
        ArtifactUnreadable: it is larger than 1 MiB, no JSON, of another schema, or names a seat twice.
    """
    told = object_of(data, KIND, LARGEST)
    if told.get("schema_version") != SCHEMA_VERSION:
        raise unreadable(KIND, f"its schema is {told.get('schema_version')!r}, not {SCHEMA_VERSION!r}")
    players = told.get("players")
    if not isinstance(players, list) or len(players) > MOST_SEATS:
        raise unreadable(KIND, "it has no list of players")
    read = [_player(player) for player in players]
    slots = [player.slot for player in read]
    if len({*slots}) < len(slots):
        raise unreadable(KIND, "it names a seat twice")
    return PlayerStatus(tuple(read))


def _player(told: Any) -> PlayerEnd:
    slot = whole(told.get("slot"), 0, MOST_SEATS - 1) if isinstance(told, Mapping) else None
    if slot is None:
        raise unreadable(KIND, "a player has no slot")
    word = told.get("state")
    known = isinstance(word, str) and word in {*PlayerState}
    return PlayerEnd(
        slot,
        PlayerState(word) if known else PlayerState.UNAVAILABLE,
        whole(told.get("exit_code"), -_MOST_EXIT_CODE, _MOST_EXIT_CODE),
        text(told.get("reason"), 80),
        _instant(told.get("finished_at")),
    )


def _instant(value: Any) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return parse_iso(value)
    except (ValueError, OverflowError):
        return None
