"""Progress as whole lines: from the waiting case in a serial run, from a thread on an xdist controller.

On a terminal a serial run tells counts that move in one line, which is updated in place and gone when pytest goes on.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.session import EvalSession, existing_session, is_worker, session_of

if TYPE_CHECKING:
    from _pytest.capture import CaptureManager
    from _pytest.terminal import TerminalReporter

_TAIL_SECONDS = 0.2
_JOIN_SECONDS = 30.0
"""A thread that writes to a terminal which takes nothing ends never; any other at once."""


class Progress:
    """Reads a run's events and prints them.

    Args:
        config: of the process that prints.
        run: whose events.
        live: whether one line may be updated in place.
    """

    def __init__(self, config: pytest.Config, run: EvalSession, *, live: bool) -> None:
        from pytest_evalharness.base.events import EventReader
        from pytest_evalharness.report.progress import Narrator, Standings

        self.config = config
        self.run = run
        self.reader = EventReader(run.events.path)
        verbose = getattr(config.option, "verbose", 0)  # absent under -p no:terminal
        self._narrator = Narrator(
            quiet=max(0, -verbose), interactive=_on_a_terminal(self._reporter), counts=not live
        )
        self._standings = Standings() if live else None
        self._drawn = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._busy = threading.Lock()
        self._printing = threading.Lock()

    def follow(self) -> None:
        """Follow the events from a thread: an xdist controller runs no case in which it could print."""
        self.config.pluginmanager.register(self, _NAME)
        self._thread = threading.Thread(target=self._tail, name="evalharness-progress", daemon=True)
        self._thread.start()

    def _tail(self) -> None:
        while not self._stop.wait(_TAIL_SECONDS):
            self.show()

    def finish(self) -> None:
        """Show what is left and stop following."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
        self.show()
        self.clear()

    def show(self) -> None:
        """Print what is new."""
        with self._busy:
            events = list(self.reader.new())
            lines = list(self._narrator.lines(events, time.monotonic()))
            self._note(events)
        if lines or (events and self._standings is not None):
            self._print(lines)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        """A phase of a case is over: pytest is about to say so, and not in the middle of one of our lines."""
        with self._printing:
            self.clear()
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(self) -> None:
        """A debugger may be about to take over the terminal."""
        self.clear()

    def clear(self) -> None:
        """Take the updated line away, so that pytest goes on in an empty one."""
        if self._drawn:
            with self._outside_capture():
                self._draw("")

    def still_running(self) -> tuple[str, ...]:
        """The requests that were posted and that the same command goes on with; after a wedge it does not."""
        from pytest_evalharness.base.events import EventReader
        from pytest_evalharness.report.progress import still_running

        # All events anew: an interrupt may have come between the reading of some and their being shown.
        return still_running(list(EventReader(self.run.events.path).new()))

    def _note(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            if event.get("kind") == "case":
                tally_of(self.config).collected.add(str(event["id"]))
            elif event.get("kind") == "notice" and event.get("text") not in self.run.notices:
                self.run.notices.append(str(event["text"]))
            elif event.get("kind") == "service" and self.run.service is None:
                self.run.service = event["service"]
            if self._standings is not None:
                self._standings.note(event)

    @property
    def _reporter(self) -> TerminalReporter | None:
        found: TerminalReporter | None = self.config.pluginmanager.get_plugin("terminalreporter")
        return found

    def _print(self, lines: list[str]) -> None:
        reporter = self._reporter
        if reporter is None:
            return
        with self._printing, self._outside_capture():
            self._draw("")
            _write(reporter, lines)
            standings = self._standings.line if self._standings is not None else ""
            if standings:
                _on_a_new_line(reporter)
                self._draw(f"{_PREFIX}{standings}")

    def _outside_capture(self) -> AbstractContextManager[None]:
        capture: CaptureManager | None = self.config.pluginmanager.get_plugin("capturemanager")
        if capture is None or self._thread is not None:
            return nullcontext()
        return capture.global_and_fixture_disabled()

    def _draw(self, text: str) -> None:
        """Replace the updated line, past pytest's reporter, which must not count its columns; an empty text erases it."""
        from pytest_evalharness.base.columns import columns, fitted

        if not text and not self._drawn:
            return
        width = (
            self.config.get_terminal_writer().fullwidth - 1
        )  # in the last column a terminal may begin a new line
        shown = fitted(_sayable(text), width)
        blanks = min(self._drawn, width) - columns(shown)
        back = "\r" if not shown else ""
        # Before it is written: an interrupt that comes right after must find something to take away.
        self._drawn = max(self._drawn, columns(shown))
        sys.stdout.write(f"\r{shown}{' ' * blanks}{back}")
        sys.stdout.flush()
        self._drawn = columns(shown)


_PREFIX = "evalharness: "
_NAME = "evalharness-progress"


def _write(reporter: TerminalReporter, lines: list[str]) -> None:
    from pytest_evalharness.base.columns import wrapped

    width = reporter._tw.fullwidth if _on_a_terminal(reporter) else sys.maxsize  # noqa: SLF001
    for text in lines:
        _on_a_new_line(reporter)
        for piece in wrapped(f"{_PREFIX}{text}", width):
            reporter.write_line(piece)
    reporter.flush()


def _on_a_new_line(reporter: TerminalReporter) -> None:
    reporter.ensure_newline()
    if reporter._tw.width_of_current_line:  # noqa: SLF001 - under xdist the dots belong to no file
        reporter.write_line("")


def _on_a_terminal(reporter: TerminalReporter | None) -> bool:
    return reporter is not None and bool(reporter.isatty)


def _sayable(text: str) -> str:
    """A text that standard output can encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _can_update(config: pytest.Config) -> bool:
    """Whether a line can be updated in place, and nobody else writes into it meanwhile."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return (
        _on_a_terminal(reporter)
        and os.environ.get("TERM") != "dumb"
        and config.option.verbose >= 0
        and config.getoption("capture", "no") != "no"
        and not _logs_live(config)
    )


def _logs_live(config: pytest.Config) -> bool:
    """Whether log records are shown as they come."""
    if not config.pluginmanager.has_plugin("logging-plugin"):
        return False
    return config.getoption("log_cli_level", None) is not None or bool(config.getini("log_cli"))


_PROGRESS = pytest.StashKey[Progress]()


def progress_of(config: pytest.Config) -> Progress | None:
    """This process's progress, if anything shows any."""
    return config.stash.get(_PROGRESS, None)


def ensure(config: pytest.Config) -> None:
    """Show progress in a serial run whose cases make their plans while they run."""
    if not is_worker(config) and progress_of(config) is None:
        start(config, threaded=False)


def start(config: pytest.Config, *, threaded: bool) -> Progress:
    """Show this run's progress from now on."""
    run = session_of(config)
    live = not threaded and _can_update(config)
    shown = config.stash[_PROGRESS] = Progress(config, run, live=live)
    if live:
        config.pluginmanager.register(shown, _NAME)
    if threaded:
        shown.follow()
    else:
        run.on_wait = shown.show
    return shown


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Start showing progress in a serial run that has eval cases."""
    run = existing_session(session.config)
    if run is None or is_worker(session.config) or progress_of(session.config) is not None:
        return
    cases = {*run.plans, *run.unplanned, *run.engine_plans, *run.clbench_plans}
    if cases and not run.settings["dry_run"]:
        tally_of(session.config).collected.update(cases)
        start(session.config, threaded=False)
