"""`evalharness clbench status`: how a campaign stands, once or until it ends."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED
from pytest_evalharness.cli.clbench_named import Named, add_named, named

if TYPE_CHECKING:
    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.clbench.campaign.beside import Supervision
    from pytest_evalharness.clbench.campaign.standing import Standing
    from pytest_evalharness.clbench.campaign.watch import Watched
    from pytest_evalharness.cli.clbench_screens import Screen
    from pytest_evalharness.ledger.journal import Ledger

_BUDGET = "OUROBOROS_TOTAL_BUDGET"
_NOT_DONE = "nothing was read"


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    status = inner.add_parser(
        "status",
        help="a campaign that runs: instances, pace, money, what is left, alarms",
        description="Per domain: instances done, per hour, money an instance, time left, projected cost; alarms for livelock, "
        "stall, poisoned streaks and truncation. Nothing is started or paid; what a dead supervisor left running is ended. 0 if nothing wants a look, 1 if an alarm, "
        "a loss or a pause does, 2 if following was interrupted, which leaves the campaign alone; 11 if there is none.",
    )
    add_named(status)
    status.add_argument("--follow", action="store_true", help="go on until the campaign ends or Ctrl-C")
    status.add_argument(
        "--interval",
        type=_seconds,
        default=2.0,
        metavar="SECONDS",
        help="between two looks when following (%(default)s)",
    )
    status.add_argument(
        "--budget",
        type=_dollars,
        metavar="DOLLARS",
        help=f"an engine's budget for one rollout, to tell truncation from (the campaign's {_BUDGET})",
    )
    status.add_argument(
        "--money",
        type=_dollars,
        metavar="DOLLARS",
        help="what may still be spent: where it is not enough, rollouts are listed, the least complete first",
    )
    status.add_argument(
        "--json", action="store_true", help="print JSON; with --follow a line for each change"
    )
    status.set_defaults(run=run_status)


def run_status(parsed: argparse.Namespace, *, clock: Clock | None = None) -> int:
    """Print how a campaign stands.

    Args:
        parsed: the options.
        clock: tells the time, and waits between two looks.

    Raises:
        UsageError: no campaign has that name.
        RunUnreadable: the folder holds nothing that a campaign writes.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.cli.clbench_screens import Feed, screen_for

    clock = clock or SystemClock()
    with named(parsed, not_done=_NOT_DONE) as found:
        if found.ledger is None:  # one that the ledger has may be about to begin
            _require_run(found.folder)
        viewer = _Viewer(found, parsed, clock)
        if not parsed.follow:
            standing = viewer.look()
            if parsed.json:
                _print_json(standing)
            else:
                _print_lines(standing)
            return INCOMPLETE if standing.troubled else 0
        return _follow(viewer, Feed(clock) if parsed.json else screen_for(clock), parsed.interval, clock)


def standing_of(folder: Path, checkout: Path, ledger: Ledger, name: str, clock: Clock) -> Standing:
    """How a campaign of the ledger stands, in one look.

    Args:
        folder: its results.
        checkout: where it ran.
        ledger: that knows it.
        name: in that ledger.
        clock: tells the time.
    """
    told = argparse.Namespace(budget=None, money=None)
    return _Viewer(Named(folder, checkout, ledger, name), told, clock).look()


def _follow(viewer: _Viewer, screen: Screen, interval: float, clock: Clock) -> int:
    try:
        while True:
            standing = viewer.look()
            over = viewer.over(standing)
            screen.show(standing, last=over)
            if over:
                return INCOMPLETE if standing.troubled else 0
            clock.wait(interval)
    except KeyboardInterrupt:
        screen.end()
        print("no longer followed; the campaign itself was left alone", file=sys.stderr)
        return INTERRUPTED


