"""Outcomes and exit codes: errors become pytest's words, once, here."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest._code.code import ExceptionChainRepr, ReprEntry

from pytest_evalharness.errors import (
    ConditionNotMet,
    EvalHarnessError,
    ForkWithoutSecrets,
    Inconclusive,
    NothingJudged,
    Untrustworthy,
    UsageError,
)
from pytest_evalharness.plugin.kinds import FIXTURES
from pytest_evalharness.plugin.marks import CLBENCH, CLBENCH_AB, ENGINE_BENCHMARK, mark_of
from pytest_evalharness.plugin.records import benchmark_of, folders_of, results_of, runs_of
from pytest_evalharness.plugin.session import existing_session, is_worker, plain, session_of

if TYPE_CHECKING:
    from pytest_evalharness.engines.judged import EngineResult

PREFIX = "evalharness."
OUTCOME = PREFIX + "outcome"
KIND = PREFIX + "kind"
RESULTS = "evalharness_results"
ENGINES = "evalharness_engines"
RUNS = "evalharness_clbench"
INCONCLUSIVE = "inconclusive"
UNTRUSTWORTHY = "untrustworthy"
NOT_RUN = "not_run"
NOT_MET = "not_met"
USAGE = "usage"
DISCLOSED = "disclosed"
"""A loss that the case's mark discloses: expected, told with its reason, and no claim of anything."""
_PACKAGE = Path(__file__).resolve().parent.parent
EXIT_INCONCLUSIVE = 10
EXIT_UNTRUSTWORTHY = 11


@dataclass
class Tally:
    """What the controller has seen reported."""

    collected: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    failed: int = 0
    untrustworthy: int = 0
    inconclusive: int = 0
    misused: int = 0
    usage: str = ""
    interrupted: bool = False
    missing: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


TALLY = pytest.StashKey[Tally]()


def tally_of(config: pytest.Config) -> Tally:
    """The controller's tally."""
    return config.stash.setdefault(TALLY, Tally())


# ------------------------------------------------------------------ reports


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget what earlier cases found: it explains nothing in this one."""
    run = existing_session(item.config)
    if run is not None:
        run.begin_case()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Map this package's exceptions onto pytest's outcomes, and attach what the case found."""
    if call.when == "setup":  # a rerun starts afresh
        item.user_properties[:] = [pair for pair in item.user_properties if not pair[0].startswith(PREFIX)]
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if (
        report.skipped
        and hasattr(report, "wasxfail")
        and any(getattr(r, "lost", False) for r in runs_of(item))
    ):
        put(item, report, OUTCOME, DISCLOSED)
    elif isinstance(error, EvalHarnessError):
        _translate(item, report, error)
    elif report.when == "call" and report.passed and (mark_of(item) is not None or results_of(item)):
        _demand_judgement(item, report)
    if report.when == "call" or not report.passed:
        attach(item, report)
    return report


def _translate(item: pytest.Item, report: pytest.TestReport, error: EvalHarnessError) -> None:
    if isinstance(error, Inconclusive) and session_of(item.config).settings["inconclusive"] != "fail":
        report.outcome = "skipped"
        path, line, _ = item.location
        report.longrepr = (path, line or 0, str(error))
        put(item, report, OUTCOME, INCONCLUSIVE)
        return
    _say_it_plainly(report, error)
    if isinstance(error, ForkWithoutSecrets):
        put(item, report, OUTCOME, NOT_RUN)
    elif isinstance(error, Untrustworthy):
        put(item, report, OUTCOME, UNTRUSTWORTHY)
    elif isinstance(error, ConditionNotMet):
        put(item, report, OUTCOME, NOT_MET)
    elif isinstance(error, UsageError):
        put(item, report, OUTCOME, USAGE)


def _say_it_plainly(report: pytest.TestReport, error: EvalHarnessError) -> None:
    """Show the message and the user's own lines; our frames explain nothing to whoever wrote the case."""
    shown = report.longrepr
    crash = getattr(shown, "reprcrash", None)
    if not isinstance(shown, ExceptionChainRepr) or crash is None:
        return
    crash.message = str(error)  # summaries and JUnit begin with the decision, not with a dotted name
    trace, _, _ = shown.chain[-1]
    shown.chain = [(trace, crash, None)]
    entries = [entry for entry in trace.reprentries if isinstance(entry, ReprEntry)]
    if not entries:
        return
    # Below a frame of ours there are only those that it called: the standard library's, for instance.
    theirs = list(takewhile(lambda e: e.reprfileloc is None or not _ours(e.reprfileloc.path), entries))
    last = theirs[-1] if theirs else entries[-1]
    source = [line for line in last.lines if not line.startswith("E ")] if theirs else []
    last.lines = [*source, *(f"E   {line}" for line in str(error).splitlines())]
    last.reprfuncargs = last.reprlocals = None
    if not theirs:
        last.reprfileloc = None
    trace.reprentries = [*theirs[:-1], last]


