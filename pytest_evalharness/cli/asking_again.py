"""What a command says while a server lets it wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pytest_evalharness.base.text import printable

_SILENT = 2.0
"""Seconds of waiting that nobody needs to be told of."""
_EVERY = 10.0


class AskingAgain:
    """Told of each wait between two tries, says now and then what is asked for again. Safe to use from several threads.

    Args:
        say: told a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._waited, self._next = 0.0, _SILENT

    def __call__(self, reason: str, seconds: float) -> None:
        """A wait of so many seconds begins, for this reason."""
        with self._lock:
            self._waited += seconds
            due = self._waited >= self._next
            if due:
                self._next = self._waited + _EVERY
        if due:
            self._say(f"asking again: {printable(reason, 300)}")
