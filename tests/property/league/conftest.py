"""Processes that die on command: the real runner on a real ledger file against a real league, each with a life of its own.

A process takes steps: a transaction begins, is about to be committed, has been committed; a request is about to be sent, its
answer has come and nobody has looked at it yet; an event is written. At its last step a process dies: that step, and every
later one of any of its threads, ends in an exception that nothing catches, and nothing that it holds is given back.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_evalharness import ledger as ledger_package
from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.base.events import EventLog
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league import build_check, live_field, own_records, poll
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.run import LeagueRun, RunOptions
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import new_token
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.storage import Storage
from pytest_evalharness.net import Limits, Pool
from pytest_evalharness.observatory import Observatory, load_token
from pytest_evalharness.observatory.embedded import EmbeddedServer
from pytest_evalharness.settings import PAGE_LEAGUE
from pytest_evalharness.verdict.claim import Declaration

SHARED_MEMORY = Path("/dev/shm")  # fsync costs nothing there
LEDGER = str(Path(ledger_package.__path__[0]))
IDS = re.compile(r"(xreq|ereq|div|league)_[0-9a-f-]+|[0-9a-f]{8}-[0-9a-f-]{27}")
HASTE = 40
"""How many of its seconds a process lives in one of ours. Records keep ours, as the server does."""
LONG = 300.0 * HASTE
PATIENT = Limits(read=300.0, total=LONG, submit=LONG)
BUDGETS = {"queue_budget": 1e5, "stall_grace": 1e5, "total_budget": 1e5}
"""On a busy machine nothing may end because its seconds are short."""
SHORT = [
    (poll, "OUTAGE"), (poll, "PUBLICATION"), (own_records, "PATIENCE"), (live_field, "_ROSTER_SECONDS"),
    (build_check, "_WAIT_SECONDS"),
]  # fmt: skip
"""How long others may take to answer is no part of a hasty life: an artifact that is late is told as unknown, and judged so."""
PATIENCE = 600.0


# ------------------------------------------------------------------------------ life and death


class Death(BaseException):
    """Nothing catches it. What runs on the way out takes steps too, and dies of them."""


class Life:
    """Counts the steps of a process, and ends it.

    Args:
        ends: told the steps so far, the newest last; True makes that the last one.
    """

    def __init__(self, ends: Callable[[list[str]], bool] = lambda _: False) -> None:
        self.steps: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.over = False
        self._ends = ends
        self._lock = threading.Lock()

    def step(self, what: str) -> None:
        with self._lock:
            if not self.over:
                self.steps.append(what)
                self.over = self._ends(self.steps)
        self.go_on()

    def go_on(self) -> None:
        with self._lock:
            self.threads.add(threading.current_thread())
            if self.over:
                raise Death


def at(number: int) -> Callable[[list[str]], bool]:
    return lambda steps: len(steps) == number


def when(step: str, nth: int = 1) -> Callable[[list[str]], bool]:
    return lambda steps: steps[-1] == step and steps.count(step) == nth


class MortalStorage(Storage):
    def __init__(self, life: Life, home: Path, now: float) -> None:
        self._life = life
        super().__init__(home, now)

    @contextmanager
    def transaction(self):
        what = asker()
        self._life.step(f"begin {what}")
        with super().transaction() as run:
            yield run
            self._life.step(f"commit {what}")
        self._life.step(f"committed {what}")

    def read(self, sql, *args):
        self._life.go_on()
        return super().read(sql, *args)


def asker() -> str:
    """Which method of the ledger wants a transaction."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        name = code.co_qualname.rpartition(".")[2]
        if code.co_filename.startswith(LEDGER) and not name.startswith("_"):
            return name
        frame = frame.f_back
    return "open"


class MortalPool(Pool):
    def __init__(self, *args, life: Life) -> None:
        self._life = life
        super().__init__(*args)

    def handle_request(self, request):
        what = f"{request.method} {IDS.sub('ID', request.url.path.removeprefix('/api/observatory'))}"
        self._life.step(f"send {what}")
        answer = super().handle_request(request)
        try:
            self._life.step(f"answer {what}")
        except Death:
            answer.close()  # as the system closes the sockets of the dead
            raise
        return answer


class MortalEvents(EventLog):
    def __init__(self, life: Life, path: Path) -> None:
        self._life = life
        super().__init__(path)

    def append(self, kind, **fields):
        self._life.step(f"event {fields.get('what', kind)}")
        super().append(kind, **fields)


