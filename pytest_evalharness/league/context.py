"""What drivers and pollers need from the run they belong to."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.league.cost import CostGuard
from pytest_evalharness.league.own_records import SAMPLE
from pytest_evalharness.observatory.client import Observatory


@dataclass(frozen=True)
class Context:
    """What a driver needs from the run it belongs to."""

    observatory: Observatory
    clock: Clock
    events: EventLog
    notes: str
    run_id: str | None
    """The run that `evalharness runs cancel` ends this with; None where no run does."""
    stop: threading.Event
    guard: CostGuard
    """Keeps the run's budget."""
    revalidate: Callable[[], None]
    """Raises if the frozen field has changed; called right before a POST."""
    deep: int | None = SAMPLE
    """In so many games of an arm the tested policy's own records are read; None for all."""
    rng: random.Random = field(default_factory=random.Random)
    """Draws the jitter of pauses, so that pollers that began together do not ask together for ever."""
