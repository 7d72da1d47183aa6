"""Drives one block of an arm: posts or adopts it, and has it watched to its end. Runs in a thread of its own."""

from __future__ import annotations

import threading
from typing import Any

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import (
    CredentialsRejected,
    EvalHarnessError,
    RequestRefused,
    SubmissionUnknown,
)
from pytest_evalharness.league.arms import Arm, signed_body
from pytest_evalharness.league.context import Context
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.league.poll import Poller
from pytest_evalharness.ledger.leases import Lease
from pytest_evalharness.ledger.states import BlockState, LeaseLost
from pytest_evalharness.observatory.problems import AnswerLost, Conflict
from pytest_evalharness.observatory.search import FoundRequests

LOOK_FOR_LOST = 8.0
"""Seconds to look for a request whose answer was lost before its key is used again."""
ARRIVED = 300.0
"""Seconds after which a POST that a complete list does not show has never arrived: one may take two minutes to be taken in,
and then be shown late."""
CLOCK_SKEW = 300.0
"""Seconds by which the server's clock may be behind ours."""


class BlockDriver(threading.Thread):
    """Takes one leased block to its end. An error is journalled, and kept in `error` for this process."""

    def __init__(self, context: Context, lease: Lease, arm: Arm, budgets: Budgets) -> None:
        super().__init__(name=f"evalharness-{arm.side}-{lease.block.block_id}", daemon=True)
        self.context = context
        self.lease = lease
        self.arm = arm
        self.budgets = budgets
        self.error: BaseException | None = None

    def run(self) -> None:
        """Thread body."""
        try:
            self._drive()
        except LeaseLost:
            return  # another process took over: the journal tells this one what becomes of it
        except BaseException as error:  # noqa: BLE001 - whoever waits must see it, whatever it is
            self.error = error
        finally:
            self.lease.release()

    def _drive(self) -> None:
        state = self.lease.block.state
        abandoned = state is BlockState.ABANDONED
        if abandoned:
            self.lease.reopen()
        request_id: str | None
        if state is BlockState.PLANNED:
            request_id = self._post()
        elif state is BlockState.POSTING:
            request_id = self._adopt()
        else:
            request_id = self._known_id()
        if request_id is not None:
            self.poll(request_id, patient=abandoned)

    def poll(self, request_id: str, *, patient: bool = False) -> None:
        """Watch a posted request to its end; `patient` counts its budgets from now."""
        Poller(
            self.context, self.lease, self.arm, self.budgets, request_id, say=self.say, patient=patient
        ).run()

    def _known_id(self) -> str:
        if self.lease.block.request_id is None:
            raise SubmissionUnknown(f"the journal has no request id for the {self.arm.side} arm")
        if not self.arm.adopted:  # what somebody else created is no cost of this run
            self.context.guard.noted(
                self.lease.block.request_id, None, self._weight, self.lease.block.block_id
            )
        self.say("resumed", request=self.lease.block.request_id)
        return self.lease.block.request_id

    # ------------------------------------------------------------- posting

    def _body(self) -> dict[str, Any]:
        block = self.lease.block
        return signed_body(
            block.body, notes=self.context.notes, token=block.token, idempotency_key=block.idempotency_key
        )

    def _post(self) -> str | None:
        self.context.guard.check()
        self.context.revalidate()
        if self.context.stop.is_set():
            return None
        what = f"the {self.arm.side} arm's request ({self._episodes} episodes)"
        guard, block = self.context.guard, self.lease.block.block_id
        with guard.posting(self.context.observatory, what, self._weight, block):
            self.lease.begin_post()
            self.say("posting")
            return self._send()

    @property
    def _episodes(self) -> int:
        return int(self.lease.block.body.get("num_episodes", 1))

    @property
    def _weight(self) -> float:
        """What the cost of its request grows with."""
        return float(self._episodes * self.arm.ticks)

    def _send(self) -> str | None:
        """One POST. What it did is in the journal before anything else happens."""
        try:
            detail = self.context.observatory.create_experience_request(self._body())
        except Conflict as conflict:
            return self._posted_elsewhere(conflict)
        except (RequestRefused, CredentialsRejected) as refusal:
            self._refuse(refusal)
            raise
        except AnswerLost:
            self.say("answer_lost")
            return self._adopt()
        except EvalHarnessError:
            self.lease.not_sent()  # whatever else it was: the client says that nothing went out
            self.context.guard.freed(self.lease.block.block_id)
            raise
        return self._posted(detail.id, "posted", detail.cost_preview)

    def _refuse(self, refusal: EvalHarnessError) -> None:
        self.lease.refused(refusal)
        self.context.guard.freed(self.lease.block.block_id)
        self.say("refused", reason=refusal.what)

    def _posted_elsewhere(self, conflict: Conflict) -> str:
        """Whoever works on a copy of this ledger has the block's key too, and may have posted it with other notes."""
        found = self._search()
        if found:
            return self._posted(found[0].id, "adopted")
        if self.context.stop.is_set() or not found.conclusive:
            raise self._unseen(f"the server does not take it: {conflict.what}") from None
        self._refuse(conflict)
        raise conflict

    def _posted(self, request_id: str, how: str, cost_preview: Any = None) -> str:
        self.lease.posted(request_id)
        self.context.guard.noted(request_id, cost_preview, self._weight, self.lease.block.block_id)
        self.say(how, request=request_id)
        return request_id

    def _adopt(self) -> str | None:
        """Find what became of a POST whose answer this process does not have; never post it blindly again.

        The token in the notes finds a request that exists. One that would be listed by now, had it ever arrived, was not
        sent. Otherwise a server that knows idempotency keys answers the same POST with the first request. Else nobody
        can tell.
        """
        found = self._search()
        old = self.context.clock.now() - self._sent_at > ARRIVED
        if old and not found:
            found = self._look(ever=True)  # no server's clock may decide that there is none
        if found:
            return self._posted(found[0].id, "adopted")
        if not self.context.stop.is_set():
            if old and found.conclusive:
                self.lease.not_sent()
                return self._post()
            if self.context.observatory.knows_idempotency_keys():
                return self._repeat_with_the_same_key()
        raise self._unseen("the server does not show whether it exists")

    def _search(self) -> FoundRequests:
        """Look for the block's request: for a while, since what was accepted a moment ago may be listed late.

        Raises:
            SubmissionUnknown: there are several.
        """
        clock = self.context.clock
        deadline = Deadline.after(clock, LOOK_FOR_LOST)
        while True:
            late = deadline.expired  # before the look: an answer that took its time is no look at its end
            found = self._look()
            if len(found) > 1:
                raise self._doubled([row.id for row in found])
            if found or late or clock.wait(0.5, self.context.stop):
                return found

    def _unseen(self, why: str) -> SubmissionUnknown:
        """A POST that may have made a request, which nobody has seen."""
        return self._unknown(
            f"the {self.arm.side} arm was posted, its answer was lost, and {why} "
            f"(token {self.lease.block.token} in its notes)",
            not_done="it was not posted again",
            next_step="run the same command again to look once more; if you know that no such request exists, "
            "--eval-fresh posts a new one",
        )

    def _unknown(self, what: str, not_done: str, next_step: str) -> SubmissionUnknown:
        """A POST whose fate nobody can tell: noted, so that --eval-fresh need not wait for it."""
        error = SubmissionUnknown(what, not_done=not_done, next_step=next_step)
        if not self.context.stop.is_set():  # broken off in the middle of looking, it proves nothing
            self.lease.unknown(error)
        return error

    def _look(self, *, ever: bool = False) -> FoundRequests:
        self.lease.heartbeat(None)
        since = None if ever else self._sent_at - CLOCK_SKEW
        return self.context.observatory.find_experience_requests(self.lease.block.token, since)

    @property
    def _sent_at(self) -> float:
        return self.lease.block.posted_at or self.lease.block.created_at

    def _doubled(self, ids: list[str]) -> SubmissionUnknown:
        return self._unknown(
            f"the server has {len(ids)} requests of the {self.arm.side} arm: {', '.join(map(printable, ids))}",
            not_done="nothing more was submitted; these requests go on",
            next_step="cancel the ones you do not want, then run with --eval-fresh",
        )

    def _repeat_with_the_same_key(self) -> str:
        """The POST once more. Its refusal tells nothing of the first one, which may have used up what is missing now."""
        try:
            detail = self.context.observatory.create_experience_request(self._body())
        except AnswerLost as lost:
            raise self._unseen(
                f"so was the answer to the same POST under the same key: {lost.what}"
            ) from None
        except (RequestRefused, CredentialsRejected) as refusal:
            raise self._unseen(f"the server does not take it again: {refusal.what}") from None
        return self._posted(detail.id, "posted")

    def say(self, what: str, **fields: Any) -> None:
        """Tell whoever shows progress."""
        block = self.lease.block
        self.context.events.append(
            "arm",
            what=what,
            side=self.arm.side,
            label=self.arm.label,
            key=block.arm_key,
            block=block.block_id,
            requests=len(self.arm.blocks),
            **fields,
        )
