"""`python -m pytest_evalharness.arena`: the embedded Observatory as a process.

When it answers, it prints one line of JSON: `url`, `api` (what clients call the server), `seed`, `credentials` (the
folder for `SOFTMAX_CONFIG_DIR`), `dialect`, `storage` (where signed URLs of artifacts lead).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

DONE = 0
CANNOT = 1
USAGE = 4


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _pace(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def parser() -> argparse.ArgumentParser:
    """The command line."""
    from pytest_evalharness.arena.faults.registry import FAULTS
    from pytest_evalharness.arena.wire.dialect import Name

    usages = {f"{each.name}={each.value}" if each.value else each.name: each.help for each in FAULTS.values()}
    faults = "\n".join(f"  {usage:<30} {words}" for usage, words in usages.items())
    out = _Parser(
        prog="python -m pytest_evalharness.arena",
        description="Serve an embedded Observatory on 127.0.0.1.",
        epilog=f"faults:\n{faults}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument("--home", type=Path, required=True, help="where it keeps its state; made if absent")
    out.add_argument("--port", type=int, default=0, help="port to listen on (0: any free one)")
    out.add_argument(
        "--storage-port",
        type=int,
        help="serve artifacts on this port (0: any free one; by default on --port)",
    )
    out.add_argument("--fd", type=int, help="serve on this inherited, already listening socket instead")
    out.add_argument(
        "--seed", type=int, default=2026, help="seed of the world and of every game (%(default)s)"
    )
    out.add_argument(
        "--pace",
        type=_pace,
        nargs="?",
        const=1.0,
        default=0.0,
        metavar="X",
        help="a game of T ticks lasts T/24/X seconds (X is 1 if left out; by default as long as it takes to compute)",
    )
    out.add_argument(
        "--fault", action="append", default=[], metavar="SPEC", help="a fault to begin with; repeatable"
    )
    out.add_argument(
        "--dialect",
        choices=[name.value for name in Name],
        default=Name.CURRENT.value,
        help="which generation of the wire contract it speaks (%(default)s)",
    )
    out.add_argument("--exit-with-stdin", action="store_true", help="stop when standard input ends")
    out.add_argument("--token", help="the token to accept (default: one the home keeps)")
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop."""
    given = parser().parse_args(argv)
    from pytest_evalharness.arena.faults.fault import FaultSpecError
    from pytest_evalharness.arena.wire.dialect import Name
    from pytest_evalharness.arena.wire.process import CannotServeError, Options, serve

    options = Options(
        home=given.home.absolute(),
        port=given.port,
        storage_port=given.storage_port,
        fd=given.fd,
        seed=given.seed,
        pace=given.pace,
        faults=given.fault,
        dialect=Name(given.dialect),
        exit_with_stdin=given.exit_with_stdin,
        token=given.token,
    )
    try:
        serve(options)
    except FaultSpecError as error:  # who named it may have used another command, whose options are others
        sys.stderr.write(f"arena: --fault: {error}\n")
        return USAGE
    except (CannotServeError, OSError) as error:
        sys.stderr.write(f"arena: {error}\n")
        return CANNOT
    return DONE


if __name__ == "__main__":
    sys.exit(main())
