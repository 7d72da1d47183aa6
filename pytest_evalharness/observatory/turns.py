"""Runs of one home take turns with its embedded league: one league serves a home, and it belongs to one run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from pytest_evalharness.base.files import write_atomic

PATIENCE = 3600.0
"""Seconds that a run waits for the others of its home: their games may be long, and a wait can be interrupted."""
_PAUSE = 0.5
_STALE = 10.0  # a note that was not renewed for so long was left by a process that is dead
_NOTE = "waiting.txt"  # in the league's home: the address that will answer later, for the workers who ask it


class Turn:
    """One run's wait for the end of the others on its home.

    Args:
        home: the league's own folder.
        api: the address at which this run's league will answer.
        busy: whether another league serves the home at this moment.
        pause: waits so many seconds; True if the run is to stop.
        on_wait: told once, when the wait begins.
        patience: seconds until it gives up.
    """

    def __init__(
        self,
        home: Path,
        api: str,
        *,
        busy: Callable[[], bool],
        pause: Callable[[float], bool],
        on_wait: Callable[[], None],
        patience: float = PATIENCE,
    ) -> None:
        self._note = home / _NOTE
        self._api = api
        self._busy = busy
        self._pause = pause
        self._on_wait: Callable[[], None] | None = on_wait
        self._until = time.monotonic() + patience

    def comes(self) -> bool:
        """Wait until the home looks free. False if that takes too long, or the run is to stop."""
        if self._on_wait is not None:
            self._on_wait()
            self._on_wait = None
        while time.monotonic() < self._until:
            with contextlib.suppress(OSError):
                write_atomic(self._note, self._api)
            if self._pause(_PAUSE):
                return False
            if not self._busy():
                return True
        return False

    def over(self) -> None:
        """Take the note for the workers away."""
        if self._on_wait is None:
            with contextlib.suppress(OSError):
                self._note.unlink()


def waits(home: Path, api: str, now: float) -> bool:
    """Whether the run at this address is waiting for its turn.

    Args:
        home: the league's own folder.
        api: the root URL that its workers were given.
        now: seconds since 1970.
    """
    note = home / _NOTE
    try:
        return note.read_text(encoding="utf-8") == api and now - note.stat().st_mtime < _STALE
    except (OSError, ValueError):
        return False
