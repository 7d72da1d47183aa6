"""What an episode can leave, how each piece of it stands, and where it may be fetched. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

INTERRUPTED = "it was interrupted; the next run goes on"
"""Why an artifact is pending that nobody waited for any longer."""


class Category(StrEnum):
    """The kinds of artifacts, in the words of the service's download manifest."""

    RESULTS = "results"
    ERROR_INFO = "error_info"
    REPLAY = "replay"
    GAME_LOG = "game_logs"
    PLAYER_LOG = "player_logs"
    PLAYER_ARTIFACT = "player_artifact"

    @property
    def per_seat(self) -> bool:
        """Whether every seat has one of its own."""
        return self in {Category.PLAYER_LOG, Category.PLAYER_ARTIFACT}


class State(StrEnum):
    """How an artifact stands. `PENDING` may still come; `NOT_PRODUCED` never will; `DENIED` is there, for others."""

    OK = "ok"
    NOT_PRODUCED = "not_produced"
    PENDING = "pending"
    DENIED = "denied"
    FAILED = "failed"

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be done about it."""
        return self in {State.OK, State.NOT_PRODUCED, State.DENIED}


@dataclass(frozen=True, order=True)
class Artifact:
    """One artifact of an episode; `seat` is None where it belongs to the whole game."""

    category: Category
    seat: int | None = None


@dataclass(frozen=True)
class Offer:
    """What a server says of one artifact.

    Attributes:
        artifact: which one.
        state: how it stands; None where it is to be fetched.
        reason: why, for people; made harmless where it is shown.
        address: a path of the API, or an absolute address, which is asked without the token.
        size: bytes that the server promises; None if it does not.
        etag: its version, for `If-Match`; None if unknown.
        content: its bytes, where the server has sent them along.
        route: where it comes from, without anything secret.
    """

    artifact: Artifact
    state: State | None = None
    reason: str = ""
    address: str = field(default="", repr=False)
    size: int | None = None
    etag: str | None = None
    content: bytes | None = field(default=None, repr=False)
    route: str = ""

    @property
    def stored(self) -> bool:
        """Whether it lies in a storage whose address carries its own right, and may expire."""
        return bool(self.address) and not self.address.startswith("/")


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    Attributes:
        path: below the episode's folder, with `/`; None for what has no file.
        artifact: which artifact it is of.
        state: how it stands.
        reason: why, where it is not `ok`, or what a reader should know of it; harmless.
        size: bytes on disk.
        sha256: of these bytes, in hex.
        route: where it came from, without anything secret.
        fetched: bytes that came over the network for it.
    """

    path: str
    artifact: Artifact
    state: State
    reason: str = ""
    size: int | None = None
    sha256: str | None = None
    route: str = ""
    fetched: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data for the index."""
        told: dict[str, Any] = {
            "path": self.path,
            "category": self.artifact.category.value,
            "state": self.state.value,
        }
        if self.artifact.seat is not None:
            told["seat"] = self.artifact.seat
        more = {"bytes": self.size, "sha256": self.sha256, "reason": self.reason, "route": self.route}
        told |= {key: value for key, value in more.items() if value not in (None, "")}
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Outcome:
        """The same from plain data.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        seat, size, digest = told.get("seat"), told.get("bytes"), told.get("sha256")
        if not isinstance(told["path"], str) or not (seat is None or isinstance(seat, int)):
            raise TypeError("a path is text, and a seat a number")
        return cls(
            path=told["path"],
            artifact=Artifact(Category(told["category"]), seat),
            state=State(told["state"]),
            reason=str(told.get("reason", "")),
            size=size if isinstance(size, int) else None,
            sha256=digest if isinstance(digest, str) else None,
            route=str(told.get("route", "")),
        )
