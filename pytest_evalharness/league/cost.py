"""What a run costs at the service, in credits: a budget that is kept before and while money is spent, and what was spent."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.base.text import amount
from pytest_evalharness.errors import EvalHarnessError, OverBudget
from pytest_evalharness.ledger.failures import rebuilt, stored
from pytest_evalharness.ledger.spending import Promised, Spending

if TYPE_CHECKING:
    from pytest_evalharness.observatory.models import Credits

EVENT = "credits"
"""The kind of event that tells an account's balance before a run's first POST."""
LOOK_SECONDS = 60.0
"""Seconds between two readings of the account while games are played."""
HEAR_SECONDS = 1.0
"""Seconds between two looks at what other processes of the run have seen."""
_READ_SECONDS = 3.0
"""An interrupted run must have written its report before whoever ended it loses patience."""
_ESTIMATES = ("estimated_credits", "total_credits", "credits")


class Account(Protocol):
    """Whatever tells the account's credits."""

    def credits(self, *, deadline: Deadline | None = None) -> Credits | None:
        """Balance and recent spending; None where the server does not tell."""
        ...


class Purse(Protocol):
    """Where the spending of a run is kept. Safe to use from several threads."""

    def turn(self) -> AbstractContextManager[None]:
        """One POST at a time."""
        ...

    def promised(self) -> Promised:
        """What the run is going to cost."""
        ...

    def promise(self, block: str, *, weight: float, price: float | None, request: str | None = None) -> None:
        """Write down what a request is going to cost."""
        ...

    def free(self, block: str) -> None:
        """Take a promise back: nothing was created."""
        ...

    def over(self) -> EvalHarnessError | None:
        """Why nothing more may be spent, whoever saw it."""
        ...

    def end(self, why: OverBudget) -> None:
        """Nothing more may be spent."""
        ...


class OwnPurse:
    """The spending of a run that is this process alone."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._prices: dict[str, float] = {}
        self._requests: list[str] = []
        self._rate: float | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One POST at a time."""
        with self._turn:
            yield

    def promised(self) -> Promised:
        """What the run is going to cost."""
        return Promised(sum(self._prices.values()), self._rate, tuple(self._requests))

    def promise(self, block: str, *, weight: float, price: float | None, request: str | None = None) -> None:
        """Write down what a request is going to cost."""
        if request is not None:
            self._requests.append(request)
        if price is not None:
            self._prices[block] = price
            self._rate = price / weight if weight > 0 else self._rate

    def free(self, block: str) -> None:
        """Take a promise back: nothing was created."""
        self._prices.pop(block, None)

    def over(self) -> None:
        """Nobody else could have seen anything."""

    def end(self, why: OverBudget) -> None:
        """Nothing more may be spent; nobody else need be told."""


class SharedPurse:
    """The spending of a run, in the ledger that all its processes share."""

    def __init__(self, spending: Spending, run_id: str) -> None:
        self._spending = spending
        self._run_id = run_id

    def turn(self) -> AbstractContextManager[None]:
        """One POST at a time, in all processes."""
        return self._spending.turn()

    def join(self, blocks: Sequence[str]) -> None:
        """Count requests to the run, whoever posts them."""
        self._spending.join(self._run_id, blocks)

    def promised(self) -> Promised:
        """What the run is going to cost."""
        return self._spending.promised(self._run_id)

    def promise(self, block: str, *, weight: float, price: float | None, request: str | None = None) -> None:
        """Write down what a request is going to cost."""
        self._spending.promise(self._run_id, block, weight=weight, price=price, request=request)

    def free(self, block: str) -> None:
        """Take a promise back: nothing was created."""
        self._spending.free(block)

    def over(self) -> EvalHarnessError | None:
        """Why nothing more may be spent, whichever process saw it."""
        told = self._spending.over(self._run_id)
        return None if told is None else rebuilt(told)

    def end(self, why: OverBudget) -> None:
        """Nothing more may be spent, by any process."""
        self._spending.end(self._run_id, stored(why))


