"""`evalharness clbench salvage`: what a campaign that crashed left, made usable."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import INCOMPLETE
from pytest_evalharness.cli.home import add_home, home_of, opened
from pytest_evalharness.errors import NothingToSalvage

if TYPE_CHECKING:
    from pytest_evalharness.clbench.campaign.ended_folder import EndedFolder
    from pytest_evalharness.ledger.journal import Ledger

_RUNS = Path("final_results", "runs")


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    salvage = inner.add_parser(
        "salvage",
        help="after a crash: what is whole, rebuilt artifacts, what must be run again and at what cost",
        description="Publishes whole results that run-all did not live to copy, keeps rollouts that completed, writes interrupted "
        "ones off by name, and mends the manifest so that --missing-only runs what is missing and nothing else. Originals are kept "
        "beside; doing it twice changes nothing. 0 if nothing is to be run again, 1 if something is, 11 if it could not be done.",
    )
    salvage.add_argument(
        "campaign", metavar="NAME|RUNDIR", help="a campaign's name, or final_results/runs/NAME of a checkout"
    )
    salvage.add_argument("--dry-run", action="store_true", help="say what would be done, and write nothing")
    salvage.add_argument(
        "--again",
        action="append",
        default=[],
        metavar="TASK",
        help="have this task run again, whatever it holds; its results go into the backup; repeatable",
    )
    salvage.add_argument(
        "--checkout", type=Path, metavar="DIR", help="the benchmark's checkout (the campaign's)"
    )
    salvage.add_argument("--json", action="store_true", help="print JSON")
    add_home(salvage)
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

    with _found(parsed) as campaign:
        found = salvage(
            campaign.folder,
            clock=SystemClock(),
            alive=campaign.alive,
            root=campaign.root,
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


@dataclass(frozen=True)
class _Found:
    """Where a campaign is.

    Attributes:
        folder: its run directory.
        root: of the checkout; None where only the manifest tells.
        ledger: that knows it; None where it was named by its folder.
        name: in that ledger.
    """

    folder: Path
    root: Path | None
    ledger: Ledger | None = None
    name: str = ""

    def alive(self, ended: EndedFolder) -> list[str]:
        """Which of its processes are alive, a phrase each: those that a ledger knows, and those that are seen."""
        from pytest_evalharness.clbench.campaign.strays import strays

        if self.ledger is None:
            return [str(one) for one in strays(ended)]
        campaigns = self.ledger.campaigns
        tokens = frozenset(one.token for one in campaigns.starts(self.name))
        told = [str(one) for one in strays(ended, tokens=tokens)]
        record = campaigns.find(self.name)
        if record is not None and record.owner is not None and campaigns.supervised(self.name):
            told.insert(0, f"{record.owner} supervises it")
        return told


@contextmanager
def _found(parsed: argparse.Namespace) -> Iterator[_Found]:
    """The campaign that was named: a folder that is there, a run of the named checkout, a campaign of the ledger, a run of this checkout.

    Raises:
        NothingToSalvage: there is none.
    """
    from pytest_evalharness.clbench.campaign.plan import slug_of

    root = None if parsed.checkout is None else parsed.checkout.resolve()
    beside = (root or Path()) / _RUNS / (slug_of(parsed.campaign) or "_")
    home = home_of(parsed)
    with opened(home, reading=True) as ledger:
        known = {} if ledger is None else {one.name: one for one in ledger.campaigns.every()}
        if Path(parsed.campaign).is_dir():
            folder = Path(parsed.campaign).resolve()
        elif root is None and parsed.campaign in known:
            folder = Path(known[parsed.campaign].told["run_folder"])
        elif beside.is_dir():
            folder = beside.resolve()
        else:
            raise NothingToSalvage(
                f"there is no campaign {parsed.campaign!r}: it is no folder, and neither the ledger of {home} nor {beside.parent} has it",
                not_done="nothing was changed",
                next_step="evalharness clbench salvage final_results/runs/NAME, or --checkout DIR with the name",
            )
        for name, record in known.items():
            if Path(record.told["run_folder"]).resolve() == folder:
                yield _Found(folder, root or Path(record.told["checkout"]), ledger, name)
                return
        yield _Found(folder, root)
