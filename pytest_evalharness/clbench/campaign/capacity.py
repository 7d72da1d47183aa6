"""How many containers a plan holds at once, and what memory and disk they take. Pure.

Source of the formula and its numbers: `docs/reference/clbench.md`, "Capacity". Sizes are in bytes, and a GB has 10^9 of them.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import BY_TASK, CODEBASE, SALES

GB = 1e9
SHARE = 0.8
"""Of the memory may be engines: the rest is the system's, and what it caches."""
_SHARED = f"at most {SHARE:g} of the memory"
_MEASURED = ((3, 0.35 * GB), (10, 0.8 * GB))
"""Resident memory of one engine container by its worker processes, as it was measured; a line is drawn through both."""
_WORKSPACE = 0.1 * GB
"""A task's own container, an idle shell that runs tests now and then. Nobody measured it: an allowance."""
CLONE = 44e6
"""A container's clone of the engine, which nothing removes."""
TRACES = 1.0 * GB
"""Snapshots, traces and logs of a campaign: an allowance."""
POOL = 12
"""Workers of a task's pool where no flag says otherwise, in every default schedule."""
_WORKSPACES = frozenset({CODEBASE, SALES})
_EVALUATIONS = frozenset({CODEBASE})


# --------------------------------------------------------------- containers


class Family(StrEnum):
    """Whose container it is, told from its name."""

    ENGINE = "engine"
    WORKSPACE = "workspace"
    EVALUATION = "evaluation"


ENGINE_NAME = re.compile(r"clbench-obo-(\d+)-(\d+)")
"""Of an engine: the pid of the worker process that owns it, and its port on the host."""
_FAMILIES = (
    (ENGINE_NAME, Family.ENGINE),
    (re.compile(r"minisweagent-[0-9a-f]{8}"), Family.WORKSPACE),
    (re.compile(r"clbench-generic-[0-9a-f]{8}"), Family.EVALUATION),
)


def family(name: str) -> Family | None:
    """The family of a container, None if it is none of a campaign's."""
    return next((kind for pattern, kind in _FAMILIES if pattern.fullmatch(name)), None)


@dataclass(frozen=True)
class TaskLoad:
    """What one task's pool works off.

    Attributes:
        task: its id.
        rollouts: stateful passes, an engine each for the whole pass.
        baseline: instances of the stateless baseline, an engine each.
    """

    task: str
    rollouts: int
    baseline: int


@dataclass(frozen=True)
class Load:
    """What a plan runs.

    Attributes:
        tasks: of the plan.
        task_parallelism: tasks at once.
        per_task: workers of one task's pool, which rollouts and baseline instances share.
        workers: worker processes in one engine; they, not the pool, make it large.
    """

    tasks: tuple[TaskLoad, ...]
    task_parallelism: int = 4
    per_task: int = POOL
    workers: int = 10


@dataclass(frozen=True)
class Containers:
    """How many at once."""

    engines: int
    workspaces: int = 0
    evaluations: int = 0

    @property
    def words(self) -> str:
        """The counts, those above zero."""
        told = ((self.engines, "engines"), (self.workspaces, "workspaces"), (self.evaluations, "evaluations"))
        return ", ".join(f"{count} {name}" for count, name in told if count) or "no containers"

    def __add__(self, other: Containers) -> Containers:
        """Both together."""
        return Containers(
            self.engines + other.engines,
            self.workspaces + other.workspaces,
            self.evaluations + other.evaluations,
        )


def load_of(
    tasks: Iterable[str],
    rollouts: int | Mapping[str, int],
    *,
    baseline: bool = True,
    task_parallelism: int = 4,
    per_task: int | None = None,
    workers: int = 10,
) -> Load:
    """The load of a plan on default schedules.

    Args:
        tasks: ids.
        rollouts: of every task, or by task.
        baseline: whether the system's stateless baseline runs too.
        task_parallelism: as `run-all` takes it.
        per_task: as `run-all` takes it, None where it is not given.
        workers: `max_workers` of the system's parameters.
    """
    loads = (
        TaskLoad(
            task,
            rollouts if isinstance(rollouts, int) else rollouts[task],
            BY_TASK[task].instances if baseline else 0,
        )
        for task in tasks
    )
    return Load(tuple(loads), task_parallelism, per_task or POOL, workers)


def running(names: Iterable[str]) -> Containers:
    """How many of the containers with these names are a campaign's."""
    found = [family(name) for name in names]
    return Containers(
        found.count(Family.ENGINE), found.count(Family.WORKSPACE), found.count(Family.EVALUATION)
    )


