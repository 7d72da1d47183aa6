"""What is known of a campaign beside its results: what the ledger keeps of its supervisor, and what its engines lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.loss_classes import Count, LossClass, counted
from pytest_evalharness.clbench.campaign.losses import losses_of
from pytest_evalharness.clbench.campaign.recipe import BUDGET, OUROBOROS
from pytest_evalharness.clbench.campaign.runroots import runs_root_of
from pytest_evalharness.clbench.campaign.snapshot import Snapshot
from pytest_evalharness.clbench.domains import Family, families
from pytest_evalharness.ledger.journal import Ledger

_EVERY = 30.0
"""Seconds between two looks at engines' folders: there are hundreds."""


@dataclass(frozen=True)
class Supervision:
    """What the ledger says of a campaign.

    Attributes:
        words: its state, and whether anybody supervises it.
        over: whether nothing more will come of it.
        orphaned: whether it should have a supervisor and has none: it died.
        paused: why each domain stands still, by task.
        ended: why each domain was ended, by task.
        budget: dollars that an engine may spend on a rollout; None where that is not told.
        environment: the variables that it was started with; secrets are digests.
        created_at: when it was written down, in seconds since 1970.
    """

    words: str = ""
    over: bool = False
    orphaned: bool = False
    paused: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)
    budget: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    created_at: float = 0.0


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
    environment = _words(record.identity.get("environment"))
    return Supervision(
        f"{record.state}, but its supervisor has died" if orphaned else str(record.state),
        not live or orphaned,
        orphaned,
        _words(progress.get("paused")) if live else {},
        _words(progress.get("ended")),
        _budget(environment.get(BUDGET)),
        environment,
        record.created_at,
    )


def _words(told: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


def _budget(told: str | None) -> float | None:
    try:
        value = float(told or 0.0)
    except ValueError:
        return None
    return value if value > 0.0 else None


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
