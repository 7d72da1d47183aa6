"""Starts and stops the embedded league: a subprocess that is reached over HTTP like any other server."""

from __future__ import annotations

import contextlib
import json
import random
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_evalharness.base.clock import Clock, SystemClock
from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ServerUnreachable
from pytest_evalharness.observatory.turns import PATIENCE, Turn, waits

if TYPE_CHECKING:
    from pytest_evalharness.net.transport import Transport

_READY_SECONDS = 60.0
_STOP_SECONDS = 5.0
_TRIES = 3
_WATCH_SECONDS = 0.2
_FAILED = "failed.txt"  # in the league's home: the address and why no server is there, for workers that only see a refusal
# What the server says of a home that is taken. It may be read from a file: workers only see a refusal.
_ANOTHER_RUNS = "another arena is running"
_WRONG_FAULT = "--fault: "
_WHERE_ANOTHER_RUNS = (
    "wait until the other run on this home has ended and give the same command again, or set EVALHARNESS_HOME"
)


class _NoServerError(Exception):
    """Why a server that was launched does not serve."""


class EmbeddedServer:
    """The embedded league on a port of its own.

    The listening socket belongs to this process and is bound before the server exists, so its address can be handed
    to workers at once; the server itself is started by `start`, or by the first connection (`start_when_needed`), and
    ends when this process does, because its standard input is our pipe.

    Args:
        home: the run's home; the league's state goes to `home/arena`.
        seed: the league's seed.
        pace: 1 plays in real time, None as fast as possible.
        faults: fault specs for tests.
        dialect: which generation of the API it speaks; its own choice if None.
        on_wait: told when another run on this home has to end first.
        patience: seconds to wait for that.
    """

    def __init__(
        self,
        home: Path,
        *,
        seed: int,
        pace: float | None = None,
        faults: Sequence[str] = (),
        dialect: str | None = None,
        on_wait: Callable[[], None] = lambda: None,
        patience: float = PATIENCE,
    ) -> None:
        self.home = home / "arena"
        self.seed = seed
        self._pace = pace
        self._faults = tuple(faults)
        self._dialect = dialect
        self._on_wait = on_wait
        self._patience = patience
        self._socket: socket.socket | None = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._port = int(self._socket.getsockname()[1])
        self._process: subprocess.Popen[str] | None = None
        self._watcher: threading.Thread | None = None
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._log_begin = 0  # the log outlives a run; where this server's part of it begins
        self._problem: ServerUnreachable | None = None

    @property
    def api(self) -> str:
        """The server's root URL."""
        return f"http://127.0.0.1:{self._port}/api"

    @property
    def identity(self) -> str:
        """How keys and reports name it: never by its port."""
        return f"embedded:{self.seed}"

    @property
    def credentials(self) -> Path:
        """The folder whose `credentials.yaml` holds the token."""
        return self.home / "credentials"

    def start(self) -> None:
        """Start the server and wait until it answers. Does nothing if it runs; a failed start is not tried again.

        Another run on this home is waited for: two runs that ask the same at one time then share its requests.

        Raises:
            ServerUnreachable: it ended, or said nothing in time. Later calls raise the same error.
        """
        with self._lock:
            if self._problem is not None:
                raise self._problem.with_traceback(None)
            if self._process is not None or self._socket is None:
                return
            self._forget_failure()
            self._process = self._in_turn(self._socket)
            self._socket.close()  # if the server dies, connections are refused instead of waiting for ever
            self._socket = None

    def _in_turn(self, listening: socket.socket) -> subprocess.Popen[str]:
        turn = Turn(
            self.home,
            self.api,
            busy=lambda: serving(self.home, SystemClock()) is not None,
            pause=self._closing.wait,
            on_wait=self._on_wait,
            patience=self._patience,
        )
        try:
            while True:
                try:
                    return self._launched(listening)
                except _NoServerError as none:
                    if _ANOTHER_RUNS not in str(none) or not turn.comes():
                        raise self._failed(str(none)) from None
        finally:
            turn.over()

    def _launched(self, listening: socket.socket) -> subprocess.Popen[str]:
        """Launch the server, once, and wait until it answers.

        Raises:
            _NoServerError: it ended, or said nothing in time.
        """
        try:
            process = self._launch(listening)
        except OSError as error:
            raise _NoServerError(str(error)) from None
        try:
            self._await_ready(process)
        except BaseException:
            self._end(process)
            raise
        return process

    def _launch(self, listening: socket.socket) -> subprocess.Popen[str]:
        self.home.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable, "-m", "pytest_evalharness.arena", "--home", str(self.home),
            "--fd", str(listening.fileno()), "--seed", str(self.seed), "--exit-with-stdin",
        ]  # fmt: skip
        if self._pace is not None:
            command += ["--pace", str(self._pace)]
        for fault in self._faults:
            command += ["--fault", fault]
        if self._dialect is not None:
            command += ["--dialect", self._dialect]
        with (self.home / "server.log").open("ab") as log:
            self._log_begin = log.tell()
            # A session of its own: Ctrl-C is for us, and we end the server by closing its standard input.
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                pass_fds=(listening.fileno(),),
                start_new_session=True,
            )

    def _await_ready(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], _READY_SECONDS)
        line = process.stdout.readline() if ready else ""
        try:
            json.loads(line)["api"]
        except (ValueError, KeyError, TypeError):
            self._end(process)
            raise _NoServerError(self._last_words() or "it said nothing") from None
        # Whatever else it prints must not fill the pipe.
        threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()

    def _failed(self, reason: str) -> ServerUnreachable:
        """Remember why no server came: for later calls here, and in the home for the workers."""
        self._problem = _not_started(f"the embedded league did not start: {printable(reason)}", self.home)
        self._write_down(self._problem.what)
        return self._problem

    def _write_down(self, why: str) -> None:
        with contextlib.suppress(OSError):
            write_atomic(self.home / _FAILED, f"{self.api}\n{why}\n")

    def _forget_failure(self) -> None:
        with contextlib.suppress(OSError):
            (self.home / _FAILED).unlink()

    def _last_words(self) -> str:
        with contextlib.suppress(OSError), (self.home / "server.log").open("rb") as log:
            log.seek(self._log_begin)
            lines = log.read().decode(errors="replace").strip().splitlines()
            return printable(lines[-1]) if lines else ""
        return ""

    def gone(self) -> str:
        """Why there is no server any more: a sentence, with its last words if it left any.

        Empty while it lives, while nobody has started it, and after `stop`. Never waits.
        """
        if self._problem is not None:
            return self._problem.what
        process = self._process
        code = None if process is None else process.poll()
        if code is None:
            return ""
        how = f"was killed by signal {-code}" if code < 0 else f"ended by itself with exit code {code}"
        words = self._last_words()
        return f"the embedded league {how}" + (f"; its last words: {words}" if words else "")

    def start_when_needed(self) -> None:
        """Start the server as soon as somebody connects; cheap and silent until then."""

        def watch(listening: socket.socket) -> None:
            while not self._closing.is_set():
                with contextlib.suppress(OSError, ValueError):
                    if not select.select([listening], [], [], 0.1)[0]:
                        continue
                    with contextlib.suppress(ServerUnreachable):
                        self.start()
                    self._refuse()
                self._note_its_end()
                return

        assert self._socket is not None
        self._forget_failure()
        self._watcher = threading.Thread(
            target=watch, args=(self._socket,), name="evalharness-arena", daemon=True
        )
        self._watcher.start()

    def _note_its_end(self) -> None:
        """Wait for the server's end and write it down: workers see refused connections, and would be patient with them."""
        while not self._closing.wait(_WATCH_SECONDS):
            gone = self.gone()
            if gone:
                self._write_down(gone)
                return

    def _refuse(self) -> None:
        """Close our end of the socket: clients of a server that did not start must not hang."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def stop(self) -> None:
        """End the server and forget the socket. Safe to call twice."""
        self._closing.set()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join(_READY_SECONDS)
        self._refuse()
        process, self._process = self._process, None
        if process is not None:
            self._end(process)

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None and process.returncode is not None:
            with contextlib.suppress(OSError, ValueError):
                process.stdout.close()


def _drain(stream: IO[str]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for _ in stream:
            pass


def _not_started(what: str, home: Path) -> ServerUnreachable:
    if _ANOTHER_RUNS in what:
        way = _WHERE_ANOTHER_RUNS
    elif _WRONG_FAULT in what:
        way = "correct --eval-arena-fault: docs/reference/arena.md lists every fault with its value"
    else:
        way = "pip install 'pytest-evalharness[arena]' brings what it needs"
    return ServerUnreachable(
        what, not_done="nothing was submitted", next_step=f"{way}; its log is {home / 'server.log'}"
    )


def told_failure(home: Path, api: str) -> str:
    """Why there is no server at this address, as the process that started it has written it down; else empty.

    Args:
        home: the league's own folder.
        api: the server's root URL.
    """
    try:
        whose, _, what = (home / _FAILED).read_text(errors="replace").partition("\n")
    except OSError:
        return ""
    return printable(what.strip()) if whose == api else ""


def await_health(api: str, clock: Clock, *, home: Path | None = None) -> None:
    """Connect to an embedded server and wait until it answers. The first connection makes it start.

    While its run waits for another one on the same home, so do we.

    Args:
        api: its root URL.
        clock: for the waits between tries.
        home: the league's own folder; what is written there about a failed start becomes the message.

    Raises:
        ServerUnreachable: it did not start, or did not answer in time.
    """
    from pytest_evalharness.net.errors import NetError
    from pytest_evalharness.net.transport import Limits, Transport

    # The address was listening before the server existed, so a refusal means that it will not come: few tries.
    limits = Limits(read=_READY_SECONDS, total=_READY_SECONDS, tries=_TRIES)
    root = api.removesuffix("/api")
    with Transport(root, headers={}, clock=clock, rng=random.Random(), limits=limits) as transport:
        try:
            _ask_health(transport, lambda: home is not None and waits(home, api, clock.now()))
        except NetError as problem:
            if home is not None and (told := told_failure(home, api)):
                raise _not_started(told, home) from None
            raise ServerUnreachable(
                f"the embedded league at {api} does not answer: {problem}",
                not_done="nothing was submitted",
                next_step="its log is arena/server.log in the run's home",
            ) from None


def _ask_health(transport: Transport, goes_on: Callable[[], bool]) -> None:
    from pytest_evalharness.net.errors import NetError

    while True:
        try:
            transport.get_json("/_arena/health")
        except NetError:
            if not goes_on():
                raise
        else:
            return


def serving(home: Path, clock: Clock) -> str | None:
    """The root URL of the embedded league that serves a home at this moment; None if none does.

    Args:
        home: the league's own folder (`arena` in a run's home).
        clock: for the one try.
    """
    import yaml

    from pytest_evalharness.net.errors import NetError
    from pytest_evalharness.net.transport import Limits, Transport

    try:
        told = yaml.safe_load((home / "credentials" / "credentials.yaml").read_text(encoding="utf-8"))
        api = str(next(iter(told["tokens"])))
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, StopIteration):
        return None
    limits = Limits(read=_STOP_SECONDS, total=_STOP_SECONDS, tries=1)
    root = api.removesuffix("/api")
    try:
        with Transport(root, headers={}, clock=clock, rng=random.Random(), limits=limits) as transport:
            transport.get_json("/_arena/health")
    except (NetError, ValueError):
        return None
    return api
