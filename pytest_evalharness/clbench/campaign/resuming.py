"""Going on with a campaign: whether it is still the same one, and its results made ready for `--missing-only`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock, span
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.live import LiveReader
from pytest_evalharness.clbench.campaign.plan import Campaign, differences
from pytest_evalharness.clbench.campaign.quarantine import poisoned_passes, put_aside
from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
from pytest_evalharness.clbench.campaign.salvage import Salvage, prepare_missing_only, salvage
from pytest_evalharness.clbench.campaign.salvage_words import report
from pytest_evalharness.clbench.campaign.strays import strays
from pytest_evalharness.errors import CampaignChanged, EvalHarnessError, UsageError
from pytest_evalharness.ledger.campaigns import CampaignRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.states import CampaignState

ACCEPTABLE: Mapping[str, frozenset[str]] = {
    "arguments": frozenset({"argv"}),
    "environment": frozenset({"environment"}),
    "revision": frozenset({"revision", "dirty"}),
    "image": frozenset({"images"}),
}
"""What `--accept` can name, and which parts of an identity it lets differ."""
_MANIFEST = "manifest.json"
_FORWARDED = frozenset({"system", "system_args"})
"""Which the benchmark compares itself, and refuses."""


def require_same(campaign: Campaign, before: Mapping[str, Any], accept: Collection[str]) -> list[str]:
    """In what a campaign differs from what it began as, a sentence each; empty if in nothing.

    Args:
        campaign: as it would go on.
        before: the identity that it began with.
        accept: keys of `ACCEPTABLE` that may differ.

    Raises:
        CampaignChanged: it differs in something else.
    """
    now = campaign.identity()
    changed = {key for key in {*before, *now} if before.get(key) != now.get(key)}
    refused = {key for key in changed if key not in {one for kind in accept for one in ACCEPTABLE[kind]}}
    if changed & _FORWARDED:  # the whole command differs with them
        refused |= changed & _FORWARDED
    told = differences(before, now)
    if not refused:
        return told
    kinds = sorted(kind for kind, keys in ACCEPTABLE.items() if keys & refused)
    if refused & _FORWARDED:
        step = "give the same arguments as before, or begin another campaign: --name ANOTHER"
    else:
        flags = " ".join(f"--accept {kind}" for kind in kinds)
        step = f"give the same as before, or begin another campaign: --name ANOTHER; {flags} goes on all the same, and says so for ever"
    shown = differences({key: before.get(key) for key in refused}, {key: now.get(key) for key in refused})
    raise CampaignChanged(
        f"campaign {printable(campaign.name)} began as something else: {'; '.join(shown)}",
        not_done="nothing was started, and its results are as they were",
        next_step=step,
    )


def with_images_of(record: CampaignRecord, campaign: Campaign) -> Campaign:
    """A campaign with the images that it began with: which there are today, a preflight tells later."""
    return replace(campaign, images=record.identity.get("images") or {})


def age(ledger: Ledger, record: CampaignRecord, clock: Clock) -> str:
    """How long ago a campaign ended, or was written down if nobody saw its end, for people."""
    ends = [one.at for one in ledger.campaigns.events(record.name) if one.kind == "ended"]
    return f"{span(clock.now() - (ends[-1] if ends else record.created_at))} ago"


def begun(campaign: Campaign) -> bool:
    """Whether the benchmark has written anything of a campaign down: else there is nothing to go on with."""
    return (campaign.run_folder / _MANIFEST).exists()


def require_asked(campaign: Campaign, before: CampaignRecord, *, missing_only: bool) -> None:
    """Paying again is asked for: a name that was used is not begun anew, and not in another checkout beside its results.

    Args:
        campaign: as it is asked for.
        before: as the ledger has it.
        missing_only: whether going on was asked for.

    Raises:
        UsageError: it is not as it was asked for.
    """
    never, name = before.state is CampaignState.PLANNED, printable(campaign.name)
    folder = Path(str(before.told.get("run_folder") or campaign.run_folder))
    if folder != campaign.run_folder and (folder / _MANIFEST).exists():
        raise UsageError(
            f"campaign {name} has its results in {folder}, and {campaign.checkout.root} is another checkout",
            not_done="nothing was started",
            next_step=f"--checkout {before.told.get('checkout')}, or begin another campaign: --name ANOTHER",
        )
    if before.state is CampaignState.FINISHED and not begun(campaign):
        raise UsageError(
            f"campaign {name} is finished, and its results are gone from {campaign.run_folder}",
            not_done="nothing was started, and nothing is paid twice",
            next_step="put them back where they were, or begin another campaign: --name ANOTHER",
        )
    if missing_only:
        if never and not begun(campaign):
            raise UsageError(
                f"there is nothing of campaign {name} to go on with in {campaign.run_folder}",
                not_done="nothing was started",
                next_step="the same command without --missing-only begins it",
            )
    elif begun(campaign) or (never and campaign.run_folder.exists()):
        was = f"{campaign.run_folder} exists" if never else f"it is {before.state}"
        raise UsageError(
            f"campaign {name} was begun before: {was}",
            not_done="nothing was started",
            next_step="--missing-only goes on with it, and pays what is missing only; --name ANOTHER begins another",
        )


def clear_folders(campaign: Campaign) -> None:
    """Remove the folders that a benchmark had just made when it died: it begins no run in them, and goes on with none.

    Raises:
        UsageError: there are files in them, of which nothing tells whose they are.
    """
    if not campaign.run_folder.exists() or begun(campaign):
        return
    if any(not one.is_dir() for one in campaign.run_folder.rglob("*")):
        raise UsageError(
            f"{campaign.run_folder} has files and no manifest: it is no run that could be gone on with",
            not_done="nothing was started, and nothing was removed",
            next_step="move it away, or begin another campaign: --name ANOTHER",
        )
    shutil.rmtree(campaign.run_folder)


def still_to_run(campaign: Campaign, clock: Clock) -> tuple[str, ...] | None:
    """Which tasks `--missing-only` has to run, in the campaign's order; None where nothing tells. Reads only.

    Args:
        campaign: that is gone on with.
        clock: tells the time.
    """
    try:
        found = salvage(
            campaign.run_folder, clock=clock, alive=lambda _: (), root=campaign.checkout.root, dry_run=True
        )
    except EvalHarnessError:
        return None  # whoever goes on with it is told why
    missing = {one.task for one in found.to_run}
    snapshot = LiveReader(campaign.checkout.root, campaign.run_folder, clock=clock).read()
    missing |= {one.live.task for one in poisoned_passes(snapshot, priced=_priced(campaign))}
    return tuple(task for task in campaign.tasks if task in missing)


def _priced(campaign: Campaign) -> bool | None:
    """Its engines pay for every call: where nothing has cost anything, the key never worked."""
    return True if campaign.system == OUROBOROS else None


def quarantine(campaign: Campaign, clock: Clock, say: Callable[[str], None]) -> list[str]:
    """Move passes aside that measured an outage, as soon as nothing writes them any more; a sentence for each.

    Raises:
        OSError: a file cannot be moved.
    """
    reader = LiveReader(campaign.checkout.root, campaign.run_folder, clock=clock)
    moved = []
    for one in poisoned_passes(reader.read(), priced=_priced(campaign)):
        told = put_aside(campaign.checkout.root, campaign.run_folder, one, clock=clock)
        moved.append(f"{one.live.task}, {one.live.name} was put into quarantine: {told.why}")
        say(moved[-1])
    return moved


def prepare(
    campaign: Campaign, tokens: Collection[str], clock: Clock, say: Callable[[str], None]
) -> tuple[Salvage, list[str]]:
    """Make `--missing-only` safe: publish what is whole, write off what was interrupted, move aside what measured an outage.

    Args:
        campaign: whose processes have all ended.
        tokens: of its starts.
        clock: tells the time.
        say: told what is found and done.

    Returns:
        What was salvaged, and a sentence for each pass that was moved aside.

    Raises:
        StillRunning: somebody else's processes write there.
        NotSalvaged: it could not be written; nothing should be resumed.
    """

    def salvaged() -> Salvage:
        return prepare_missing_only(
            campaign.run_folder,
            clock=clock,
            alive=lambda folder: [str(one) for one in strays(folder, tokens=frozenset(tokens))],
            root=campaign.checkout.root,
        )

    found = salvaged()
    # What was interrupted is known to be over only now; what is moved aside has to be put together anew.
    moved = quarantine(campaign, clock, say)
    if moved:
        found = salvaged()
    for line in report(found):
        say(line)
    return found, moved
