"""A campaign from its first process to its last: started, supervised, and ended so that nothing of it goes on spending."""

from __future__ import annotations

import shlex
import subprocess
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable, redact
from pytest_evalharness.clbench.campaign.alarm_watch import AlarmWatch
from pytest_evalharness.clbench.campaign.census import Census
from pytest_evalharness.clbench.campaign.claiming import accepted, claimed, let_go_on
from pytest_evalharness.clbench.campaign.domain_control import DomainControl
from pytest_evalharness.clbench.campaign.guardian import Guardian, Post
from pytest_evalharness.clbench.campaign.interrupts import Interrupts
from pytest_evalharness.clbench.campaign.last_words import last_words
from pytest_evalharness.clbench.campaign.launching import launch
from pytest_evalharness.clbench.campaign.leftover_engines import end_engines
from pytest_evalharness.clbench.campaign.live import LiveReader
from pytest_evalharness.clbench.campaign.money_watch import MoneyWatch
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.process_table import process
from pytest_evalharness.clbench.campaign.processes import Fingerprint, end
from pytest_evalharness.clbench.campaign.recipe import BUDGET, DEFAULT_BUDGET, OUROBOROS
from pytest_evalharness.clbench.campaign.resuming import (
    begun,
    clear_folders,
    prepare,
    quarantine,
    require_asked,
)
from pytest_evalharness.clbench.campaign.snapshot import Snapshot, broken_off
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.status_lines import summary
from pytest_evalharness.clbench.campaign.supervising import Ending, Rhythm, Supervisor
from pytest_evalharness.clbench.campaign.supervisor_journal import SupervisorJournal
from pytest_evalharness.clbench.campaign.survivors import bury, remaining
from pytest_evalharness.clbench.campaign.watch import Alarm, Limits
from pytest_evalharness.errors import BenchmarkRefused
from pytest_evalharness.ledger.campaigns import CampaignLease, Start
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.states import CampaignState

_REFUSED = 2
"""The benchmark's exit code for arguments that it does not take, and for a resume that it does not."""
_REAP_SECONDS = 5.0
_TAIL_LINES = 6
_EXITS = {CampaignState.FINISHED: 0, CampaignState.INTERRUPTED: 2}


@dataclass(frozen=True)
class Outcome:
    """How a campaign stands when its supervisor is done.

    Attributes:
        name: the campaign's.
        folder: its results.
        state: where it stands.
        exit_code: 0 finished and nothing doubted, 1 incomplete, 2 interrupted.
        alarms: that came up, each as it was last.
        paused: domains that stood still when it was ended.
        notices: sentences that a report should have.
        signalled: whether a signal ended it: who has the last word over this process should let it end too.
        log: what `run-all` itself said.
    """

    name: str
    folder: Path
    state: CampaignState
    exit_code: int
    alarms: tuple[Alarm, ...] = ()
    paused: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    signalled: bool = False
    log: Path | None = None


