"""Whether the money lasts: asked from time to time, in a thread of its own, since a provider may take its time to answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.forecast import forecast, least_complete_first
from pytest_evalharness.clbench.campaign.money import Spendable, drained_per_hour
from pytest_evalharness.clbench.campaign.snapshot import Snapshot

EVERY_SECONDS = 600.0
_MOST = 12
_CENT = 0.01


@dataclass(frozen=True)
class _Answer:
    """What may be spent, and when that was told, in seconds since 1970."""

    money: Spendable
    at: float


def _others(before: _Answer, cost_before: float, now: _Answer, cost: float) -> float:
    """Dollars an hour that others spend of the same key, or the same account: those of another campaign, say."""
    seconds = now.at - before.at
    if seconds <= 0.0:
        return 0.0
    own = max(0.0, cost - cost_before) / seconds * 3600.0
    pairs = ((before.money.key, now.money.key), (before.money.balance, now.money.balance))
    return max(drained_per_hour((before.at, old), (now.at, new), own) for old, new in pairs) - own


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
        self.prices = prices
        self._every = every
        self._next = Deadline.after(clock, 0.0)
        self._asking: threading.Thread | None = None
        self._answers: list[_Answer] = []
        self._first: tuple[_Answer, float] | None = None

    def look(self, snapshot: Snapshot) -> Iterator[str]:
        """Ask if it is time, and say what the last answer means for the campaign, once for each answer."""
        if self._next.expired and (self._asking is None or not self._asking.is_alive()):
            self._next = Deadline.after(self._clock, self._every)
            self._asking = threading.Thread(target=self._question, name="evalharness-money", daemon=True)
            self._asking.start()
        if self._answers:
            yield from self._said(self._answers.pop(), snapshot)

    def _question(self) -> None:
        self._answers.append(_Answer(self._ask(), self._clock.now()))

    def _said(self, answer: _Answer, snapshot: Snapshot) -> Iterator[str]:
        money, told = answer.money, forecast(snapshot, self.prices)
        # Since the first answer, not the last: what a campaign spends is told late, and would seem to be somebody else's.
        self._first = self._first or (answer, told.cost)
        others = _others(*self._first, answer, told.cost)
        left, hours = told.dollars_left, (told.seconds_left or 0.0) / 3600.0
        if money.dollars is None or money.dollars >= left + others * hours:
            return
        shared = f"; others spend ${others:,.2f} an hour of the same money" if others >= _CENT else ""
        yield f"money runs short: {money.words}; about ${left:,.2f} are still to be spent{shared}"
        yield "  least complete first; a part of a rollout is worth nothing:"
        for one in least_complete_first(snapshot, self.prices)[:_MOST]:
            saves = "saves nobody knows what" if one.saves is None else f"saves about ${one.saves:,.2f}"
            yield (
                f"    {printable(one.live.task, 40)}, {one.live.name}: {one.completion:.0%} done, "
                f"${one.spent:,.2f} spent, ending it {saves}"
            )
