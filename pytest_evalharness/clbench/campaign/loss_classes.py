"""The known ways in which a campaign loses questions: how each is recognised, and what closes it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class LossClass(StrEnum):
    """What happened."""

    WORKER_OOM = "worker out of memory"
    PID_ONE = "worker killed without an init process"
    WORKER_CRASH = "worker crash"
    PARTIAL_MOUNT = "clone swept from under an engine"
    NETWORK_OUTAGE = "host network outage"
    SHIM_UNREACHABLE = "shim unreachable"
    FOREIGN_FILES = "files of another user"
    PROSE_FINAL = "prose final"
    KEY_LIMIT = "key limit"
    BUDGET = "budget truncation"
    TRUNCATED = "other truncation"
    SANDBOX = "task sandbox expired"
    LATE_ERRORS = "late provider errors"
    PROVIDER = "provider errors"
    MISSING_ROW = "missing row"
    UNEXPLAINED = "given up, nothing says why"


class Fate(StrEnum):
    """What became of the question."""

    LOST = "lost"
    SURVIVED = "survived"
    """What should have closed it did: it was held, salvaged or repaired."""
    UNKNOWN = "unknown"
    """Nothing says, or it is not of one question."""


@dataclass(frozen=True)
class Closure:
    """What is known of a class.

    Attributes:
        signature: how it is recognised.
        closure: what keeps it from happening again.
    """

    signature: str
    closure: str


CLOSURES: Mapping[LossClass, Closure] = {
    LossClass.WORKER_OOM: Closure(
        "crash_signal 9 or reason worker_crash_signal in task_results; the log only says `terminal (failed)`; an `oom` event "
        "where the container has a limit of memory",
        "max_workers 3, containers whose owner is dead stopped, memory for the plan (preflight), --memory a container",
    ),
    LossClass.PID_ONE: Closure(
        "the same signal 9, in a container that was started without --init",
        "start engines with --init: without it workers take themselves for orphans and end themselves",
    ),
    LossClass.WORKER_CRASH: Closure(
        "another crash_signal, a worker_crash reason, or crash_storm_detected in supervisor.jsonl",
        "read data/logs/server.log of the engine; after three crashes within a minute its pool stays off",
    ),
    LossClass.PARTIAL_MOUNT: Closure(
        "tasks stay queued (`workers presumed dead`) and server.log has ModuleNotFoundError",
        "probe workers_alive before the first question; never sweep a clone that a running container mounts",
    ),
    LossClass.NETWORK_OUTAGE: Closure(
        "`host network DOWN` in the task's log, network_wait rows in events.jsonl",
        "OUROBOROS_NET_OUTAGE_HOLD_SEC=21600 and OUROBOROS_TRANSIENT_RETRY_MAX=12",
    ),
    LossClass.SHIM_UNREACHABLE: Closure(
        "connection refused in the engine's tools.jsonl, and not one question with a query",
        "CLBENCH_SHIM_BIND is the address of the containers' bridge; preflight tries it",
    ),
    LossClass.FOREIGN_FILES: Closure(
        "PermissionError on shim_target.txt",
        "start engines with --user of whoever runs the adapter",
    ),
    LossClass.PROSE_FINAL: Closure(
        "a completed task without an answer in JSON, neither typed nor in its text",
        "the typed final answer, then the adapter's format repair (its published form is broken: `respond failed: NameError`)",
    ),
    LossClass.KEY_LIMIT: Closure(
        "402, or 403 with a limit or credits in its text, on the calls of a task",
        "both bounds of the key before and during the campaign; another key, then quarantine and run again",
    ),
    LossClass.BUDGET: Closure(
        "reason budget_exhausted", "OUROBOROS_TOTAL_BUDGET 200 a domain-seed (500 at effort high)"
    ),
    LossClass.TRUNCATED: Closure(
        "a reason code that ends a task early: a round limit, a deadline, a grace, a fence",
        "not a failure of the agent: raise the limit that is named, and run the rollout again",
    ),
    LossClass.SANDBOX: Closure(
        "a workspace container that ended by itself after two hours, or that is gone while its task works",
        "a longer container_timeout: sales rollouts take more than two hours",
    ),
    LossClass.LATE_ERRORS: Closure(
        "a failed task that holds a typed answer", "the adapter salvages the typed answer"
    ),
    LossClass.PROVIDER: Closure(
        "reason llm_api_error or provider_unavailable, and no answer",
        "OUROBOROS_TRANSIENT_RETRY_MAX=12; the provider's status page",
    ),
    LossClass.MISSING_ROW: Closure(
        "bridge path only: an empty absorb.json, missing_reward_indices in results.json",
        "count outcomes against the denominator; publish by the official path",
    ),
    LossClass.UNEXPLAINED: Closure(
        "`abandoning` in the task's log, and no engine's file that says more of the question",
        "read data/logs of the engine; --runs-root where its folder was not found",
    ),
}


@dataclass(frozen=True)
class Loss:
    """One occurrence.

    Attributes:
        kind: its class.
        fate: what became of the question.
        words: what was seen.
        where: the file that tells it.
        question: the engine task's id, empty where it is not of one question.
        task: the benchmark's task, empty where nothing tells.
        position: of the question in its pass, None where nothing tells.
        at: seconds since 1970, None where nothing tells.
    """

    kind: LossClass
    fate: Fate
    words: str
    where: Path
    question: str = ""
    task: str = ""
    position: int | None = None
    at: float | None = None

    @property
    def closure(self) -> str:
        """What closes its class."""
        return CLOSURES[self.kind].closure


@dataclass(frozen=True)
class Count:
    """Occurrences of one class."""

    lost: int = 0
    survived: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.lost + self.survived + self.unknown


def counted(losses: Iterable[Loss]) -> dict[LossClass, Count]:
    """How often each class occurred, in the order of the classes; those that did not are left out."""
    fates: dict[LossClass, list[Fate]] = {}
    for one in losses:
        fates.setdefault(one.kind, []).append(one.fate)
    return {
        kind: Count(*(fates[kind].count(fate) for fate in (Fate.LOST, Fate.SURVIVED, Fate.UNKNOWN)))
        for kind in LossClass
        if kind in fates
    }
