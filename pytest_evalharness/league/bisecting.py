"""Finds the seats of a wedged arm that hang: short games in which known-good policies take seats in turn."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_evalharness.base.clock import Clock, span
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.base.text import amount, printable
from pytest_evalharness.episodes.error_info import Blame, blame_of
from pytest_evalharness.errors import ArmFailed, ArmStalled, OverBudget
from pytest_evalharness.league.arms import SIDES, Arm, Seat
from pytest_evalharness.league.attribution import COMPLETED
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.context import Context
from pytest_evalharness.league.cost import CostGuard, SharedPurse
from pytest_evalharness.league.drive import BlockDriver
from pytest_evalharness.league.kept import Kept
from pytest_evalharness.league.known_good import Policy
from pytest_evalharness.league.plan import TICKS_PER_SECOND, Budgets
from pytest_evalharness.league.wedge import BudgetSpent, Found, Outcome, most_tests, search
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import arm_key, digest
from pytest_evalharness.ledger.records import ArmSpec, Block
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory.client import Observatory

KIND = "wedge"
TICKS = 1000
MOST_WEDGED = 2
"""So many hanging seats are named within the usual budget; more need a larger one."""
_TRIES = 2
"""Games a test, where the first one ends in a way that tells nothing."""
_HUNG = frozenset({"episode_timeout", "players_missing"})
"""The service's own words for a game that it ended because somebody hung in it, or never connected."""
_GLANCE = 0.2
_JOIN_SECONDS = 3.0


@dataclass(frozen=True)
class Wedged:
    """An arm one of whose requests was found wedged."""

    arm: Arm
    request_id: str


def wedged_arms(ledger: Ledger, kept: Kept) -> Iterator[Wedged]:
    """The arms of a comparison that hung, one for each that sat differently."""
    for part in kept.parts:
        for side in SIDES if part.frozen is not None else ():
            assert part.frozen is not None
            blocks = [block for key in part.keys(side) for block in ledger.blocks(key)]
            hung = next((block for block in blocks if hangs(block)), None)
            if hung is not None:
                yield Wedged(part.frozen.arms[side], hung.request_id or "")


def hangs(block: Block) -> bool:
    """Whether a request was given up because its games hang: a budget that ran out leaves it abandoned instead."""
    given_up = block.state in {BlockState.CANCELLED, BlockState.FAILED}
    return given_up and isinstance(block.failure, ArmStalled)


def budgets(*, queue: float, stall: float | None, queue_exceeded: str | None = None) -> Budgets:
    """How long one test may take; arguments as `Budgets.for_plan`."""
    game = TICKS / TICKS_PER_SECOND
    grace = stall if stall is not None else game * 3 + 600
    return Budgets(queue, grace, grace + game * 3 + 900, queue_exceeded)


