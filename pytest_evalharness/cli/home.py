"""What the commands about earlier runs share: the home, its ledger, and the server that a run played on."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli.asking_again import AskingAgain
from pytest_evalharness.cli.project import find_project
from pytest_evalharness.errors import JournalUnavailable, UsageError
from pytest_evalharness.settings import EMBEDDED, Settings, resolve

if TYPE_CHECKING:
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.runs import RunRecord
    from pytest_evalharness.observatory.client import Observatory

_LEDGER = "ledger.sqlite"


def add_home(command: argparse.ArgumentParser) -> None:
    """Add `--home`."""
    command.add_argument(
        "--home",
        metavar="DIR",
        help="the folder of the ledger and of every run (EVALHARNESS_HOME, ini evalharness_home, or .evalharness)",
    )


def home_of(parsed: argparse.Namespace) -> Path:
    """The home that was named, by option, environment or ini file; else the usual one in the project's root folder.

    Raises:
        UsageError: a setting, or the ini file, cannot be read.
    """
    return resolved({"home": parsed.home}.get)[1]


def resolved(
    options: Callable[[str], Any], defaults: Mapping[str, Any] | None = None
) -> tuple[Settings, Path]:
    """A command's settings by the one precedence, and its home: the one that pytest has in the same project.

    Args:
        options: a setting's key to what the command line said, or None.
        defaults: the command's own defaults.

    Raises:
        UsageError: a setting, or the ini file, cannot be read.
    """
    here = Path.cwd()
    project = find_project(here)
    settings = resolve(options, os.environ, project.keys.get, defaults)
    base = here if settings.commanded("home") else project.root  # what is typed is meant from here
    return settings, (base / settings["home"]).absolute()


@contextmanager
def opened(home: Path, *, reading: bool = False) -> Iterator[Ledger | None]:
    """The ledger of a home; None if it has none. Looking makes nothing.

    Args:
        home: the folder.
        reading: whether nothing is to be written. Then a ledger that cannot be written, or whose disk is full, is read all the same, from a copy.

    Raises:
        JournalUnavailable: it cannot be opened, or not be written where that is wanted.
    """
    if not (home / _LEDGER).exists():
        yield None
        return
    with ExitStack() as stack:
        if not reading:
            yield stack.enter_context(_open(home))
            return
        try:
            ledger = stack.enter_context(_open(home)) if _writable(home) else None
        except JournalUnavailable:  # a full disk shows only when something is written
            ledger = None
        if ledger is None:
            beside = Path(stack.enter_context(TemporaryDirectory(prefix="evalharness-")))
            ledger = stack.enter_context(_open(_copied(home, beside)))
        yield ledger


def _open(home: Path) -> Ledger:
    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.ownership import Owner

    return Ledger.open(home, clock=SystemClock(), owner=Owner.current("evalharness"))


def _writable(home: Path) -> bool:
    """Whether a ledger may be written: sqlite needs its folder too."""
    if os.statvfs(home).f_flag & os.ST_RDONLY:
        return False
    return all(os.access(one, os.W_OK) for one in (home, *home.glob(f"{_LEDGER}*")))


def _copied(home: Path, folder: Path) -> Path:
    """A copy of a ledger, with what is not yet in its main file.

    Raises:
        JournalUnavailable: it cannot be read either.
    """
    try:
        for name in (_LEDGER, f"{_LEDGER}-wal"):
            if (home / name).exists():
                shutil.copyfile(home / name, folder / name)
    except OSError as problem:
        raise JournalUnavailable(
            f"the ledger of {home} can neither be written nor read: {problem.strerror or problem}",
            not_done="nothing was read",
            next_step="ask whoever owns the folder for the right to read it",
        ) from None
    return folder


@contextmanager
def found(parsed: argparse.Namespace, *, reading: bool = False) -> Iterator[tuple[Ledger, RunRecord]]:
    """The ledger of the home that was named, and the run in it; `reading` as of `opened`.

    Raises:
        UsageError: there is no ledger, or no such run.
    """
    from pytest_evalharness.league.pool_runs import named_runs

    home = home_of(parsed)
    with opened(home, reading=reading) as ledger:
        if ledger is None:
            raise no_ledger(home)
        (run,) = named_runs(ledger, [parsed.run_id])
        yield ledger, run


def no_ledger(home: Path) -> UsageError:
    """What to say where a run was named and there is no ledger."""
    return UsageError(
        f"there is no run in {home}: it has no ledger" if home.exists() else f"there is no folder {home}",
        not_done="nothing was done",
        next_step="name the home of your runs: --home DIR, or EVALHARNESS_HOME",
    )


@contextmanager
def connected(run: RunRecord, home: Path, *, stop: threading.Event | None = None) -> Iterator[Observatory]:
    """The server that a run played on. An embedded league that nobody serves is started on its state, and ended again.

    Args:
        run: the run.
        home: where it is kept.
        stop: once set, no call waits any longer.

    Raises:
        EvalHarnessError: it does not answer, or there are no credentials.
    """
    with connected_to(run.server, home, run.info.get("settings", {}), stop=stop) as observatory:
        yield observatory


@contextmanager
def connected_to(
    server: str,
    home: Path,
    asked: Mapping[str, Any],
    *,
    stop: threading.Event | None = None,
    on_remark: Callable[[str], None] = lambda _: None,
    on_patience: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    not_done: str = "nothing was submitted",
) -> Iterator[Observatory]:
    """A server; see `connected`.

    Args:
        server: its root, or `embedded:SEED`.
        home: where an embedded league keeps its state.
        asked: settings by key, of which those of an embedded league count.
        stop: once set, no call waits any longer.
        on_remark: told what every reader should know, such as a list that the server may have cut.
        on_patience: told what is asked for again and again, once that has taken more than a moment.
        not_done: what does not happen if it cannot be had.

    Raises:
        EvalHarnessError: it does not answer, or there are no credentials.
    """
    import random

    from pytest_evalharness.base.clock import SystemClock
    from pytest_evalharness.observatory.client import Observatory
    from pytest_evalharness.observatory.credentials import load_token
    from pytest_evalharness.observatory.embedded import EmbeddedServer, serving
    from pytest_evalharness.report.progress import TURN

    clock, started = SystemClock(), None
    root, environment = server, dict(os.environ)
    try:
        kind, _, seed = server.partition(":")
        if kind == EMBEDDED:
            root = serving(home / "arena", clock) or ""
            if not root:
                started = EmbeddedServer(
                    home,
                    seed=int(seed),
                    pace=asked.get("arena_pace"),
                    dialect=asked.get("arena_dialect"),
                    on_wait=lambda: print(TURN, file=sys.stderr),
                )
                started.start()
                root = started.api
            # The embedded server has its own token; one meant for a hosted league must not be sent to it.
            environment = {"SOFTMAX_CONFIG_DIR": str(home / "arena" / "credentials")}
        token = load_token(root, environ=environment, clock=clock, not_done=not_done)
        with Observatory(
            root,
            token,
            clock=clock,
            rng=random.Random(),
            stop=stop,
            on_remark=on_remark,
            on_retry=AskingAgain(on_patience),
        ) as observatory:
            dialect = observatory.learn(not_done=not_done)
            if dialect.assumed:
                print(f"note: server API: {dialect.words}", file=sys.stderr)
            yield observatory
    finally:
        if started is not None:
            started.stop()
