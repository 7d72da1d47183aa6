"""Collection: marks are registered and validated, the plan is written down. Nothing is posted here."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.errors import EvalHarnessError, UsageError
from pytest_evalharness.plugin import together
from pytest_evalharness.plugin.clbench_marks import compare_plan_of, run_plan_of
from pytest_evalharness.plugin.engine_marks import engine_plan_of
from pytest_evalharness.plugin.kinds import KINDS, VALIDATORS
from pytest_evalharness.plugin.marks import (
    CLBENCH,
    CLBENCH_AB,
    MARK_HELP,
    UMBRELLA,
    mark_of,
    require_one_kind,
)
from pytest_evalharness.plugin.session import EvalSession, is_worker, session_of
from pytest_evalharness.settings import unknown_variables

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE_KEY = "evalharness_usage"
INTERRUPTED_KEY = "evalharness_interrupted"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    for line in MARK_HELP:
        config.addinivalue_line("markers", line)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every marked case the umbrella mark before `-m` selects, and check every mark's words."""
    for item in items:
        mark = mark_of(item)
        if mark is None:
            continue
        item.add_marker(UMBRELLA)
        try:
            require_one_kind(item)
            VALIDATORS[mark.name](mark, item.nodeid)
        except UsageError as error:
            _refuse(config, items, error)
            return
    together.gather(config, items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Turn the selected cases into plans, after every other plugin has had its say about the selection."""
    config = session.config
    cases = [item for item in session.items if mark_of(item) is not None]
    if not cases or only_looks(config):
        return
    if session.testsfailed and not config.option.continue_on_collection_errors:
        _stop_after_collection_errors(session)
        return
    try:
        run = session_of(config)
        make_plans(run, cases)
        selected = {item.nodeid for item in cases}
        run.family = together.family_plan(run, config, selected)
        run.compared = together.compared_together(run, config, selected)
    except UsageError as error:
        _refuse(config, session.items, error)
        return
    if is_worker(config):
        announce(run, cases)


def only_looks(config: pytest.Config) -> bool:
    """Whether pytest was asked to show something in place of running: then nothing is planned."""
    flags = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")
    return any(getattr(config.option, flag, False) for flag in flags)


def make_plans(run: EvalSession, cases: Sequence[pytest.Item]) -> None:
    """Every selected case's plan, in the order of collection. Only cases that play on a league need a server.

    A league beside the usual one is asked which game it plays. Whoever cannot be asked has no plan, and its case says why.

    Raises:
        UsageError: a value is wrong, a name or the server is missing.
    """
    for item in cases:
        mark = mark_of(item)
        assert mark is not None
        if mark.name in KINDS:
            kind = KINDS[mark.name]
            try:
                plan, overridden = kind.plan(
                    item.nodeid, mark.kwargs, run.settings, run.identity, run.games.of
                )
            except UsageError:
                raise
            except EvalHarnessError as problem:
                run.unplanned[item.nodeid] = problem
                continue
            run.plans[item.nodeid] = plan
        elif mark.name in {CLBENCH, CLBENCH_AB}:
            of = run_plan_of if mark.name == CLBENCH else compare_plan_of
            run.clbench_plans[item.nodeid], overridden = of(item.nodeid, mark.kwargs, run.settings)
        else:
            engine_plan, overridden = engine_plan_of(item.nodeid, mark.kwargs, run.settings)
            run.engine_plans[item.nodeid] = engine_plan
        run.notices += [line for line in overridden if line not in run.notices]
    run.notices += unknown_variables(os.environ)


def announce(run: EvalSession, cases: Sequence[pytest.Item]) -> None:
    """A worker tells the controller which cases it has: the controller collects nothing itself."""
    with contextlib.suppress(OSError):  # the case that opens the journal there says it
        run.folder.mkdir(parents=True, exist_ok=True)
    for item in cases:
        run.events.append("case", id=item.nodeid)
    for notice in run.notices:
        run.events.append("notice", text=notice)


def _stop_after_collection_errors(session: pytest.Session) -> None:
    """Collection errors never post. A serial run stops by itself; a worker would run what it has collected."""
    if is_worker(session.config):
        session.config.workeroutput[INTERRUPTED_KEY] = True  # type: ignore[attr-defined]
        session.items[:] = []


def _refuse(config: pytest.Config, items: list[pytest.Item], error: UsageError) -> None:
    """Exit 4. A worker cannot say that itself: it selects nothing and hands the message to the controller."""
    items[:] = []  # pytest goes on to the end of collection, where a second error would hide this one
    if is_worker(config):
        output = config.workeroutput  # type: ignore[attr-defined]
        output.setdefault(USAGE_KEY, str(error))
        return
    raise pytest.UsageError(str(error))
