"""`evalharness clbench salvage`: what a campaign that crashed left, made usable."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.clbench_named import Named, add_named, named
from pytest_evalharness.errors import NothingToSalvage

if TYPE_CHECKING:
    from pytest_evalharness.clbench.campaign.ended_folder import EndedFolder


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    salvage = inner.add_parser(
        "salvage",
        help="after a crash: what is whole, rebuilt artifacts, what must be run again and at what cost",
        description="Publishes whole results that run-all did not live to copy, keeps rollouts that completed, writes interrupted "
        "ones off by name, and mends the manifest so that --missing-only runs what is missing and nothing else. Originals are kept "
        "beside; doing it twice changes nothing. 0 if nothing is to be run again, 1 if something is, 11 if it could not be done.",
    )
    add_named(salvage)
    salvage.add_argument("--dry-run", action="store_true", help="say what would be done, and write nothing")
    salvage.add_argument(
        "--again",
        action="append",
        default=[],
        metavar="TASK",
        help="have this task run again, whatever it holds; its results go into the backup; repeatable",
    )
    salvage.add_argument("--json", action="store_true", help="print JSON")
    salvage.set_defaults(run=run_salvage)


def run_salvage(parsed: argparse.Namespace) -> int:
    """Salvage, and say what is left.

    Raises:
        EvalHarnessError: there is no such campaign, something of it is alive, or it cannot be written.
    """
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.clbench.campaign import salvage_words
    from pytest_evalharness.clbench.campaign.quarantine import quarantined
    from pytest_evalharness.clbench.campaign.salvage import salvage

    with named(parsed, not_done="nothing was changed", refusal=NothingToSalvage) as campaign:
        found = salvage(
            campaign.folder,
            clock=SystemClock(),
            alive=lambda ended: _alive(campaign, ended),
            root=campaign.checkout,
            again=parsed.again,
            dry_run=parsed.dry_run,
        )
    aside = quarantined(found.folder)
    if parsed.json:
        from pytest_evalharness.base.files import readable_json

        print(readable_json(salvage_words.as_data(found, aside)), end="")
    else:
        for line in salvage_words.report(found, aside):
            print(line)
    return 0 if found.complete else INCOMPLETE


def _alive(campaign: Named, ended: EndedFolder) -> list[str]:
    """Which of a campaign's processes are alive, a phrase each: those that a ledger knows, and those that are seen."""
    from pytest_evalharness.clbench.campaign.strays import strays

    if campaign.ledger is None:
        return [str(one) for one in strays(ended)]
    campaigns = campaign.ledger.campaigns
    tokens = frozenset(one.token for one in campaigns.starts(campaign.name))
    told = [str(one) for one in strays(ended, tokens=tokens)]
    record = campaigns.find(campaign.name)
    if record is not None and record.owner is not None and campaigns.supervised(campaign.name):
        told.insert(0, f"{record.owner} supervises it")
    return told
