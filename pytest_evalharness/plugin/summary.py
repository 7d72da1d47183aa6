"""The end of a run: the verdict section and the run's files, written by the controller."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import ReportsMissing
from pytest_evalharness.plugin.outcome import (
    ENGINES,
    INCONCLUSIVE,
    KIND,
    RESULTS,
    RUNS,
    outcome_of,
    tally_of,
)
from pytest_evalharness.plugin.progress import progress_of
from pytest_evalharness.plugin.records import SINGLE_ARM
from pytest_evalharness.plugin.session import EvalSession, existing_session, is_worker, relative

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_evalharness.report.model import CaseReport, Report

_WIDE = 1000
_COLOURS = {"good": {"green": True}, "bad": {"red": True}, "unsure": {"yellow": True}, "plain": {}}


class Collector:
    """Keeps what eval cases reported, in the order in which they did."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.reports: dict[str, pytest.TestReport] = {}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the call's report, or whichever phase went wrong first."""
        known = self.reports.get(report.nodeid)
        replaceable = known is None or known.passed or str(known.outcome) == "rerun"
        if replaceable and (report.when == "call" or not report.passed):
            self.reports[report.nodeid] = report

    def cases(self) -> tuple[CaseReport, ...]:
        """The eval cases that reported."""
        wanted = tally_of(self.config).collected
        return tuple(
            _case(report)
            for nodeid, report in self.reports.items()
            if nodeid in wanted
            or hasattr(report, RESULTS)
            or hasattr(report, ENGINES)
            or hasattr(report, RUNS)
            or outcome_of(report)
            or any(name == SINGLE_ARM for name, _ in report.user_properties)
        )


def _case(report: pytest.TestReport) -> CaseReport:
    from pytest_evalharness.report.clbench import KIND as RUN_KIND
    from pytest_evalharness.report.engines import KIND as ENGINE_KIND
    from pytest_evalharness.report.model import LEAGUE, CaseReport

    results: list[dict[str, Any]] = json.loads(getattr(report, RESULTS, "[]"))
    outcome = outcome_of(report)
    if outcome in {"", "not_met", "usage"}:
        outcome = "error" if report.failed and report.when != "call" else report.outcome
    engines: list[dict[str, Any]] = json.loads(getattr(report, ENGINES, "[]"))
    runs: list[dict[str, Any]] = json.loads(getattr(report, RUNS, "[]"))
    kinds = {value for name, value in report.user_properties if name == KIND}
    kind = next((one for one in (ENGINE_KIND, RUN_KIND) if one in kinds), LEAGUE)
    return CaseReport(
        report.nodeid, outcome, _message(report), tuple(results), tuple(engines), kind, tuple(runs)
    )


def _message(report: pytest.TestReport) -> str:
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(report.longrepr or "")


_COLLECTOR = pytest.StashKey[Collector]()


def pytest_configure(config: pytest.Config) -> None:
    """Listen where reports arrive."""
    if not is_worker(config):
        collector = config.stash[_COLLECTOR] = Collector(config)
        config.pluginmanager.register(collector, "evalharness-collector")


def build(config: pytest.Config, run: EvalSession, exit_code: int) -> Report:
    """The report of this run."""
    from pytest_evalharness.report.model import SETTLED

    tally = tally_of(config)
    shown = progress_of(config)
    return run.report(
        exit_code,
        config.stash[_COLLECTOR].cases(),
        missing=tally.missing,
        unfinished=tally.unfinished,
        still_running=shown.still_running() if shown is not None and exit_code not in SETTLED else (),
    )


_UNWRITTEN = pytest.StashKey[str]()
_NO_PAGE = pytest.StashKey[str]()
_REPORT = pytest.StashKey["Report"]()


def report_of(config: pytest.Config) -> Report | None:
    """The report of this run once it has ended, if it had eval cases."""
    return config.stash.get(_REPORT, None)


def collector_of(config: pytest.Config) -> Collector:
    """What keeps the reports of this run's cases, on the controller."""
    return config.stash[_COLLECTOR]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the run's files, once the exit code is settled."""
    config = session.config
    run = existing_session(config)
    shown = progress_of(config)
    if is_worker(config) or run is None:
        return
    if shown is not None:
        shown.finish()
    if not tally_of(config).collected and not config.stash[_COLLECTOR].cases():
        return
    write_files(config, run, build(config, run, int(session.exitstatus)))


def write_files(config: pytest.Config, run: EvalSession, report: Report) -> None:
    """Make this the report of the run; that it cannot be written is told, and no reason to fail."""
    from pytest_evalharness.report import folder

    config.stash[_REPORT] = report
    try:
        config.stash[_NO_PAGE] = folder.write(run.folder, report)
    except OSError as problem:
        config.stash[_UNWRITTEN] = f"the files were not written: {problem.strerror or problem}"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """The verdict section."""
    write_section(terminalreporter, config)


def write_section(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Write the verdict section, if there is anything to say."""
    tally = tally_of(config)
    if tally.usage:
        terminalreporter.section("evalharness", red=True)
        terminalreporter.write_line(f"ERROR: {tally.usage}", red=True)
        return
    report = config.stash.get(_REPORT, None)
    run = existing_session(config)
    if report is None or run is None:
        return
    from pytest_evalharness.base.text import printable
    from pytest_evalharness.report import terminal

    terminalreporter.section(f"evalharness: {printable(report.server)}")
    verbose = config.option.verbose
    for tone, text in terminal.lines(report, verbose):
        _write(terminalreporter, text, **_COLOURS[tone])
    if report.missing:
        for line in str(_missing(report)).split("\n"):
            _write(terminalreporter, line, red=True)
    unwritten = config.stash.get(_UNWRITTEN, "")
    if unwritten:
        _write(terminalreporter, unwritten, red=True)
    elif verbose > terminal.SILENT:
        no_page = config.stash.get(_NO_PAGE, "")
        files = f"files: {relative(run.folder, config)}"
        _write(terminalreporter, f"{files} ({no_page})" if no_page else files)
    for result in _worth_telling(terminalreporter, config):
        terminalreporter.write_line("")
        for line in result.split("\n"):
            _write(terminalreporter, line)


def _write(reporter: TerminalReporter, text: str, **markup: bool) -> None:
    """Write a line, on a terminal broken at blanks; a file or a log gets it whole."""
    from pytest_evalharness.base.columns import wrapped
    from pytest_evalharness.base.text import printable

    line = printable(text, _WIDE)
    pieces = wrapped(line, reporter._tw.fullwidth) if reporter.isatty else [line]  # noqa: SLF001
    for piece in pieces:
        reporter.write_line(piece, **markup)


def _missing(report: Report) -> ReportsMissing:
    # A case whose worker died is told by xdist too.
    every = {*report.missing, *report.unfinished, *(case.nodeid for case in report.cases)}
    return ReportsMissing(
        f"{len(report.missing)} of {len(every)} eval cases never reported",
        not_done="they judged nothing, so this run is no pass whatever the others say",
        next_step="run the same command again: what was posted is found again",
    )


def _worth_telling(reporter: TerminalReporter, config: pytest.Config) -> list[str]:
    """The whole numbers: of what cannot tell always, of what passed under -v; failures show their own."""
    if config.option.verbose < 0:
        return []
    told = [report.longrepr[2] for report in reporter.stats.get(INCONCLUSIVE, ())]
    if config.option.verbose > 0:
        for report in reporter.stats.get("passed", ()):
            told += [
                "\n".join([r["headline"], *r["lines"]]) for r in json.loads(getattr(report, RESULTS, "[]"))
            ]
    return told
