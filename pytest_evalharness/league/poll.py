"""Watches a posted request to its end, within its budgets, and says what hangs."""

from __future__ import annotations

from collections.abc import Callable

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.errors import (
    ArmFailed,
    ArmStalled,
    EvalHarnessError,
    OverBudget,
    ServerUnreachable,
    SubmissionUnknown,
)
from pytest_evalharness.league.arms import Arm
from pytest_evalharness.league.context import Context
from pytest_evalharness.league.harvest import harvest, unpublished
from pytest_evalharness.league.own_records import Looking
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.league.watch import Standing, ended, watcher
from pytest_evalharness.ledger.leases import Lease
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory.models import ExperienceRequestDetail
from pytest_evalharness.observatory.problems import Busy
from pytest_evalharness.observatory.status import Status

FASTEST_POLL = 0.2
LONGEST_ASKED = 60.0
"""The service may ask for longer pauses than ours, but not for ones in which we would count as dead."""
POLL_GROWTH = 1.5
JITTER = 0.2
"""Pauses are up to this share longer or shorter."""
POLL_SHARE = 0.04
"""A poll's pause is at most this share of the time waited, so that an answer is at most 4 % late."""
OUTAGE = 300.0
"""Seconds without an answer that a posted request survives before its wait ends."""
LAG = 2.5
"""Seconds after its acceptance in which a request that cannot be cancelled may only not be shown yet."""
NOT_YET = 120.0
"""Seconds after its acceptance in which a request that the server does not show is only late."""