class HastyClock(SystemClock):
    def __init__(self, life: Life, later: float) -> None:
        self._life = life
        self._later = later

    def now(self):
        return super().now() + self._later

    def monotonic(self):
        return super().monotonic() * HASTE

    def wait(self, seconds, stop=None):
        self._life.go_on()
        stopped = super().wait(seconds / HASTE, stop)
        self._life.go_on()
        return stopped


# ------------------------------------------------------------------------------------ a league


class League:
    """A league server in a process of its own, and what only its keeper sees."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._server = EmbeddedServer(home, seed=2026)
        self._server.start()
        self._expected: dict[str, object] = {}

    @property
    def api(self) -> str:
        return self._server.api

    @property
    def token(self):
        return load_token(self.api, environ={"SOFTMAX_CONFIG_DIR": str(self._server.credentials)})

    def kill_and_restart(self) -> None:
        self._server._process.kill()
        self.stop()
        self._server = EmbeddedServer(self._home, seed=2026)
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def fault(self, spec: str) -> None:
        self._back_door("POST", {"spec": spec})

    def heal(self, *still: str) -> None:
        """Switch all faults off but these. What is asked for is shown at once."""
        self._back_door("DELETE", None)
        for spec in ("not-visible=0", *still):
            self.fault(spec)

    def _back_door(self, method, body) -> None:
        request = urllib.request.Request(
            f"{self.api.removesuffix('/api')}/_arena/faults",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300).close()

    def requests_with(self, token: str) -> list[str]:
        """The ids of all requests that carry a token, shown or not."""
        with closing(sqlite3.connect(self._server.home / "arena.sqlite", timeout=300)) as file:
            return [row[0] for row in file.execute("SELECT id FROM requests WHERE instr(body, ?)", (token,))]

    def undisturbed(self, plan: ComparisonPlan):
        """What a plan comes to if nobody dies and nothing fails."""
        key = json.dumps(plan.to_json(), sort_keys=True)
        if key not in self._expected:
            home = new_home()
            household = Household(home, self)
            self._expected[key] = household.process(plan).lived().essence
            household.leave()
        return self._expected[key]


def new_home() -> Path:
    where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="evalharness-crash-", dir=where))


# ----------------------------------------------------------------------------------- processes


class Household:
    """The processes on one ledger. Every change that any of them makes to a block is kept, as its file sees it."""

    def __init__(self, home: Path, league: League) -> None:
        self.home = home
        self.league = league
        self.lives: dict[int, Life] = {}
        self.later = 0.0
        self.keeper = self.open(Life(), "keeper")
        with closing(sqlite3.connect(self.keeper.path, timeout=300)) as file:
            file.executescript(AUDIT)

    def open(self, life: Life, session: str) -> Ledger:
        pid = len(self.lives) + 1
        self.lives[pid] = life
        clock = HastyClock(life, self.later)
        storage = MortalStorage(life, self.home, clock.now())
        return Ledger(Access(storage, clock, Owner(pid, str(pid), "here", session), self._alive, new_token))

    def _alive(self, owner, silent, *, speaks):
        return not self.lives[owner.pid].over

    def process(self, plan, *, ends=lambda _: False, session=None, **options) -> Process:
        return Process(self, plan, Life(ends), session or f"session-{len(self.lives)}", options)

    def leave(self) -> None:
        """Close the file and remove everything."""
        self.keeper.close()
        shutil.rmtree(self.home)

    def blocks(self):
        with closing(sqlite3.connect(self.keeper.path, timeout=300)) as file:
            names = [
                row[0] for row in file.execute("SELECT block_id FROM blocks ORDER BY created_at, block_id")
            ]
        return [self.keeper.block(name) for name in names]

    def changes(self):
        """Each change of a block: id, then the states, request ids and evidence before and after."""
        with closing(sqlite3.connect(self.keeper.path, timeout=300)) as file:
            return file.execute("SELECT * FROM audit ORDER BY rowid").fetchall()


AUDIT = """
CREATE TABLE audit (block_id, was, became, had_id, has_id, had_evidence, has_evidence);
CREATE TRIGGER every_change AFTER UPDATE ON blocks BEGIN
    INSERT INTO audit VALUES (OLD.block_id, OLD.state, NEW.state, OLD.request_id, NEW.request_id,
        OLD.evidence_json, NEW.evidence_json);
