"""How a task of the engine is recorded in `task_results/`."""

from __future__ import annotations

from typing import Any

_INFRA = frozenset(
    {"worker_crash_signal", "worker_crash_retry_exhausted", "worker_crash_retry_admission_blocked"}
)


def record(
    task_id: str,
    status: str,
    *,
    result: str,
    final: str,
    cost: float,
    reason: str = "",
    signal: int | None = None,
) -> dict[str, Any]:
    """A task's record.

    Args:
        task_id: the engine's.
        status: completed, failed, cancelled.
        result: what it says of itself.
        final: the typed answer, empty without one.
        cost: dollars.
        reason: why it ended early.
        signal: that killed its worker.
    """
    execution = "infra_failed" if reason in _INFRA else status
    told: dict[str, Any] = {
        "task_id": task_id,
        "status": status,
        "result": result or final,
        "final_answer": final,
        "reason_code": reason or None,
        "outcome_axes": {"execution": {"status": execution, "reason_code": reason or None}},
        "cost_usd": cost,
        "cost_usd_with_children": cost,
        "cost_final": True,
        "cost_accounting_status": "available",
        "loop_outcome": {"degraded": False, "resource_limit": {}},
        "degraded": False,
        "resource_limit": {},
    }
    return told if signal is None else {**told, "crash_signal": signal, "crash_exitcode": -signal}
