"""xdist: one run id, one embedded server, usage errors that reach the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.errors import UsageError
from pytest_evalharness.plugin import progress
from pytest_evalharness.plugin.collection import INTERRUPTED_KEY, USAGE_KEY, only_looks
from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.session import WORKER_KEY, existing_session, is_worker, new_run_id, session_of

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
