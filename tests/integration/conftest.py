"""Leagues for tests whose point is something else than the league."""

import shutil
from contextlib import contextmanager
from functools import cache

import pytest

from pytest_evalharness.observatory.embedded import EmbeddedServer


@contextmanager
def _unmeasured():
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield


@pytest.fixture(scope="session")
def unmeasured():
    """Within it, processes are started that coverage does not measure.

    The league is measured in its own tests, `tests/unit/arena` and `tests/integration/arena`. Where it only founds itself
    and plays for others, measuring it takes four times as long as playing.
    """
    return _unmeasured


@pytest.fixture(scope="session")
def founded_league(tmp_path_factory, unmeasured):
    """Gives a league's own folder whose rounds have been played, in the scores of a dialect.

    A server on a copy of it is there sooner.
    """

    @cache
    def found(dialect="current"):
        server = EmbeddedServer(tmp_path_factory.mktemp("founded"), seed=2026, dialect=dialect)
        with unmeasured():
            server.start()
        server.stop()
        return server.home

    return found


@pytest.fixture(scope="module")
def start_league(tmp_path_factory, founded_league, unmeasured):
    """Starts leagues that end with the module."""
    running = []

    def start(dialect="current"):
        server = EmbeddedServer(tmp_path_factory.mktemp("league"), seed=2026, dialect=dialect)
        shutil.copytree(founded_league(dialect), server.home)
        running.append(server)
        with unmeasured():
            server.start()
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def unhurried(monkeypatch):
    """In runs of this process: however short a budget, it runs out for no request before all requests are accepted.

    On a busy machine one arm's could be over before the other arm is posted, which then never is.
    """
    from pytest_evalharness.league.poll import Poller

    minds = Poller._mind_the_budgets

    def once_all_are_there(self, standing):
        if not self.lease._access.storage.read("SELECT 1 FROM blocks WHERE request_id IS NULL"):
            minds(self, standing)

    monkeypatch.setattr(Poller, "_mind_the_budgets", once_all_are_there)
