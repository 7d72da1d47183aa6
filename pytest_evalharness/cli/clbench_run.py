"""`evalharness clbench run`: a campaign under supervision."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE, whole
from pytest_evalharness.cli.clbench_earlier import USUAL, again, told_again
from pytest_evalharness.cli.clbench_plan import add_plan, campaign_from
from pytest_evalharness.cli.clbench_screens import Narration
from pytest_evalharness.cli.home import home_of
from pytest_evalharness.errors import JournalUnavailable

if TYPE_CHECKING:
    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.clbench.campaign.plan import Campaign
    from pytest_evalharness.clbench.campaign.preflight import Preflight
    from pytest_evalharness.clbench.campaign.running import Outcome
    from pytest_evalharness.clbench.campaign.standing import Standing
    from pytest_evalharness.clbench.run_folder import PublishedRun

_PLANS = ("seed", "submission")
_ACCEPT = ("arguments", "environment", "revision", "image")
_DRAWN_SECONDS = 4.0
"""Between two looks where they are drawn in place: a whole look reads what changed, which may be tens of MB."""


def add_to(inner: Any) -> None:
    """Add the subcommand."""
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
    from pytest_evalharness.clbench.campaign.viewing import Viewer
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
            where = outcome.folder, campaign.checkout.root
            standing = Viewer(*where, ledger, campaign.name, clock=clock, say=_say).look()
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
    found = preflight(campaign, around).whoever_has_the_name()
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


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
