"""SIGINT and SIGTERM as one orderly end, before whoever sent them loses patience."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 3
"""The signal that ends everything at once: the first asks, and a second may come from an impatient CI by itself."""
_ALREADY = b"\nevalharness: already ending, reports are being written; once more ends it at once\n"


class OrderlyEnd:
    """Makes the first signal a KeyboardInterrupt, and keeps the next one from spoiling what that sets in motion.

    A job that is cancelled gets SIGINT, some seconds later SIGTERM, and then is killed. A terminal's second Ctrl-C
    would break off the writing of reports; only a third one does.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._seen = 0

    def install(self) -> None:
        """Take the signals over, in the main thread only; does nothing if that was done before."""
        if self._before or threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            self._before[number] = signal.signal(number, self._received)

    def restore(self) -> None:
        """Give the signals back to whoever had them."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _received(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._seen += 1
        if self._seen == 1:
            raise KeyboardInterrupt(signal.Signals(number).name)
        if self._seen < _PATIENCE:
            # Not through anybody's terminal writer: the interrupted code may be in the middle of writing to it.
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _ALREADY)
            return
        self.restore()
        os.kill(os.getpid(), number)
