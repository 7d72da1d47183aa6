"""One pass played to its end: what a worker of the pool does for a rollout, or for one instance of the baseline."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature import registry
from pytest_evalharness.clbench.miniature.faults import Faults
from pytest_evalharness.clbench.miniature.policy import EMPTY_ACTIONS, NULL_ACTIONS, UNKNOWN_ACTION
from pytest_evalharness.clbench.miniature.schedules import Schedule, schedule
from pytest_evalharness.clbench.miniature.systems.contract import Place, Response, System
from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Query, Step, Task
from pytest_evalharness.clbench.miniature.traces import Recorder, local_now, system_entry
from pytest_evalharness.clbench.miniature.usage import Call

PACE = "CLBENCH_MINIATURE_PACE"
RUN_PID = "CLBENCH_MINIATURE_RUN_PID"
SUITE_PID = "CLBENCH_MINIATURE_SUITE_PID"
_LIVELOCK_PACE = 0.01
"""Seconds that a turn of a livelock takes at least: a test's disk is no benchmark's."""
_POLL = 0.05


class Refused(Exception):
    """The provider refuses to answer; a pass that meets it is blocked, and the run goes on."""

    def record(self) -> dict[str, Any]:
        """What traces say of it."""
        return {"kind": "content_policy", "error_type": "Refused", "error_message": str(self)}


@dataclass(frozen=True)
class Job:
    """Everything that a worker needs for its pass.

    Attributes:
        root: of the checkout.
        task: its id.
        task_params: resolved.
        system: its name.
        system_params: resolved.
        run_group_id: of the `clbench run`.
        run_index: the rollout, None for an instance of the baseline.
        instance: of the baseline.
        replicate: whether the rollout's index is kept from the task.
        live: where the snapshot goes.
    """

    root: Path
    task: str
    task_params: dict[str, Any]
    system: str
    system_params: dict[str, Any]
    run_group_id: str
    run_index: int | None
    instance: int | None = None
    replicate: bool = False
    live: Path | None = None

    @property
    def place(self) -> Place:
        """Where the system works."""
        return Place(self.root, self.task, self.run_index, self.instance)


def build_task(root: Path, name: str, params: dict[str, Any]) -> Task:
    """A task from its parameters.

    Raises:
        KeyError: it has no such schedule.
        ValueError: its parameters contradict the schedule.
    """
    chosen: Schedule = schedule(root, name, str(params["schedule"]))
    questions = params.get("num_questions")
    return registry.task_class(name)(chosen, seed=int(params["seed"]), num_questions=questions)


def play(job: Job) -> dict[str, Any]:
    """Play a pass and return its trace; a refused rollout's is blocked.

    Raises:
        Refused: an instance of a baseline was.
        RuntimeError: anything else went wrong; `failed_*.json` says what.
    """
    try:
        return _play(job)
    except Refused:
        raise
    except Exception as problem:
        with contextlib.suppress(OSError):
            _write_failed(job, problem)
        number = job.instance if job.run_index is None else job.run_index + 1
        where = f"[{job.place.phase} {number}, ID {job.run_group_id}]"
        raise RuntimeError(f"{where} {type(problem).__name__}: {problem}") from problem


def _play(job: Job) -> dict[str, Any]:
    task = build_task(job.root, job.task, job.task_params)
    if job.run_index is not None and not job.replicate:
        same = Faults(job.root).striking("same_order", job.task, job.run_index, 0)
        task.prepare_run(0 if same else job.run_index)
    params = {**job.task_params}
    if job.instance is not None:
        query, outcomes = task.only(job.instance)
    else:
        if job.run_index is not None and not job.replicate:
            params |= {"run_index": job.run_index, "rollout_index": job.run_index}
        query, outcomes = task.reset()
    head = {
        "schedule": job.task_params["schedule"],
        "task_brief": task.brief,
        "system": system_entry(job.system, job.system_params),
        "task": {"name": job.task, "params": {**params, "expected_num_instances": task.num_instances}},
    }
    index = job.instance if job.run_index is None else job.run_index
    recorder = Recorder(head, job.place.phase, job.run_group_id, index, job.live)
    recorder.add(outcomes)
    system = registry.system_class(job.system)(job.place, job.system_params)
    try:
        if query is not None:
            _loop(job, task, system, recorder, query)
        return recorder.finish("completed") | {"system_memory": system.memory()}
    except Refused as problem:
        if job.run_index is None:
            raise
        return recorder.finish("blocked", {"blocked_reason": problem.record()})
    finally:
        system.close()  # upstream leaves it to the finaliser, which a worker that dies never reaches


def _loop(job: Job, task: Task, system: System, recorder: Recorder, query: Query) -> None:
    faults = Faults(job.root)
    pace = float(os.environ.get(PACE) or 0.0)
    following: Query | None = query
    while following is not None:
        query = following
        position = job.instance if job.instance is not None else query.instance_index
        turn = _Turn(job, faults, position, task)
        began = time.perf_counter()
        time.sleep(pace + turn.strike())
        response = turn.answer(system, query)
        seconds = time.perf_counter() - began
        step = turn.step(response)
        later = turn.priced(system.observe(query, step.observation))
        recorder.interaction(
            query, response, step.observation, later, seconds=seconds, done=step.query is None
        )
        recorder.add(step.outcomes)
        following = step.query


@dataclass
class _Turn:
    """One turn, and the faults that strike it."""

    job: Job
    faults: Faults
    position: int
    task: Task

    def value(self, name: str, default: float) -> float | None:
        """A fault's value, None where it does not strike."""
        found = self.faults.striking(name, self.job.task, self.job.run_index, self.position)
        if found is None:
            return None
        return default if found.value is None else found.value

    def strikes(self, name: str) -> bool:
        """Whether a fault strikes."""
        return self.value(name, 0.0) is not None

    def strike(self) -> float:
        """Die, raise or hang where a fault says so; return the seconds that the turn takes more."""
        for name, pid in (("kill_suite", SUITE_PID), ("kill_run", RUN_PID), ("kill", "")):
            if self.strikes(name):
                os.kill(int(os.environ.get(pid) or 0) or os.getpid(), signal.SIGKILL)
        if self.strikes("crash"):
            raise ConnectionError("the system went away")
        if self.strikes("long_argv"):
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG), "docker")
        if self.strikes("refused"):
            raise Refused("the provider refuses this prompt")
        if self.strikes("full_disk"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.job.live))
        while self.strikes("stall"):
            time.sleep(_POLL)
        return (self.value("slow", 0.2) or 0.0) + (_LIVELOCK_PACE if self.strikes("livelock") else 0.0)

    def answer(self, system: System, query: Query) -> Response:
        """What the system says, or what a fault says in its place."""
        if self.strikes("poison"):
            return Response(NULL_ACTIONS[query.schema])
        if self.strikes("forfeit"):
            said = {"latency_timeout": True, "forfeit_reason": "engine_unresponsive"}
            return Response(EMPTY_ACTIONS[query.schema], said)
        response = system.respond(query)
        if self.strikes("livelock"):
            response = Response(UNKNOWN_ACTION, response.said, response.calls)
        if self.strikes("null"):
            response = Response(NULL_ACTIONS[query.schema], response.said, response.calls)
        return Response(response.action, response.said, self.priced(response.calls))

    def priced(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """The calls, without their prices where a fault takes them."""
        return tuple(replace(call, cost_usd=None) for call in calls) if self.strikes("unpriced") else calls

    def step(self, response: Response) -> Step:
        """What the task makes of it."""
        said = response.said
        if self.strikes("sandbox"):
            print(
                "Error response from daemon: No such container: minisweagent-00c0ffee",
                file=sys.stderr,
                flush=True,
            )
            said = {**said, "workspace_gone": True}
        step = self.task.step(response.action, said)
        wide = self.value("wide", 100_000.0)
        if wide is None:
            return step
        told = step.observation
        long = Observation(told.content + "." * int(wide), told.instance_complete, told.metadata)
        return Step(long, step.outcomes, step.query)


def _write_failed(job: Job, problem: Exception) -> None:
    stamp = local_now().strftime("%Y%m%d_%H%M%S")
    index = job.instance if job.run_index is None else job.run_index
    name = f"failed_{job.task_params['schedule']}_{job.run_group_id}_run{index}_{stamp}.json"
    told = {
        "status": "failed",
        "error": {"error_type": type(problem).__name__, "error_message": str(problem)},
        "artifacts": {},
        "system_artifacts": None,
    }
    folder = Path("results") / job.task
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(told, indent=2))
