"""`evalharness arena replay`: play a recorded match of the embedded league again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.cli import INCOMPLETE, USAGE
from pytest_evalharness.errors import Untrustworthy

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.replay import Replay

_LARGEST = 64 * 1024 * 1024


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    replay = commands.add_parser(
        "replay",
        help="play a replay again and compare",
        description="Play the match of a replay again, and compare its result and its hash. Exit code 0 if they are the same, 1 if "
        "not, 11 if the file is no replay or one of another game or version, 4 if it cannot be read.",
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="the replay, as it was served or unpacked")
    replay.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play it, compare, say what differs."""
    from pytest_evalharness.arena.game.replay import (
        AnotherVersionError,
        NotAReplayError,
        differences,
        read,
        unpacked,
    )

    name = printable(parsed.file.name)
    try:
        with parsed.file.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        sys.stderr.write(f"evalharness arena replay: {name}: {error.strerror}; nothing was played\n")
        return USAGE
    try:
        if len(data) > _LARGEST:
            raise NotAReplayError(f"it has more than {_LARGEST} bytes")  # noqa: TRY301 - one answer to what is none
        replay = read(unpacked(data))
        found = differences(replay)
    except NotAReplayError as error:
        return _refused(name, f"is no replay of this league: {error}")
    except AnotherVersionError as error:
        return _refused(name, f"cannot be played here: {error}")
    print(f"{name}: {told(replay)}")
    if found:
        print("played again, it DIFFERS:")
        for each in found:
            print(f"  {printable(each)}")
        return INCOMPLETE
    print(f"played again to the same result and hash, {printable(replay.digest)}")
    return 0


def _refused(name: str, words: str) -> int:
    sys.stderr.write(f"evalharness arena replay: {name} {printable(words)}; nothing was compared\n")
    return Untrustworthy.exit_code


def told(replay: Replay) -> str:
    """What a replay is of, in a line; never the tokens in it."""
    seats = ", ".join(printable(each.get("policy"), 40) for each in replay.policies)
    scores = " ".join(f"{score:g}" for score in replay.scores if isinstance(score, int | float))
    game = f"{printable(replay.game, 40)} {printable(replay.version, 40)}"
    return f"{game}, seed {replay.seed}, {replay.ticks} ticks, seats {seats}, scores {scores}"
