"""The supervisor of a running campaign: it looks, writes down, acts on what is wrong, and ends everything when it is told to."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_evalharness.base.clock import Clock, span
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.clbench.campaign.alarm_watch import AlarmWatch
from pytest_evalharness.clbench.campaign.census import Census
from pytest_evalharness.clbench.campaign.domain_control import DomainControl
from pytest_evalharness.clbench.campaign.guardian import Post
from pytest_evalharness.clbench.campaign.interrupts import Interrupts
from pytest_evalharness.clbench.campaign.money_watch import MoneyWatch
from pytest_evalharness.clbench.campaign.process_table import Process
from pytest_evalharness.clbench.campaign.processes import Graces, end
from pytest_evalharness.clbench.campaign.snapshot import Snapshot
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.status_lines import summary
from pytest_evalharness.clbench.campaign.supervisor_journal import SupervisorJournal
from pytest_evalharness.clbench.campaign.survivors import told, words
from pytest_evalharness.ledger.campaigns import ASKED

_REAP_SECONDS = 5.0


class Wish(StrEnum):
    """What another process may ask a supervisor for, of a domain; a campaign as a whole can only be ended."""

    PAUSE = "pause"
    CONTINUE = "continue"
    END = "end"


@dataclass(frozen=True)
class Rhythm:
    """How often a supervisor looks, and how long it waits. Seconds.

    Attributes:
        tick: between two looks at processes and wishes.
        look: between two looks at results.
        told: between two lines of progress.
        hold: after which a paused domain is ended.
        whole: after which the campaign is ended.
        graces: of an end.
    """

    tick: float = 2.0
    look: float = 15.0
    told: float = 300.0
    hold: float = 21_600.0
    whole: float = 7 * 86_400.0
    graces: Graces = field(default_factory=Graces)


@dataclass(frozen=True)
class Ending:
    """How a start ended.

    Attributes:
        by_us: whether this supervisor ended it.
        exit_code: of the program; negative for a signal, None if it could not be ended.
        why: in words.
        left: processes that outlive SIGKILL.
    """

    by_us: bool
    exit_code: int | None
    why: str
    left: tuple[Process, ...] = ()


class Supervisor:
    """Watches one start until it is over.

    Args:
        program: `run-all`, a child of this process.
        census: of its processes.
        domains: what can be done to each.
        alarms: what its results say is wrong.
        journal: where everything is written down before it is done.
        post: of the guardian that ends everything should this process die.
        interrupts: who wants this process to end.
        last_event: number of the ledger's last event before the start: wishes behind it count.
        clock: tells the time.
        say: told what happens.
        rhythm: how often it looks.
        sweep: ends what dead processes left in containers; called when a domain has ended, however it did.
        money: watches what may still be spent; None where nobody tells.
    """

    def __init__(
        self,
        program: subprocess.Popen[bytes],
        *,
        census: Census,
        domains: DomainControl,
        alarms: AlarmWatch,
        journal: SupervisorJournal,
        post: Post,
        interrupts: Interrupts,
        last_event: int,
        clock: Clock,
        say: Callable[[str], None],
        rhythm: Rhythm,
        sweep: Callable[[], object],
        money: MoneyWatch | None = None,
    ) -> None:
        self._program = program
        self._census = census
        self._domains = domains
        self._alarms = alarms
        self._journal = journal
        self._post = post
        self._interrupts = interrupts
        self._last_event = last_event
        self._clock = clock
        self._say = say
        self._rhythm = rhythm
        self._sweep = sweep
        self._money = money
        self._wished = ""
        self._told_last = ""
        self._snapshot: Snapshot | None = None
        self._look = Deadline.after(clock, 0.0)
        self._tell = Deadline.after(clock, 0.0)
        self._whole = Deadline.after(clock, rhythm.whole)

    def watch(self) -> Ending:
        """Watch until the program has ended, or is to end; nothing of it is alive then, and the guardian may go.

        Raises:
            CampaignLost: another process supervises the campaign by now.
            KeyboardInterrupt: somebody else's handler raised it; everything was ended first.
        """
        try:
            while True:
                code = self._program.poll()
                if code is not None:
                    return self._ended_by_itself(code)
                if why := self._reason_to_end():
                    return self._end(why)
                self._tick()
                self._clock.wait(self._rhythm.tick, self._interrupts.wake)
        except KeyboardInterrupt:
            self._end("interrupted")
            raise

    def last_look(self) -> Snapshot:
        """How far it came, which the ledger is told too: it may have ended between two looks."""
        self._snapshot = self._alarms.look()
        self._journal.heartbeat(self._progress())
        return self._snapshot

    def _reason_to_end(self) -> str:
        if self._interrupts.count:
            return f"interrupted by {self._interrupts.name or 'its caller'}"
        if self._whole.expired:
            return f"it has run for {span(self._rhythm.whole)}"
        return self._wished

    def _tick(self) -> None:
        self._guard()
        self._end_lone(self._census.look())
        self._grant()
        self._domains.look()
        if self._look.expired:
            self._look = Deadline.after(self._clock, self._rhythm.look)
            self._snapshot = self._alarms.look()
            self._report(self._snapshot)
            if self._money is not None:
                for line in self._money.look(self._snapshot):
                    self._say(line)
        self._journal.heartbeat(self._progress())

    def _guard(self) -> None:
        """Have a guardian: one that was killed is replaced before anything else is done."""
        if self._post.held:
            return
        self._journal.note("guardian lost", {"pid": self._post.pid})
        with suppress(OSError):  # the next tick tries again
            self._post.fill()
            self._say("the guardian had died; another one watches now")

    def _end_lone(self, lone: list[Process]) -> None:
        if not lone:
            return
        self._journal.note("ending lone processes", {"processes": words(lone)})
        self._say(f"{len(lone)} processes go on without the program that started them: {told(lone)}; ended")
        keys = {one.key for one in lone}
        end(
            lambda: [one for one in self._census.find().values() if one.key in keys],
            self._clock,
            self._rhythm.graces,
            haste=lambda: self._interrupts.count,
        )
        self._sweep()

    def _grant(self) -> None:
        """Do what other processes asked for."""
        for event in self._journal.asked(self._last_event):
            self._last_event = event.id
            if event.kind != ASKED:
                continue
            what, task, why = event.told.get("what"), str(event.told.get("task") or ""), "it was asked for"
            if what == Wish.END and not task:
                self._wished = "its end was asked for"
                continue
            self._journal.note("answered", {"asked": event.id, "done": self._done(what, task, why)})

    def _done(self, what: object, task: str, why: str) -> bool:
        match what:
            case Wish.PAUSE:
                return self._domains.pause(task, why)
            case Wish.CONTINUE:
                return self._domains.proceed(task, why)
            case Wish.END:
                return self._domains.finish(task, why)
        return False

    def _report(self, snapshot: Snapshot) -> None:
        """A line of progress: when it is time, and when a domain has ended."""
        state = "|".join(f"{one.task} {one.status}" for one in snapshot.tasks)
        if not snapshot.tasks or (state == self._told_last and not self._tell.expired):
            return
        if state != self._told_last and any(one.ended for one in snapshot.tasks):
            self._sweep()
        self._told_last = state
        self._tell = Deadline.after(self._clock, self._rhythm.told)
        self._say(summary(Standing(snapshot, self._alarms.alarms)))

    def _progress(self) -> dict[str, object]:
        snapshot = self._snapshot
        return {
            "done": sum(one.done for one in snapshot.passes()) if snapshot else 0,
            "cost": sum(one.cost or 0.0 for one in snapshot.passes()) if snapshot else 0.0,
            "paused": {task: one.why for task, one in self._domains.paused.items()},
            "ended": dict(self._domains.ended),
            "alarms": [one.text for one in self._alarms.alarms],
        }

    def _ended_by_itself(self, code: int) -> Ending:
        why = f"run-all ended with {code}" if code >= 0 else f"run-all was killed by signal {-code}"
        left = list(self._census.find().values())
        if left:
            self._journal.note("ending", {"processes": words(left), "why": why})
            self._say(f"{why}; {len(left)} of its processes are alive: {told(left)}")
        return Ending(by_us=False, exit_code=code, why=why, left=tuple(self._end_all()))

    def _end(self, why: str) -> Ending:
        found = list(self._census.find().values())
        self._journal.note("ending", {"why": why, "processes": words(found)})
        self._say(f"{why}: {len(found)} processes are ended; once more ends them faster")
        left = self._end_all()
        return Ending(by_us=True, exit_code=self._reaped(), why=why, left=tuple(left))

    def _end_all(self) -> list[Process]:
        self._census.look()  # who has just begun may own a container too
        return end(
            lambda: self._census.find().values(),
            self._clock,
            self._rhythm.graces,
            haste=lambda: (
                self._interrupts.count - 1
            ),  # the first one asks for an end, each further one for haste
            on_signal=lambda number, count: self._say(f"  {number.name} to {count} processes"),
        )

    def _reaped(self) -> int | None:
        try:
            return self._program.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            return None
