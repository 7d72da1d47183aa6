"""`evalharness arena serve`: the embedded Observatory as a server anyone can use."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from pytest_evalharness.settings import BY_KEY


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
        "--fault",
        action="append",
        default=[],
        help="a fault it shows; repeatable, for tests (docs/reference/arena.md lists them)",
    )
    serve.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the server's own module; only that starts it."""
    command = [
        sys.executable,
        "-m",
        "pytest_evalharness.arena",
        "--home",
        parsed.home,
        "--port",
        str(parsed.port),
    ]
    command += ["--seed", str(parsed.seed)]
    if parsed.pace is not None:
        command += ["--pace", str(parsed.pace)]
    for fault in parsed.fault:
        command += ["--fault", fault]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        greet(process.stdout.readline())
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # Ctrl-C reaches both: let the server end in its own way
        print("\nended; the same --home goes on where it was", flush=True)
        return 0


def greet(line: str) -> None:
    """Say where the server is, and how to use it from here and with the league's own tools."""
    try:
        told = json.loads(line)
        api, credentials = told["api"], told["credentials"]
    except (ValueError, KeyError, TypeError):
        return  # it did not start, and has said why on standard error
    print(f"The embedded league (seed {told.get('seed')}) serves {api}   (Ctrl-C ends it)")
    print(f"  export SOFTMAX_CONFIG_DIR={credentials}")
    print(f"  pytest evals/ --eval-server={api} --candidate=keeper:v2 --baseline=keeper:v1")
    print(f"  NO_PROXY=127.0.0.1 coworld xp-request list --mine --server {api}", flush=True)