def _ours(path: str) -> bool:
    return Path(path).resolve().is_relative_to(_PACKAGE)


def _demand_judgement(item: pytest.Item, report: pytest.TestReport) -> None:
    """A case that carries a claim and never looked at the evidence has judged nothing: that is no pass."""
    results, benchmark = results_of(item), benchmark_of(item)
    looked = [*(result.consumed for result in results), *([benchmark.consumed] if benchmark else [])]
    runs = [one.consumed for one in runs_of(item)]  # of one run a case may look at the scores alone
    looked += [any(runs)] if runs else []
    if looked and all(looked):
        return
    error = NothingJudged(
        f"nothing was judged: {item.nodeid} carries a claim and passed without looking at its evidence",
        not_done="the claim was neither met nor refuted",
        next_step=f"end the case with {_fixture(item)}.require()",
    )
    report.outcome = "failed"
    report.longrepr = str(error)
    put(item, report, OUTCOME, UNTRUSTWORTHY)


def _fixture(item: pytest.Item) -> str:
    mark = mark_of(item)
    return "ab" if mark is None else FIXTURES[mark.name]


def put(item: pytest.Item, report: pytest.TestReport, name: str, value: object) -> None:
    """Attach a property as exact strings: anything else can lose the whole report on its way from a worker.

    The item has it too, because JUnit takes the properties of the teardown's report, which is yet to come.
    """
    for properties in (item.user_properties, report.user_properties):
        properties[:] = [pair for pair in properties if pair[0] != name]
        properties.append((plain(name), plain(value)))


def attach(item: pytest.Item, report: pytest.TestReport) -> None:
    """Attach what the case found to its report: properties for JUnit, the whole record for our own files."""
    mark = mark_of(item)
    if mark is not None and mark.name == ENGINE_BENCHMARK:
        attach_engines(item, report, benchmark_of(item))
        return
    if mark is not None and mark.name in {CLBENCH, CLBENCH_AB}:
        attach_runs(item, report)
        return
    for side, folders in folders_of(item).items():
        put(item, report, f"{PREFIX}episodes_{side}", folders)
    results = results_of(item)
    try:
        told = [result.to_json() for result in results]
    except EvalHarnessError as error:  # the others cannot be waited for, and a verdict without them is none
        report.sections.append(("evalharness", str(error)))
        told = []
    if not told:
        if mark_of(item) is not None:  # even a refused case names where it would have played
            run = session_of(item.config)
            put(item, report, PREFIX + "server", run.identity)
            put(item, report, PREFIX + "run", run.run_id)
        return
    import json

    from pytest_evalharness.report.junit import properties

    for name, value in properties(told[-1], session_of(item.config).run_id):
        put(item, report, name, value)
    # An extra attribute of exact strings crosses from a worker like any other field of the report.
    vars(report)[RESULTS] = json.dumps(told)


def attach_engines(item: pytest.Item, report: pytest.TestReport, benchmark: EngineResult | None) -> None:
    """Attach the engines that a case looked at: properties of the last for JUnit, all of them for our own files."""
    import json

    from pytest_evalharness.report.engines import properties

    told = benchmark.to_json() if benchmark is not None else []
    run = session_of(item.config)
    for name, value in properties(told[-1] if told else None, run.run_id):
        put(item, report, name, value)
    vars(report)[ENGINES] = json.dumps(told)


def attach_runs(item: pytest.Item, report: pytest.TestReport) -> None:
    """Attach what a case saw of CL-Bench runs: properties of the last for JUnit, all of it for our own files."""
    import json

    from pytest_evalharness.report.clbench import properties

    told = [one.to_json() for one in runs_of(item)]
    for name, value in properties(told[-1] if told else None, session_of(item.config).run_id):
        put(item, report, name, value)
    vars(report)[RUNS] = json.dumps(told)


