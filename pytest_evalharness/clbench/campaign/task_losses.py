"""What one task of an engine was lost to: the first cause that its record, its calls and its container prove."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.bridge_log import Question
from pytest_evalharness.clbench.campaign.capacity import Family, family
from pytest_evalharness.clbench.campaign.loss_classes import Fate, Loss, LossClass
from pytest_evalharness.clbench.campaign.runroots import EngineTask, Row
from pytest_evalharness.containers.events import Death
from pytest_evalharness.containers.state import Container

_SIGKILL = 9
_NEAR = 60.0
"""Seconds between an `oom` event and the record of the task that it ended."""
_TRUNCATIONS = frozenset(
    {
        "acceptance_fence_unavailable",
        "children_unabsorbed",
        "deadline_local",
        "finalization_grace",
        "owner_requested_finalization",
        "round_limit",
    }
)
_PROVIDER = frozenset({"llm_api_error", "provider_unavailable", "transport_unavailable"})
_LIMIT = re.compile(r"key limit|credits?\b|quota|payment required", re.IGNORECASE)
_NO_MONEY, _FORBIDDEN = 402, 403


@dataclass(frozen=True)
class Around:
    """What is known around the tasks of one engine.

    Attributes:
        folder: the engine's own.
        limited: tasks of which the last call was refused for money, from `refused_for_money`.
        deaths: of all containers.
        containers: that run now.
    """

    folder: Path
    limited: Mapping[str, str]
    deaths: Sequence[Death]
    containers: Sequence[Container]


def of_task(task: EngineTask, question: Question, around: Around) -> Iterator[Loss]:
    """What a task was lost to, if it was.

    Args:
        task: that has ended.
        question: what the adapter's log says of it.
        around: its engine.
    """
    fate = _fate(task, question)

    def loss(kind: LossClass, words: str, fate: Fate = fate) -> Loss:
        return Loss(kind, fate, words, task.where, question=task.id, at=task.at)

    if task.signal is not None or task.reason.startswith("worker_crash"):
        yield loss(*_crashed(task, around))
    elif task.id in around.limited:
        yield loss(LossClass.KEY_LIMIT, around.limited[task.id])
    elif task.reason == "budget_exhausted":
        yield loss(LossClass.BUDGET, f"the engine's budget was spent{_cost(task)}")
    elif task.reason in _TRUNCATIONS:
        yield loss(LossClass.TRUNCATED, f"it ended early: {task.reason}")
    elif task.status == "completed":
        if not task.answered or question.prose:
            how = question.delivered or question.lost or "its final text holds no answer"
            yield loss(LossClass.PROSE_FINAL, how)
    elif task.typed:
        yield loss(LossClass.LATE_ERRORS, f"it answered and failed afterwards{_because(task)}")
    elif task.reason in _PROVIDER:
        yield loss(LossClass.PROVIDER, f"its calls failed{_because(task)}")


def _fate(task: EngineTask, question: Question) -> Fate:
    if question.delivered:
        return Fate.SURVIVED
    if question.lost:
        return Fate.LOST
    # The log does not tell: an answer that can be delivered is, as far as anybody knows.
    if task.status == "completed" and task.answered:
        return Fate.SURVIVED
    return Fate.UNKNOWN if task.typed else Fate.LOST


def _crashed(task: EngineTask, around: Around) -> tuple[LossClass, str]:
    if task.signal is not None and task.signal != _SIGKILL:
        return LossClass.WORKER_CRASH, f"its worker died of signal {task.signal}{_because(task)}"
    if task.signal is None and task.reason != "worker_crash_signal":
        return LossClass.WORKER_CRASH, f"its worker crashed: {printable(task.reason, 60)}"
    mine = [one for one in around.containers if _mounts(one, around.folder)]
    if any(not one.init for one in mine):
        return LossClass.PID_ONE, "its worker died of signal 9, and its container has no init process"
    proofs = [one for one in around.deaths if one.out_of_memory and _near(one, task, mine)]
    if proofs:
        first = printable(proofs[0].name, 60)
        return LossClass.WORKER_OOM, f"its worker died of signal 9, and {first} was out of memory (oom event)"
    if mine and any(one.memory for one in mine):
        return LossClass.WORKER_OOM, "its worker died of signal 9; no oom event of its container is known"
    return (
        LossClass.WORKER_OOM,
        "its worker died of signal 9; without a limit of memory no event proves whose it was",
    )


def _mounts(container: Container, folder: Path) -> bool:
    return any(Path(mount.source).is_relative_to(folder) for mount in container.mounts)


def _near(death: Death, task: EngineTask, mine: Sequence[Container]) -> bool:
    """Whether an `oom` event can be that task's: of its container where that is known, else of an engine at that time."""
    if mine:
        return death.container in {one.id for one in mine} and abs(death.at - task.at) <= _NEAR
    return family(death.name) is Family.ENGINE and abs(death.at - task.at) <= _NEAR


def _because(task: EngineTask) -> str:
    return f" ({printable(task.reason, 60)})" if task.reason else ""


def _cost(task: EngineTask) -> str:
    return "" if task.cost is None else f", ${task.cost:,.2f} on this question"


def refused_for_money(rows: Iterable[Row]) -> dict[str, str]:
    """Engine tasks of which the last call was refused for money, and what the provider said."""
    last: dict[str, Row] = {}
    for row in rows:
        if row.kind in {"llm_api_error", "llm_round"}:
            last[row.task] = row
    return {task: words for task, row in last.items() if (words := _refusal(row))}


def _refusal(row: Row) -> str:
    status = row.number("status_code", "status", "code")
    said = row.word("provider_message", "error", "message")
    kind = row.word("error_kind", "kind")
    if row.kind != "llm_api_error":
        return ""
    if status == _NO_MONEY or kind == "quota_exhausted" or (status == _FORBIDDEN and _LIMIT.search(said)):
        shown = "a refusal for want of money" if status is None else f"HTTP {status:g}"
        return f"{shown}: {printable(said, 120)}" if said else shown
    return ""