END;
"""


class Process(threading.Thread):
    """One run of the command, from its start to its end, whichever. Lives in threads of its own.

    Attributes:
        result: what it found, if it lived to its end.
        error: why it stopped, if it stopped by itself.
    """

    def __init__(self, household: Household, plan: ComparisonPlan, life: Life, session: str, options) -> None:
        super().__init__(name=f"process-{session}", daemon=True)
        self.life = life
        self.result = None
        self.error: EvalHarnessError | None = None
        self._broken: BaseException | None = None
        self._household = household
        self._plan = plan
        self._session = session
        self._options = options

    def run(self) -> None:
        try:
            self._live()
        except Death:
            pass
        except EvalHarnessError as error:
            self.error = error
        except BaseException as defect:  # noqa: BLE001 - told in the thread that waits for this one
            self._broken = defect
        self.life.over = True

    def _live(self) -> None:
        house, life = self._household, self.life
        ledger = observatory = run = None
        try:
            ledger = house.open(life, self._session)
            clock = HastyClock(life, house.later)
            observatory = Observatory(
                house.league.api,
                house.league.token,
                clock=clock,
                rng=random.Random(1),
                environ={},
                limits=PATIENT,
                carrier=partial(MortalPool, life=life),
            )
            ledger.start_run(self._session, {"server": self._plan.server})
            run = LeagueRun(
                ledger=ledger,
                connect=lambda: observatory,
                clock=clock,
                events=MortalEvents(life, house.home / "events.jsonl"),
                options=RunOptions(self._session, "", fresh=False, **{**BUDGETS, **self._options}),
                stop=threading.Event(),
            )
            run.add("case", self._plan)
            try:
                result = run.result("case")
                result.settled  # noqa: B018 - the verdict is written down here
            finally:
                if not life.over:
                    run.close()
            self.result = result
        finally:
            for thread in life.threads - {self}:
                thread.join(PATIENCE / 2)
                assert not thread.is_alive(), f"{thread.name} outlives its process"
            for held in (observatory, ledger):
                if held is not None:
                    held.close()

    def end(self) -> Process:
        """Wait for its end."""
        if not self.ident:
            self.start()
        self.join(PATIENCE)
        assert not self.is_alive(), f"hangs after {self.life.steps[-20:]}"
        if self._broken is not None:
            raise self._broken
        return self

    def lived(self) -> Process:
        """Wait for its end, which must be a good one."""
        self.end()
        if self.error is not None:
            raise self.error
        assert self.result is not None, f"died at {self.life.steps[-1]}"
        return self

    @property
    def essence(self):
        """What it found, without the names that the server gave."""
        judgement = self.result.judgement.to_json()
        for side in ("candidate", "baseline"):
            del judgement[side]["request_ids"]
        games = {
            side: [(e.seed, e.status, e.results, e.participants) for e in record.episodes]
            for side, record in self.result.records.items()
        }
        return judgement, games


# ------------------------------------------------------------------------------------ fixtures


def plan(**changes) -> ComparisonPlan:
    """Two pairs of games: their seeds follow from the field, so that every fresh ledger plays the same."""
    said = {
        "server": "embedded:2026", "league": PAGE_LEAGUE, "division": None, "backend": "k8s", "layout_seed": 0,
        "tested_seat": 6, "candidate": {6: "keeper:v2"}, "baseline": {6: "keeper:v3"}, "opponents": (), "top_n": 7,
        "episodes": 2, "ticks": 5000, "declaration": Declaration("better", pairing="seed"),
    }  # fmt: skip
    return ComparisonPlan(**{**said, **changes})


@pytest.fixture(autouse=True, scope="module")
def time_to_answer():
    with pytest.MonkeyPatch.context() as longer:
        for module, name in SHORT:
            longer.setattr(module, name, LONG)
        yield


@pytest.fixture(autouse=True, scope="module")
def silence_of_the_dead():
    before = threading.excepthook
    threading.excepthook = lambda args: None if args.exc_type is Death else before(args)
    yield
    threading.excepthook = before


@pytest.fixture(scope="module")
def mortal():
    """The parts of this file: tests are no package."""
    return SimpleNamespace(Household=Household, new_home=new_home, at=at, when=when, plan=plan)


@pytest.fixture(scope="module")
def running_league():
    home = new_home()
    league = League(home)
    yield league
    league.stop()
    shutil.rmtree(home)


@pytest.fixture
def league(running_league):
    """The league without faults."""
    running_league.heal()
    yield running_league
    running_league.heal()
