"""What the routes work with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.arena.faults.active import Faults
from pytest_evalharness.arena.game.hosted import Recorded
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.league.changes import moved_on, rescored, succeeded, without
from pytest_evalharness.arena.league.desk import Desk
from pytest_evalharness.arena.league.dispatch import Dispatcher
from pytest_evalharness.arena.league.records import Marks
from pytest_evalharness.arena.league.workers import Workers
from pytest_evalharness.arena.league.world import World
from pytest_evalharness.arena.wire.dialect import Dialect
from pytest_evalharness.arena.wire.memory import Memory
from pytest_evalharness.arena.wire.storage import Storage
from pytest_evalharness.base.clock import Clock

BASE = "/api/observatory"
"""The base path of the API."""

USUAL_LAG = 0.2
"""Seconds between a creation and the moment its request can be read, as on the hosted service."""


_REMEMBERED = 100
"""Of so many episodes what they left is kept after it was asked for, a few hundred kilobytes each."""


@dataclass
class House:
    """Everything a route may need."""

    world: World
    desk: Desk
    dispatcher: Dispatcher
    workers: Workers
    faults: Faults
    clock: Clock
    dialect: Dialect
    storage: Storage
    token: str = field(repr=False)
    requests_total: int = 0
    records: Memory[Recorded] = field(default_factory=lambda: Memory(_REMEMBERED), repr=False)
    replays: Memory[bytes] = field(default_factory=lambda: Memory(_REMEMBERED), repr=False)

    @property
    def now(self) -> World:
        """The world with what the faults of this moment have done to it."""
        world, at = self.world, self.clock.now()
        if withdrawn := self.faults.all("withdrawn"):
            world = without(world, withdrawn, at)
        for label, done in self.faults.all("replaced-version"):
            world = succeeded(world, label, at) if done else world
        if version := self.faults.value("game-version"):
            world = moved_on(world, version)
        if scoring := self.faults.value("scoring"):
            world = rescored(world, Scoring(scoring), at)
        return world

    def published(self, ended_at: float | None, category: str | None = None) -> bool:
        """Whether what a game that ended then left behind can be had by now.

        Args:
            ended_at: when it ended; None for one that never ran.
            category: of which category of the download manifest; None for all of it.
        """
        late = self.faults.value("late-artifacts") or 0.0
        of_some = [seconds for name, seconds in self.faults.all("late-category") if category in {None, name}]
        return ended_at is None or self.clock.now() >= ended_at + max([late, *of_some])

    def receive(self, body: Mapping[str, Any]) -> None:
        """What happens to the world because a request has come, before it is looked at."""
        self.faults.replace(self._seated(body))

    def _seated(self, body: Mapping[str, Any]) -> set[str]:
        """The labels of the versions that a request names."""
        references = [str(entry["player"].get("policy_ref")) for entry in body["roster"]]
        known = self.now.version_by_id
        return {known[one].label if one in known else one for one in references}

    def marks(self, body: Mapping[str, Any]) -> Marks:
        """What the faults of this moment do to a new request."""
        lag = self.faults.value("not-visible")
        seated = self._seated(body)
        games, failing = int(body.get("num_episodes", 1)), self.faults.value("fail-episodes") or 0
        doomed = self.faults.doom(seated, games)
        played = max(0, games - max(failing, len(doomed)))
        return Marks(
            wedged=tuple(self.faults.all("wedged-seat")),
            shuffled=self.faults.value("shuffled-seats") is not None,
            queue_seconds=self.faults.value("slow-queue") or 0.0,
            failing=failing,
            retried=self.faults.value("retried-episodes") or 0,
            hidden_seconds=USUAL_LAG if lag is None else lag,
            doomed=doomed,
            mishaps=self.faults.mishaps(seated, played),
            rolled=self.faults.rolled(games),
            silent=tuple(self.faults.all("silent-adviser")),
            own_seeds=self.faults.value("ignored-seed") is not None,
            scoring=self.faults.value("scoring"),
        )
