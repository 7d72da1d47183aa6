"""Progress as whole lines: from the waiting case in a serial run, from a thread on an xdist controller."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.session import EvalSession, existing_session, is_worker, session_of

if TYPE_CHECKING:
    from _pytest.capture import CaptureManager
    from _pytest.terminal import TerminalReporter

_TAIL_SECONDS = 0.2


class Progress:
    """Reads a run's events and prints them."""

    def __init__(self, config: pytest.Config, run: EvalSession) -> None:
        from pytest_evalharness.base.events import EventReader
        from pytest_evalharness.report.progress import Narrator

        self.config = config
        self.run = run
        self.reader = EventReader(run.events.path)
        verbose = getattr(config.option, "verbose", 0)  # absent under -p no:terminal
        reporter = self._reporter
        self._narrator = Narrator(
            quiet=max(0, -verbose), interactive=reporter is not None and bool(reporter.isatty)
        )
        self._seen: list[dict[str, Any]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._busy = threading.Lock()

    def follow(self) -> None:
        """Follow the events from a thread: an xdist controller runs no case in which it could print."""
        self._thread = threading.Thread(target=self._tail, name="evalharness-progress", daemon=True)
        self._thread.start()

    def _tail(self) -> None:
        while not self._stop.wait(_TAIL_SECONDS):
            self.show()

    def finish(self) -> None:
        """Show what is left and stop following."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2.0)
        self.show()

    def show(self) -> None:
        """Print what is new."""
        with self._busy:
            events = list(self.reader.new())
            lines = list(self._narrator.lines(events, time.monotonic()))
            self._note(events)
        if lines:
            self._print(lines)

    def still_running(self) -> tuple[str, ...]:
        """The requests that were posted and that the same command goes on with; after a wedge it does not."""
        from pytest_evalharness.report.progress import still_running

        return still_running(self._seen)

    def _note(self, events: list[dict[str, Any]]) -> None:
        self._seen += events
        for event in events:
            if event.get("kind") == "case":
                tally_of(self.config).collected.add(str(event["id"]))
            elif event.get("kind") == "notice" and event.get("text") not in self.run.notices:
                self.run.notices.append(str(event["text"]))
            elif event.get("kind") == "service" and self.run.service is None:
                self.run.service = event["service"]

    @property
    def _reporter(self) -> TerminalReporter | None:
        found: TerminalReporter | None = self.config.pluginmanager.get_plugin("terminalreporter")
        return found

    def _print(self, lines: list[str]) -> None:
        reporter = self._reporter
        if reporter is None:
            return
        capture: CaptureManager | None = self.config.pluginmanager.get_plugin("capturemanager")
        if capture is not None and self._thread is None:
            with capture.global_and_fixture_disabled():
                _write(reporter, lines)
        else:
            _write(reporter, lines)


def _write(reporter: TerminalReporter, lines: list[str]) -> None:
    for text in lines:
        reporter.ensure_newline()
        if reporter._tw.width_of_current_line:  # noqa: SLF001 - under xdist the dots belong to no file
            reporter.write_line("")
        reporter.write_line(f"evalharness: {text}")
    reporter.flush()


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
    shown = config.stash[_PROGRESS] = Progress(config, run)
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
    if run.plans and not run.settings["dry_run"]:
        tally_of(session.config).collected.update(run.plans)
        start(session.config, threaded=False)
