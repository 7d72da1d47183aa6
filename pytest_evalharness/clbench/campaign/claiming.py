"""The right to run a campaign: claimed in the ledger, and let go on only as what it began as."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
from pytest_evalharness.clbench.campaign.resuming import begun, require_same
from pytest_evalharness.errors import CampaignBusy
from pytest_evalharness.ledger.campaigns import CampaignLease, CampaignRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.states import CampaignState


@contextmanager
def claimed(campaign: Campaign, ledger: Ledger) -> Iterator[CampaignLease]:
    """The right to supervise a campaign, which is written down first if nobody did; given back at the end.

    Raises:
        CampaignBusy: another process supervises it.
    """
    ledger.campaigns.begin(campaign.name, _told(campaign), campaign.identity())
    lease = ledger.campaigns.claim(campaign.name)
    if lease is None:
        raise busy(campaign.name, ledger.campaigns.find(campaign.name))
    with lease:
        yield lease


def busy(name: str, record: CampaignRecord | None) -> CampaignBusy:
    """What to say of a campaign that another process supervises."""
    who = record.owner if record else None
    return CampaignBusy(
        f"campaign {printable(name)} is supervised by {who or 'another process'}",
        not_done="nothing was started",
        next_step=f"evalharness clbench status {shlex.quote(name)}; end ends it",
    )


def let_go_on(
    campaign: Campaign, lease: CampaignLease, before: CampaignRecord, accept: Collection[str]
) -> None:
    """Refuse a campaign that changed, unless that was accepted or nothing of it exists that could be mixed.

    Args:
        campaign: as it would go on.
        lease: the right to supervise it; what was accepted is written down.
        before: as the ledger has it.
        accept: keys of `resuming.ACCEPTABLE` in which it may differ.

    Raises:
        CampaignChanged: it differs in something else.
    """
    fresh = before.state is CampaignState.PLANNED or not begun(campaign)
    changed = [] if fresh else require_same(campaign, before.identity, accept)
    if before.identity != campaign.identity():
        lease.accept(_told(campaign), campaign.identity(), changed)


def accepted(name: str, ledger: Ledger) -> list[str]:
    """In what a campaign was ever let go on although it had changed, a sentence each."""
    events = (one for one in ledger.campaigns.events(name) if one.kind == "accepted")
    told = (str(one) for event in events for one in event.told["differences"])
    return [f"it went on although it had changed: {one}" for one in dict.fromkeys(told)]


def _told(campaign: Campaign) -> dict[str, object]:
    return {
        "kind": str(campaign.kind),
        "checkout": str(campaign.checkout.root),
        "embedded": campaign.checkout.embedded,
        "run_folder": str(campaign.run_folder),
        "system": campaign.system,
        "tasks": list(campaign.tasks),
        "rollouts": campaign.rollouts,
        "recipe": campaign.recipe,
        "docker": campaign.system == OUROBOROS and campaign.params.get("docker") is True,
        "deviations": list(campaign.deviations),
    }
