"""Whether the money lasts: asked from time to time, in a thread of its own, since a provider may take its time to answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.forecast import forecast, least_complete_first
from pytest_evalharness.clbench.campaign.money import Spendable
from pytest_evalharness.clbench.campaign.snapshot import Snapshot

EVERY_SECONDS = 600.0
_MOST = 12


class MoneyWatch:
    """Compares what may still be spent with what a campaign still costs.

    Args:
        ask: what may be spent now; raises nothing.
        clock: tells when to ask again.
        prices: dollars of a whole rollout by task, where nothing has been spent on one yet.
        every: seconds between two questions.
    """

    def __init__(
        self,
        ask: Callable[[], Spendable],
        clock: Clock,
        prices: Mapping[str, float],
        *,
        every: float = EVERY_SECONDS,
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._prices = prices
        self._every = every
        self._next = Deadline.after(clock, 0.0)
        self._asking: threading.Thread | None = None
        self._answers: list[Spendable] = []

    def look(self, snapshot: Snapshot) -> Iterator[str]:
        """Ask if it is time, and say what the last answer means for the campaign, once for each answer."""
        if self._next.expired and (self._asking is None or not self._asking.is_alive()):
            self._next = Deadline.after(self._clock, self._every)
            self._asking = threading.Thread(target=self._question, name="evalharness-money", daemon=True)
            self._asking.start()
        if self._answers:
            yield from self._said(self._answers.pop(), snapshot)

    def _question(self) -> None:
        self._answers.append(self._ask())

    def _said(self, money: Spendable, snapshot: Snapshot) -> Iterator[str]:
        left = forecast(snapshot, self._prices).dollars_left
        if money.dollars is None or money.dollars >= left:
            return
        yield f"money runs short: {money.words}; about ${left:,.2f} are still to be spent"
        yield "  least complete first; a part of a rollout is worth nothing:"
        for one in least_complete_first(snapshot, self._prices)[:_MOST]:
            saves = "saves nobody knows what" if one.saves is None else f"saves about ${one.saves:,.2f}"
            yield (
                f"    {printable(one.live.task, 40)}, {one.live.name}: {one.completion:.0%} done, "
                f"${one.spent:,.2f} spent, ending it {saves}"
            )