def most_containers(load: Load) -> Containers:
    """The most containers that a plan can hold at once.

    Baseline instances fill the free slots of a task's pool while rollouts still run, so one engine a task holds only with one
    slot. Each slot of codebase adaptation and of sales prediction has a workspace too, and codebase adaptation evaluates in a
    third.
    """
    each = [_of_task(one, load.per_task) for one in load.tasks]
    heaviest = heapq.nlargest(load.task_parallelism, each, key=lambda one: memory_of(one, load.workers))
    return sum(heaviest, Containers(0))


def _of_task(one: TaskLoad, per_task: int) -> Containers:
    engines = min(per_task, one.rollouts + one.baseline)
    return Containers(
        engines,
        engines if one.task in _WORKSPACES else 0,
        engines if one.task in _EVALUATIONS else 0,
    )


# ------------------------------------------------------------------- memory


def engine_memory(workers: int) -> float:
    """Resident memory of one engine with so many worker processes: a line through the two that were measured."""
    (few, small), (many, large) = _MEASURED
    return max(0.0, small + (workers - few) * (large - small) / (many - few))


def memory_of(containers: Containers, workers: int) -> float:
    """What containers take together."""
    others = containers.workspaces + containers.evaluations
    return containers.engines * engine_memory(workers) + others * _WORKSPACE


def fitting(load: Load, memory: float) -> Load | None:
    """The plan with as few slots a task, then as few tasks at once, as fit; None if not even one container does."""
    slots = (replace(load, per_task=count) for count in range(load.per_task, 0, -1))
    tasks = (replace(load, per_task=1, task_parallelism=n) for n in range(load.task_parallelism - 1, 0, -1))
    for one in (*slots, *tasks):
        if memory_of(most_containers(one), one.workers) <= SHARE * memory:
            return one
    return None


def memory_check(load: Load, memory: int, already: Containers | None = None) -> Check:
    """Whether the engine's machine holds the plan: containers times resident memory is at most 0.8 of it.

    Args:
        load: of the plan.
        memory: of the machine, or of the virtual machine that runs containers, as the engine tells it.
        already: containers of other campaigns that run now; taken to be as large as ours.
    """
    already = already or Containers(0)
    plan = most_containers(load)
    if memory <= 0:
        seen = f"the engine tells no memory; at most {plan.words} at once"
        return Check("memory", State.UNKNOWN, seen, _SHARED, 'docker info | grep "Total Memory"')
    needed = f"{_SHARED}: {_gb(SHARE * memory)}"
    taken = memory_of(plan, load.workers) + memory_of(already, load.workers)
    seen = (
        f"{_gb(memory)} of memory; at most {plan.words} at once, {_gb(engine_memory(load.workers))} an engine at "
        f"{load.workers} workers: {_gb(taken)}"
    )
    if already != Containers(0):
        seen += f" with {already.words} that run already"
    if taken <= SHARE * memory:
        return Check("memory", State.OK, seen, needed)
    return Check("memory", State.FAILED, seen, needed, _smaller(load, memory, already))


def _smaller(load: Load, memory: int, already: Containers) -> str:
    room = memory - memory_of(already, load.workers) / SHARE
    fewest = _MEASURED[0][0]
    for one in (load, replace(load, workers=fewest)) if load.workers > fewest else (load,):
        found = fitting(one, room)
        if found is not None:
            workers = f"max_workers {found.workers} and " if found.workers != load.workers else ""
            return (
                f"{workers}--task-parallelism {found.task_parallelism} --per-task-parallelism {found.per_task} fit; or give the "
                f"machine {_gb(memory_of(most_containers(load) + already, load.workers) / SHARE)}"
            )
    return "not even one container fits: end what runs (docker ps), or give the machine that runs them more memory"


# --------------------------------------------------------------------- disk


def disk_needed(load: Load, *, clones: bool = True, traces: bool = True) -> float:
    """What a plan writes until somebody removes it: a clone for every container that it ever starts, and its traces."""
    containers = sum(one.rollouts + one.baseline for one in load.tasks)
    return (containers * CLONE if clones else 0.0) + (TRACES if traces else 0.0)


def disk_check(where: str, free: int, needed: float) -> Check:
    """Whether a file system has room.

    Args:
        where: for people: which folder's.
        free: bytes that this user may still write.
        needed: bytes, of `disk_needed`.
    """
    seen, told = f"{_gb(free)} free at {where}", f"{_gb(needed)} until clones are removed"
    if free >= needed:
        return Check("disk", State.OK, seen, told)
    mend = f"free {_gb(needed - free)}, or put it elsewhere (OUROBOROS_BENCH_RUNS_ROOT for engines); clones of engines that ended may go"
    return Check("disk", State.FAILED, seen, told, mend)


def _gb(size: float) -> str:
    value = size / GB
    return f"{value:,.2f} GB" if value < 1.0 else f"{math.floor(value * 10 + 0.5) / 10:,.1f} GB"
