"""`evalharness clbench run`: a campaign under supervision; `pause`, `continue` and `end`: one that another process supervises."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE, whole
from pytest_evalharness.cli.clbench_earlier import USUAL, again, told_again
from pytest_evalharness.cli.clbench_plan import add_plan, campaign_from
from pytest_evalharness.cli.clbench_screens import Narration
from pytest_evalharness.cli.clbench_status import standing_of
from pytest_evalharness.cli.home import add_home, home_of, opened
from pytest_evalharness.errors import JournalUnavailable, UsageError

if TYPE_CHECKING:
    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.clbench.campaign.plan import Campaign
    from pytest_evalharness.clbench.campaign.preflight import Preflight
    from pytest_evalharness.clbench.campaign.running import Outcome
    from pytest_evalharness.clbench.campaign.status_lines import Standing
    from pytest_evalharness.clbench.run_folder import PublishedRun
    from pytest_evalharness.ledger.journal import Ledger

_PLANS = ("seed", "submission")
_ACCEPT = ("arguments", "environment", "revision", "image")
_NAME_CHECK = "run name"
_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.2
_DRAWN_SECONDS = 4.0
"""Between two looks where they are drawn in place: a whole look reads what changed, which may be tens of MB."""


def add_to(inner: Any) -> None:
    """Add the subcommands."""
    run = inner.add_parser(
        "run",
        help="a campaign under supervision: journal, watchdogs, an end that leaves nothing spending",
        description="Looks whether a campaign may start, and runs it: run-all in a process group of its own, everything written into "
        "the ledger before it is done, domains paused that spend on what cannot count. Ctrl-C ends it in order, a second one faster. "
        "0 finished, 1 incomplete, 2 interrupted, 4 usage, 11 not started.",
    )
    add_plan(run)
    run.add_argument("--name", required=True, metavar="NAME", help="of the campaign and of its folder")
    run.add_argument(
        "--plan",
        choices=_PLANS,
        required=True,
        help="seed: one rollout a task; submission: what schedules say",
    )
    run.add_argument(
        "--missing-only",
        action="store_true",
        help="go on with the campaign of this name: salvage what is whole, and run what is missing",
    )
    run.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=_ACCEPT,
        help="go on although this differs from what the campaign began as; repeatable; kept with it for ever",
    )
    run.add_argument(
        "--hold",
        type=whole(1),
        default=USUAL["hold"],
        metavar="SECONDS",
        help="after which a paused domain is ended if nobody decides (%(default)s)",
    )
    run.add_argument(
        "--deadline",
        type=whole(1),
        default=USUAL["deadline"],
        metavar="HOURS",
        help="after which the campaign is ended (%(default)s)",
    )
    run.add_argument(
        "--like",
        type=Path,
        metavar="RUNDIR",
        help="a finished run of the same configuration: what tasks cost",
    )
    run.add_argument(
        "--key-url", metavar="URL", help="the provider's API that tells what a key may spend (OpenRouter's)"
    )
    run.add_argument("--skip-preflight", action="store_true", help="start without looking whether it may")
    run.set_defaults(run=run_run)
    for wish, words in (
        ("pause", "make a domain of a running campaign stand still"),
        ("continue", "let a paused domain go on"),
        ("end", "end a domain, or without one the campaign"),
    ):
        _add_wish(inner, wish, words)


def _add_wish(inner: Any, wish: str, words: str) -> None:
    command = inner.add_parser(
        wish,
        help=words,
        description=f"{words[0].upper()}{words[1:]}: asks its supervisor, and waits for the answer.",
    )
    command.add_argument("name", metavar="NAME", help="the campaign")
    command.add_argument("task", metavar="TASK", nargs="?" if wish == "end" else None, help="the domain's id")
    add_home(command)
    command.set_defaults(run=run_wish, wish=wish)


def run_run(parsed: argparse.Namespace) -> int:
    """Run a campaign.

    Raises:
        EvalHarnessError: it was not started, or what is left of it cannot be ended.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.campaign.key_watch import watch_over
    from pytest_evalharness.clbench.campaign.plan import PlanKind
    from pytest_evalharness.clbench.campaign.running import run_campaign
    from pytest_evalharness.clbench.campaign.supervising import Rhythm
    from pytest_evalharness.clbench.run_folder import read_run
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.ownership import Owner

    clock = SystemClock()
    home = home_of(parsed)
    campaign = campaign_from(parsed, PlanKind(parsed.plan), parsed.name)
    code = told_again(campaign, parsed, clock, _say)
    if code is not None:
        return code
    like = read_run(parsed.like) if parsed.like else None
    if not parsed.skip_preflight:
        campaign = _required(campaign, parsed, home, clock, like)
    for line in _plan_lines(campaign):
        _say(line)
    narration = Narration(sys.stderr, f"{printable(campaign.name, 60)}: ")
    rhythm = Rhythm(hold=float(parsed.hold), whole=parsed.deadline * 3_600.0)
    if narration.in_place:
        rhythm = replace(rhythm, look=_DRAWN_SECONDS, told=_DRAWN_SECONDS)
    with Ledger.open(home, clock=clock, owner=Owner.current("clbench")) as ledger:
        outcome = run_campaign(
            campaign,
            ledger,
            clock=clock,
            on_progress=narration,
            missing_only=parsed.missing_only,
            accept=parsed.accept,
            rhythm=rhythm,
            money=watch_over(campaign, clock, key_url=parsed.key_url, like=like),
        )
        standing = None
        with suppress(JournalUnavailable):  # it was told while it ran: what ended is not lost for that
            standing = standing_of(outcome.folder, campaign.checkout.root, ledger, campaign.name, clock)
    code = outcome.exit_code or (INCOMPLETE if standing and standing.troubled else 0)
    _print(outcome, standing, parsed)
    return code


