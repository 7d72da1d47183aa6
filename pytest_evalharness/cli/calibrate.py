"""`evalharness calibrate`: how often does each rule tell a build from itself? Real games, counted."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED, whole

if TYPE_CHECKING:
    from pytest_evalharness.verdict.calibration import Played

BUILD = "keeper-1"
SEAT = 0
"""A crew seat of the default layout, in which the build wins about every other game: where errors are most frequent."""
_TICKS = 10_000
_LATEST_SEED = 2**31
_STEPS = 10


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    calibrate = commands.add_parser(
        "calibrate",
        help="play one build against itself and count how often each rule is wrong",
        description="Play A/A comparisons on the embedded game and report how often each rule calls one build better or worse "
        "than itself, beside what the rule promises. Exit code 0 if every rule keeps its promise, 1 if one does not.",
    )
    calibrate.add_argument(
        "--runs", type=whole(1), default=200, metavar="R", help="comparisons (%(default)s)"
    )
    calibrate.add_argument("--n", type=whole(1), default=30, metavar="N", help="games an arm (%(default)s)")
    calibrate.add_argument("--seed", type=whole(0), default=0, help="draws the games (%(default)s)")
    calibrate.add_argument("--json", action="store_true", help="print JSON")
    calibrate.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play, count, report."""
    from concurrent.futures.process import BrokenProcessPool

    progress = Progress(parsed.runs)
    arms: list[Played] = []
    try:
        with closing(played(parsed.runs, parsed.n, parsed.seed)) as pairs:
            for pair in pairs:
                arms.append(pair)
                progress.show(len(arms))
    except KeyboardInterrupt:
        return _incomplete("interrupted", len(arms), progress, INTERRUPTED)
    except BrokenProcessPool:
        return _incomplete("a process that played was killed", len(arms), progress, INCOMPLETE)
    progress.end()
    return report(arms, parsed)


def report(arms: Sequence[Played], parsed: argparse.Namespace) -> int:
    """Print what was measured; 0 if every rule keeps its promise."""
    from pytest_evalharness.verdict.calibration import calibration

    measured = calibration(arms)
    rate = sum(map(sum, chain.from_iterable(arms))) / (2 * parsed.n * len(arms))
    inside = all(one.inside for one in measured)
    if parsed.json:
        told = {"games": parsed.n, "inside": inside, "seed": parsed.seed, "win_rate": rate}
        print(json.dumps({**told, "rules": [one.to_json() for one in measured]}, indent=2, sort_keys=True))
        return 0 if inside else INCOMPLETE
    print(f"{len(arms)} A/A comparisons of {parsed.n} games an arm on the embedded game, win rate {rate:.3f}")
    for one in measured:
        low, high = one.bound
        print(
            f"{one.rule:<16} wrong in {one.errors} of {one.runs}: {one.rate:.1%}, between {low:.1%} and {high:.1%}; "
            f"promises at most {one.promised:.1%}: {'inside' if one.inside else 'OUTSIDE'}"
            f"{'' if one.rule.decides else ' (report only, it never decides)'}"
        )
    print("every rule is inside its bound" if inside else "a rule errs more often than it promises")
    return 0 if inside else INCOMPLETE


def _incomplete(why: str, done: int, progress: Progress, code: int) -> int:
    progress.end()
    print(
        f"{why} after {done} of {progress.runs} comparisons; nothing was measured and nothing is kept",
        file=sys.stderr,
    )
    print("  next:     the same command plays them again", file=sys.stderr)
    return code


class Progress:
    """How far it has come, on standard error: one line that changes on a terminal, whole lines elsewhere."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self._terminal = sys.stderr.isatty()
        self._told = 0

    def show(self, done: int) -> None:
        """Tell, if there is something new to tell."""
        line = f"{done} of {self.runs} comparisons played"
        if self._terminal:
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
        elif done * _STEPS // self.runs > self._told:
            self._told = done * _STEPS // self.runs
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line that changed."""
        if self._terminal:
            print(file=sys.stderr)


def played(runs: int, games: int, seed: int) -> Generator[Played]:
    """The wins of both arms of every comparison, in worker processes; no game is played twice."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    arms = drawn(runs, games, seed)
    workers = min(os.cpu_count() or 1, runs)
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=prepare)
    try:
        # Workers start with Ctrl-C held back, until they can leave it to us: while they import they would die of it, and say so.
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            found = pool.map(both, arms[::2], arms[1::2])
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        yield from found
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # what runs is a second's work


def drawn(runs: int, games: int, seed: int) -> list[list[int]]:
    """The seeds of every arm's games, candidate and baseline in turn; none twice."""
    seeds = random.Random(f"calibrate/{seed}").sample(range(_LATEST_SEED), 2 * runs * games)
    return [seeds[first : first + games] for first in range(0, len(seeds), games)]


def prepare() -> None:
    """A worker leaves Ctrl-C to its parent, and does not outlive it."""
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def both(candidate: list[int], baseline: list[int]) -> Played:
    """Play a comparison; returns each arm's games, 1 for a win. Runs in a worker process."""
    return _games(candidate), _games(baseline)


def _games(seeds: list[int]) -> list[int]:
    from pytest_evalharness.arena.game.cast import CAST, Tier
    from pytest_evalharness.arena.game.config import parse_config
    from pytest_evalharness.arena.game.match import SeatEntry, play
    from pytest_evalharness.league.seats import layout
    from pytest_evalharness.settings import BY_KEY

    slots = layout(BY_KEY["layout_seed"].default).slots()
    config = parse_config(
        {"imposterCount": 2, "autoImposterCount": False, "slots": slots, "maxTicks": _TICKS}
    )
    field = [SeatEntry(player.name, player.builds[-1]) for player in CAST if player.tier is Tier.STRONG]
    seats = [*field[:SEAT], SeatEntry("keeper", BUILD), *field[SEAT:]]
    won = []
    for seed in seeds:
        told: Any = play(config, seats, seed).results["win"]
        won.append(int(bool(told[SEAT])))
    return won
