"""The processes that play: never more than processors, never left behind."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, TypeVar

from pytest_evalharness.arena.game.hosted import Order, Played, Recorded
from pytest_evalharness.arena.league import referee

_T = TypeVar("_T")
_ATTEMPTS = 3
_CHUNK = 12


class WorkersGoneError(RuntimeError):
    """The processes that play died again and again."""


def _prepare() -> None:
    """Make a fresh worker mortal: it dies with the server, however that ends, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    # A worker waits on a pipe whose other end it holds itself: without this it would never see its parent die.
    multiprocessing.connection.wait([sentinel])
    os._exit(0)


class Workers:
    """A pool of processes that play matches.

    Args:
        count: how many; one a processor by default.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or os.cpu_count() or 1
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.count, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare
        )

    def warm(self) -> None:
        """Start the processes now: they come up while the caller does something else."""
        for _ in range(self.count):
            self._pool.submit(os.getpid)

    async def play(self, order: Order) -> Played:
        """Play one match.

        Raises:
            WorkersGoneError: the workers died each time this match was tried.
        """
        return await self._run(referee.play, order)

    async def record(self, order: Order) -> Recorded:
        """Play one match for its logs.

        Raises:
            WorkersGoneError: as `play`.
        """
        return await self._run(referee.record, order)

    async def replay(
        self, order: Order, version: str, labels: Sequence[str], results: Mapping[str, Any] | None
    ) -> bytes:
        """Play one match for its replay; arguments as for `game.replay.write`.

        Raises:
            WorkersGoneError: as `play`.
        """
        return await self._run(
            partial(referee.replay, version=version, labels=labels, results=results), order
        )

    async def _run(self, job: Callable[[Order], _T], order: Order) -> _T:
        loop = asyncio.get_running_loop()
        for _ in range(_ATTEMPTS):
            pool = self._pool
            try:
                return await loop.run_in_executor(pool, job, order)
            except BrokenProcessPool:
                if pool is self._pool:  # the first to notice replaces it
                    self._pool = self._start()
        raise WorkersGoneError("the processes that play the games died three times")

    def play_all(self, orders: Sequence[Order]) -> Iterator[Played]:
        """Begin to play many matches, for the rounds of a new arena; what is returned waits for each in turn."""
        chunks = [orders[start : start + _CHUNK] for start in range(0, len(orders), _CHUNK)]
        return itertools.chain.from_iterable(self._pool.map(referee.play_many, chunks))

    def close(self) -> None:
        """Let the matches that are being played end, drop the others, stop the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)
