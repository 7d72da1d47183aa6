"""`evalharness clbench status`: how a campaign stands, once or until it ends."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE, INTERRUPTED
from pytest_evalharness.cli.clbench_named import add_named, named

if TYPE_CHECKING:
    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.clbench.campaign.standing import Standing
    from pytest_evalharness.clbench.campaign.viewing import Viewer
    from pytest_evalharness.cli.clbench_screens import Screen

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
    from pytest_evalharness.clbench.campaign.viewing import Viewer
    from pytest_evalharness.cli.clbench_screens import Feed, screen_for

    clock = clock or SystemClock()
    with named(parsed, not_done=_NOT_DONE) as found:
        if found.ledger is None:  # one that the ledger has may be about to begin
            _require_run(found.folder)
        viewer = Viewer(
            found.folder,
            found.checkout,
            found.ledger,
            found.name,
            clock=clock,
            say=_say,
            budget=parsed.budget,
            money=parsed.money,
        )
        if not parsed.follow:
            standing = viewer.look()
            if parsed.json:
                _print_json(standing)
            else:
                _print_lines(standing)
            return INCOMPLETE if standing.troubled else 0
        return _follow(viewer, Feed(clock) if parsed.json else screen_for(clock), parsed.interval, clock)


def _follow(viewer: Viewer, screen: Screen, interval: float, clock: Clock) -> int:
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


def _say(text: str) -> None:
    print(text, file=sys.stderr)
