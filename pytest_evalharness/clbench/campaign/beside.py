"""What is known of a campaign beside its results: who is at work on it, and what its engines lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.ended_folder import open_folder
from pytest_evalharness.clbench.campaign.loss_classes import Count, LossClass, counted
from pytest_evalharness.clbench.campaign.losses import losses_of
from pytest_evalharness.clbench.campaign.recipe import BUDGET, OUROBOROS
from pytest_evalharness.clbench.campaign.runroots import runs_root_of
from pytest_evalharness.clbench.campaign.snapshot import Snapshot
from pytest_evalharness.clbench.campaign.strays import strays
from pytest_evalharness.clbench.domains import Family, families
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.ledger.campaigns import CampaignRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.states import CampaignState

_EVERY = 30.0
"""Seconds between two looks at engines' folders, of which there are hundreds, and at the machine's processes."""
_FRESH = 120.0
"""Seconds within which something that was written says that somebody writes, on this machine or another."""

_BROKEN_OFF = frozenset({CampaignState.LOST, CampaignState.INTERRUPTED})


@dataclass(frozen=True)
class Supervision:
    """Who is at work on a campaign: by the ledger, or by the processes of this machine.

    Attributes:
        words: its state, and whether anybody supervises it; empty where there is nothing to say.
        over: whether nothing more will come of it.
        orphaned: whether it says that it runs, and whoever ran it has died.
        paused: why each domain stands still, by task.
        ended: why each domain was ended, by task.
        budget: dollars that an engine may spend on a rollout; None where that is not told.
        environment: the variables that it was started with; secrets are digests.
        created_at: when it was written down, in seconds since 1970.
        state: where the ledger says that it stands; empty of a campaign that no ledger knows.
    """

    words: str = ""
    over: bool = False
    orphaned: bool = False
    paused: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)
    budget: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    created_at: float = 0.0
    state: str = ""

    @property
    def broken_off(self) -> bool:
        """Whether it is over, and nobody saw it come to its end."""
        return self.over and self.state in _BROKEN_OFF


def supervision(ledger: Ledger, name: str) -> Supervision | None:
    """How a campaign is supervised now; None if the ledger does not know it.

    Raises:
        JournalUnavailable: the ledger cannot be read.
    """
    record = ledger.campaigns.find(name)
    if record is None:
        return None
    live, held = record.state.live, ledger.campaigns.supervised(name)
    orphaned = live and not held
    progress = record.progress or {}
    environment = environment_of(record)
    return Supervision(
        words=f"ledger: {record.state}" + (", but its supervisor has died" if orphaned else ""),
        over=not live or orphaned,
        orphaned=orphaned,
        paused=_words(progress.get("paused")) if live else {},
        ended=_words(progress.get("ended")),
        budget=_budget(environment.get(BUDGET)),
        environment=environment,
        created_at=record.created_at,
        state=str(record.state),
    )


def environment_of(record: CampaignRecord) -> dict[str, str]:
    """Variables of the benchmark's and of its systems that a campaign began with; secrets are there as digests."""
    return _words(record.identity.get("environment"))


def _words(told: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


def _budget(told: str | None) -> float | None:
    try:
        value = float(told or 0.0)
    except ValueError:
        return None
    return value if value > 0.0 else None


class Processes:
    """Looks now and then whether a campaign that no ledger knows is at work.

    Args:
        checkout: the benchmark's; None of a published run.
        run_folder: the campaign's.
        clock: tells the time.
    """

    def __init__(self, checkout: Path | None, run_folder: Path, clock: Clock) -> None:
        self._checkout = checkout
        self._folder = run_folder
        self._clock = clock
        self._at: float | None = None
        self._alive = True

    def look(self, snapshot: Snapshot) -> Supervision:
        """Who is at work; nothing is said of a campaign that is over, or that was written a moment ago, by whichever machine."""
        if snapshot.status != "running" or self._checkout is None or _is_fresh(snapshot):
            return Supervision()
        now = self._clock.monotonic()
        if self._at is None or now - self._at >= _EVERY:
            self._at, self._alive = now, self._any(self._checkout)
        if self._alive:
            return Supervision()
        return Supervision(
            "processes: none of it is alive on this machine; salvage tells what is left", orphaned=True
        )

    def _any(self, checkout: Path) -> bool:
        """Whether a process of it is alive, as far as that can be known."""
        try:
            return bool(strays(open_folder(self._folder, checkout)))
        except EvalHarnessError:
            return True


def _is_fresh(snapshot: Snapshot) -> bool:
    ages = (snapshot.age(one) for one in snapshot.passes())
    return any(age is not None and age < _FRESH for age in ages)


class LossReader:
    """Counts what a campaign's engines lost, now and then.

    Args:
        checkout: the benchmark's; None of a published run, whose engines' folders are elsewhere.
        run_folder: the campaign's.
        clock: tells the time.
    """

    def __init__(self, checkout: Path | None, run_folder: Path, clock: Clock) -> None:
        self._checkout = checkout
        self._logs = run_folder / "logs"
        self._clock = clock
        self._files = ChangedFiles(clock.now)
        self._at: float | None = None
        self._counts: dict[LossClass, Count] = {}

    def read(self, snapshot: Snapshot, told: Supervision) -> Mapping[LossClass, Count]:
        """Losses by class; none of a system that has no engines."""
        if snapshot.system != OUROBOROS or self._checkout is None:
            return {}
        now = self._clock.monotonic()
        if self._at is None or now - self._at >= _EVERY:
            self._at = now
            since = told.created_at or snapshot.began or 0.0
            embedded = Family.EMBEDDED in families(one.task for one in snapshot.tasks)
            root = runs_root_of(told.environment or os.environ, self._checkout, embedded=embedded)
            self._counts = counted(losses_of(root, self._logs, since=since, files=self._files))
        return self._counts
