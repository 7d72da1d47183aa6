"""What a campaign has left running when its supervisor is gone: found by fingerprint, and ended."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.leftover_engines import end_engines
from pytest_evalharness.clbench.campaign.process_table import Process
from pytest_evalharness.clbench.campaign.processes import Fingerprint, Graces, end
from pytest_evalharness.errors import SurvivorsRemain
from pytest_evalharness.ledger.campaigns import CampaignLease, CampaignRecord, Campaigns
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.states import CampaignState

_SHOWN = 5


def fingerprint(campaigns: Campaigns, name: str, host: str) -> Fingerprint:
    """By what the processes of all starts of a campaign are known on this machine.

    Args:
        campaigns: the ledger's.
        name: the campaign.
        host: this machine, see `Owner.host`: pids that were seen elsewhere, or before a reboot, mean nothing.
    """
    return Fingerprint(
        frozenset(one.token for one in campaigns.starts(name)),
        frozenset((one.pid, one.started) for one in campaigns.processes(name) if one.host == host),
    )


def alive(ledger: Ledger, name: str) -> list[Process]:
    """Processes of a campaign that are alive on this machine, its supervisor not among them."""
    return list(fingerprint(ledger.campaigns, name, ledger.owner.host).find().values())


def settle(
    ledger: Ledger, name: str, *, clock: Clock, say: Callable[[str], None], graces: Graces | None = None
) -> CampaignRecord | None:
    """End what a campaign has left running whose supervisor has died, and write down that it is lost.

    Does nothing to a campaign that has a living supervisor, or that was written down as ended.

    Args:
        ledger: where it is kept.
        name: the campaign.
        clock: for the graces.
        say: told what is done.
        graces: how long its processes have after each signal.

    Returns:
        The campaign as it is then; None if there is none.

    Raises:
        SurvivorsRemain: some of it cannot be ended.
    """
    record = ledger.campaigns.find(name)
    if record is None or not record.state.live or ledger.campaigns.supervised(name):
        return record
    lease = ledger.campaigns.claim(name)
    if lease is None:  # somebody was faster, and does it
        return ledger.campaigns.find(name)
    with lease:
        bury(ledger, lease, clock=clock, say=say, graces=graces)
    return ledger.campaigns.find(name)


def bury(
    ledger: Ledger,
    lease: CampaignLease,
    *,
    clock: Clock,
    say: Callable[[str], None],
    graces: Graces | None = None,
) -> None:
    """End whatever is left of the campaign of a lease. If it was not written down as ended, it is lost from then on.

    Raises:
        SurvivorsRemain: some of it cannot be ended.
    """
    mark = fingerprint(ledger.campaigns, lease.name, ledger.owner.host)
    found = list(mark.find().values())
    if found:
        lease.note("ending survivors", {"processes": words(found)})
        say(f"{len(found)} processes of an earlier start are alive without a supervisor: {told(found)}")
        left = end(
            lambda: mark.find().values(),
            clock,
            graces,
            on_signal=lambda number, count: say(f"{number.name} to {count} of them"),
        )
        if left:
            raise remaining(lease.name, left)
    record = lease.record
    if record.state.live:
        end_engines(ledger.campaigns, lease.name, ledger.owner.host, clock, say)
        host = ledger.campaigns.starts(lease.name)[-1].host
        elsewhere = "" if host == ledger.owner.host else "; it ran on another machine, or before a reboot"
        ended = f", {len(found)} of its processes were ended" if found else ""
        lease.end(CampaignState.LOST, None, f"its supervisor died{ended}{elsewhere}")


def remaining(name: str, left: Iterable[Process]) -> SurvivorsRemain:
    """What to say of processes that outlive SIGKILL."""
    some = list(left)
    return SurvivorsRemain(
        f"{len(some)} processes of campaign {printable(name)} cannot be ended: {told(some)}",
        not_done="nothing was started; they may go on spending",
        next_step=f"look what holds them (ps -o pid,stat,wchan:30,cmd -p {','.join(str(one.pid) for one in some[:_SHOWN])}), "
        "then the same command again",
    )


def told(some: Iterable[Process]) -> str:
    """The first of some processes, for messages."""
    each = words(some)
    more = f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
    return "; ".join(each[:_SHOWN]) + more


def words(some: Iterable[Process]) -> list[str]:
    """Processes as pid and command."""
    return [f"{one.pid} {command(one)}" for one in some]


def command(one: Process) -> str:
    """A command line as it may be shown and kept."""
    from pytest_evalharness.base.text import redact

    return printable(redact(shlex.join(one.argv)), 300)
