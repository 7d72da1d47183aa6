"""An orderly end for the signals that reach a run of eval cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalharness.base.signals import OrderlyEnd
from pytest_evalharness.plugin.outcome import tally_of
from pytest_evalharness.plugin.progress import progress_of
from pytest_evalharness.plugin.session import existing_session, is_worker

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from xdist.workermanage import WorkerController

_END = pytest.StashKey[OrderlyEnd]()


def ensure(config: pytest.Config) -> None:
    """End in order from now on."""
    config.stash.setdefault(_END, OrderlyEnd()).install()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """A serial run: from its first eval case on."""
    run = existing_session(session.config)
    if (
        run is not None
        and (run.plans or run.unplanned)
        and not is_worker(session.config)
        and not run.settings["dry_run"]
    ):
        ensure(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: WorkerController, ids: Sequence[str]) -> None:
    """A controller: as soon as a worker has told that it has eval cases."""
    del ids
    shown = progress_of(node.config)
    if shown is not None:
        shown.show()
    if tally_of(node.config).collected:
        ensure(node.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> Generator[None]:
    """Everything is written and let go of: signals mean again what they meant before."""
    try:
        yield
    finally:
        end = config.stash.get(_END, None)
        if end is not None:
            end.restore()