def outcome_of(report: pytest.TestReport) -> str:
    """The outcome that a report carries, or an empty string."""
    return next((str(value) for name, value in report.user_properties if name == OUTCOME), "")


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport | pytest.CollectReport,
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """A word and a letter for "cannot tell"."""
    if isinstance(report, pytest.TestReport) and report.skipped and outcome_of(report) == INCONCLUSIVE:
        return INCONCLUSIVE, "?", ("INCONCLUSIVE", {"yellow": True})
    return None


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    """Explain `assert ab.verdict is Verdict.BETTER`: the headline, the numbers and the request ids."""
    from pytest_evalharness.verdict.words import Verdict

    if op not in {"==", "is"} or not (isinstance(left, Verdict) or isinstance(right, Verdict)):
        return None
    run = existing_session(config)
    found = (
        [] if run is None else [r for r in run.found if r.consumed and r.judgement.verdict in (left, right)]
    )
    if len(found) == 1:
        return [found[0].headline, *found[0].lines()]
    return [result.headline for result in found] or None  # several may be meant: name them, and no numbers


# --------------------------------------------------------------- exit codes


class Counter:
    """Counts reports on the controller (or in a serial run) and settles the exit code."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tally = tally_of(config)

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what began, here or in a worker."""
        self.tally.started.add(str(nodeid))

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what a report says."""
        if report.when == "teardown":
            self.tally.reported.add(report.nodeid)
        if report.failed:
            if outcome_of(report) == USAGE:
                self.tally.misused += 1
            elif outcome_of(report) in {UNTRUSTWORTHY, NOT_RUN} or self._died(report):
                self.tally.untrustworthy += 1
            else:
                self.tally.failed += 1
        elif report.skipped and outcome_of(report) == UNTRUSTWORTHY:
            self.tally.untrustworthy += (
                1  # an expected failure is a claim not met; no evidence is none, expected or not
            )
        elif outcome_of(report) == DISCLOSED:
            pass  # a loss that was told before is no claim that was not met
        elif report.skipped and (outcome_of(report) == INCONCLUSIVE or report.nodeid in self.tally.collected):
            self.tally.inconclusive += 1  # a claim that was skipped, or expected to fail, was not met either

    def _died(self, report: pytest.TestReport) -> bool:
        """Whether this is xdist's word for an eval case whose worker died: it judged nothing."""
        return report.when not in {"setup", "call", "teardown"} and report.nodeid in self.tally.collected

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Settle the exit code: 2 to 6 stay, then 1, 11, 10, 0."""
        status, most = int(session.exitstatus), self.config.getoption("maxfail", 0)
        enough = most and self.tally.failed + self.tally.untrustworthy + self.tally.misused >= most
        if enough and status == pytest.ExitCode.INTERRUPTED:
            status = int(pytest.ExitCode.TESTS_FAILED)  # xdist calls it an interrupt when -x stops a run
        stopped = bool(enough or session.shouldfail or session.shouldstop)
        session.exitstatus = settle(status, self.tally, self._policy(), stopped=stopped)

    def _policy(self) -> str:
        run = existing_session(self.config)
        return str(run.settings["inconclusive"]) if run is not None else "exit"


def settle(status: int, tally: Tally, policy: str, *, stopped: bool = False) -> int:
    """The exit code of a run; notes in the tally which cases are missing, and which a stopped run did not get to.

    Args:
        status: pytest's own.
        tally: what was reported.
        policy: `exit`, `fail` or `pass`, for cases that cannot tell.
        stopped: whether pytest was told to stop, as by -x: what had not begun then is nobody's loss.
    """
    misused = tally.usage or tally.misused
    forced = pytest.ExitCode.USAGE_ERROR if misused else pytest.ExitCode.INTERRUPTED
    if misused or tally.interrupted:
        return int(forced)
    left = tally.collected - tally.reported
    if status == pytest.ExitCode.INTERRUPTED:
        tally.unfinished = sorted(left)
    elif stopped:
        tally.unfinished = sorted(left - tally.started)
    tally.missing = sorted(left.difference(tally.unfinished))
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return status
    if tally.failed:
        return int(pytest.ExitCode.TESTS_FAILED)
    if tally.untrustworthy or (status == pytest.ExitCode.OK and tally.missing):
        return EXIT_UNTRUSTWORTHY
    if status == pytest.ExitCode.OK and tally.inconclusive:
        return {"exit": EXIT_INCONCLUSIVE, "fail": int(pytest.ExitCode.TESTS_FAILED)}.get(policy, status)
    return status


def pytest_configure(config: pytest.Config) -> None:
    """Count where reports arrive: on the controller, or in a serial run."""
    if not is_worker(config):
        config.pluginmanager.register(Counter(config), "evalharness-counter")