SOFTLY = (
    "the request was cancelled: no further game of it starts, and games that run are not stopped by that: they end by "
    "themselves or at the service's limit, 20 minutes by default"
)
NOT_OURS = "the request was created elsewhere and is not cancelled from here: it goes on at the server"
STILL_RUNNING = "the request could not be cancelled and goes on: it is still running on the server"
PUBLICATION = 120.0
"""Seconds after the last game in which results that are not there are only published late."""
TOLD_LATE = 10.0
"""Seconds of waiting for results after which people are told what is waited for."""


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
        self.patient = patient
        self.last: dict[str, int] = {}
        self.last_answer = 0.0
        self.finished = 0
        self.watch = watcher(
            context.observatory, request_id, clock=context.clock, stop=context.stop, lost=self._feed_lost
        )

    def _feed_lost(self, why: str) -> None:
        self.say("feed_lost", request=self.request_id, reason=why)

    def _ran_before(self) -> float | None:
        """When the first game was seen running, on this process's clock: a takeover does not restart the budgets."""
        since = self.lease.block.running_at
        if since is None or self.lease.state is not BlockState.RUNNING:
            return None
        return self.context.clock.monotonic() - max(0.0, self.context.clock.now() - since)

    def run(self) -> None:
        """Look until the request and every episode have ended, then harvest."""
        pause, guard = FASTEST_POLL, self.context.guard
        while not self.context.stop.is_set() and guard.over is None:
            standing, asked = self._look()
            if standing is not None:
                self._note(standing)
                if isinstance(standing, ExperienceRequestDetail) and ended(standing):
                    self._harvest(standing)
                    return
                self._mind_the_budgets(standing)
            pause = min(pause * POLL_GROWTH, max(FASTEST_POLL, self._waited * POLL_SHARE), self.watch.slowest)
            jittered = pause * self.context.rng.uniform(1.0 - JITTER, 1.0 + JITTER)
            self.context.clock.wait(max(jittered, min(asked, LONGEST_ASKED)), self.context.stop)
            guard.look(self.context.observatory)
        if guard.over is not None:
            self._too_dear(guard.over)

    @property
    def _waited(self) -> float:
        return self.context.clock.monotonic() - self.started

    def _look(self) -> tuple[Standing | None, float]:
        """How the request stands, and the pause that the server asks for.

        There is none while the server is out, or does not show the request yet: a posted request outlives an outage, and
        what was just accepted may be shown late.
        """
        try:
            standing = self.watch.look(self._patience)
        except ServerUnreachable as outage:
            if self._waited - self.last_answer > OUTAGE:
                raise
            self._no_news(outage)
            return None, outage.seconds if isinstance(outage, Busy) else 0.0
        except SubmissionUnknown as absent:
            if self.context.clock.now() - (self.lease.block.accepted_at or 0.0) > NOT_YET:
                raise
            self._no_news(absent)
            return None, 0.0
        self.last_answer = self._waited
        return standing, (standing.poll_after_seconds or 0.0) if standing is not None else 0.0

    @property
    def _patience(self) -> float:
        """Seconds until the next budget runs out: nobody may wait for news beyond that."""
        now, budgets = self.context.clock.monotonic(), self.budgets
        if self.first_running is None:
            return max(0.0, self.started + budgets.queue - now)
        allowed = budgets.total if self.finished else min(budgets.stall, budgets.total)
        return max(0.0, self.first_running + allowed - now)

    def _no_news(self, why: EvalHarnessError) -> None:
        self.say("outage", request=self.request_id, reason=why.what)
        self.lease.heartbeat(None)

    def _harvest(self, detail: ExperienceRequestDetail) -> None:
        context, tested = self.context, self.arm.tested_seat
        version = self.arm.seats[tested].policy_version_id
        began, told = context.clock.monotonic(), False

        def alive(_: object) -> None:
            nonlocal told
            self.lease.heartbeat(None)
            if not told and context.clock.monotonic() - began > TOLD_LATE:
                told = True
                self.say("late", request=self.request_id)

        # Of pairs, which are requests of one game each, the first few are looked into.
        deep = None if context.deep is None else max(0, context.deep - self.lease.block.position)
        evidence = harvest(
            context.observatory,
            detail,
            alive,
            context.stop,
            clock=context.clock,
            late_seconds=PUBLICATION,
            looking=Looking(context.observatory, tested, version, context.clock),
            deep=deep,
        )
        if evidence is None:
            return
        absent = unpublished(evidence)
        if absent and not self.patient:
            self._give_up(
                f"has ended, and the server has not published the results of {absent} of its {len(detail.episodes)} games "
                f"within {span(PUBLICATION)}",
                ArmStalled(
                    "",
                    not_done="nothing was judged and nothing was posted again; no game is waited for any more, only their results",
                    next_step="run the same command again in a few minutes: it reads the results of the same games, and counts "
                    "those that are missing even then as missing",
                ),
            )
        self.lease.finish(evidence)
        self.say("finished", request=self.request_id)

    def _note(self, standing: Standing) -> None:
        counts: dict[str, int] = {}
        for episode in standing.episodes:
            counts[str(episode.status)] = counts.get(str(episode.status), 0) + 1
        # A failed game may be dispatched again while its request lives: it is no finished one.
        self.finished = sum(episode.status is Status.COMPLETED for episode in standing.episodes)
        if self.first_running is None and any(word not in {"pending", "submitted"} for word in counts):
            self.first_running = self.context.clock.monotonic()
            self.lease.running(self.context.clock.now())
        self.lease.heartbeat({"episodes": counts})
        if counts != self.last:
            self.say("progress", request=self.request_id, total=len(standing.episodes), counts=counts)
            self.last = counts

    def _mind_the_budgets(self, standing: Standing) -> None:
        now, budgets = self.context.clock.monotonic(), self.budgets
        if self.first_running is None:
            if now - self.started > budgets.queue:
                self._queued(f"has waited {span(now - self.started)} in the queue and no game has started")
            return
        ran = now - self.first_running
        if self._hangs(standing) and ran > budgets.stall:
            self._wedged(ran, standing)
        if ran > budgets.total:
            self._give_up(
                f"has run for {span(ran)} and {self.finished} of {len(standing.episodes)} games have finished",
                self._goes_on("--eval-total-budget"),
            )

    def _queued(self, why: str) -> None:
        """The queue has taken too long. Whoever asks for it, or minds the cost, has it cancelled: what never starts costs nothing."""
        asked, minds = self.budgets.queue_exceeded, self.context.guard.budget is not None
        wanted = asked == "cancel" or (asked is None and minds)
        if wanted and self._cancel():
            by = "--eval-budget" if asked is None else "--eval-queue-exceeded=cancel"
            self._cancelled(
                ArmFailed(
                    f"the {self.arm.side} arm {printable(self.arm.label)} ({self.request_id}) {why}",
                    not_done=f"nothing was judged; the request was cancelled before a game of it started, as {by} asks",
                    next_step="run with --eval-fresh when the queue is shorter, or give it longer with --eval-queue-budget",
                )
            )
        tried = " and could not be cancelled" if wanted and not self.arm.adopted else ""
        self._give_up(why + tried, self._goes_on("--eval-queue-budget"))

    def _too_dear(self, over: OverBudget) -> None:
        cancelled = self._cancel()
        if cancelled is False and self._read_although_dear():
            return
        error = OverBudget(
            over.what,
            not_done=f"nothing was judged; {self._fate(cancelled=cancelled)} ({self.request_id})",
            next_step=over.next_step,
        )
        if cancelled:
            self._cancelled(error)
        self.lease.abandon(error)
        self.say("abandoned", request=self.request_id, reason=error.what)
        raise error

    def _read_although_dear(self) -> bool:
        """Read a request that had ended before it could be cancelled: its games are paid, and leaving them unread saves nothing."""
        standing, _ = self._look()
        if not isinstance(standing, ExperienceRequestDetail) or not ended(standing):
            return False
        self._note(standing)
        self._harvest(standing)
        return True

    def _cancelled(self, error: EvalHarnessError) -> None:
        self.lease.cancelled(error)
        self.say("cancelled", request=self.request_id, reason=error.what)
        raise error

    def _hangs(self, standing: Standing) -> bool:
        """Whether games run and none has finished: past the stall grace the signature of a hanging seat."""
        return not self.finished and any(one.status is Status.RUNNING for one in standing.episodes)

    def _goes_on(self, option: str) -> ArmStalled:
        run = self.context.run_id
        endless = self.arm.adopted or run is None or self.context.observatory.dialect.cancels is False
        ends = "" if endless else f", or end it: evalharness runs cancel {printable(run)}"
        return ArmStalled(
            "",
            not_done="nothing was judged; the request is still running on the server and was not posted again",
            next_step=f"run the same command again to go on waiting for the same request ({option} gives it longer){ends}",
        )

    def _give_up(self, why: str, told: ArmStalled) -> None:
        error = ArmStalled(
            f"the {self.arm.side} arm {printable(self.arm.label)} ({self.request_id}) {why}",
            not_done=told.not_done,
            next_step=told.next_step,
        )
        self.lease.abandon(error)
        self.say("abandoned", request=self.request_id, reason=error.what)
        raise error

    def _wedged(self, ran: float, standing: Standing) -> None:
        """Zero finished games past the stall grace: some seat hangs, and waiting will not help."""
        side = self.arm.side
        seats = ", ".join(f"{seat.position} {printable(seat.label)}" for seat in self.arm.seats)
        running = sum(episode.status is Status.RUNNING for episode in standing.episodes)
        run = printable(self.context.run_id or "RUN")
        cancelled = self._cancel()
        error = ArmStalled(
            f"the {side} arm ({self.request_id}) is wedged: {counted(running, 'game')} running, none of {len(standing.episodes)} "
            f"finished in {span(ran)}; one of its seats hangs (seats {seats})",
            not_done=f"nothing was judged; {self._fate(cancelled=cancelled)}",
            next_step=f"find the hanging seat: evalharness ab --bisect-wedge {run} --known-good NAME:vN (short games, "
            "--eval-ticks 1000), "
            f"then {'create the request anew' if self.arm.adopted else 'run with --eval-fresh'}",
        )
        if cancelled:
            self.lease.cancelled(error)
        elif self.arm.adopted:
            self.lease.abandon(error)  # whoever created it may end it: then what there is of it can be read
        else:
            # Not abandoned: going on with it would only wait for the hanging seat again.
            self.lease.fail(error)
        self.say("wedged", request=self.request_id, reason=error.what)
        raise error

    def _fate(self, *, cancelled: bool | None) -> str:
        """What becomes of the request at the server, for people."""
        if self.arm.adopted:
            return NOT_OURS
        return SOFTLY if cancelled else STILL_RUNNING

    def _cancel(self) -> bool | None:
        """Whether the request was cancelled: False where it had ended before, None where it cannot be or was not ours to end.

        What was just accepted may not be shown to a cancel either.
        """
        clock, observatory = self.context.clock, self.context.observatory
        if self.arm.adopted:
            return None  # it is for whoever created it to end it
        try:
            while (stopped := observatory.cancel(self.request_id)) is None:
                if clock.now() - (self.lease.block.accepted_at or 0.0) > LAG:
                    return None
                clock.wait(FASTEST_POLL)
        except EvalHarnessError:
            return None  # why it is cancelled is the news; a cancel that fails is told beside it
        return stopped