def _required(
    campaign: Campaign, parsed: argparse.Namespace, home: Path, clock: Clock, like: PublishedRun | None
) -> Campaign:
    """The campaign, once nothing speaks against it, with the ids of its images.

    Raises:
        NotReady: something does.
    """
    from pytest_evalharness.clbench.campaign.preflight import Surroundings, preflight
    from pytest_evalharness.clbench.campaign.preflight_keys import OPENROUTER
    from pytest_evalharness.clbench.campaign.resuming import begun, still_to_run

    around = Surroundings.here(
        home,
        clock,
        key_url=parsed.key_url or OPENROUTER,
        like=like,
        left=still_to_run(campaign, clock) if parsed.missing_only and begun(campaign) else None,
    )
    found = preflight(campaign, around)
    # Whether the name is free is the ledger's to say: its own campaigns are gone on with.
    found = replace(found, checks=tuple(one for one in found.checks if one.name != _NAME_CHECK))
    for line in _doubts(found):
        _say(line)
    found.require()
    return found.campaign


def _doubts(found: Preflight) -> Iterator[str]:
    """The answer of a preflight, and only those of its checks that are not ok."""
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.checking import State

    yield f"preflight: {found.answer}; all of it is in {found.record}"
    for one in found.checks:
        if one.state is not State.OK:
            yield f"  {one.state}: {one.name}: {printable(one.seen, 400)}; {printable(one.mend, 400)}"


def _plan_lines(campaign: Campaign) -> Iterator[str]:
    from pytest_evalharness.clbench.campaign.preflight_words import plan_lines

    if campaign.checkout.embedded:
        yield "embedded miniature: invented domains, no result of the benchmark"
    yield from plan_lines(campaign)


def _print(outcome: Outcome, standing: Standing | None, parsed: argparse.Namespace) -> None:
    """How it ended, and what to do next."""
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.campaign.status_lines import doubts

    print(f"{printable(outcome.name)}: {outcome.state}")
    for one in outcome.notices:
        print(f"  notice:   {printable(one, 600)}")
    for alarm in outcome.alarms:
        print(f"  alarm:    {alarm.kind}: {printable(alarm.text, 600)}")
    for line in doubts(standing) if standing else ():
        print(line)
    print(f"  results:  {outcome.folder}")
    print(f"  log:      {outcome.log}")
    if outcome.state == "finished":
        print(f"  next:     evalharness clbench check {shlex.quote(str(outcome.folder))}")
    else:
        print(f"  next:     {again(parsed)}")


# ------------------------------------------------------------------ wishes


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
            if (done := _answered(ledger, parsed.name, asked)) is not None:
                what = parsed.task or "the campaign"
                print(
                    f"{parsed.name}: {what}: {parsed.wish}: {'done' if done else 'there was nothing to do'}"
                )
                return 0 if done else INCOMPLETE
            clock.wait(_POLL_SECONDS)
    print(f"{parsed.name}: its supervisor has not answered yet; the wish stands", file=sys.stderr)
    return INCOMPLETE


def _answered(ledger: Ledger, name: str, asked: int) -> bool | None:
    """Whether what was asked for was done; None before the answer. A campaign that has ended has no domain to pause."""
    for event in ledger.campaigns.events(name, after=asked):
        if event.kind == "answered" and event.told.get("asked") == asked:
            return bool(event.told.get("done"))
        if event.kind == "ended":
            return True
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
        settle(ledger, parsed.name, clock=clock, say=_say)
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
        elif parsed.wish == "end" and not parsed.task:
            yield None
        else:
            raise UsageError(
                f"campaign {printable(parsed.name)} does not run: it is {record.state}",
                not_done="nothing was done",
                next_step=f"evalharness clbench status {shlex.quote(parsed.name)}",
            )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