class Bisection:
    """One search for the hanging seats of an arm. Its games are requests in the ledger: who asks again reads their answers.

    Args:
        ledger: the journal.
        server: the server's identity; answers of another one are none.
        arm: who hung.
        good: known-good policies; the first of them that finishes in all seats takes the others' places.
        seated: (seat, version id) of whoever finished a game in that seat; they are suspected last.
        allowed: games that may be played.
        budgets: how long one may take.
        price: credits that all of them may cost; None for no budget.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        server: str,
        arm: Arm,
        good: Sequence[Policy],
        seated: frozenset[tuple[int, str]],
        allowed: int | None,
        budgets: Budgets,
        price: float | None = None,
    ) -> None:
        self._ledger = ledger
        self._server = server
        self.arm = arm
        self.good = tuple(good)
        self.seats = tuple(seat.position for seat in arm.seats)
        self.prime = tuple(
            seat.position for seat in arm.seats if (seat.position, seat.policy_version_id) not in seated
        )
        usual = most_tests(len(self.seats), MOST_WEDGED, prime=len(self.prime)) + len(self.good) - 1
        self.allowed = allowed if allowed is not None else usual
        self.filling = self.good[0]
        self.budgets = budgets
        self.price = price
        self.played = 0
        self._fresh = ledger.searches.latest(self._key)

    @property
    def _key(self) -> str:
        return digest({"server": self._server, **self.arm.to_json()})

    def begin_afresh(self) -> None:
        """Ask every question anew; whoever goes on without asking for that goes on with this search."""
        self._fresh = self._ledger.searches.afresh(self._key)

    def plan_lines(self) -> Iterator[str]:
        """What is going to be played, and what it may cost, before anything is posted."""
        game = TICKS / TICKS_PER_SECOND
        for seat in self.arm.seats:
            finished = (
                "" if seat.position in self.prime else "; it has finished games in this seat: suspected last"
            )
            role = f" ({seat.role})" if seat.role else ""
            yield f"seat {seat.position}     {printable(seat.label)}{role}{finished}"
        yield f"known good {', '.join(printable(one.label) for one in self.good)}"
        yield (
            f"games      at most {self.allowed}, one a request, {TICKS} ticks (at most {span(game)} of play); one that hangs is "
            f"waited for {span(self.budgets.stall)} and cancelled, and may run on to the service's limit"
        )
        if self.price is not None:
            yield f"budget     {amount(self.price, 6)} credits for all of them: a game that would cost more is not posted"

    def run(
        self,
        observatory: Observatory,
        clock: Clock,
        events: EventLog,
        stop: threading.Event,
        *,
        session: str,
        say: Callable[[str], None],
    ) -> Found:
        """Play until every hanging seat is named, or the budget is spent.

        Args:
            observatory: the client.
            clock: tells the time, and waits.
            events: where the requests' progress is told.
            stop: ends the waiting.
            session: who asks.
            say: told each step.

        Raises:
            EvalHarnessError: a game could not be played.
        """
        context = Context(
            observatory=observatory, clock=clock, events=events, notes=f"wedge search at {TICKS} ticks",
            run_id=None, stop=stop, guard=CostGuard(self.price, clock, events, SharedPurse(self._ledger.spending, session)),
            revalidate=lambda: None, deep=0,
        )  # fmt: skip

        def ask(keep: frozenset[int]) -> bool:
            answer, request = self._answer(context, keep, session)
            kept = (
                f"seats {', '.join(map(str, sorted(keep)))} as they were"
                if keep
                else f"{printable(self.filling.label)} in every seat"
            )
            say(f"game {self.played}: {kept}: {'hangs' if answer else 'finishes'} ({printable(request)})")
            return answer

        found = Found(Outcome.NO_POLICY)
        for one in self.good:
            self.filling = one
            found = search(self.seats, ask, prime=self.prime)
            if found.outcome is not Outcome.NO_POLICY:
                break
        return found

    def _answer(self, context: Context, keep: frozenset[int], session: str) -> tuple[bool, str]:
        """Whether a game hangs in which these seats keep their policy, and the request that told."""
        blocks = (self._block(keep, number) for number in itertools.count())
        tests = (
            block for block in blocks if not _too_dear(block)
        )  # what was cancelled for its cost has told nothing
        for block in itertools.islice(tests, _TRIES):
            if self.played >= self.allowed:
                raise BudgetSpent
            self.played += 1
            ended = self._settled(context, block, self._test(keep), session)
            answer = _told(ended)
            if answer is not None:
                return answer, ended.request_id or ""
        raise ArmFailed(
            f"a test of the wedge search ended {_TRIES} times without telling whether its seats hang ({ended.request_id})",
            not_done="no seat was named",
            next_step="look at the request on the server; the same command with another --known-good policy plays other games",
        )

    def _test(self, keep: frozenset[int]) -> Arm:
        seats = tuple(seat if seat.position in keep else self._replaced(seat) for seat in self.arm.seats)
        body = {
            **self.arm.body,
            "roster": [{"player": {"policy_ref": s.policy_version_id}, "slot": s.position} for s in seats],
            "num_episodes": 1,
            "game_config_overrides": {**self.arm.body["game_config_overrides"], "maxTicks": TICKS},
        }
        return replace(
            self.arm, side=KIND, seats=seats, episodes=1, ticks=TICKS, body=body, blocks=(BlockSpec(1),)
        )

    def _replaced(self, seat: Seat) -> Seat:
        return replace(seat, policy_version_id=self.filling.policy_version_id, label=self.filling.label)

    def _block(self, keep: frozenset[int], number: int) -> Block:
        test = self._test(keep)
        fresh = {"fresh": self._fresh} if self._fresh else {}
        spec: dict[str, Any] = {KIND: {"server": self._server, "try": number, **fresh}, **test.to_json()}
        (block,) = self._ledger.lay(ArmSpec(arm_key(spec), spec, test.bodies(), kind=KIND))
        return block

    def _settled(self, context: Context, block: Block, test: Arm, session: str) -> Block:
        """Have a test's request driven to its end, by this process or by whoever works on it.

        Raises:
            EvalHarnessError: it came to nothing.
        """
        while True:
            lease = self._ledger.acquire(block.block_id, session=session)
            if lease is not None:
                _drive(BlockDriver(context, lease, test, self.budgets), context)
            block = self._ledger.block(block.block_id)
            if block.state is BlockState.FINISHED or hangs(block):
                return block
            if block.settled:
                raise block.failure or ArmFailed(
                    f"a request of the wedge search ended as {block.state} ({block.request_id or 'never posted'})"
                )
            context.clock.wait(_GLANCE)


def _drive(driver: BlockDriver, context: Context) -> None:
    """Run a driver to its end in its thread; an interrupt ends it in an orderly way.

    Raises:
        EvalHarnessError: what it ended with, unless the journal tells more.
    """
    driver.start()
    try:
        while driver.is_alive():
            driver.join(_GLANCE)
    except BaseException:
        context.stop.set()
        driver.join(_JOIN_SECONDS)
        raise
    if isinstance(driver.error, OverBudget):
        raise OverBudget(
            driver.error.what,
            not_done=f"no seat was named by this game; {driver.error.not_done}",
            next_step="the same command with a larger --eval-budget goes on with this search, and reads again what was played",
        )
    if driver.error is not None and not isinstance(driver.error, ArmStalled):
        raise driver.error


def _too_dear(block: Block) -> bool:
    """Whether a test was cancelled because the budget of an earlier search was spent."""
    return block.state is BlockState.CANCELLED and isinstance(block.failure, OverBudget)


def _told(block: Block) -> bool | None:
    """What a settled test tells: whether it hangs; None if its game ended for a reason that tells nothing."""
    if hangs(block):
        return True
    episodes = (block.evidence or {}).get("episodes", ())
    if any(one["status"] == COMPLETED for one in episodes):
        return False
    causes = [one["error_type"] for one in episodes]
    if _HUNG & set(causes):
        return True
    # A player that broke let the game end: it does not hang.
    return False if any(blame_of(cause) is Blame.PLAYER for cause in causes) else None


def what_to_do(arm: Arm, seats: Sequence[int]) -> Iterator[str]:
    """The next steps after seats were named, by whose they are."""
    for seat in (one for one in arm.seats if one.position in seats):
        name = printable(seat.label)
        if seat.position == arm.tested_seat:
            yield f"{name} is what was tested: do not ship it; look at what it does before its first answer, and upload a version that starts"
        else:
            yield f"{name} is an opponent: seat somebody else (--opponent, in seat order), then ask again with --fresh"