def run_campaign(
    campaign: Campaign,
    ledger: Ledger,
    *,
    clock: Clock,
    on_progress: Callable[[str], None],
    missing_only: bool = False,
    accept: Collection[str] = (),
    rhythm: Rhythm | None = None,
    limits: Limits | None = None,
    money: MoneyWatch | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    """Run a campaign, or what is missing of it, until it has ended. Signals end it in order while this runs in the main thread.

    Args:
        campaign: what is run.
        ledger: where it is kept; its folder gets the log of `run-all`.
        clock: tells the time and waits.
        on_progress: told what happens, a line or some.
        missing_only: go on with one that was begun.
        accept: keys of `resuming.ACCEPTABLE` in which it may differ from what it began as.
        rhythm: how often it is looked at, and how long anything is waited for.
        limits: from where on something is an alarm.
        money: watches what may still be spent.
        stop: set to end it from another thread.

    Raises:
        UsageError: there is one of that name and nobody asked to go on with it, or none to go on with.
        CampaignBusy: another process supervises it.
        CampaignChanged: it would go on as something else.
        SurvivorsRemain: processes of it cannot be ended.
        BenchmarkRefused: its program could not be started, or did not take its arguments.
        StillRunning: somebody else's processes write its results.
        NotSalvaged: what an earlier start left could not be made ready.
        JournalUnavailable: the ledger cannot be written; nothing was started.
    """
    rhythm, say = rhythm or Rhythm(), _unfailing(on_progress)
    with claimed(campaign, ledger) as lease:
        before = lease.record
        bury(ledger, lease, clock=clock, say=say, graces=rhythm.graces)
        require_asked(campaign, before, missing_only=missing_only)
        let_go_on(campaign, lease, before, accept)
        notices = accepted(campaign.name, ledger)
        resumed = missing_only and begun(campaign)
        if resumed:
            tokens = [one.token for one in ledger.campaigns.starts(campaign.name)]
            _, moved = prepare(campaign, tokens, clock, say)
            notices += moved
        else:
            clear_folders(campaign)
        with Interrupts(stop) as interrupts:
            run = _Run(campaign, ledger, lease, clock=clock, say=say, rhythm=rhythm)
            return run.whole(interrupts, limits or _limits(campaign), money, notices, resumed=resumed)


def _unfailing(say: Callable[[str], None]) -> Callable[[str], None]:
    """A terminal that was closed, or a pipe that nobody reads any more, is no reason to lose what runs."""

    def told(text: str) -> None:
        with suppress(OSError, ValueError):
            say(text)

    return told


def _limits(campaign: Campaign) -> Limits:
    """An engine's budget is one for each rollout, and its calls are never free; of other systems nobody tells."""
    if campaign.system != OUROBOROS:
        return Limits()
    try:
        return Limits(budget=float(campaign.environment.get(BUDGET) or DEFAULT_BUDGET), priced=True)
    except ValueError:
        return Limits(priced=True)


class _Run:
    """One start."""

    def __init__(
        self,
        campaign: Campaign,
        ledger: Ledger,
        lease: CampaignLease,
        *,
        clock: Clock,
        say: Callable[[str], None],
        rhythm: Rhythm,
    ) -> None:
        self._campaign = campaign
        self._ledger = ledger
        self._lease = lease
        self._clock = clock
        self._say = say
        self._rhythm = rhythm
        self._home = ledger.path.parent

    def whole(
        self,
        interrupts: Interrupts,
        limits: Limits,
        money: MoneyWatch | None,
        notices: list[str],
        *,
        resumed: bool,
    ) -> Outcome:
        """Start it, watch it, and write down how it ended."""
        argv = self._campaign.resume_argv if resumed else self._campaign.argv
        events = self._ledger.campaigns.events(self._campaign.name)
        start = self._lease.start(argv)
        self._say(f"$ cd {shlex.quote(str(self._campaign.checkout.root))}")
        self._say(f"$ {printable(redact(shlex.join(argv)), 2000)}")
        mark = Fingerprint(frozenset({start.token}))
        with self._post(start, mark) as post:
            journal = SupervisorJournal(self._ledger.campaigns, self._lease, self._clock, self._say)
            program = self._started(start, journal)
            try:
                census = Census(mark, program.pid, self._campaign.tasks, start.host, journal)
                domains = self._domains(census, journal, interrupts)
                alarms = self._alarms(domains, journal, limits)
                supervisor = Supervisor(
                    program,
                    census=census,
                    domains=domains,
                    alarms=alarms,
                    journal=journal,
                    post=post,
                    interrupts=interrupts,
                    last_event=events[-1].id if events else 0,
                    clock=self._clock,
                    say=self._say,
                    rhythm=self._rhythm,
                    sweep=lambda: self._sweep(start),
                    money=money,
                )
                ending = supervisor.watch()
                self._say(_told_last(supervisor.last_look(), alarms, ending))
            except BaseException:
                end(lambda: mark.find().values(), self._clock, self._rhythm.graces)
                with suppress(subprocess.TimeoutExpired):
                    program.wait(_REAP_SECONDS)
                raise
            signalled = bool(interrupts.name)
            return self._outcome(
                start, ending, domains, alarms.alarms, journal=journal, notices=notices, signalled=signalled
            )

    def _sweep(self, start: Start) -> None:
        end_engines(self._ledger.campaigns, self._campaign.name, start.host, self._clock, self._say)

    def _post(self, start: Start, mark: Fingerprint) -> Post:
        home, name = self._home, self._campaign.name
        try:
            return Post(
                lambda: Guardian.of(home, name, start.token, self._rhythm.graces),
                lambda: bool(mark.find()),
            )
        except OSError as problem:
            raise self._not_started(f"its guardian did not start: {problem}") from None

    def _started(self, start: Start, journal: SupervisorJournal) -> subprocess.Popen[bytes]:
        log = self._log(start)
        try:
            program = launch(self._campaign, start, log)
        except OSError as problem:
            raise self._not_started(f"{start.argv[0]}: {problem.strerror or problem}") from None
        seen = process(program.pid)
        journal.running(program.pid, seen.started if seen else "")
        self._say(f"run-all is process {program.pid}; what it says: {log}")
        return program

    def _not_started(self, why: str) -> BenchmarkRefused:
        self._lease.end(CampaignState.PLANNED, None, why)
        return BenchmarkRefused(
            f"campaign {printable(self._campaign.name)} could not be started: {why}",
            not_done="nothing was started and nothing was paid",
            next_step="evalharness clbench preflight with the same options",
        )

    def _log(self, start: Start) -> Path:
        return self._home / "clbench" / "logs" / self._campaign.slug / f"run-all-{start.number}.log"

    def _domains(self, census: Census, journal: SupervisorJournal, interrupts: Interrupts) -> DomainControl:
        return DomainControl(
            self._campaign.name,
            self._campaign.tasks,
            census.find,
            journal,
            clock=self._clock,
            say=self._say,
            hold=self._rhythm.hold,
            graces=self._rhythm.graces,
            haste=lambda: interrupts.count,
        )

    def _alarms(self, domains: DomainControl, journal: SupervisorJournal, limits: Limits) -> AlarmWatch:
        checkout, folder = self._campaign.checkout.root, self._campaign.run_folder
        reader = LiveReader(checkout, folder, clock=self._clock)
        return AlarmWatch(reader, domains, journal, self._say, limits)

    def _outcome(
        self,
        start: Start,
        ending: Ending,
        domains: DomainControl,
        alarms: tuple[Alarm, ...],
        *,
        journal: SupervisorJournal,
        notices: list[str],
        signalled: bool,
    ) -> Outcome:
        if ending.left:
            raise remaining(self._campaign.name, ending.left)
        self._sweep(start)
        if not ending.by_us and ending.exit_code == _REFUSED:
            journal.end(CampaignState.INCOMPLETE, ending.exit_code, ending.why)
            raise BenchmarkRefused(
                f"run-all did not take campaign {printable(self._campaign.name)}: {last_words(self._log(start), _TAIL_LINES)}",
                not_done="nothing was paid",
                next_step=f"what it says; all of it is in {self._log(start)}",
            )
        trouble = [f"{task} was ended: {why}" for task, why in domains.ended.items()]
        try:
            trouble += quarantine(self._campaign, self._clock, self._say)
        except OSError as problem:
            trouble.append(f"what measured an outage could not be moved aside: {problem}")
        state = _state(ending, troubled=bool(trouble))
        if not journal.end(state, ending.exit_code, ending.why):
            notices.append(f"the ledger could not be written: it does not know that the campaign is {state}")
        return Outcome(
            self._campaign.name,
            self._campaign.run_folder,
            state,
            _EXITS.get(state, 1),
            alarms,
            tuple(domains.paused),
            (*notices, *trouble),
            signalled=signalled,
            log=self._log(start),
        )


def _told_last(snapshot: Snapshot, alarms: AlarmWatch, ending: Ending) -> str:
    """How far it came; a manifest that nobody could write any more still says that it runs."""
    told = broken_off(snapshot, str(_state(ending, troubled=False)))
    return summary(Standing(told, alarms.alarms))


def _state(ending: Ending, *, troubled: bool) -> CampaignState:
    if ending.by_us:
        return CampaignState.INTERRUPTED
    if ending.exit_code is None or ending.exit_code < 0:
        return CampaignState.LOST
    return CampaignState.INCOMPLETE if ending.exit_code or troubled else CampaignState.FINISHED
