"""SIGINT and SIGTERM while eval cases run: one orderly end, with reports, before whoever sent them loses patience."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.progress import progress_of
from pytest_evalharness.plugin.session import existing_session, is_worker

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from xdist.workermanage import WorkerController

_ENDING = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 3
"""The signal that ends everything at once: the first asks, and a second may come from an impatient CI by itself."""


class OrderlyEnd:
    """Makes the first signal an interrupt of pytest, and keeps the next one from spoiling what that sets in motion.

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
            # Not through pytest's terminal: the interrupted code may be in the middle of writing to it.
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _ALREADY)
            return
        self.restore()
        os.kill(os.getpid(), number)


_ALREADY = b"\nevalharness: already ending, reports are being written; once more ends it at once\n"
_END = pytest.StashKey[OrderlyEnd]()


def ensure(config: pytest.Config) -> None:
    """End in order from now on."""
    config.stash.setdefault(_END, OrderlyEnd()).install()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """A serial run: from its first eval case on."""
    run = existing_session(session.config)
    if run is not None and run.plans and not is_worker(session.config) and not run.settings["dry_run"]:
        ensure(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: WorkerController, ids: Sequence[str]) -> None:
    """A controller: as soon as a worker has told that it has eval cases."""
    del ids
    shown = progress_of(node.config)
    if shown is not None:
        shown.show()
    if tally_of(node.config).collected:
        ensure(node.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> Generator[None]:
    """Everything is written and let go of: signals mean again what they meant before."""
    try:
        yield
    finally:
        end = config.stash.get(_END, None)
        if end is not None:
            end.restore()
