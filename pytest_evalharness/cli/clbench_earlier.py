"""A campaign that was begun before: a finished one is read again, any other says how it is gone on with; nothing is started here."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.home import home_of, opened
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalharness.base.clock import Clock
    from pytest_evalharness.clbench.campaign.plan import Campaign
    from pytest_evalharness.ledger.campaigns import CampaignRecord
    from pytest_evalharness.ledger.journal import Ledger

_FLAGS = (
    *("checkout", "system", "recipe", "task_parallelism", "per_task_parallelism", "like", "key_url"),
    *("hold", "deadline", "home"),
)
"""Of `run`, as the command that goes on with a campaign repeats them."""

USUAL = {"hold": 21_600, "deadline": 168}
"""Seconds after which a paused domain is ended, and hours after which a campaign is."""


def told_again(
    campaign: Campaign, parsed: argparse.Namespace, clock: Clock, say: Callable[[str], None]
) -> int | None:
    """Tell what became of a campaign that was begun before, before anything is looked at for a start.

    Args:
        campaign: as it is asked for now.
        parsed: the options of `run`.
        clock: tells how old it is.
        say: told what of a dead supervisor is ended.

    Returns:
        The exit code of one that is finished, of which everything was told; None of one that may be started, or gone on with.

    Raises:
        UsageError: it was begun and did not finish, and nobody asked to go on with it.
        CampaignBusy: another process supervises it.
        CampaignChanged: it would go on as something else, or one of that name is finished and is another campaign.
        SurvivorsRemain: processes of it cannot be ended.
    """
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.campaign.claiming import busy
    from pytest_evalharness.clbench.campaign.resuming import (
        age,
        begun,
        require_asked,
        require_same,
        still_to_run,
        with_images_of,
    )
    from pytest_evalharness.clbench.campaign.survivors import settle
    from pytest_evalharness.ledger.states import CampaignState

    with opened(home_of(parsed)) as ledger:
        record = settle(ledger, campaign.name, clock=clock, say=say) if ledger else None
        if ledger is None or record is None or record.state is CampaignState.PLANNED:
            return None
        if ledger.campaigns.supervised(campaign.name):
            raise busy(campaign.name, record)
        if not begun(campaign):
            require_asked(campaign, record, missing_only=parsed.missing_only)
            return None
        since = age(ledger, record, clock)
        # A task's results may have been set aside, or moved away, since it ended.
        misses = parsed.missing_only and still_to_run(campaign, clock) != ()
        if record.state is CampaignState.FINISHED and not misses:
            return _read_again(campaign, ledger, record, since, clock=clock, say=say)
        if parsed.missing_only:
            require_asked(campaign, record, missing_only=True)
            require_same(with_images_of(record, campaign), record.identity, parsed.accept)
            return None
        raise UsageError(
            f"campaign {printable(campaign.name)} is {record.state}, {since}: the same command with --missing-only goes on with it, "
            "and pays what is missing only",
            not_done="nothing was started and nothing was paid",
            next_step=again(parsed),
        )


def _read_again(
    campaign: Campaign,
    ledger: Ledger,
    record: CampaignRecord,
    since: str,
    *,
    clock: Clock,
    say: Callable[[str], None],
) -> int:
    """Print it, and return the exit code that it has today.

    Raises:
        CampaignChanged: it began with other arguments.
    """
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.clbench.campaign.resuming import require_same, with_images_of
    from pytest_evalharness.clbench.campaign.status_lines import lines
    from pytest_evalharness.clbench.campaign.viewing import Viewer

    # Nothing is started, so it may be read in other surroundings than it ran in; what it was cannot be another.
    accept = ("environment", "revision", "image")
    changed = require_same(with_images_of(record, campaign), record.identity, accept)
    print(f"{printable(campaign.name)}: finished {since}; it is read again, and nothing was started")
    for one in changed:
        print(f"  notice:   changed since: {printable(one, 600)}")
    where = campaign.run_folder, campaign.checkout.root
    standing = Viewer(*where, ledger, campaign.name, clock=clock, say=say).look()
    for line in lines(standing):
        print(line)
    print(f"  results:  {campaign.run_folder}")
    print(f"  next:     evalharness clbench check {shlex.quote(str(campaign.run_folder))}")
    return INCOMPLETE if standing.troubled else 0


def again(parsed: argparse.Namespace) -> str:
    """The command that goes on with a campaign."""
    words = ["evalharness", "clbench", "run"]
    for flag in _FLAGS:
        if (told := getattr(parsed, flag)) is not None and told != USUAL.get(flag):
            words += [f"--{flag.replace('_', '-')}", str(told)]
    if parsed.skip_preflight:
        words.append("--skip-preflight")
    words += ["--name", parsed.name, "--plan", parsed.plan]
    for flag, values in (("--param", parsed.param), ("--task", parsed.task)):
        for value in values:
            words += [flag, value]
    return shlex.join([*words, "--missing-only"])
