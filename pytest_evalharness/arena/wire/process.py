"""The process: home, lock, socket, credentials, workers; nothing of it is left behind."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.arena.faults.active import Faults
from pytest_evalharness.arena.league import referee, season
from pytest_evalharness.arena.league.founding import Founding
from pytest_evalharness.arena.league.store import Store
from pytest_evalharness.arena.league.workers import Workers
from pytest_evalharness.arena.league.world import World
from pytest_evalharness.arena.wire.dialect import Name
from pytest_evalharness.base.clock import Clock, SystemClock
from pytest_evalharness.base.files import canonical_json, write_atomic

_BACKLOG = 512
_LOOPBACK = "127.0.0.1"
_SHORTEST_TOKEN = 4


class CannotServeError(Exception):
    """The server cannot start; the message says why and what to do."""


@dataclass(frozen=True)
class Options:
    """How the server was asked to run."""

    home: Path
    port: int = 0
    storage_port: int | None = None
    fd: int | None = None
    seed: int = 2026
    pace: float = 0.0
    faults: Sequence[str] = ()
    dialect: Name = Name.CURRENT
    exit_with_stdin: bool = False
    token: str | None = None

    @property
    def credentials(self) -> Path:
        """The folder that real clients are pointed at."""
        return self.home / "credentials"


def serve(options: Options) -> None:
    """Serve until told to stop.

    Raises:
        CannotServeError: the home is in use or belongs to another seed; the token, port or descriptor is no good.
        FaultSpecError: a fault is wrong.
        OSError: the home cannot be written to.
    """
    faults = Faults(options.faults)
    _check_token(options.token)
    options.home.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_locked(options.home))
        sock = stack.enter_context(_listening(options))
        sockets = [sock]
        if options.storage_port is not None:
            sockets.append(stack.enter_context(_bound(options.storage_port)))
        workers = stack.enter_context(contextlib.closing(Workers()))
        workers.warm()
        store = stack.enter_context(contextlib.closing(Store(options.home / "arena.sqlite")))
        clock = SystemClock()
        finish = _begin(options, store, workers, clock)
        # The workers come up and play while this process imports what it needs to serve.
        from pytest_evalharness.arena.wire import server

        world = finish()
        token = _token(options)
        url, storage = (f"http://{_LOOPBACK}:{one.getsockname()[1]}" for one in (sock, sockets[-1]))
        _write_credentials(options.credentials, f"{url}/api", token)
        ready = json.dumps(
            {
                "url": url,
                "api": f"{url}/api",
                "seed": options.seed,
                "dialect": options.dialect.value,
                "credentials": str(options.credentials),
                "storage": storage,
            }
        )
        house = server.furnish(
            seed=options.seed,
            world=world,
            store=store,
            workers=workers,
            faults=faults,
            clock=clock,
            pace=options.pace,
            dialect=options.dialect,
            token=token,
            storage=storage,
        )
        server.run(house, sockets, ready, exit_with_stdin=options.exit_with_stdin)


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the home's lock. The system lets go of it when the process ends, however it ends."""
    with (home / "arena.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            message = f"another arena is running on {home}: stop it, or give this one another --home"
            raise CannotServeError(message) from error
        yield


@contextmanager
def _listening(options: Options) -> Iterator[socket.socket]:
    with _inherited(options.fd) if options.fd is not None else _bound(options.port) as sock:
        yield sock


def _inherited(fd: int) -> socket.socket:
    try:
        sock = socket.socket(fileno=fd)
        listens = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        where = sock.getsockname()
    except OSError as error:
        raise CannotServeError(f"--fd {fd} is not a socket: {error.strerror}") from error
    if not listens or sock.family != socket.AF_INET or where[0] != _LOOPBACK:
        raise CannotServeError(f"--fd {fd} is not a socket that listens on {_LOOPBACK}")
    os.set_inheritable(fd, False)  # noqa: FBT003 - workers must not keep it open after this process
    return sock


def _bound(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((_LOOPBACK, port))
        sock.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        sock.close()
        raise CannotServeError(f"cannot listen on port {port}: {error}; port 0 takes a free one") from error
    return sock


def _begin(options: Options, store: Store, workers: Workers, clock: Clock) -> Callable[[], World]:
    """Begin the world of this home; what is returned waits until it is there.

    Its rounds are played the first time, and again if a game's cast or the way of scoring has changed.
    """
    seed = store.remember("seed", str(options.seed))
    if seed != str(options.seed):
        raise CannotServeError(
            f"{options.home} was founded with --seed {seed}: use that seed, or another --home"
        )
    casts = referee.casts()
    founding = Founding(options.seed, casts, float(store.remember("born", repr(clock.now()))))
    scoring = options.dialect.scoring
    plans = season.plan(founding, scoring)
    known = store.round_games(hashlib.sha256(canonical_json([casts, scoring]).encode()).hexdigest())
    to_play = [plan for plan in plans if plan.id not in known]
    played = workers.play_all([plan.order for plan in to_play])

    def finish() -> World:
        fresh = {plan.id: outcome for plan, outcome in zip(to_play, played, strict=True)}
        if fresh:
            store.keep_round_games(fresh.items())
        return season.world(founding, plans, [(known | fresh)[plan.id] for plan in plans])

    return finish


def _check_token(token: str | None) -> None:
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isprintable() or " " in token):
        raise CannotServeError("--token must be at least four printable characters without spaces")


def _token(options: Options) -> str:
    """The home's token: made once, or the one that was given."""
    path = options.home / "token"
    if options.token is not None:
        write_atomic(path, options.token, mode=0o600)
        return options.token
    if path.exists():
        return path.read_text().strip()
    token = f"usr_{secrets.token_urlsafe(24)}"
    write_atomic(path, token, mode=0o600)
    return token


def _write_credentials(folder: Path, api: str, token: str) -> None:
    """Write the file that real clients read (`SOFTMAX_CONFIG_DIR`)."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    # A JSON string is a YAML string too, whatever is in it.
    content = f"tokens:\n  {json.dumps(api)}: {json.dumps(token)}\nplayer_sessions: {{}}\n"
    write_atomic(folder / "credentials.yaml", content, mode=0o600)
