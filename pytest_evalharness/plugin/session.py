"""A pytest process's share of a run, made when the first eval case needs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.league.session import LeagueSession
from pytest_evalharness.plugin.options import settings_of

if TYPE_CHECKING:
    from pytest_evalharness.league.pool_result import PoolResult
    from pytest_evalharness.league.result import ABResult

WORKER_KEY = "evalharness"


class EvalSession(LeagueSession):
    """Everything that a run's cases share in this process.

    Attributes:
        found: what the case that runs now has found.
    """

    def __init__(self, config: pytest.Config) -> None:
        worker = getattr(config, "workerinput", {}).get(WORKER_KEY, {})
        settings = settings_of(config)
        super().__init__(
            settings,
            home=(config.rootpath / settings["home"]).absolute(),
            run_id=worker.get("run_id") or new_run_id(),
            worker=getattr(config, "workerinput", {}).get("workerid", ""),
            api=worker.get("api", ""),
        )
        self.config = config
        self.found: list[ABResult | PoolResult] = []

    def begin_case(self) -> None:
        """Another case begins: what earlier ones found explains nothing in it."""
        self.found.clear()

    def notice(self, text: str) -> None:
        """Note what every reader of a report must know; a worker tells its controller, who writes them."""
        if text in self.notices:
            return
        super().notice(text)
        if is_worker(self.config):
            self.events.append("notice", text=text)

    def tell_service(self, service: dict[str, Any]) -> None:
        """Keep what was chosen for the server; a worker tells its controller."""
        super().tell_service(service)
        if is_worker(self.config):
            self.events.append("service", service=service)


def new_run_id() -> str:
    """A name that sorts by time and is unique on a machine."""
    from pytest_evalharness.ledger.keys import new_run_id as made

    return made()


_SESSION = pytest.StashKey[EvalSession]()


def session_of(config: pytest.Config) -> EvalSession:
    """The process's session, made when it is first asked for.

    Raises:
        UsageError: a setting cannot be read.
    """
    session = config.stash.get(_SESSION, None)
    if session is None:
        session = config.stash[_SESSION] = EvalSession(config)
    return session


def existing_session(config: pytest.Config) -> EvalSession | None:
    """The process's session if anything needed one: without eval cases nothing does."""
    return config.stash.get(_SESSION, None)


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def relative(path: Path, config: pytest.Config) -> str:
    """A path as a user would type it."""
    try:
        return str(path.relative_to(config.invocation_params.dir))
    except ValueError:
        return str(path)


def plain(value: Any) -> str:
    """A value as an exact `str` of real characters: anything else may not survive the way from a worker."""
    return "" if value is None else str(value).encode("utf-8", "backslashreplace").decode()
