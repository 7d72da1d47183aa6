"""How a download goes: one line that is rewritten on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TextIO

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import counted, printable

if TYPE_CHECKING:
    from pytest_evalharness.episodes.index import Entry

_EVERY = 0.2
_EVERY_PLAIN = 10.0
_WINDOW = 10.0
"""Seconds over which the rate is taken."""
_CLEAR = "\r\x1b[K"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(count: float) -> str:
    """Bytes for people: `812 B`, `34.1 MB`."""
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:  # noqa: PLR2004 - decimal units
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def episodes(count: int) -> str:
    """`no episodes`, `1 episode`, `12 episodes`."""
    return "no episodes" if count == 0 else counted(count, "episode")


def files(count: int) -> str:
    """`1 file`, `12 files`."""
    return counted(count, "file")


class Progress:
    """Tells what has come. Safe to use from several threads.

    Args:
        stream: where to.
        quiet: nothing but remarks.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._tty = stream.isatty()
        self._quiet = quiet
        self._lock = threading.Lock()
        self._total = self._done = self._skipped = 0
        self._bytes = 0
        self._samples: deque[tuple[float, int]] = deque()
        self._began = self._told = time.monotonic()
        self._line = False

    def found(self, count: int) -> None:
        """See `Watching`."""
        with self._lock:
            self._total += count
            if not self._tty:
                self._print(episodes(count))

    def bytes(self, count: int) -> None:
        """See `Watching`."""
        with self._lock:
            self._bytes += count
            now = time.monotonic()
            every = _EVERY if self._tty else _EVERY_PLAIN
            if now - self._told >= every:
                self._told = now
                self._sample(now)
                self._show(now)

    def done(self, entry: Entry, *, skipped: bool) -> None:
        """See `Watching`."""
        with self._lock:
            self._done += 1
            self._skipped += skipped
            if self._tty:
                self._show(time.monotonic())
            elif not skipped:
                self._print(f"{entry.folder}: {standing(entry)}")

    def remark(self, text: str) -> None:
        """See `Watching`."""
        with self._lock:
            self._print(printable(text, 500), always=True)

    def end(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._line:
                self._stream.write(_CLEAR)
                self._stream.flush()
                self._line = False

    def _sample(self, now: float) -> None:
        self._samples.append((now, self._bytes))
        while len(self._samples) > 2 and now - self._samples[0][0] > _WINDOW:  # noqa: PLR2004 - a rate needs two
            self._samples.popleft()

    def words(self, now: float) -> str:
        """The line: episodes, bytes, rate, time left."""
        parts = [f"{self._done}/{self._total} episodes", size(self._bytes)]
        if len(self._samples) > 1:
            (first, before), (last, after) = self._samples[0], self._samples[-1]
            if last > first:
                parts.append(f"{size((after - before) / (last - first))}/s")
        fetched = self._done - self._skipped
        if fetched > 0 and self._done < self._total:
            parts.append(f"about {span((now - self._began) / fetched * (self._total - self._done))} left")
        return ", ".join(parts)

    def _show(self, now: float) -> None:
        if self._quiet:
            return
        if self._tty:
            self._stream.write(_CLEAR + self.words(now))
            self._stream.flush()
            self._line = True
        else:
            self._print(self.words(now))

    def _print(self, text: str, *, always: bool = False) -> None:
        if self._quiet and not always:
            return
        self._stream.write((_CLEAR if self._line else "") + text + "\n")
        self._stream.flush()
        self._line = False


def standing(entry: Entry) -> str:
    """An episode in a line: how many files there are, and how the others stand."""
    from pytest_evalharness.episodes.artifacts import State
    from pytest_evalharness.episodes.index import counts

    found = counts([entry])
    there = sum(one.size or 0 for one in entry.files.values() if one.state is State.OK)
    parts = [f"{files(found[State.OK])}, {size(there)}"]
    words = {
        State.NOT_PRODUCED: "not produced",
        State.DENIED: "denied",
        State.PENDING: "pending",
        State.FAILED: "failed",
    }
    parts += [f"{found[state]} {word}" for state, word in words.items() if found[state]]
    return f"{entry.status or 'unknown'}; {', '.join(parts)}"
