"""A smoke: three questions of one task without baseline, to see the chain from the clone to a typed answer work once.

It gates nothing but the chain. Three questions say nothing of how good a system is, of what it learns, or of what a campaign costs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.base.text import printable, redact
from pytest_evalharness.clbench.campaign.command_lines import SMOKE_QUESTIONS
from pytest_evalharness.clbench.campaign.guardian import Guardian
from pytest_evalharness.clbench.campaign.interrupts import Interrupts
from pytest_evalharness.clbench.campaign.parameters import suggestion
from pytest_evalharness.clbench.campaign.plan import Campaign
from pytest_evalharness.clbench.campaign.preflight_machine import ENGINE_IMAGE
from pytest_evalharness.clbench.campaign.process_table import TOKEN
from pytest_evalharness.clbench.campaign.processes import Fingerprint, Graces, end
from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
from pytest_evalharness.clbench.campaign.remains import pass_left
from pytest_evalharness.clbench.campaign.runroots import Runroot, read_runroot, runroot_folders
from pytest_evalharness.clbench.campaign.smoke_evidence import (
    Answers,
    Chain,
    Seen,
    Stage,
    answers,
    is_engine_of,
    log_of,
    stages,
)
from pytest_evalharness.clbench.campaign.smoke_folders import SmokeFolder, smoke_folder, tidy
from pytest_evalharness.clbench.campaign.smoke_schedule import smoke_schedule
from pytest_evalharness.containers.events import Event, read_events
from pytest_evalharness.containers.state import Engine
from pytest_evalharness.errors import EngineUnavailable, SmokeRefused

GATES = (
    "a smoke gates nothing but the chain: three questions say nothing of how good the system is, of what it learns, "
    "or of what a campaign costs"
)
LIMIT = 3600.0
"""Seconds that a smoke may take: an unknown action word never ends an instance, and the benchmark has no cap of its own."""
_RUNS_ROOT = "OUROBOROS_BENCH_RUNS_ROOT"
_IMAGE = "docker_image"
_LOOK = 0.25
_NANO = 1_000_000_000


@dataclass(frozen=True)
class SmokeResult:
    """What a smoke showed.

    Attributes:
        campaign: what was run.
        argv: as it was started.
        stages: five of them.
        told: what became of the questions.
        exit_code: of the benchmark; None if it was ended.
        seconds: that it took.
        folder: with its log, and its engines' folders.
        schedule: what was done about the schedule file, in a sentence.
        notices: what else there is to know.
    """

    campaign: Campaign
    argv: tuple[str, ...]
    stages: tuple[Stage, ...]
    told: Answers
    exit_code: int | None
    seconds: float
    folder: Path
    schedule: str
    notices: tuple[str, ...]

    @property
    def log(self) -> Path:
        """What the benchmark said."""
        return self.folder / "smoke.log"

    @property
    def questions(self) -> int:
        """How many were asked."""
        return self.told.asked

    @property
    def typed_answers(self) -> int:
        """How many of them the system answered in form."""
        return self.told.typed

    @property
    def cost(self) -> float | None:
        """Dollars; None where nothing tells."""
        return self.told.cost

    @property
    def whole(self) -> bool:
        """Whether every stage that there is was seen, and the benchmark ended well."""
        return self.exit_code == 0 and all(one.seen is not Seen.NOT_SEEN for one in self.stages)


def run_smoke(
    campaign: Campaign,
    home: Path,
    *,
    clock: Clock,
    on_progress: Callable[[str], None] = lambda _line: None,
    limit: float = LIMIT,
    graces: Graces | None = None,
    interrupts: Interrupts | None = None,
) -> SmokeResult:
    """Run a smoke to its end. Whatever happens, the schedule file is gone afterwards and nothing goes on.

    Args:
        campaign: a plan of the kind `smoke`.
        home: where its folder goes.
        clock: tells the time and waits.
        on_progress: told what happens, a line each.
        limit: seconds after which it is ended.
        graces: seconds that processes have after each signal when it is ended.
        interrupts: who may ask it to end; the signals of this process when left out.

    Raises:
        SmokeRefused: it cannot begin.
        KeyboardInterrupt: it was asked to end, and has.
    """
    _refuse_unknown_system(campaign)
    stamp = datetime.fromtimestamp(clock.now(), UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
    runs_root = campaign.environment.get(_RUNS_ROOT) or os.environ.get(_RUNS_ROOT)
    ticks = clock.monotonic()
    with (
        smoke_schedule(campaign.checkout.root, campaign.tasks[0]) as schedule,
        smoke_folder(home, stamp, runs_root) as folder,
    ):
        on_progress(schedule.words)
        try:
            run = _Run(campaign, folder, f"{stamp}_smoke", clock, limit, graces or Graces())
            ended = run.play(home, on_progress, interrupts or Interrupts())
            return run.told(ended, schedule.words, clock.monotonic() - ticks)
        finally:
            tidy(folder.engines)


def _refuse_unknown_system(campaign: Campaign) -> None:
    """The benchmark itself says of a misspelt system that no question was answered, which looks like a broken chain."""
    there = campaign.checkout.systems()
    if campaign.system not in there:
        raise SmokeRefused(
            f"there is no system {printable(campaign.system)} in the checkout",
            not_done="nothing was started and nothing was paid",
            next_step=f"name another one: {printable(suggestion(campaign.system, there))}"
            if there
            else "name a checkout that has systems below src/systems",
        )


@dataclass(frozen=True)
class _Ended:
    """How the benchmark ended: its code, None if it was ended; who is left; pids that were its own; since when."""

    exit_code: int | None
    left: tuple[int, ...]
    owners: frozenset[int]
    began: float


@dataclass(frozen=True)
class _Run:
    """One smoke."""

    campaign: Campaign
    folder: SmokeFolder
    group: str
    clock: Clock
    limit: float
    graces: Graces

    @property
    def argv(self) -> tuple[str, ...]:
        """As it is started."""
        return (*self.campaign.argv, "--run-group-id", self.group)

    def play(self, home: Path, say: Callable[[str], None], interrupts: Interrupts) -> _Ended:
        """Run the benchmark until it ends, is asked to, or its time is over; whatever happens, nothing goes on afterwards."""
        token, root = secrets.token_hex(16), self.campaign.checkout.root
        engines = {_RUNS_ROOT: str(self.folder.engines), TOKEN: token}
        mark, began = Fingerprint(frozenset({token})), self.clock.now()
        with (
            interrupts as asked,
            _guarded(home, self.campaign.name, token, self.graces),
            _running(
                self.argv, root, {**os.environ, **self.campaign.environment, **engines}, self.folder.log
            ) as program,
        ):
            say(f"$ cd {shlex.quote(str(root))}")
            say(f"$ {redact(shlex.join(self.argv))}")
            deadline = Deadline.after(self.clock, self.limit)
            owners = {program.pid}  # though it may have ended before anybody looks
            try:
                while program.poll() is None and not deadline.expired and not asked.count:
                    owners |= mark.find().keys()
                    self.clock.wait(_LOOK, asked.wake)
            finally:
                code = program.poll()
                haste = lambda: max(0, asked.count - 1)  # noqa: E731 - the first signal is what ends it
                left = end(lambda: mark.find().values(), self.clock, self.graces, haste=haste)
            if asked.count:
                raise KeyboardInterrupt(asked.name or "asked to end")
        return _Ended(code, tuple(one.pid for one in left), frozenset(owners), began)

    def told(self, ended: _Ended, schedule: str, seconds: float) -> SmokeResult:
        """What it showed."""
        task, chain = self.campaign.tasks[0], _chain(self.campaign)
        results = self.campaign.checkout.root / "results" / task
        roots = [read_runroot(one) for one in runroot_folders(self.folder.engines)]
        told = answers(results, task, self.group, asked=SMOKE_QUESTIONS, roots=roots, chain=chain)
        seen = _containers(chain, ended, self.clock)
        log = log_of(self.folder.log)
        found = stages(chain, roots=roots, started=seen.started, owners=ended.owners, log=log, told=told)
        notices = [f"it was ended after {self.limit / 60:.0f} minutes"] if ended.exit_code is None else []
        notices += [f"process {pid} could not be ended" for pid in ended.left]
        if pass_left(results, task, self.group, None, None).instances:
            notices.append(
                "a baseline was run too, beside the cost that is told: only ouroboros can leave it out"
            )
        if any((one.folder / "data" / "settings.json").exists() for one in roots):
            notices.append(
                "the engines' settings, which hold live keys, and their clones were removed at the end"
            )
        return SmokeResult(
            campaign=self.campaign,
            argv=self.argv,
            stages=found,
            told=told,
            exit_code=ended.exit_code,
            seconds=seconds,
            folder=self.folder.path,
            schedule=schedule,
            notices=(*notices, *_doubts(told, roots, seen)),
        )


def _chain(campaign: Campaign) -> Chain:
    adapter = campaign.system == OUROBOROS and campaign.params.get("engine", OUROBOROS) != "llm"
    docker = adapter and bool(campaign.params.get("docker"))
    if docker and campaign.checkout.embedded and campaign.params.get(_IMAGE, ENGINE_IMAGE) == ENGINE_IMAGE:
        return Chain(adapter, docker=False, process=f"the miniature has no image where {_IMAGE} names none")
    return Chain(adapter, docker, tuple(campaign.images.items()))


@contextlib.contextmanager
def _guarded(home: Path, name: str, token: str, graces: Graces) -> Iterator[None]:
    """Have whatever is started ended if this process dies."""
    try:
        guardian = Guardian.of(home, name, token, graces)
    except OSError as problem:
        raise SmokeRefused(
            f"the smoke's guardian did not start: {problem}",
            not_done="nothing was started and nothing was paid",
            next_step="the same command again",
        ) from None
    try:
        yield
    finally:
        guardian.dismiss()


@contextlib.contextmanager
def _running(
    argv: Sequence[str], root: Path, variables: dict[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The benchmark in a process group of its own: a terminal's Ctrl-C is for this process, which hands it on."""
    with log.open("ab") as output:
        try:
            program = subprocess.Popen(
                argv,
                cwd=root,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as problem:
            raise SmokeRefused(
                f"{argv[0]} cannot be started: {problem.strerror or problem}",
                not_done="nothing was started and nothing was paid",
                next_step="evalharness clbench preflight says which program a checkout has",
            ) from None
    yield program
    program.wait()


@dataclass(frozen=True)
class _Containers:
    """What the container engine tells: what happened meanwhile, or why nobody knows; and which of ours are still there."""

    started: tuple[Event, ...] | str = ()
    left: tuple[str, ...] = ()


def _containers(chain: Chain, ended: _Ended, clock: Clock) -> _Containers:
    if not chain.docker:
        return _Containers()
    try:
        with Engine.reached(clock=clock) as engine:
            until = int(clock.now() * _NANO)
            events = read_events(engine, since=int(ended.began * _NANO), until=until).events
            left = [one.name for one in engine.containers() if is_engine_of(one.name, ended.owners)]
            return _Containers(events, tuple(left))
    except EngineUnavailable as problem:
        return _Containers(problem.what)


def _doubts(told: Answers, roots: Sequence[Runroot], seen: _Containers) -> Iterator[str]:
    if told.met and not told.cost:
        yield "no cost was told: calls without a price, or answers that nobody gave; rewards at no cost are not believed"
    if any(root.unreadable for root in roots):
        yield "some of the engines' files cannot be read"
    for name in seen.left:
        yield f"the container {name} still runs, and nothing uses it: docker rm -f {name}"
