"""Files that a running program rewrites: each is read again when it changed, and never half of it is believed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_evalharness.clbench.artifact import Unreadable

_MOST = 1 << 30
"""Bytes: real ones have tens of MiB."""
_ATTEMPTS = 3
"""Readings of a file that changes meanwhile: what is rewritten faster than that is read the next time."""
_GRAIN = 0.02
"""Kernels stamp files by their tick: two changes within seconds as few as these may look like one."""
_GONE = "it is gone"


class Stamp(NamedTuple):
    """What tells one content of a file from another without reading it."""

    inode: int
    mtime_ns: int
    size: int


@dataclass(frozen=True)
class Held:
    """What is known of a file.

    Attributes:
        value: its last sound content, parsed; None if there never was one.
        problem: why `value` is not its present content; None where it is, and where there was no file yet.
        changed: when its present content was written, in seconds since 1970; None where there is no file.
    """

    value: Any = None
    problem: str | None = None
    changed: float | None = None


class ChangedFiles:
    """Keeps what was read of each file, and reads again what changed.

    Args:
        now: tells the wall clock's seconds since 1970.

    Attributes:
        readings: how often a file was opened and read so far.
        bytes_read: the bytes of these.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.readings = 0
        self.bytes_read = 0
        self._now = now
        self._held: dict[Path, Held] = {}
        self._stamps: dict[Path, Stamp] = {}

    def read(self, path: Path, parse: Callable[[bytes], Any]) -> Held:
        """A file's last sound content, parsed, and how it stands.

        Args:
            path: the file; one that is not there is no fault.
            parse: makes a value of its bytes; raises `Unreadable` of what is not whole.
        """
        held = self._held.get(path)
        stamp = self._stamps.get(path)
        if held is None or stamp is None or _stamp_of(path) != stamp:
            held = self._looked_at(path, parse, held or Held())
            self._held[path] = held
        return held

    def _looked_at(self, path: Path, parse: Callable[[bytes], Any], before: Held) -> Held:
        self._stamps.pop(path, None)
        stamp, problem = None, ""
        for _ in range(_ATTEMPTS):
            try:
                raw, stamp, whole = self._bytes(path)
                value = parse(raw)
            except FileNotFoundError:
                return Held(before.value, None if before.value is None else _GONE, None)
            except OSError as trouble:
                return Held(before.value, trouble.strerror or str(trouble), None)
            except Unreadable as trouble:
                stamp, whole, problem = stamp or _stamp_of(path), False, str(trouble)
            if whole and stamp is not None:
                self._settle(path, stamp)
                return Held(value, None, stamp.mtime_ns / 1e9)
            if stamp == _stamp_of(path):
                break  # damaged, not in the middle of being written: reading it again changes nothing
        self._settle(path, stamp)
        return Held(before.value, problem or "it changes while it is read", _seconds(stamp))

    def _settle(self, path: Path, stamp: Stamp | None) -> None:
        if stamp is not None and abs(self._now() - stamp.mtime_ns / 1e9) >= _GRAIN:
            self._stamps[path] = stamp

    def _bytes(self, path: Path) -> tuple[bytes, Stamp, bool]:
        """All of a file, its stamp, and whether it stayed the same meanwhile.

        A file that is replaced while it is read stays whole: what was opened is the old content. One that is
        rewritten in its place does not, which its stamp or its parser tells.
        """
        # Not blocking: a pipe in the place of a file would hold up whoever guards the campaign.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            first = os.fstat(handle)
            if not stat.S_ISREG(first.st_mode):
                raise Unreadable("it is no ordinary file")
            if first.st_size > _MOST:
                raise Unreadable(f"it is larger than {_MOST >> 20} MiB")
            raw = file.read()
            last = os.fstat(handle)
        self.readings += 1
        self.bytes_read += len(raw)
        return raw, _stamp(first), _stamp(first) == _stamp(last)


def _stamp(told: os.stat_result) -> Stamp:
    return Stamp(told.st_ino, told.st_mtime_ns, told.st_size)


def _stamp_of(path: Path) -> Stamp | None:
    try:
        return _stamp(path.stat())
    except OSError:
        return None


def _seconds(stamp: Stamp | None) -> float | None:
    return None if stamp is None else stamp.mtime_ns / 1e9
