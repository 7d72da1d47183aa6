"""xdist: one run id, one embedded server, usage errors that reach the controller."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin import progress
from pytest_evalharness.plugin.collection import INTERRUPTED_KEY, USAGE_KEY, only_looks
from pytest_evalharness.plugin.marks import mark_of
from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.records import results_of
from pytest_evalharness.plugin.session import (
    WORKER_KEY,
    existing_session,
    is_worker,
    new_run_id,
    plain,
    session_of,
)

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

_RUN_ID = pytest.StashKey[dict[str, str]]()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Hand a worker what all of them must share. The server starts when a worker's first case connects to it."""
    config = node.config
    if _RUN_ID not in config.stash:
        config.stash[_RUN_ID] = _shared(config)
    node.workerinput[WORKER_KEY] = dict(config.stash[_RUN_ID])


def _shared(config: pytest.Config) -> dict[str, str]:
    try:
        run = session_of(config)
    except UsageError:
        return {
            "run_id": new_run_id(),
            "api": "",
        }  # a worker with eval cases says it; without any it is nobody's business
    api = ""
    if run.embedded and not only_looks(config):
        server = run.embedded_server()
        server.start_when_needed()
        api = server.api
    progress.start(config, threaded=True)
    return {"run_id": run.run_id, "api": api}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Read what a worker could not raise."""
    output: dict[str, Any] = getattr(node, "workeroutput", {})
    if output.get(INTERRUPTED_KEY):
        tally_of(node.config).interrupted = True
    message = output.get(USAGE_KEY)
    if message and not tally_of(node.config).usage:
        tally_of(node.config).usage = str(message)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let nothing that an eval case recorded of itself cost it its report: a worker dies of what it cannot send."""
    report = yield
    if is_worker(item.config) and (mark_of(item) is not None or results_of(item)):
        report.user_properties[:] = [(plain(name), sendable(v)) for name, v in report.user_properties]
    return report


_EXACT = frozenset({float, bool, bytes, type(None)})
_LARGEST = 2**31 - 1


def sendable(value: object) -> object:
    """A value that survives the way from a worker: itself, or as the JUnit file would show it (a number of numpy, a path)."""
    return value if _travels(value) else plain(value)


def _travels(value: object) -> bool:
    """Whether execnet can send it: exact built-ins only, no integer far below zero, no text that is no Unicode."""
    if type(value) is dict:
        return all(_travels(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set | frozenset) and type(value).__module__ == "builtins":
        return all(map(_travels, value))
    if type(value) is int:
        return abs(value) <= _LARGEST
    if type(value) is str:
        return value == plain(value)
    return type(value) in _EXACT


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of everything this process holds."""
    run = existing_session(config)
    if run is not None:
        run.close()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker lets go as soon as it has no more cases, so that others can take its polling over."""
    if is_worker(session.config):
        pytest_unconfigure(session.config)
