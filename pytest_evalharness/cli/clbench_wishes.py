"""`evalharness clbench pause`, `continue` and `end`: what a campaign's supervisor, another process, is asked for."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.home import add_home, home_of, opened
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.ledger.journal import Ledger

_END = "end"
_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.2


def add_to(inner: Any) -> None:
    """Add the subcommands."""
    for wish, words in (
        ("pause", "make a domain of a running campaign stand still"),
        ("continue", "let a paused domain go on"),
        (_END, "end a domain, or without one the campaign"),
    ):
        _add_wish(inner, wish, words)


def _add_wish(inner: Any, wish: str, words: str) -> None:
    command = inner.add_parser(
        wish,
        help=words,
        description=f"{words[0].upper()}{words[1:]}: asks its supervisor, and waits for the answer.",
    )
    command.add_argument("name", metavar="NAME", help="the campaign")
    command.add_argument("task", metavar="TASK", nargs="?" if wish == _END else None, help="the domain's id")
    add_home(command)
    command.set_defaults(run=run_wish, wish=wish)


def run_wish(parsed: argparse.Namespace) -> int:
    """Ask a campaign's supervisor for something, and wait for its answer.

    Raises:
        UsageError: there is no such campaign, or nobody supervises it.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.base.deadline import Deadline
    from pytest_evalharness.ledger.campaigns import ASKED

    clock = SystemClock()
    with _supervised(parsed, clock) as ledger:
        if ledger is None:
            print(f"{parsed.name}: nobody supervises it, and nothing of it is alive")
            return 0
        told = {"what": parsed.wish, "task": parsed.task or ""}
        asked = ledger.campaigns.note(parsed.name, ASKED, told)
        deadline = Deadline.after(clock, _ANSWER_SECONDS)
        while not deadline.expired:
            if (done := _answered(ledger, parsed, asked)) is not None:
                what = parsed.task or "the campaign"
                print(
                    f"{parsed.name}: {what}: {parsed.wish}: {'done' if done else 'there was nothing to do'}"
                )
                return 0 if done else INCOMPLETE
            clock.wait(_POLL_SECONDS)
    print(f"{parsed.name}: its supervisor has not answered yet; the wish stands", file=sys.stderr)
    return INCOMPLETE


def _answered(ledger: Ledger, parsed: argparse.Namespace, asked: int) -> bool | None:
    """Whether what was asked for was done; None before the answer. A campaign that has ended has no domain to pause."""
    for event in ledger.campaigns.events(parsed.name, after=asked):
        if event.kind == "answered" and event.told.get("asked") == asked:
            return bool(event.told.get("done"))
        if event.kind == "ended":
            return bool(parsed.wish == _END)
    return None


@contextmanager
def _supervised(parsed: argparse.Namespace, clock: Clock) -> Iterator[Ledger | None]:
    """The ledger of a campaign that has a living supervisor; None where an end was asked for and nothing is left to end.

    Raises:
        UsageError: there is no such campaign, or nobody supervises it.
    """
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.base.values import near
    from pytest_evalharness.clbench.campaign.survivors import settle

    home = home_of(parsed)
    with opened(home) as ledger:
        record = ledger.campaigns.find(parsed.name) if ledger else None
        if ledger is None or record is None:
            known = [one.name for one in ledger.campaigns.every()] if ledger else []
            meant = near(parsed.name, known)
            raise UsageError(
                f"there is no campaign {printable(parsed.name)!r} in {home}"
                + (f"; did you mean {meant!r}?" if meant else ""),
                not_done="nothing was done",
                next_step="name the home of your campaigns: --home DIR, or EVALHARNESS_HOME",
            )
        record = settle(ledger, parsed.name, clock=clock, say=_say) or record
        tasks = [str(one) for one in record.told.get("tasks", ())]
        if parsed.task and parsed.task not in tasks:
            meant = near(parsed.task, tasks)
            raise UsageError(
                f"campaign {printable(parsed.name)} has no domain {printable(parsed.task)!r}"
                + (f"; did you mean {meant!r}?" if meant else ""),
                not_done="nothing was done",
                next_step=f"its domains are {', '.join(map(printable, tasks))}",
            )
        if ledger.campaigns.supervised(parsed.name):
            yield ledger
        elif parsed.wish == _END and not parsed.task:
            yield None
        else:
            raise UsageError(
                f"campaign {printable(parsed.name)} does not run: it is {record.state}",
                not_done="nothing was done",
                next_step=shlex.join(
                    [
                        "evalharness",
                        "clbench",
                        "status",
                        parsed.name,
                        *(["--home", str(parsed.home)] if parsed.home else []),
                    ]
                ),
            )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
