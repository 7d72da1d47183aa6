"""A campaign as it stands: what its files say, with what is known of it beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_evalharness.clbench.campaign.beside import Supervision
from pytest_evalharness.clbench.campaign.forecast import Forecast, forecast
from pytest_evalharness.clbench.campaign.loss_classes import Count, LossClass
from pytest_evalharness.clbench.campaign.snapshot import PassState, Snapshot
from pytest_evalharness.clbench.campaign.watch import Alarm


@dataclass(frozen=True)
class Standing:
    """A campaign with what is known of it beside its files.

    Attributes:
        snapshot: what its files say.
        alarms: what is wrong now.
        supervision: who is at work on it.
        losses: what its engines lost, by class.
        money: dollars that may still be spent; None where nobody said.
        prices: dollars of a whole rollout by task, where nothing was paid for one yet.
        embedded: whether it runs the miniature.
        last_words: what the log of each domain that failed says last, by task.
    """

    snapshot: Snapshot
    alarms: Sequence[Alarm] = ()
    supervision: Supervision = field(default_factory=Supervision)
    losses: Mapping[LossClass, Count] = field(default_factory=dict)
    money: float | None = None
    prices: Mapping[str, float] = field(default_factory=dict)
    embedded: bool = False
    last_words: Mapping[str, str] = field(default_factory=dict)

    @property
    def told(self) -> Forecast:
        """How it will go on."""
        return forecast(self.snapshot, self.prices)

    @property
    def short_of_money(self) -> float | None:
        """Dollars that are missing; None where nobody said how many there are, or there are enough."""
        missing = None if self.money is None else self.told.dollars_left - self.money
        return missing if missing is not None and missing > 0.0 else None

    @property
    def troubled(self) -> bool:
        """Whether somebody should look at it."""
        lost = any(one.state in {PassState.SHORT, PassState.INTERRUPTED} for one in self.snapshot.passes())
        failed = any(one.status == "failed" for one in self.snapshot.tasks)
        told = self.supervision
        wrong = (
            told.orphaned
            or told.broken_off
            or told.paused
            or told.ended
            or any(one.lost for one in self.losses.values())
        )
        return bool(self.alarms or wrong or self.short_of_money or self.snapshot.problems or lost or failed)
