"""A process's share of a run on a league: settings, ledger, client and runner, each opened when it is first needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.errors import EvalHarnessError, JournalUnavailable, ServerUnreachable, UsageError
from pytest_evalharness.settings import EMBEDDED, NO_LEAGUE, Settings

if TYPE_CHECKING:
    from pytest_evalharness.league.family import FamilyPlan
    from pytest_evalharness.league.local_builds import BuildSources
    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.league.pool_plan import PoolPlan
    from pytest_evalharness.league.run import LeagueRun
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.embedded import EmbeddedServer
    from pytest_evalharness.report.model import CaseReport, Report
    from pytest_evalharness.verdict.claim import Declaration

AA_NOTICE = "this is an A/A run (--eval-aa): it tests the harness and judges no edit; a pass means that no difference was told"


class LeagueSession:
    """Everything that a run's comparisons share in this process.

    Args:
        settings: every setting, resolved.
        home: the folder of the ledger and of every run.
        run_id: the run's name; the same in all its processes.
        worker: this process's name among the run's workers; empty if it is the only one, or their controller.
        api: the root URL of the embedded server that another process of this run has, if one does.

    Attributes:
        folder: the run's own folder in its home.
        plans: the selected cases and what they ask.
        family: the claims that are tested together; None if each is judged by itself.
        games: which game each league plays.
        unplanned: the selected cases that have no plan, because the server did not tell their game, and why.
        notices: what was noticed on the way: overrides, variables that are no settings.
        on_wait: called between two looks at the journal.
        service: what was chosen for the server from its own description; None while nobody has asked it.
    """

    def __init__(
        self, settings: Settings, *, home: Path, run_id: str, worker: str = "", api: str = ""
    ) -> None:
        from pytest_evalharness.base.clock import SystemClock
        from pytest_evalharness.base.events import EventLog
        from pytest_evalharness.league.games import Games

        self.settings = settings
        self.run_id = run_id
        self.worker_id = worker
        self.home = home
        self.folder = home / "runs" / run_id
        self.events = EventLog(self.folder / "events.jsonl")
        self.clock = SystemClock()
        self.plans: dict[str, ComparisonPlan | PoolPlan] = {}
        self.family: FamilyPlan | None = None
        self.games = Games(lambda: self.observatory)
        self.unplanned: dict[str, EvalHarnessError] = {}
        self.notices: list[str] = []
        self.on_wait: Callable[[], None] = lambda: None
        self._given_api = api
        self._embedded: EmbeddedServer | None = None
        self._observatory: Observatory | None = None
        self._ledger: Ledger | None = None
        self._league: LeagueRun | None = None
        self.service: dict[str, Any] | None = None
        self._run_noted = False
        self._stop = threading.Event()  # ends every wait: of the drivers, and between two tries of a call

    def notice(self, text: str) -> None:
        """Note what every reader of a report must know."""
        if text not in self.notices:
            self.notices.append(text)

    def notices_for(self, cases: Sequence[CaseReport]) -> tuple[str, ...]:
        """What a reader of a report of these cases must know beside the verdicts."""
        from pytest_evalharness.report.model import field_notice

        told = list(self.notices)
        if self.settings["aa"]:
            told.append(AA_NOTICE)
        if self.embedded and _play(cases):
            told.append(field_notice(self.identity))
        return tuple(told)

    # --------------------------------------------------------------- server

    @property
    def embedded(self) -> bool:
        """Whether the run plays on the embedded league."""
        return bool(self.settings["server"] == EMBEDDED)

    def place_of(self, cases: Sequence[CaseReport]) -> str:
        """How a report of these cases names the server; decision engines play on none and need none."""
        return NO_LEAGUE if self.settings["server"] is None or not _play(cases) else self.identity

    @property
    def identity(self) -> str:
        """How keys and reports name the server.

        Raises:
            UsageError: no server was named.
        """
        server = self.settings["server"]
        if server is None:
            raise UsageError(
                "no server was named",
                not_done="nothing was submitted and no case ran",
                next_step="--eval-server URL for a hosted league (https://…/api), "
                "or --eval-server embedded for the embedded one",
            )
        if self.embedded:
            return f"{EMBEDDED}:{self.settings['arena_seed']}"
        return str(server).rstrip("/")

    def embedded_server(self) -> EmbeddedServer:
        """The embedded server of this process (controller or serial), not started yet."""
        from pytest_evalharness.observatory.embedded import EmbeddedServer

        if self._embedded is None:
            self._embedded = EmbeddedServer(
                self.home,
                seed=self.settings["arena_seed"],
                pace=self.settings["arena_pace"],
                faults=self.settings["arena_fault"],
                dialect=self.settings["arena_dialect"],
                on_wait=lambda: self.events.append("turn", what="waits"),
            )
        return self._embedded

    @property
    def observatory(self) -> Observatory:
        """The client; starts the embedded server if this run plays there and it does not run yet."""
        if self._observatory is None:
            client = self._connect()
            try:
                client.learn()
            except BaseException:
                client.close()
                raise
            self._observatory = client
            self._note_service()
        return self._observatory

    def _note_service(self) -> None:
        """Write down what the server says of itself, once there is a run to write it down with."""
        if self._observatory is None or not self._run_noted or self.service is not None:
            return
        from pytest_evalharness.league.service import note_service

        dialect = self._observatory.dialect
        self.tell_service(dialect.to_json())
        for notice in note_service(self.ledger, self.run_id, self.identity, dialect):
            self.notice(notice)

    def tell_service(self, service: dict[str, Any]) -> None:
        """Keep for the report what was chosen for the server."""
        self.service = service

    def _connect(self) -> Observatory:
        import random

        from pytest_evalharness.observatory.client import Observatory
        from pytest_evalharness.observatory.credentials import load_token

        root, environment = self.identity, dict(os.environ)
        if self.embedded:
            root = self._given_api or self._start_embedded()
            # The embedded server has its own token; one meant for a hosted league must not be sent to it.
            environment = {"SOFTMAX_CONFIG_DIR": str(self.home / "arena" / "credentials")}
            if self._given_api:
                self._await_server(root)
        token = load_token(root, environ=environment, clock=self.clock)
        return Observatory(
            root,
            token,
            clock=self.clock,
            rng=random.Random(),
            stop=self._stop,
            on_remark=self.notice,
        )

    def _start_embedded(self) -> str:
        server = self.embedded_server()
        server.start()
        return server.api

    def _await_server(self, root: str) -> None:
        """Our first connection makes the controller start the server; it answers when it is ready."""
        from pytest_evalharness.observatory.embedded import await_health

        await_health(root, self.clock, home=self.home / "arena")

    # ----------------------------------------------------------- the runner

    @property
    def ledger(self) -> Ledger:
        """The journal.

        Raises:
            JournalUnavailable: it cannot be opened or written.
        """
        if self._ledger is None:
            from pytest_evalharness.ledger.journal import Ledger
            from pytest_evalharness.ledger.ownership import Owner

            _make(self.home)
            owner = Owner.current(self.run_id, self.worker_id)
            self._ledger = Ledger.open(self.home, clock=self.clock, owner=owner)
        return self._ledger

    @property
    def league(self) -> LeagueRun:
        """The runner, with every selected case on its plan.

        Raises:
            EvalHarnessError: the journal cannot be written, or the server cannot be asked who we are.
        """
        if self._league is None:
            self._league = self._runner()
        return self._league

    def _runner(self) -> LeagueRun:
        from pytest_evalharness.league.run import LeagueRun, RunOptions

        ledger = self.ledger  # first: one that cannot be written must be known before anything is asked
        if not self.settings["dry_run"]:
            _make(self.folder)
        who = self._who(ledger)
        ledger.start_run(
            self.run_id, {"server": self.identity, "who": who, "settings": self.settings.as_plain()}
        )
        self._run_noted = True
        self._note_service()
        league = LeagueRun(
            ledger=ledger,
            connect=lambda: self.observatory,
            clock=self.clock,
            events=self.events,
            options=RunOptions(
                run_id=self.run_id,
                notes=str(self.settings["notes"]),
                fresh=bool(self.settings["fresh"]),
                queue_budget=float(self.settings["queue_budget"]),
                stall_grace=self.settings["stall_grace"],
                total_budget=self.settings["total_budget"],
                queue_exceeded=self.settings["queue_exceeded"],
                budget=self.settings["budget"],
                account=who["subject_id"],
                builds=self._sources(),
            ),
            on_wait=self._waiting,
            stop=self._stop,
            family=self.family,
            on_notice=self.notice,
        )
        for case, plan in self.plans.items():
            league.add(case, plan)
        return league

    def adopt(
        self, requests: Mapping[str, Sequence[str]], declaration: Declaration, *, seat: int | None
    ) -> ComparisonPlan:
        """The plan of a comparison of requests that somebody else created; nothing is posted for it.

        Args:
            requests: the ids, by side.
            declaration: what is claimed of them now.
            seat: the tested seat; None to find it.

        Raises:
            EvalHarnessError: as `Adopter.plan`.
        """
        from pytest_evalharness.league.adopting import Adopter

        adopter = Adopter(
            self.ledger,
            lambda: self.observatory,
            self.clock,
            self.run_id,
            stop=self._stop,
            on_wait=self._waiting,
        )
        return adopter.plan(
            requests,
            declaration,
            server=self.identity,
            seat=seat,
            aa=bool(self.settings["aa"]),
            patience=float(self.settings["queue_budget"]),
        )

    def _sources(self) -> BuildSources:
        """Where to learn of builds: the images that were named, and the repository of the folder we are in."""
        from pytest_evalharness.league.local_builds import BuildSources

        sources = BuildSources.of(self.settings.__getitem__, folder=Path.cwd(), home=self.home)
        for line in sources.unused:
            self.notice(line)
        return sources

    def _who(self, ledger: Ledger) -> dict[str, Any]:
        """Whose token this is. The embedded league has one account, which need not be asked for twice."""
        known = ledger.known.account(self.identity) if self.embedded else None
        if known is not None:
            return known
        told = self.observatory.whoami()
        who = {"subject_type": told.subject_type, "subject_id": told.subject_id}
        if self.embedded:
            ledger.known.note_account(self.identity, who)
        return who

    def _waiting(self) -> None:
        self.on_wait()
        gone = self._gone()
        if gone:
            raise ServerUnreachable(
                f"{gone} while this run was waiting for it",
                not_done="nothing was judged; what was posted is in its state and was not posted again",
                next_step="run the same command again: the league starts on its state and plays on",
            )

    def _gone(self) -> str:
        """Why the embedded server is no more, seen here or written down by the controller; empty while it may answer."""
        if self._observatory is None:
            return ""  # nothing was asked of it, so nobody waits for it
        from pytest_evalharness.observatory.embedded import told_failure

        if self._embedded is not None:
            return self._embedded.gone()
        return told_failure(self.home / "arena", self._given_api) if self._given_api else ""

    # ------------------------------------------------------------- the report

    def report(
        self,
        exit_code: int,
        cases: Sequence[CaseReport],
        *,
        missing: Sequence[str] = (),
        unfinished: Sequence[str] = (),
        still_running: Sequence[str] = (),
    ) -> Report:
        """The report of this run, finished now; arguments as of `Report`."""
        from pytest_evalharness.base.clock import iso
        from pytest_evalharness.report.model import Report

        return Report(
            run_id=self.run_id,
            server=self.place_of(cases),
            finished_at=iso(self.clock.now()),
            exit_code=exit_code,
            cases=tuple(cases),
            missing=tuple(missing),
            unfinished=tuple(unfinished),
            notices=self.notices_for(cases),
            still_running=tuple(still_running),
            settings=self.settings.as_plain(),
            service=self.service,
            cost=self._cost(cases),
        )

    def _cost(self, cases: Sequence[CaseReport]) -> dict[str, Any] | None:
        """What the run's verdicts have cost; None if none of its processes has posted anything."""
        from pytest_evalharness.base.events import EventReader
        from pytest_evalharness.league import cost
        from pytest_evalharness.league.arms import SIDES

        begun = [event for event in EventReader(self.events.path).new() if event.get("kind") == cost.EVENT]
        if not begun:
            return None
        judged = [result["judgement"] for case in cases for result in case.results if "judgement" in result]
        requests = [
            name for one in judged for side in SIDES if side in one for name in one[side]["request_ids"]
        ]
        try:
            told = cost.read_account(self.observatory, self.clock)
        except EvalHarnessError:
            told = None
        budget = self.settings["budget"]
        return cost.spent(begun[0].get("balance"), told, requests, verdicts=len(judged), budget=budget)

    def close(self) -> None:
        """Let go of everything, in the order that loses nothing: workers first, then the journal, then the server."""
        if self._league is not None:
            self._league.close()
        if self._observatory is not None:
            self._observatory.close()
        if self._ledger is not None:
            self._ledger.close()
        if self._embedded is not None:
            self._embedded.stop()


def _make(folder: Path) -> None:
    """Make a folder of the run's home.

    Raises:
        JournalUnavailable: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise JournalUnavailable(
            f"{folder} cannot be made: {problem.strerror or problem}",
            not_done="nothing was submitted",
            next_step="--eval-home DIR with a folder on a local disk that you may write to",
        ) from None


def _play(cases: Sequence[CaseReport]) -> bool:
    """Whether any of the cases plays on a league; where none reported, they may have."""
    from pytest_evalharness.report.model import LEAGUE

    return not cases or any(case.kind == LEAGUE for case in cases)
