"""`evalharness arena serve` and `replay`: the embedded Observatory as a server anyone can use, and what it recorded."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from pytest_evalharness.cli import arena_replay
from pytest_evalharness.settings import BY_KEY, DIALECTS

_ENDING = (signal.SIGINT, signal.SIGTERM)
_STOP_SECONDS = 15.0  # the server gives itself five once it serves; before that it founds its world


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    arena = commands.add_parser("arena", help="the embedded league", description="The embedded league.")
    inner = arena.add_subparsers(dest="arena_command", metavar="COMMAND", required=True)
    serve = inner.add_parser(
        "serve",
        help="serve it on 127.0.0.1",
        description="Serve the embedded league on 127.0.0.1, with real simulated games behind the hosted league's wire contract. "
        "Ctrl-C ends it; the same --home goes on where it was.",
    )
    serve.add_argument("--port", type=int, default=8765, help="the port (8765; 0 takes a free one)")
    serve.add_argument(
        "--home", default=".evalharness/arena", help="the folder that keeps its state (.evalharness/arena)"
    )
    serve.add_argument(
        "--seed", type=int, default=BY_KEY["arena_seed"].default, help="the league's seed (%(default)s)"
    )
    serve.add_argument(
        "--pace",
        type=float,
        nargs="?",
        const=1.0,
        metavar="X",
        help="let games take their time: 24 ticks a second, X times as fast",
    )
    serve.add_argument(
        "--dialect",
        choices=DIALECTS,
        default=DIALECTS[0],
        help="which generation of the league's API it speaks (%(default)s)",
    )
    serve.add_argument(
        "--fault",
        action="append",
        default=[],
        help="a fault it shows; repeatable, for tests (docs/reference/arena.md lists them)",
    )
    serve.add_argument(
        "--storage-port",
        type=int,
        metavar="N",
        help="serve artifacts on a port of their own (0 takes a free one)",
    )
    serve.set_defaults(run=run)
    arena_replay.add_to(inner)


def run(parsed: argparse.Namespace) -> int:
    """Run the server's own module; only that starts it.

    Its standard input is our pipe: however this process ends, the server's input ends with it, and so does the server.
    """
    command = [
        sys.executable,
        "-m",
        "pytest_evalharness.arena",
        "--home",
        parsed.home,
        "--port",
        str(parsed.port),
        "--exit-with-stdin",
    ]
    command += ["--seed", str(parsed.seed), "--dialect", parsed.dialect]
    if parsed.pace is not None:
        command += ["--pace", str(parsed.pace)]
    if parsed.storage_port is not None:
        command += ["--storage-port", str(parsed.storage_port)]
    for fault in parsed.fault:
        command += ["--fault", fault]
    with _interrupted_by_signals():
        process: subprocess.Popen[str] | None = None
        try:
            # A session of its own: a Ctrl-C is for us, and we end the server by closing its standard input.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            assert process.stdout is not None
            greet(process.stdout.readline())
            return process.wait()
        except KeyboardInterrupt:
            if process is not None:
                _end(process)
            print("\nended; the same --home goes on where it was", flush=True)
            return 0


@contextlib.contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Make the first SIGINT or SIGTERM a KeyboardInterrupt; later ones change nothing: it is ending.

    A shell's background job ignores SIGINT unless told otherwise, and `kill -INT` is meant for it all the same.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[str]) -> None:
    """Close the server's standard input and wait until it has ended; one that does not is killed."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def greet(line: str) -> None:
    """Say where the server is, and how to use it from here and with the league's own tools."""
    try:
        told = json.loads(line)
        api, credentials = told["api"], told["credentials"]
    except (ValueError, KeyError, TypeError):
        return  # it did not start, and has said why on standard error
    dialect = told.get("dialect", DIALECTS[0])
    spoken = "" if dialect == DIALECTS[0] else f", API as of {dialect}"
    print(f"The embedded league (seed {told.get('seed')}{spoken}) serves {api}   (Ctrl-C ends it)")
    print(f"  export SOFTMAX_CONFIG_DIR={credentials}")
    print(f"  pytest evals/ --eval-server={api} --candidate=keeper:v2 --baseline=keeper:v1")
    print(f"  NO_PROXY=127.0.0.1 coworld xp-request list --mine --server {api}", flush=True)
