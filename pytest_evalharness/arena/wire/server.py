"""Uvicorn, set up for one house: ready when it says so, gone when standard input ends."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

import uvicorn

from pytest_evalharness.arena.faults.active import Faults
from pytest_evalharness.arena.league.desk import Desk
from pytest_evalharness.arena.league.dispatch import Dispatcher
from pytest_evalharness.arena.league.store import Store
from pytest_evalharness.arena.league.workers import Workers
from pytest_evalharness.arena.league.world import World
from pytest_evalharness.arena.wire.app import build
from pytest_evalharness.arena.wire.connection import Protocol
from pytest_evalharness.arena.wire.dialect import Name
from pytest_evalharness.arena.wire.dialects import DIALECTS
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.storage import Storage
from pytest_evalharness.base.clock import Clock

_GRACE = 1  # seconds a request under way gets to end when the server stops
_KEEP_ALIVE = 60
_PATIENCE = 5.0


def furnish(
    *,
    seed: int,
    world: World,
    store: Store,
    workers: Workers,
    faults: Faults,
    clock: Clock,
    pace: float,
    dialect: Name,
    token: str,
    storage: str,
) -> House:
    """Put everything the routes need into one place."""
    desk = Desk(seed, world, store, clock)
    return House(
        world=world,
        desk=desk,
        dispatcher=Dispatcher(
            desk,
            store,
            workers,
            pace,
            clock,
            scoring=dialect.scoring,
            closed=lambda: faults.value("closed-queue") is not None,
        ),
        workers=workers,
        faults=faults,
        clock=clock,
        dialect=DIALECTS[dialect],
        token=token,
        storage=Storage.of(storage, token),
    )


def run(house: House, sockets: list[socket.socket], ready: str, *, exit_with_stdin: bool) -> None:
    """Serve on listening sockets until a signal, or the end of standard input; print `ready` once it answers."""
    config = uvicorn.Config(
        build(house),
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_KEEP_ALIVE,
    )
    server = _Server(config, ready)
    if exit_with_stdin:
        threading.Thread(target=_stop_with_stdin, args=(server,), daemon=True).start()
    with contextlib.suppress(
        KeyboardInterrupt
    ):  # it has shut down in order by then; the signal is delivered again
        server.run(sockets=sockets)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: str) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        sys.stdout.write(self._ready + "\n")
        sys.stdout.flush()


def _stop_with_stdin(server: uvicorn.Server) -> None:
    """Read standard input to its end. Whoever started the server holds the other end: when it is gone, so is this."""
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    server.should_exit = True
    # Whatever still holds the process up then is not worth staying for; the workers die with it.
    timer = threading.Timer(_PATIENCE, os._exit, (0,))
    timer.daemon = True
    timer.start()
