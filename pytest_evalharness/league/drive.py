"""Drives one block of an arm: post, adopt, poll to the end, harvest. Runs in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.clock import Clock, span
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import (
    ArmStalled,
    CredentialsRejected,
    EvalHarnessError,
    RequestRefused,
    ServerUnreachable,
    SubmissionUnknown,
)
from pytest_evalharness.league.arms import Arm, signed_body
from pytest_evalharness.league.harvest import harvest
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.ledger.leases import Lease
from pytest_evalharness.ledger.states import BlockState, LeaseLost
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import ExperienceRequestDetail
from pytest_evalharness.observatory.problems import AnswerLost
from pytest_evalharness.observatory.search import FoundRequests
from pytest_evalharness.observatory.status import Status

FASTEST_POLL = 0.2
SLOWEST_POLL = 10.0
LONGEST_ASKED = 60.0
"""The service may ask for longer pauses than ours, but not for ones in which we would count as dead."""
POLL_GROWTH = 1.5
POLL_SHARE = 0.04
"""A poll's pause is at most this share of the time waited, so that an answer is at most 4 % late."""
LOOK_FOR_LOST = 8.0
"""Seconds to look for a request whose answer was lost before its key is used again."""
CLOCK_SKEW = 300.0
"""Seconds by which the server's clock may be behind ours."""
OUTAGE = 300.0
"""Seconds without an answer that a posted request survives before its wait ends."""
NOT_YET = 120.0
"""Seconds after its acceptance in which a request that the server does not show is only late."""


@dataclass(frozen=True)
class Context:
    """What a driver needs from the run it belongs to."""

    observatory: Observatory
    clock: Clock
    events: EventLog
    notes: str
    stop: threading.Event
    revalidate: Callable[[], None]
    """Raises if the frozen field has changed; called right before a POST."""


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
        if state is BlockState.ABANDONED:
            self.lease.reopen()
        request_id: str | None
        if state is BlockState.PLANNED:
            request_id = self._post()
        elif state is BlockState.POSTING:
            request_id = self._adopt()
        else:
            request_id = self._known_id()
        if request_id is not None:
            Poller(self, request_id).run()

    def _known_id(self) -> str:
        if self.lease.block.request_id is None:
            raise SubmissionUnknown(f"the journal has no request id for the {self.arm.side} arm")
        self.say("resumed", request=self.lease.block.request_id)
        return self.lease.block.request_id

    # ------------------------------------------------------------- posting

    def _body(self) -> dict[str, Any]:
        block = self.lease.block
        return signed_body(
            block.body, notes=self.context.notes, token=block.token, idempotency_key=block.idempotency_key
        )

    def _post(self) -> str | None:
        self.context.revalidate()
        if self.context.stop.is_set():
            return None
        self.lease.begin_post()
        self.say("posting")
        return self._send()

    def _send(self) -> str:
        """One POST. What it did is in the journal before anything else happens."""
        try:
            detail = self.context.observatory.create_experience_request(self._body())
        except (RequestRefused, CredentialsRejected) as refusal:
            self.lease.refused(refusal)
            self.say("refused", reason=refusal.what)
            raise
        except AnswerLost:
            self.say("answer_lost")
            return self._adopt()
        except EvalHarnessError:
            self.lease.not_sent()  # whatever else it was: the client says that nothing went out
            raise
        return self._posted(detail.id, "posted")

    def _posted(self, request_id: str, how: str) -> str:
        self.lease.posted(request_id)
        self.say(how, request=request_id)
        return request_id

    def _adopt(self) -> str:
        """Find what became of a POST whose answer this process does not have; never post it blindly again.

        The token in the notes finds a request that exists. If the server can tell that there is none, the POST
        did not arrive, and it is repeated under the same idempotency key, so that even a wrong answer costs nothing:
        the service answers a league-targeted key that it knows with the first request.
        """
        clock = self.context.clock
        deadline = Deadline.after(clock, LOOK_FOR_LOST)
        while True:
            found = self._look()
            if len(found) == 1:
                return self._posted(found[0].id, "adopted")
            if len(found) > 1:
                raise self._doubled([row.id for row in found])
            if deadline.expired or clock.wait(0.5, self.context.stop):
                break
        if self.context.stop.is_set() or not found.conclusive:
            raise self._unknown(
                f"the {self.arm.side} arm was posted, its answer was lost, and the server does not show whether it "
                f"exists (token {self.lease.block.token} in its notes)",
                not_done="it was not posted again",
                next_step="run the same command again to look once more; if you know that no such request exists, "
                "--eval-fresh posts a new one",
            )
        return self._repeat_with_the_same_key()

    def _unknown(self, what: str, not_done: str, next_step: str) -> SubmissionUnknown:
        """A POST whose fate nobody can tell: noted, so that --eval-fresh need not wait for it."""
        error = SubmissionUnknown(what, not_done=not_done, next_step=next_step)
        if not self.context.stop.is_set():  # broken off in the middle of looking, it proves nothing
            self.lease.unknown(error)
        return error

    def _look(self) -> FoundRequests:
        self.lease.heartbeat(None)
        sent = self.lease.block.posted_at or self.lease.block.created_at
        return self.context.observatory.find_experience_requests(self.lease.block.token, sent - CLOCK_SKEW)

    def _doubled(self, ids: list[str]) -> SubmissionUnknown:
        return self._unknown(
            f"the server has {len(ids)} requests of the {self.arm.side} arm: {', '.join(map(printable, ids))}",
            not_done="nothing more was submitted; these requests go on",
            next_step="cancel the ones you do not want, then run with --eval-fresh",
        )

    def _repeat_with_the_same_key(self) -> str:
        try:
            detail = self.context.observatory.create_experience_request(self._body())
        except (RequestRefused, CredentialsRejected) as refusal:
            self.lease.refused(refusal)
            raise
        return self._posted(detail.id, "posted")

    def say(self, what: str, **fields: Any) -> None:
        """Tell whoever shows progress."""
        self.context.events.append(
            "arm", what=what, side=self.arm.side, label=self.arm.label, key=self.lease.block.arm_key, **fields
        )


