"""`evalharness …`: one file a subcommand, each a thin shell."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from pytest_evalharness.errors import EvalHarnessError

USAGE = 4
INTERRUPTED = 2
INCOMPLETE = 1
NOBODY_READS = 141
"""What a shell says of any tool whose reader has closed the pipe (128 + SIGPIPE): it is no verdict."""


class Parser(argparse.ArgumentParser):
    """A parser whose usage errors exit with 4, as everything else here does; 2 means interrupted."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n  next:     {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse here what this command does not know: left to the outermost parser, it would be told with the help of none."""
        parsed, left = super().parse_known_args(args, namespace)
        if left:
            known = [
                one
                for action in self._actions
                if action.help != argparse.SUPPRESS
                for one in action.option_strings
            ]
            near = difflib.get_close_matches(left[0].partition("=")[0].replace("--eval-", "--"), known, 1)
            self.error(
                f"unrecognized arguments: {' '.join(left)}" + (f"; did you mean {near[0]}?" if near else "")
            )
        return parsed, left


def build_parser() -> Parser:
    """The command line of every subcommand."""
    from pytest_evalharness.cli import (
        ab,
        arena,
        calibrate,
        clbench,
        demo,
        engine,
        episodes,
        pool,
        power,
        runs,
    )

    parser = Parser(
        prog="evalharness",
        description="Did this edit help? The command beside the pytest plugin.",
        epilog="Exit codes: 0 done, 1 not met or incomplete, 2 interrupted, 4 usage, 10 cannot tell, 11 untrustworthy. "
        "To judge an edit: pytest evals/ --candidate=NAME:vN --baseline=NAME:vN, or evalharness ab with the same names.",
    )
    parser.add_argument("--version", action="version", version=f"evalharness {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    ab.add_to(commands)
    arena.add_to(commands)
    demo.add_to(commands)
    power.add_to(commands)
    calibrate.add_to(commands)
    runs.add_to(commands)
    pool.add_to(commands)
    engine.add_to(commands)
    clbench.add_to(commands)
    episodes.add_to(commands)
    return parser


def whole(low: int) -> Callable[[str], int]:
    """An argument's type: a whole number from `low` on."""

    def parse(raw: str) -> int:
        if not raw.lstrip("-").isdecimal() or int(raw) < low:
            raise argparse.ArgumentTypeError(f"must be a whole number of {low} or more, got {raw!r}")
        return int(raw)

    return parse


def setting(key: str) -> Callable[[str], Any]:
    """An argument's type: what the setting of this name takes."""
    from pytest_evalharness.settings import BY_KEY

    def parse(raw: str) -> Any:
        try:
            return BY_KEY[key].parse(raw)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(f"{raw!r} {problem}") from None

    return parse


def version() -> str:
    """The installed version."""
    import importlib.metadata

    return importlib.metadata.version("pytest-evalharness")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit code."""
    parsed = build_parser().parse_args(arguments)
    try:
        return _flushed(int(parsed.run(parsed)))
    except EvalHarnessError as error:
        print(_spelt(str(error), parsed), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; nothing is lost: the same command goes on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _be_quiet()
        return NOBODY_READS


def _spelt(told: str, parsed: argparse.Namespace) -> str:
    """A message with the options of pytest as this command has them: `--home` for `--eval-home`."""

    def here(found: re.Match[str]) -> str:
        return f"--{found[1]}" if hasattr(parsed, found[1].replace("-", "_")) else found[0]

    return re.sub(r"--eval-([a-z-]*[a-z])", here, told)


def _flushed(code: int) -> int:
    """The code, once everything is told: here a reader who has gone is no failure of the command."""
    sys.stdout.flush()
    return code


def _be_quiet() -> None:
    """Whoever read our output has gone: nothing more is told, not even by the interpreter's own last flush."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
