"""Which campaign of CL-Bench is meant: by its name in the ledger, by its name in a checkout, or by its folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalharness.cli.home import add_home, home_of, opened
from pytest_evalharness.errors import EvalHarnessError, UsageError

if TYPE_CHECKING:
    from pytest_evalharness.ledger.journal import Ledger

_RUNS = Path("final_results", "runs")


def add_named(command: argparse.ArgumentParser) -> None:
    """Add what names a campaign: `campaign`, `--checkout` and `--home`."""
    command.add_argument(
        "campaign", metavar="NAME|RUNDIR", help="a campaign's name, or final_results/runs/NAME of a checkout"
    )
    command.add_argument(
        "--checkout", type=Path, metavar="DIR", help="the benchmark's checkout (the campaign's)"
    )
    add_home(command)


@dataclass(frozen=True)
class Named:
    """Where a campaign is.

    Attributes:
        folder: its results, `final_results/runs/<slug>`.
        checkout: that was named, or that the ledger knows; None where neither tells.
        ledger: that knows it; None where none does.
        name: in that ledger.
    """

    folder: Path
    checkout: Path | None
    ledger: Ledger | None = None
    name: str = ""


@contextmanager
def named(
    parsed: argparse.Namespace, *, not_done: str, refusal: type[EvalHarnessError] = UsageError
) -> Iterator[Named]:
    """The campaign that was named: a folder that is there, a run of the named checkout, a campaign of the ledger, a run of this checkout.

    Args:
        parsed: the options of `add_named`.
        not_done: what did not happen if there is none.
        refusal: what is raised then.

    Raises:
        UsageError: there is none, unless `refusal` is something else.
    """
    from pytest_evalharness.clbench.campaign.plan import slug_of

    root: Path | None = None if parsed.checkout is None else parsed.checkout.resolve()
    beside = (root or Path()) / _RUNS / (slug_of(parsed.campaign) or "_")
    home = home_of(parsed)
    with opened(home, reading=True) as ledger:
        known = {} if ledger is None else {one.name: one for one in ledger.campaigns.every()}
        if os.path.isdir(parsed.campaign):  # noqa: PTH112 - pathlib raises for a name that is too long
            folder = Path(parsed.campaign).resolve()
        elif root is None and parsed.campaign in known:
            folder = Path(known[parsed.campaign].told["run_folder"]).resolve()
        elif os.path.isdir(beside):  # noqa: PTH112
            folder = beside.resolve()
        else:
            raise refusal(
                f"there is no campaign {parsed.campaign!r}: it is no folder, and neither the ledger of {home} nor "
                f"{beside.parent} has it{_hint(parsed.campaign, list(known))}",
                not_done=not_done,
                next_step="name it by final_results/runs/NAME, or --checkout DIR with the name",
            )
        for name, record in known.items():
            if Path(record.told["run_folder"]).resolve() == folder:
                yield Named(folder, root or Path(record.told["checkout"]), ledger, name)
                return
        yield Named(folder, root)


def _hint(told: str, known: list[str]) -> str:
    from pytest_evalharness.base.values import near

    meant = near(told, known)
    return f"; did you mean {meant!r}?" if meant else ""
