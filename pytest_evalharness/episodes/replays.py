"""Replays: unpacked beside what was served, and what the head of one tells."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import iso
from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.artifacts import INTERRUPTED, Outcome, State
from pytest_evalharness.episodes.compression import unpacked
from pytest_evalharness.episodes.layout import open_new
from pytest_evalharness.episodes.untrusted import MIB, json_of, text, unreadable
from pytest_evalharness.errors import ArtifactUnreadable

MAGIC = b"CREWRIFT"
_EMBEDDED = b"EVHREPLY"
KIND = "replay"
_STEP = 256 * 1024
_HEAD = 2 * MIB
_LONGEST_WORD = 200


def decoded(
    served: Outcome, folder: Path, name: str, most: int, stopped: Callable[[], bool] = lambda: False
) -> Outcome:
    """A replay that was served, unpacked beside it under another name. It is written as a whole or not at all.

    Args:
        served: the replay.
        folder: the episode's.
        name: the other name.
        most: bytes that may come out.
        stopped: whether nobody waits for it any more.
    """
    source, place = folder / served.path, folder / name
    told = replace(served, path=name, state=State.FAILED, size=None, sha256=None, fetched=0)
    part = place.with_name(f".{place.name}.part")
    try:
        digest, size = hashlib.sha256(), 0
        handle = open_new(part)
        try:
            for chunk in unpacked(_chunks(source), most, KIND):
                view = memoryview(chunk)
                while view:
                    view = view[os.write(handle, view) :]
                digest.update(chunk)
                size += len(chunk)
                if stopped():
                    return replace(told, state=State.PENDING, reason=INTERRUPTED)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(part, place)  # noqa: PTH105 - as base.files does it
    except ArtifactUnreadable as problem:
        return replace(told, reason=problem.what)
    except OSError as problem:
        return replace(told, reason=f"it cannot be written: {printable(problem.strerror or problem)}")
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return replace(told, state=State.OK, reason="", size=size, sha256=digest.hexdigest())


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_STEP):
            yield chunk


@dataclass(frozen=True)
class ReplayHeader:
    """What stands at the head of a replay.

    Replays of the games that are known here store what went into a game and no states: only the build that wrote one plays
    it to the same end.

    Attributes:
        kind: `crewrift`, `embedded` for those of the embedded league, `unknown` for any other game's.
        format: the format's version; None where the kind is unknown.
        game: the game's name; harmless.
        version: the game's version, which is too coarse to tell builds apart; harmless.
        recorded_at: when, in ISO 8601; empty where it is not told.
        config: the game's configuration. It may hold join tokens: show parts of it only.
        told: what else an embedded league's replay tells: `seed`, `ticks`, `scores`.
        size: bytes of the whole replay, unpacked, where that was read from a file.
    """

    kind: str
    format: int | None = None
    game: str = ""
    version: str = ""
    recorded_at: str = ""
    config: dict[str, Any] = field(default_factory=dict, repr=False)
    told: dict[str, Any] = field(default_factory=dict)
    size: int | None = None


def read_replay_header(data: bytes) -> ReplayHeader:
    """The header of a replay, packed or not, from its first two MiB or all of it.

    Raises:
        ArtifactUnreadable: it is damaged, or cut off in its header.
    """
    head = b""
    try:
        for chunk in unpacked([data], _HEAD + _STEP, KIND):
            head += chunk
            if len(head) >= _HEAD:
                break
    except ArtifactUnreadable:
        if not head:  # else only its end is missing, and what is wanted is at the beginning
            raise
    return _Reader(head).header()


def replay_header(path: Path) -> ReplayHeader:
    """The header of a replay in a file, packed or not; see `read_replay_header`.

    Raises:
        ArtifactUnreadable: see there.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        found = read_replay_header(file.read(_HEAD))
    return replace(found, size=path.stat().st_size)


class _Reader:
    """Reads from a head, little-endian, with texts of a u16 length (a configuration may have a u32 one)."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._at = 0

    def header(self) -> ReplayHeader:
        """Whatever header there is."""
        if self._head.startswith(MAGIC):
            return self._crewrift()
        if self._head.startswith(_EMBEDDED):
            return self._embedded()
        return ReplayHeader("unknown")

    def _crewrift(self) -> ReplayHeader:
        self._at = len(MAGIC)
        version = self._number("<H")
        game, build = self._text("<H"), self._text("<H")
        moment = self._number("<Q")
        place = self._at
        try:
            config = self._object(self._number("<I"))
        except ArtifactUnreadable:
            self._at = place
            config = self._object(self._number("<H"))
        return ReplayHeader("crewrift", version, game, build, _moment(moment), config)

    def _embedded(self) -> ReplayHeader:
        self._at = len(_EMBEDDED)
        version = self._number("<H")
        told = self._object(self._number("<I"))
        config = told.get("config")
        return ReplayHeader(
            "embedded",
            version,
            text(told.get("game"), _LONGEST_WORD) or "",
            text(told.get("version"), _LONGEST_WORD) or "",
            config=config if isinstance(config, dict) else {},
            told={key: told[key] for key in ("seed", "ticks", "scores") if key in told},
        )

    def _object(self, size: int) -> dict[str, Any]:
        found = json_of(self._bytes(size), KIND, _HEAD)
        if not isinstance(found, dict):
            raise unreadable(KIND, "its header holds no object")
        return found

    def _number(self, form: str) -> int:
        (found,) = struct.unpack(form, self._bytes(struct.calcsize(form)))
        return int(found)

    def _text(self, form: str) -> str:
        raw = self._bytes(self._number(form)).decode("utf-8", "replace")
        return text(raw, _LONGEST_WORD) or ""

    def _bytes(self, count: int) -> bytes:
        found = self._head[self._at : self._at + count]
        if len(found) < count:
            raise unreadable(KIND, "it is cut off in its header")
        self._at += count
        return found


def _moment(milliseconds: int) -> str:
    try:
        return iso(milliseconds / 1000)
    except (ValueError, OverflowError, OSError):
        return ""
