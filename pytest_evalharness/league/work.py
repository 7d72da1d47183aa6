"""The requests of a run's comparisons: taken up, driven and waited for, by whichever process gets there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.errors import ArmFailed, EvalHarnessError, OverBudget
from pytest_evalharness.league.blocks import AT_ONCE, blocks_of_look
from pytest_evalharness.league.cost import CostGuard, SharedPurse
from pytest_evalharness.league.frozen import Frozen, keys_of
from pytest_evalharness.league.plan import Budgets, ComparisonPlan
from pytest_evalharness.league.renewing import Superseded
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.report.model import MANY, requests_told

if TYPE_CHECKING:
    from pytest_evalharness.league.drive import BlockDriver
    from pytest_evalharness.observatory.client import Observatory

_FIRST_LOOK, _LAST_LOOK = 0.02, 0.5
_JOIN_SECONDS = 3.0
_CANCEL_SECONDS = 60.0
"""Seconds for requests that are too dear to be cancelled in: they cost until they are."""


class Revalidate(Protocol):
    """Raises if a frozen field has changed; `begun` tells whether something of the comparison was posted already."""

    def __call__(self, roster: Roster, *, begun: bool) -> None:
        """See the class."""


class Work:
    """What this process does for the blocks of a run.

    Args:
        ledger: the journal, through which processes share the work.
        connect: gives the client; not called while nothing is left to do.
        clock: tells the time, and waits.
        events: where progress is told.
        run_id: the run.
        notes: what the user noted, for every request.
        stop: set by `close`.
        on_wait: called between two looks at the journal, in the thread that waits.
        revalidate: raises if a frozen field has changed; called right before a POST.
        budgets: how long a plan's arms may take.
        budget: credits that the run may cost; None for no budget.
        looks_deep: whether the tested policy's own records are read in all games.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        connect: Callable[[], Observatory],
        clock: Clock,
        events: EventLog,
        run_id: str,
        notes: str,
        stop: threading.Event,
        on_wait: Callable[[], None],
        revalidate: Revalidate,
        budgets: Callable[[ComparisonPlan], Budgets],
        looks_deep: Callable[[], bool],
        budget: float | None = None,
    ) -> None:
        self._ledger = ledger
        self._connect = connect
        self._clock = clock
        self._events = events
        self._run_id = run_id
        self._notes = notes
        self._stop = stop
        self._on_wait = on_wait
        self._revalidate = revalidate
        self._budgets = budgets
        self._looks_deep = looks_deep
        self._purse = SharedPurse(ledger.spending, run_id)
        self._guard = CostGuard(budget, clock, events, self._purse)
        self._joined: set[str] = set()
        self._drivers: dict[str, BlockDriver] = {}
        self._told: dict[str, tuple[int, int]] = {}

    def blocks(self, plan: ComparisonPlan, frozen: Frozen, look: int) -> dict[str, list[Block]]:
        """The blocks of each arm that a look reads."""
        assert frozen.comparison is not None
        found = {}
        for side in frozen.arms:
            first, *more = (self._ledger.blocks(key) for key in keys_of(frozen.comparison, side))
            read = first[: blocks_of_look(plan.declaration, look, len(first))]
            found[side] = [*read, *(block for rows in more for block in rows)]
        return found

    def take(self, plan: ComparisonPlan, frozen: Frozen, look: int) -> None:
        """Work on blocks that nobody alive works on; a block of one arm and its like of the other at one time."""
        blocks = self.blocks(plan, frozen, look)
        ours = [block.block_id for side in blocks for block in blocks[side]]
        self._count(plan, ours)
        for pair in zip_longest(*blocks.values()):
            for side, block in zip(blocks, pair, strict=True):
                if block is None:
                    continue  # arms that somebody else posted may be cut into unlike numbers of requests
                driver = self._drivers.get(block.block_id)
                # A driver that ended without an error has lost its lease: whoever took it may have died since.
                idle = driver is None or (not driver.is_alive() and driver.error is None)
                if idle and block.state is not BlockState.FINISHED:
                    self._drive(plan, frozen, side, block)
            if sum(self._drivers[one].is_alive() for one in ours if one in self._drivers) >= AT_ONCE:
                return  # the rest follow as these end

    def _count(self, plan: ComparisonPlan, blocks: list[str]) -> None:
        """Count the requests of a comparison that is being played to the run's budget, whoever posts them."""
        if self._guard.budget is not None and plan.adopted is None and not self._joined.issuperset(blocks):
            self._purse.join(blocks)
            self._joined.update(blocks)

    def _drive(self, plan: ComparisonPlan, frozen: Frozen, side: str, block: Block) -> None:
        from pytest_evalharness.league.context import Context
        from pytest_evalharness.league.drive import BlockDriver

        lease = self._ledger.acquire(block.block_id, session=self._run_id)
        if lease is None:
            return
        assert frozen.comparison is not None
        begun = self._ledger.progress.begun(frozen.comparison.id)
        context = Context(
            observatory=self._connect(),
            clock=self._clock,
            events=self._events,
            notes=self._notes,
            run_id=self._run_id,
            stop=self._stop,
            guard=self._guard,
            revalidate=lambda: self._revalidate(frozen.roster, begun=begun),
            deep=None if self._looks_deep() else Context.deep,
        )
        driver = BlockDriver(context, lease, frozen.arms[side], self._budgets(plan))
        self._drivers[block.block_id] = driver
        driver.start()

    def wait(self, plan: ComparisonPlan, frozen: Frozen, look: int) -> dict[str, list[Block]]:
        """Wait until every block that a look reads is finished; takes up what nobody works on meanwhile.

        Raises:
            EvalHarnessError: an arm came to nothing.
            Superseded: another process has frozen the comparison anew, before anything of it was sent.
        """
        assert frozen.comparison is not None
        pause = _FIRST_LOOK
        while True:
            blocks = self.blocks(plan, frozen, look)
            self._tell(plan, frozen, blocks)
            if all(block.state is BlockState.FINISHED for side in blocks for block in blocks[side]):
                self._on_wait()
                return blocks
            if self._ledger.progress.superseded(frozen.comparison.id):
                raise Superseded(
                    "another process has frozen this comparison anew, before anything of it was sent",
                    not_done="nothing of the old attempt was submitted",
                    next_step="run the same command again: it takes the new one up",
                )
            self._raise_failures(blocks)
            self.take(plan, frozen, look)
            self._on_wait()
            self._clock.wait(pause)
            pause = min(pause * 1.5, _LAST_LOOK)

    def _tell(self, plan: ComparisonPlan, frozen: Frozen, blocks: Mapping[str, list[Block]]) -> None:
        """Say how many requests of an arm have ended, whoever drove them, whenever it changes."""
        for side in blocks:
            done, total = sum(b.state is BlockState.FINISHED for b in blocks[side]), len(blocks[side])
            key = blocks[side][0].arm_key
            if total < MANY or self._told.get(key) == (done, total):
                continue
            self._told[key] = done, total
            self._events.append(
                "arm",
                what="ended",
                side=side,
                label=frozen.arms[side].label,
                key=key,
                done=done,
                total=total,
                unit="requests" if plan.declaration.pairing is None else "pairs",
            )

    def _raise_failures(self, blocks: Mapping[str, list[Block]]) -> None:
        """One arm's failure ends the other's wait: the comparison can no longer be had."""
        for side in blocks:
            others = [other for other in blocks if other != side]  # a single arm has none
            for block in blocks[side]:
                error = self.failure_of(side, block)
                if error is not None:
                    if isinstance(error, OverBudget):
                        # What was submitted is cancelled by whoever watches it, and who does so here must know why first.
                        self._guard.hear()
                        self._end_drivers(_CANCEL_SECONDS)
                    self._on_wait()
                    raise self._with_others(error, others, blocks)

    def _with_others(
        self, error: BaseException, others: list[str], blocks: Mapping[str, list[Block]]
    ) -> BaseException:
        """An arm's failure, with what becomes of the other arm now, if there is one."""
        if not others:
            return error
        return _beside(error, others[0], [self._ledger.block(one.block_id) for one in blocks[others[0]]])

    def failure_of(self, side: str, block: Block) -> BaseException | None:
        """Why a block came to nothing; None while it may still be had."""
        driver = self._drivers.get(block.block_id)
        if driver is not None and driver.error is not None:
            return driver.error
        if block.state is BlockState.FINISHED or not block.settled:
            return None
        if driver is not None and driver.is_alive():
            return None  # a later run polls an abandoned block again; its driver is about to say so
        return block.failure or ArmFailed(
            f"the {side} arm ended as {block.state} ({block.request_id or 'never posted'})",
            not_done="nothing was judged",
            next_step="run with --eval-fresh to post it again",
        )

    def close(self) -> None:
        """Stop this process's drivers and let go of their work, so that others take it over at once."""
        self._end_drivers(_JOIN_SECONDS)

    def _end_drivers(self, patience: float) -> None:
        self._stop.set()
        deadline = Deadline.after(self._clock, patience)
        for driver in self._drivers.values():
            driver.join(deadline.remaining)


def _beside(error: BaseException, other: str, blocks: list[Block]) -> BaseException:
    """An arm's failure, with what becomes of the other arm."""
    posted = _in_state(blocks, BlockState.RUNNING)
    cancelled = _in_state(blocks, BlockState.CANCELLED) if isinstance(error, OverBudget) else []
    if not isinstance(error, EvalHarnessError) or not (posted or cancelled):
        return error
    told = [error.not_done]
    if posted:
        told.append(
            f"the {other} arm ({requests_told(posted)}) goes on at the server and is waited for no longer"
        )
    if cancelled:
        told.append(
            f"the {other} arm ({requests_told(cancelled)}) was cancelled; what runs of it by now is not stopped by that"
        )
    not_done = "; ".join(part for part in told if part)
    return type(error)(error.what, not_done=not_done, next_step=error.next_step)


def _in_state(blocks: list[Block], state: BlockState) -> list[str]:
    """The requests that are in a state."""
    return [block.request_id for block in blocks if block.request_id and block.state is state]
