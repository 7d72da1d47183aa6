"""A pytest process's share of a run, made when the first eval case needs it."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalharness.league.session import LeagueSession
from pytest_evalharness.plugin.options import settings_of

if TYPE_CHECKING:
    from pytest_evalharness.clbench.case_plan import ComparePlan, RunPlan
    from pytest_evalharness.clbench.case_runs import CaseRuns
    from pytest_evalharness.engines.judged import EngineResult
    from pytest_evalharness.engines.plan import EnginePlan
    from pytest_evalharness.engines.running import Prepared
    from pytest_evalharness.league.pool_result import PoolResult
    from pytest_evalharness.league.result import ABResult

WORKER_KEY = "evalharness"


class EvalSession(LeagueSession):
    """Everything that a run's cases share in this process.

    Attributes:
        found: what the case that runs now has found.
        engine_plans: the selected cases on decision engines, and what they ask.
        clbench_plans: the selected cases on runs of CL-Bench, and what they ask.
        compared: the comparisons of such runs that are tested together, as of `together.compared_together`.
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
        self.engine_plans: dict[str, EnginePlan] = {}
        self.clbench_plans: dict[str, RunPlan | ComparePlan] = {}
        self.compared: list[ComparePlan | None] | None = None
        self._prepared: dict[str, Prepared] = {}
        self._clbench: CaseRuns | None = None
        self._parent = os.getppid()

    @property
    def clbench(self) -> CaseRuns:
        """The runs behind cases on CL-Bench."""
        if self._clbench is None:
            from pytest_evalharness.clbench.case_campaigns import Making
            from pytest_evalharness.clbench.case_runs import CaseRuns

            self._clbench = CaseRuns(
                Making(
                    home=self.home,
                    base=self.config.rootpath,
                    session=self.run_id,
                    ledger=lambda: self.ledger,
                    clock=self.clock,
                    say=self._campaign_said,
                    note=self.notice,
                    abandoned=lambda: is_worker(self.config) and os.getppid() != self._parent,
                )
            )
        return self._clbench

    def benchmark(self, nodeid: str) -> EngineResult:
        """A case's engine benchmark; the first that asks has it made, all others, later runs included, read it.

        Raises:
            EvalHarnessError: the evidence or an engine is not what it should be, or calls are made up and nobody asked for it.
        """
        from pytest_evalharness.engines.judged import EngineResult, made_up, refuse_synthetic

        plan = self.engine_plans[nodeid]
        prepared = self.prepared(nodeid)
        told = prepared.evidence.document
        refuse_synthetic(
            plan.evidence, made_up(told.kind, told.synthetic), allowed=self.settings["synthetic"]
        )
        with contextlib.suppress(
            OSError
        ):  # without the folder there is no progress; the ledger says what matters
            self.folder.mkdir(parents=True, exist_ok=True)
        report = prepared.run_once(self.ledger, self.clock, self._said)
        for notice in report.notices:
            self.notice(f"{plan.evidence}: {notice}")
        return EngineResult(plan, report)

    def _said(self, text: str) -> None:
        """Tell how far the benchmark is, to whoever shows progress."""
        self.events.append("engines", what="progress", key="engines", text=text)
        self.on_wait()

    def _campaign_said(self, text: str) -> None:
        """Tell how far a campaign is, to whoever shows progress."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.events.append("clbench", what="progress", key="clbench", text=text)
        self.on_wait()

    def prepared(self, nodeid: str) -> Prepared:
        """A case's evidence and engines, read once a process.

        Raises:
            EvalHarnessError: one of them is not what it should be.
        """
        from pytest_evalharness.engines.running import Places, Prepared

        plan = self.engine_plans[nodeid]
        key = json.dumps(plan.to_json(), sort_keys=True, default=str)
        if key not in self._prepared:
            self._prepared[key] = Prepared(plan, Places(data=self.home / "data", base=self.config.rootpath))
        return self._prepared[key]

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
