"""Engines in containers whose owner was a process of ours and is dead: they are servers, and finish what they have begun at a price.

A container is ended only if everything says that it is ours: its name has the pid of a process that the ledger knows as the
campaign's on this machine, nobody has that pid now, it was started after the campaign, and a folder of this machine that looks like an
engine's is mounted in it. Where that cannot be told, or the container engine does not answer, nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.capacity import ENGINE_NAME
from pytest_evalharness.clbench.campaign.process_table import process
from pytest_evalharness.clbench.campaign.runroots import NAME as RUNROOT
from pytest_evalharness.containers.state import Container, Engine
from pytest_evalharness.errors import EngineUnavailable, JournalUnavailable
from pytest_evalharness.ledger.campaigns import Campaigns

_SECONDS = 40.0
_SKEW = 60.0
"""Seconds by which the clock of the engine's machine may be behind this one's."""


def has_engines(told: Mapping[str, object]) -> bool:
    """Whether a campaign's system keeps its engines in containers, by what the ledger was told of it."""
    return told.get("docker") is True


def leftover(
    containers: Iterable[Container],
    owners: Collection[int],
    since: float,
    *,
    lives: Callable[[int], bool] = lambda pid: process(pid) is not None,
) -> list[Container]:
    """Those that are ours and have lost their owner.

    Args:
        containers: that run.
        owners: pids of the campaign's processes, all that were ever seen on this machine.
        since: when the campaign was written down, in seconds since 1970.
        lives: whether any process has a pid now.
    """
    return [one for one in containers if _is_ours(one, owners, since) and not lives(_owner(one))]


def _owner(one: Container) -> int:
    named = ENGINE_NAME.fullmatch(one.name)
    return int(named[1]) if named else 0


def _is_ours(one: Container, owners: Collection[int], since: float) -> bool:
    if _owner(one) not in owners or one.started is None or one.started < since - _SKEW:
        return False
    folders = (Path(mount.source) for mount in one.mounts)
    return any(RUNROOT.fullmatch(folder.parent.name) and folder.is_dir() for folder in folders)


def end_engines(
    campaigns: Campaigns, name: str, host: str, clock: Clock, say: Callable[[str], None]
) -> list[str]:
    """End what a campaign's dead processes have left in containers; names of those that were ended.

    Args:
        campaigns: the ledger's.
        name: the campaign.
        host: this machine, see `Owner.host`.
        clock: bounds the questions to the engine.
        say: told what is done, or why it cannot be.
    """
    ended: list[str] = []
    try:
        record = campaigns.find(name)
        if record is None or not has_engines(record.told):
            return []
        owners = {one.pid for one in campaigns.processes(name) if one.host == host}
        with Engine.reached(clock=clock, seconds=_SECONDS) as engine:
            for one in leftover(engine.containers(), owners, record.created_at):
                with suppress(JournalUnavailable):  # what spends is ended, written down or not
                    campaigns.note(name, "ending engine", {"container": one.name, "image": one.image})
                engine.stop(one.id)
                ended.append(one.name)
    except (EngineUnavailable, JournalUnavailable) as problem:
        say(
            f"containers of dead processes could not be looked for: {problem.what}; "
            f"docker ps --filter name=clbench-obo- lists what may go on spending"
        )
    if ended:
        say(f"{len(ended)} engines without an owner were ended: {printable(', '.join(ended), 400)}")
    return ended
