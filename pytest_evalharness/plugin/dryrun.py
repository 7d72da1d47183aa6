"""`--eval-dry-run`: the plan is resolved and printed, no case runs, nothing is posted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.errors import EvalHarnessError, UsageError
from pytest_evalharness.plugin.collection import only_looks
from pytest_evalharness.plugin.options import settings_of
from pytest_evalharness.plugin.session import EvalSession, existing_session, is_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter

    from pytest_evalharness.league.plan import ComparisonPlan
    from pytest_evalharness.league.pool_plan import PoolPlan

_UNRESOLVED = pytest.StashKey[int]()
EXIT_UNRESOLVED = 11
_WIDE = 1000


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Without cases to run there is nothing to distribute: a dry run has no workers."""
    if is_worker(config) or not _wanted(config):
        return
    if hasattr(config.option, "dist"):
        config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Print the plan in place of running the cases."""
    config = session.config
    run = existing_session(config)
    if is_worker(config):
        return None
    if run is None:
        return _nothing_planned(config)
    if not run.settings["dry_run"]:
        return None
    config.stash[_UNRESOLVED] = preview(config, run)
    return True


def _wanted(config: pytest.Config) -> bool:
    """Whether a dry run was asked for, in whichever way. A broken setting is told where it matters, not here."""
    try:
        return bool(settings_of(config)["dry_run"])
    except UsageError:
        return False


def _nothing_planned(config: pytest.Config) -> bool | None:
    if not _wanted(config) or only_looks(config):
        return None
    _write(
        config,
        "dry run: no selected case carries the mark of an eval; cases that use compare make their plan while they run",
    )
    return True


def preview(config: pytest.Config, run: EvalSession) -> int:
    """Print every case's plan; returns how many could not be resolved."""
    unresolved, told = 0, list(run.notices_for(()) if run.plans or run.unplanned else run.notices)
    for nodeid, error in run.unplanned.items():
        unresolved += 1
        _write(config, f"{nodeid}:", bold=True)
        for line in str(error).splitlines():
            _write(config, f"  {line}", red=True)
    for nodeid in run.engine_plans:
        unresolved += not _engines_told(config, run, nodeid)
    for nodeid in run.clbench_plans:
        unresolved += not _runs_told(config, run, nodeid)
    for nodeid, plan in run.plans.items():
        _write(config, f"{nodeid}:", bold=True)
        try:
            lines = list(_planned(run, nodeid, plan))
            notes = run.league.family.notes()
        except EvalHarnessError as error:
            unresolved += 1
            for line in str(error).splitlines():
                _write(config, f"  {line}", red=True)
            continue
        for line in lines:
            _write(config, f"  {line}")
        told += [note for note in notes if note not in told]
    for notice in told:
        _write(config, f"note: {notice}")
    planned = len(run.plans) + len(run.engine_plans) + len(run.clbench_plans) + len(run.unplanned)
    nothing = "nothing was posted or started" if run.clbench_plans else "nothing was posted"
    _write(
        config,
        f"dry run: {counted(planned, 'case')} planned, {unresolved} unresolved; {nothing}, no case ran",
    )
    return unresolved


def _engines_told(config: pytest.Config, run: EvalSession, nodeid: str) -> bool:
    """Print what an engine case would fit and score; whether all that it names is there."""
    _write(config, f"{nodeid}:", bold=True)
    try:
        prepared = run.prepared(nodeid)
    except EvalHarnessError as error:
        for line in str(error).splitlines():
            _write(config, f"  {line}", red=True)
        return False
    told, summary = prepared.plan, prepared.evidence.summary()
    names = [*(engine.name for engine in prepared.engines), *prepared.tables]
    for line in (
        f"evidence   {told.evidence}: {summary['episodes']:,} calls, {summary['transitions']:,} turns",
        f"engines    {', '.join(names)}",
        f"bootstrap  {told.bootstrap:,} resamples, seed {told.seed}",
    ):
        _write(config, f"  {printable(line, _WIDE)}")
    return True


def _runs_told(config: pytest.Config, run: EvalSession, nodeid: str) -> bool:
    """Print what a CL-Bench case would run or read; whether all that it names is there."""
    _write(config, f"{nodeid}:", bold=True)
    try:
        lines = run.clbench.preview(run.clbench_plans[nodeid])
    except EvalHarnessError as error:
        for line in str(error).splitlines():
            _write(config, f"  {line}", red=True)
        return False
    for line in lines:
        _write(config, f"  {printable(line, _WIDE)}")
    return True


def _planned(run: EvalSession, nodeid: str, plan: ComparisonPlan | PoolPlan) -> Iterator[str]:
    """A case's plan, as it would be posted now."""
    from pytest_evalharness.league import preview as text
    from pytest_evalharness.league.pool_plan import PoolPlan

    league = run.league
    if isinstance(plan, PoolPlan):
        strata = league.preview_pool(nodeid)
        yield from text.pool_lines(plan, strata, league.budgets, claims=league.family.size())
        return
    planned = league.preview(nodeid)
    budgets, claims = league.budgets(plan), league.family.size()
    yield from text.lines(plan, planned, budgets, claims=claims)


def _write(config: pytest.Config, line: str, **style: bool) -> None:
    reporter: TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    reporter.ensure_newline()
    reporter.write_line(line, **style)


@pytest.hookimpl
def pytest_sessionfinish(session: pytest.Session) -> None:
    """0 if everything resolved, else 11."""
    if session.config.stash.get(_UNRESOLVED, 0) and int(session.exitstatus) == pytest.ExitCode.OK:
        session.exitstatus = EXIT_UNRESOLVED