class CostGuard:
    """Keeps the budget of a run, in all its processes. Safe to use from several threads.

    Without a budget it only writes down prices, and the balance before the first POST. With one, POSTs go out one after
    another: each waits until the server has said what the ones before it are going to cost.

    Args:
        budget: credits that the run may cost; None for no budget.
        clock: tells when to look again.
        events: where the balance before the first POST is told.
        purse: where the spending is kept; in this process alone if left out.

    Attributes:
        over: why nothing more may be spent; None while there is no reason.
    """

    def __init__(
        self, budget: float | None, clock: Clock, events: EventLog, purse: Purse | None = None
    ) -> None:
        self.budget = budget
        self.over: OverBudget | None = None
        self._clock = clock
        self._events = events
        self._purse: Purse = purse or OwnPurse()
        self._lock = threading.Lock()
        self._began = False
        self._looked = self._asked = clock.monotonic()

    @contextmanager
    def posting(self, account: Account, what: str, weight: float, block: str = "") -> Iterator[None]:
        """A POST in the making; nothing of it is written down or sent before this lets it pass.

        Args:
            account: tells the credits.
            what: what is to be posted, for messages.
            weight: its episodes times their ticks.
            block: the request's block in the ledger.

        Raises:
            OverBudget: it would cost more than is left, or the server does not tell what anything costs.
        """
        if self.budget is None:
            self._begin(account)
            yield
            return
        with self._purse.turn():
            if self._begin(account) is None:
                raise _untold(self.budget)
            self._afford(what, weight)
            if block:
                self._purse.promise(block, weight=weight, price=None)
            yield

    def _begin(self, account: Account) -> float | None:
        """Read and tell the balance, once; None where it is not told."""
        with self._lock:
            if self._began:
                return 0.0
            told = read_account(account, self._clock)
            balance = None if told is None else told.status.balance_credits
            self._events.append(EVENT, balance=balance)
            self._began = self.budget is None or balance is not None
            return balance

    def check(self) -> None:
        """Let whoever wants to spend pass while there is something to spend.

        Raises:
            OverBudget: there is nothing left.
        """
        self.hear()
        if self.over is not None:
            raise OverBudget(self.over.what, not_done=self.over.not_done, next_step=self.over.next_step)

    def hear(self) -> None:
        """Learn what another process of the run has seen: it ends the spending here too."""
        if self.budget is None or self.over is not None:
            return
        told = self._purse.over()
        if isinstance(told, OverBudget):
            self.over = told

    def _end(self, why: OverBudget) -> None:
        self.over = why
        self._purse.end(why)

    def _afford(self, what: str, weight: float) -> None:
        self.check()
        assert self.budget is not None
        promised = self._purse.promised()
        price = weight * (promised.rate or 0.0)
        if promised.committed + price > self.budget:
            self._end(
                OverBudget(
                    f"{what} would cost about {amount(price)} credits; {amount(promised.committed)} of the budget of "
                    f"{amount(self.budget, 6)} are promised by now, as the server's own previews say",
                    not_done="it was not submitted; what was submitted of this run is cancelled where the server can do that",
                    next_step="raise --eval-budget or ask for fewer episodes, and run with --eval-fresh",
                )
            )
            self.check()

    def noted(self, request_id: str, preview: Any, weight: float, block: str = "") -> None:
        """Take in a request of this run: posted now, or found again.

        Args:
            request_id: the request.
            preview: what the server said of its cost when it was created; None where that is not known.
            weight: its episodes times their ticks.
            block: the request's block in the ledger.
        """
        self._purse.promise(block or request_id, weight=weight, price=estimate(preview), request=request_id)
        if self.budget is None or self.over is not None:
            return
        committed = self._purse.promised().committed
        if committed > self.budget:
            self._end(
                OverBudget(
                    f"the server expects {amount(committed)} credits for what was submitted, and the budget is {amount(self.budget, 6)}",
                    not_done="nothing was judged",
                    next_step="raise --eval-budget or ask for fewer episodes, and run with --eval-fresh",
                )
            )

    def freed(self, block: str) -> None:
        """A request that was about to be posted was not created, and costs nothing."""
        self._purse.free(block)

    def look(self, account: Account) -> None:
        """See now and then what the run's requests have cost, and whether that is too much, here or in another process."""
        if self.budget is None or self.over is not None:
            return
        with self._lock:
            now = self._clock.monotonic()
            hears, looks = now - self._asked >= HEAR_SECONDS, now - self._looked >= LOOK_SECONDS
            self._asked = now if hears else self._asked
            self._looked = now if looks else self._looked
        if hears:
            self.hear()
        if not looks:
            return
        requests = self._purse.promised().requests
        told = read_account(account, self._clock)
        spent = sum(cost for cost in costs_of(told, sorted(set(requests))).values() if cost is not None)
        if spent >= self.budget:
            self._end(
                OverBudget(
                    f"the run has cost {amount(spent)} credits by now, and the budget is {amount(self.budget, 6)}",
                    not_done="nothing was judged",
                    next_step="raise --eval-budget or ask for fewer episodes, and run with --eval-fresh",
                )
            )


def _untold(budget: float) -> OverBudget:
    return OverBudget(
        f"the budget of {amount(budget, 6)} credits cannot be kept: the server does not tell the account's credits",
        not_done="nothing was submitted",
        next_step="run without --eval-budget, and bound the cost by --eval-num and --eval-ticks",
    )


def read_account(account: Account, clock: Clock) -> Credits | None:
    """The account's credits; None where the server does not tell, or not soon: nothing waits long for them."""
    try:
        return account.credits(deadline=Deadline.after(clock, _READ_SECONDS))
    except EvalHarnessError:
        return None


def estimate(preview: Any) -> float | None:
    """The credits that a create's `cost_preview` names: a number, or an object with one; None where it names none."""
    if isinstance(preview, Mapping):
        preview = next((preview[key] for key in _ESTIMATES if key in preview), None)
    if isinstance(preview, bool) or not isinstance(preview, int | float):
        return None
    return float(preview) if 0 <= preview < float("inf") else None


def costs_of(told: Credits | None, request_ids: Sequence[str]) -> dict[str, float | None]:
    """What each request has cost so far, in credits; None for those that the account's list does not show."""
    listed = (
        {}
        if told is None
        else {row.experience_request_id: row.compute_cost_credits for row in told.recent_requests}
    )
    return {name: listed.get(name) for name in request_ids}


def spent(
    before: float | None,
    told: Credits | None,
    requests: Sequence[str],
    *,
    verdicts: int,
    budget: float | None,
) -> dict[str, Any]:
    """What a run has cost, as plain data for its report.

    Args:
        before: the balance before the first POST; None where the server did not tell.
        told: the account's credits now; None likewise.
        requests: the requests whose games the run's verdicts rest on.
        verdicts: how many verdicts it has.
        budget: credits that it was allowed.

    Returns:
        `spent` and `per_verdict` are None unless the server tells the cost of every request: nothing is made up.
    """
    costs = costs_of(told, requests)
    known = [cost for cost in costs.values() if cost is not None]
    whole = sum(known) if costs and len(known) == len(costs) else None
    return {
        "balance_after": None if told is None else told.status.balance_credits,
        "balance_before": before,
        "budget": budget,
        "per_verdict": whole / verdicts if whole is not None and verdicts else None,
        "requests": costs,
        "spent": whole,
    }
