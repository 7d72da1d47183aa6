"""Looks at a campaign from outside, as often as somebody wants to know how it stands. Nothing is started or paid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.clbench.campaign.beside import LossReader, Processes, Supervision, supervision
from pytest_evalharness.clbench.campaign.costs import elsewhere
from pytest_evalharness.clbench.campaign.last_words import last_words
from pytest_evalharness.clbench.campaign.live import LiveReader, checkout_of
from pytest_evalharness.clbench.campaign.snapshot import Snapshot, broken_off
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.survivors import settle
from pytest_evalharness.clbench.campaign.watch import Limits, Watched, watch
from pytest_evalharness.clbench.domains import Family, families
from pytest_evalharness.errors import JournalUnavailable, SurvivorsRemain
from pytest_evalharness.ledger.journal import Ledger


class Viewer:
    """Looks at a campaign again and again, and remembers what an alarm has to be told from.

    Args:
        folder: its results.
        checkout: where it ran; worked out from its manifest when left out.
        ledger: that knows it; None where none does.
        name: in that ledger.
        clock: tells the time.
        say: told what of a dead supervisor is ended, and what cannot be.
        budget: of an engine for one rollout, in dollars; the campaign's own when left out.
        money: dollars that may still be spent; None where nobody said.
    """

    def __init__(
        self,
        folder: Path,
        checkout: Path | None,
        ledger: Ledger | None = None,
        name: str = "",
        *,
        clock: Clock,
        say: Callable[[str], None],
        budget: float | None = None,
        money: float | None = None,
    ) -> None:
        checkout = checkout or checkout_of(folder)
        self._folder = folder
        self._ledger = ledger
        self._name = name
        self._clock = clock
        self._say = say
        self._budget = budget
        self._money = money
        self._reader = LiveReader(checkout, folder, clock=clock)
        self._processes = Processes(checkout, folder, clock)
        self._losses = LossReader(checkout, folder, clock)
        self._watched: Watched | None = None

    def look(self) -> Standing:
        """How it stands now.

        Raises:
            JournalUnavailable: the ledger that knows it cannot be read.
        """
        supervised = self._supervision()
        snapshot = self._reader.read()
        told = supervised or self._processes.look(snapshot)
        if told.broken_off:
            snapshot = broken_off(snapshot, told.state)
        limits = Limits(budget=self._budget or told.budget)
        self._watched = watch(snapshot, self._watched, limits, paused=told.paused)
        embedded = Family.EMBEDDED in families(one.task for one in snapshot.tasks)
        costs = elsewhere(snapshot.system, embedded=embedded)
        return Standing(
            snapshot,
            self._watched.alarms,
            told,
            self._losses.read(snapshot, told),
            money=self._money,
            prices={task: one.rollout for task, one in costs.items()},
            embedded=embedded,
            last_words=self._last_words(snapshot),
        )

    def over(self, standing: Standing) -> bool:
        """Whether nothing more will come of it."""
        if self._ledger is None:
            return not standing.snapshot.running
        return standing.supervision.over

    def _last_words(self, snapshot: Snapshot) -> dict[str, str]:
        """What the log of each domain that failed says last."""
        failed = [one.task for one in snapshot.tasks if one.status == "failed"]
        return {task: last_words(self._folder / "logs" / f"{task}.log", 1) for task in failed}

    def _supervision(self) -> Supervision | None:
        """What the ledger says, once nothing is left of a supervisor that died; None of a campaign that no ledger knows."""
        if self._ledger is None:
            return None
        told = supervision(self._ledger, self._name)
        if told and told.orphaned and self._end_survivors(self._ledger):
            told = supervision(self._ledger, self._name)
        return told

    def _end_survivors(self, ledger: Ledger) -> bool:
        """Nobody watches what a dead supervisor has left: whoever finds it ends it. False if that cannot be done here."""
        try:
            settle(ledger, self._name, clock=self._clock, say=self._say)
        except (JournalUnavailable, SurvivorsRemain) as problem:
            self._say(str(problem))
            return False
        return True