class Poller:
    """Watches one posted request to its terminal state, within its budgets."""

    def __init__(self, driver: BlockDriver, request_id: str) -> None:
        self.driver = driver
        self.request_id = request_id
        self.context = driver.context
        self.lease = driver.lease
        self.started = self.context.clock.monotonic()
        self.first_running = self._ran_before()
        self.last: dict[str, int] = {}
        self.last_answer = 0.0

    def _ran_before(self) -> float | None:
        """When the first game was seen running, on this process's clock: a takeover does not restart the budgets."""
        since = self.lease.block.running_at
        if since is None or self.lease.state is not BlockState.RUNNING:
            return None
        return self.context.clock.monotonic() - max(0.0, self.context.clock.now() - since)

    def run(self) -> None:
        """Poll until the request and every episode have ended, then harvest."""
        pause = FASTEST_POLL
        while not self.context.stop.is_set():
            detail = self._read()
            if detail is not None:
                self._note(detail)
                if ended(detail):
                    self._harvest(detail)
                    return
                self._mind_the_budgets(detail)
            pause = min(pause * POLL_GROWTH, max(FASTEST_POLL, self._waited * POLL_SHARE), SLOWEST_POLL)
            asked_for = detail.poll_after_seconds if detail is not None else None
            self.context.clock.wait(max(pause, min(asked_for or 0.0, LONGEST_ASKED)), self.context.stop)

    @property
    def _waited(self) -> float:
        return self.context.clock.monotonic() - self.started

    def _read(self) -> ExperienceRequestDetail | None:
        """The request as it stands, or None while the server is out, or does not show it yet.

        A posted request outlives an outage, and what was just accepted may be shown late.
        """
        try:
            detail = self.context.observatory.experience_request(self.request_id, fresh=True)
        except ServerUnreachable as outage:
            if self._waited - self.last_answer > OUTAGE:
                raise
            self._no_news(outage)
            return None
        except SubmissionUnknown as absent:
            if self.context.clock.now() - (self.lease.block.accepted_at or 0.0) > NOT_YET:
                raise
            self._no_news(absent)
            return None
        self.last_answer = self._waited
        return detail

    def _no_news(self, why: EvalHarnessError) -> None:
        self.driver.say("outage", request=self.request_id, reason=why.what)
        self.lease.heartbeat(None)

    def _harvest(self, detail: ExperienceRequestDetail) -> None:
        context = self.context
        evidence = harvest(
            context.observatory, detail, self.lease.heartbeat, context.stop, clock=context.clock
        )
        if evidence is not None:
            self.lease.finish(evidence)
            self.driver.say("finished", request=self.request_id)

    def _note(self, detail: ExperienceRequestDetail) -> None:
        counts: dict[str, int] = {}
        for episode in detail.episodes:
            counts[str(episode.status)] = counts.get(str(episode.status), 0) + 1
        if self.first_running is None and any(word not in {"pending", "submitted"} for word in counts):
            self.first_running = self.context.clock.monotonic()
            self.lease.running(self.context.clock.now())
        self.lease.heartbeat({"episodes": counts})
        if counts != self.last:
            self.driver.say("progress", request=self.request_id, total=len(detail.episodes), counts=counts)
            self.last = counts

    def _mind_the_budgets(self, detail: ExperienceRequestDetail) -> None:
        now, budgets = self.context.clock.monotonic(), self.driver.budgets
        done = sum(episode.status.terminal for episode in detail.episodes)
        if self.first_running is None:
            if now - self.started > budgets.queue:
                self._give_up(
                    f"has waited {span(now - self.started)} in the queue and no game has started",
                    "--eval-queue-budget",
                )
            return
        ran = now - self.first_running
        if done == 0 and ran > budgets.stall:
            self._wedged(ran, detail)
        if ran > budgets.total:
            self._give_up(
                f"has run for {span(ran)} and {done} of {len(detail.episodes)} games have ended",
                "--eval-total-budget",
            )

    def _give_up(self, why: str, option: str) -> None:
        side, label = self.driver.arm.side, self.driver.arm.label
        error = ArmStalled(
            f"the {side} arm {label} ({self.request_id}) {why}",
            not_done="nothing was judged; the request is still running on the server and was not posted again",
            next_step=f"run the same command again to go on waiting for the same request ({option} gives it longer)",
        )
        self.lease.abandon(error)
        self.driver.say("abandoned", request=self.request_id, reason=error.what)
        raise error

    def _wedged(self, ran: float, detail: ExperienceRequestDetail) -> None:
        """Zero finished games past the stall grace: some seat hangs, and waiting will not help."""
        side = self.driver.arm.side
        seats = ", ".join(f"{seat.position} {seat.label}" for seat in self.driver.arm.seats)
        running = sum(episode.status is Status.RUNNING for episode in detail.episodes)
        cancelled = self._cancel()
        error = ArmStalled(
            f"the {side} arm ({self.request_id}) is wedged: {running} games running, none of {len(detail.episodes)} "
            f"finished in {span(ran)}; one of its seats hangs (seats {seats})",
            not_done="nothing was judged; "
            + (
                "the request was cancelled" if cancelled else "the request could not be cancelled and goes on"
            ),
            next_step="find the hanging seat by swapping opponents at a short --eval-ticks 1000, then run with --eval-fresh",
        )
        if cancelled:
            self.lease.cancelled(error)
        else:
            self.lease.fail(
                error
            )  # not abandoned: going on with it would only wait for the hanging seat again
        self.driver.say("wedged", request=self.request_id, reason=error.what)
        raise error

    def _cancel(self) -> bool:
        try:
            return bool(self.context.observatory.cancel(self.request_id))
        except EvalHarnessError:
            return False  # the wedge is the news; a cancel that fails is told beside it


def ended(detail: ExperienceRequestDetail) -> bool:
    """Whether nothing more will come: the request and every episode are terminal.

    A failed episode may be dispatched again while its request lives, so the request's own state comes first. After
    a cancel, episodes that never started stay pending for ever and are not waited for.
    """
    if not detail.status.terminal:
        return False
    if detail.status is Status.CANCELLED:
        return not any(episode.status is Status.RUNNING for episode in detail.episodes)
    return all(episode.status.terminal for episode in detail.episodes)
