"""Watches a posted request to its end, within its budgets, and says what hangs."""

from __future__ import annotations

from collections.abc import Callable

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ArmStalled, EvalHarnessError, ServerUnreachable, SubmissionUnknown
from pytest_evalharness.league.arms import Arm
from pytest_evalharness.league.context import Context
from pytest_evalharness.league.harvest import harvest
from pytest_evalharness.league.own_records import Looking
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.ledger.leases import Lease
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory.models import ExperienceRequestDetail
from pytest_evalharness.observatory.status import Status

FASTEST_POLL = 0.2
SLOWEST_POLL = 10.0
LONGEST_ASKED = 60.0
"""The service may ask for longer pauses than ours, but not for ones in which we would count as dead."""
POLL_GROWTH = 1.5
POLL_SHARE = 0.04
"""A poll's pause is at most this share of the time waited, so that an answer is at most 4 % late."""
OUTAGE = 300.0
"""Seconds without an answer that a posted request survives before its wait ends."""
NOT_YET = 120.0
"""Seconds after its acceptance in which a request that the server does not show is only late."""


class Poller:
    """Watches one posted request to its terminal state, within its budgets.

    Args:
        context: the run.
        lease: the block that the request belongs to.
        arm: who sits where, for messages.
        budgets: how long it may take.
        request_id: the server's id of the request.
        say: tells whoever shows progress.
        patient: count the budgets from now, although games have run before: a user who repeats the command after a
            budget ran out wants to go on waiting.
    """

    def __init__(
        self,
        context: Context,
        lease: Lease,
        arm: Arm,
        budgets: Budgets,
        request_id: str,
        *,
        say: Callable[..., None],
        patient: bool,
    ) -> None:
        self.context = context
        self.lease = lease
        self.arm = arm
        self.budgets = budgets
        self.request_id = request_id
        self.say = say
        self.started = self.context.clock.monotonic()
        self.first_running = None if patient else self._ran_before()
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
        self.say("outage", request=self.request_id, reason=why.what)
        self.lease.heartbeat(None)

    def _harvest(self, detail: ExperienceRequestDetail) -> None:
        context, tested = self.context, self.arm.tested_seat
        version = self.arm.seats[tested].policy_version_id
        # Of pairs, which are requests of one game each, the first few are looked into.
        deep = None if context.deep is None else max(0, context.deep - self.lease.block.position)
        evidence = harvest(
            context.observatory,
            detail,
            self.lease.heartbeat,
            context.stop,
            clock=context.clock,
            looking=Looking(context.observatory, tested, version, context.clock),
            deep=deep,
        )
        if evidence is not None:
            self.lease.finish(evidence)
            self.say("finished", request=self.request_id)

    def _note(self, detail: ExperienceRequestDetail) -> None:
        counts: dict[str, int] = {}
        for episode in detail.episodes:
            counts[str(episode.status)] = counts.get(str(episode.status), 0) + 1
        if self.first_running is None and any(word not in {"pending", "submitted"} for word in counts):
            self.first_running = self.context.clock.monotonic()
            self.lease.running(self.context.clock.now())
        self.lease.heartbeat({"episodes": counts})
        if counts != self.last:
            self.say("progress", request=self.request_id, total=len(detail.episodes), counts=counts)
            self.last = counts

    def _mind_the_budgets(self, detail: ExperienceRequestDetail) -> None:
        now, budgets = self.context.clock.monotonic(), self.budgets
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
        side, label = self.arm.side, printable(self.arm.label)
        error = ArmStalled(
            f"the {side} arm {label} ({self.request_id}) {why}",
            not_done="nothing was judged; the request is still running on the server and was not posted again",
            next_step=f"run the same command again to go on waiting for the same request ({option} gives it longer)",
        )
        self.lease.abandon(error)
        self.say("abandoned", request=self.request_id, reason=error.what)
        raise error

    def _wedged(self, ran: float, detail: ExperienceRequestDetail) -> None:
        """Zero finished games past the stall grace: some seat hangs, and waiting will not help."""
        side = self.arm.side
        seats = ", ".join(f"{seat.position} {printable(seat.label)}" for seat in self.arm.seats)
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
            # Not abandoned: going on with it would only wait for the hanging seat again.
            self.lease.fail(error)
        self.say("wedged", request=self.request_id, reason=error.what)
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
