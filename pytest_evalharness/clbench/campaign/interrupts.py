"""SIGINT, SIGTERM and SIGHUP as wishes that a supervisor reads when it comes round: each one more urgent than the last."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Counts the signals that ask this process to end, while it is used in a `with` statement in the main thread.

    In another thread, or in a program that has its own way with signals, only `stop` counts.

    Args:
        stop: another way to ask; None for none.

    Attributes:
        wake: set as soon as anybody asks: waits end then.
        name: of the last signal; empty before the first.
    """

    def __init__(self, stop: threading.Event | None = None) -> None:
        self.wake = stop or threading.Event()
        self.name = ""
        self._signals = 0
        self._before: dict[int, Any] = {}

    @property
    def count(self) -> int:
        """How often somebody asked."""
        return max(self._signals, int(self.wake.is_set()))

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # `nohup` is a wish too. SIGINT is taken even from whoever ignores it: children would inherit that and not tidy up.
            heard = [
                one for one in _ENDING if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN
            ]
            self._before = {number: signal.signal(number, self._received) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _received(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._signals += 1
        self.name = signal.Signals(number).name
        self.wake.set()