class _Viewer:
    """Looks at a campaign again and again, and remembers what an alarm has to be told from."""

    def __init__(self, found: Named, parsed: argparse.Namespace, clock: Clock) -> None:
        from pytest_evalharness.clbench.campaign.beside import LossReader, Processes
        from pytest_evalharness.clbench.campaign.live import LiveReader, checkout_of

        checkout = found.checkout or checkout_of(found.folder)
        self._found = found
        self._clock = clock
        self._budget, self._money = parsed.budget, parsed.money
        self._reader = LiveReader(checkout, found.folder, clock=clock)
        self._processes = Processes(checkout, found.folder, clock)
        self._losses = LossReader(checkout, found.folder, clock)
        self._watched: Watched | None = None

    def look(self) -> Standing:
        """How it stands now."""
        from pytest_evalharness.clbench.campaign.costs import elsewhere
        from pytest_evalharness.clbench.campaign.last_words import last_words
        from pytest_evalharness.clbench.campaign.snapshot import broken_off
        from pytest_evalharness.clbench.campaign.standing import Standing
        from pytest_evalharness.clbench.campaign.watch import Limits, watch
        from pytest_evalharness.clbench.domains import Family, families

        supervised = self._supervision()
        snapshot = self._reader.read()
        told = supervised or self._processes.look(snapshot)
        if told.broken_off:
            snapshot = broken_off(snapshot, told.state)
        limits = Limits(budget=self._budget or told.budget)
        self._watched = watch(snapshot, self._watched, limits, paused=told.paused)
        embedded = Family.EMBEDDED in families(one.task for one in snapshot.tasks)
        costs = elsewhere(snapshot.system, embedded=embedded)
        return Standing(
            snapshot,
            self._watched.alarms,
            told,
            self._losses.read(snapshot, told),
            money=self._money,
            prices={task: one.rollout for task, one in costs.items()},
            embedded=embedded,
            last_words={
                one.task: last_words(self._found.folder / "logs" / f"{one.task}.log", 1)
                for one in snapshot.tasks
                if one.status == "failed"
            },
        )

    def _supervision(self) -> Supervision | None:
        """What the ledger says, once nothing is left of a supervisor that died; None of a campaign that no ledger knows."""
        from pytest_evalharness.clbench.campaign.beside import supervision

        ledger, name = self._found.ledger, self._found.name
        told = supervision(ledger, name) if ledger else None
        if ledger and told and told.orphaned and self._end_survivors():
            told = supervision(ledger, name)
        return told

    def _end_survivors(self) -> bool:
        """Nobody watches what a dead supervisor has left: whoever finds it ends it. False if that cannot be done here."""
        from pytest_evalharness.clbench.campaign.survivors import settle
        from pytest_evalharness.errors import JournalUnavailable, SurvivorsRemain

        assert self._found.ledger is not None
        try:
            settle(
                self._found.ledger,
                self._found.name,
                clock=self._clock,
                say=lambda text: print(text, file=sys.stderr),
            )
        except (JournalUnavailable, SurvivorsRemain) as problem:
            print(problem, file=sys.stderr)
            return False
        return True

    def over(self, standing: Standing) -> bool:
        """Whether nothing more will come of it."""
        if self._found.ledger is None:
            return not standing.snapshot.running
        return standing.supervision.over


def _require_run(folder: Path) -> None:
    from pytest_evalharness.errors import RunUnreadable

    if not (folder / "manifest.json").exists() and not any(folder.glob("tasks/*.json*")):
        raise RunUnreadable(
            f"{folder} is no campaign's folder: it has neither manifest.json nor tasks/",
            not_done=_NOT_DONE,
            next_step="name a folder below final_results/runs/ of the checkout",
        )


def _print_lines(standing: Standing) -> None:
    from pytest_evalharness.clbench.campaign.status_lines import lines

    for line in lines(standing):
        print(line)


def _print_json(standing: Standing) -> None:
    from pytest_evalharness.base.files import readable_json
    from pytest_evalharness.clbench.campaign.status_lines import as_json

    print(readable_json(as_json(standing)), end="")


def _seconds(raw: str) -> float:
    return _number(raw, 0.05, 3_600.0, "from 0.05 to 3600 seconds")


def _dollars(raw: str) -> float:
    return _number(raw, 0.0, 1e9, "a number of dollars from 0 on")


def _number(raw: str, low: float, high: float, what: str) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = -1.0
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"must be {what}, got {raw!r}")
    return value
