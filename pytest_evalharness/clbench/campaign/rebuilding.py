"""A task's artifact put together from its passes, in the form in which the benchmark writes it, and marked as such.

Traces stay the bytes that the benchmark wrote, blanks aside; only the summary above them is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from pytest_evalharness.clbench.campaign.ended_folder import LiveHead
from pytest_evalharness.clbench.campaign.outcome_sums import aggregate, sums, with_gains
from pytest_evalharness.clbench.campaign.remains import PassLeft, PassState

MARK = "salvage"
"""The key of an artifact, and of a manifest's line, that says that it was put together here."""
PARTIAL = "partial"
"""The status of a summary that holds some of its rollouts; the benchmark has no such word."""
_PLACE = 5
"""Parts of `results/<task>/live/<run group>/run_1.json`."""


@dataclass(frozen=True)
class Setting:
    """What no trace tells of how a task was run.

    Attributes:
        schedule: its id.
        max_workers: of the process pool.
        run_mode: permute, resample or replicate.
        head: the manifest of the live snapshots.
    """

    schedule: str
    max_workers: int
    run_mode: str
    head: LiveHead | None


def artifact_writer(
    task: str,
    baseline: PassLeft | None,
    rollouts: Sequence[PassLeft],
    setting: Setting,
    mark: dict[str, Any],
    *,
    status: str,
) -> Callable[[BinaryIO], None]:
    """What writes the artifact of some passes as plain JSON, one pass at a time in memory. The same passes make the same bytes.

    Args:
        task: its id.
        baseline: the stateless baseline, None if there is none to keep.
        rollouts: by seed, at least one or a baseline.
        setting: of the task.
        mark: what is told of how it was put together.
        status: of the summary.
    """
    head = summary(task, baseline, rollouts, setting, status=status)

    def write(file: BinaryIO) -> None:
        file.write(b'{"kind":"viewer_artifact","summary":')
        file.write(msgspec.json.encode(head))
        file.write(b',"baseline_trace":')
        file.write(b"null" if baseline is None else baseline.raw())
        file.write(b',"run_traces":[')
        for at, one in enumerate(rollouts):
            file.write(b"," if at else b"")
            file.write(b'{"run_index":%d,"trace":' % (one.run_index or 0))
            file.write(one.raw())
            file.write(b"}")
        file.write(b'],"%s":' % MARK.encode())
        file.write(msgspec.json.encode(mark))
        file.write(b"}")

    return write


def summary(
    task: str, baseline: PassLeft | None, rollouts: Sequence[PassLeft], setting: Setting, *, status: str
) -> dict[str, Any]:
    """The head of an artifact: who ran what, every pass in short, and the means over rollouts that completed."""
    some = [one.trace for one in (*rollouts, baseline) if one is not None and one.trace is not None]
    head = setting.head or LiveHead()
    own = baseline.outcomes if baseline is not None else []
    first = own if baseline is not None and baseline.state is PassState.WHOLE else []
    signature = first or (rollouts[0].outcomes if rollouts else [])
    mode = setting.run_mode if len(rollouts) > 1 else None
    told_task = head.task or next((msgspec.to_builtins(one.task) for one in some if one.task), {"name": task})
    return {
        "run_group_id": (rollouts[-1] if rollouts else baseline or PassLeft(None, PassState.WHOLE)).group,
        "status": status,
        "system": head.system or next((one.system for one in some if one.system), None),
        "task": told_task,
        "task_brief": head.task_brief or next((one.task_brief for one in some if one.task_brief), None),
        "variant": None,
        "schedule": setting.schedule,
        "rollout_schedule": setting.schedule,
        "run_count": len(rollouts),
        "rollouts": len(rollouts),
        "max_workers": setting.max_workers,
        "run_mode": mode,
        "rollout_mode": mode,
        "baseline_mode": "reset_each_instance",
        "baseline": None if baseline is None else _entry(baseline, baseline.outcomes),
        "sequence_signature": [
            {"instance_id": one.get("instance_id"), "instance_index": one.get("instance_index")}
            for one in signature
        ],
        "aggregate": aggregate(own, rollouts),
        "runs": [_run(one, own, paired=baseline is not None) for one in rollouts],
    }


def _run(one: PassLeft, baseline: list[dict[str, Any]], *, paired: bool) -> dict[str, Any]:
    outcomes = with_gains(one.outcomes, baseline) if paired else one.outcomes
    ending = one.trace.result if one.trace else None
    return {
        "run_index": one.run_index,
        "score": ending.score if ending else None,
        **_entry(one, outcomes),
        "aggregate": sums(outcomes),
    }


def _entry(one: PassLeft, outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """A pass in short. Its file is named relative to the checkout, as the benchmark does."""
    assert one.path is not None
    assert one.trace is not None
    execution = one.execution()
    if one.run_index is not None:  # a baseline's has all of that in its trace
        execution |= {
            "status": one.trace.status,
            "phase": one.trace.phase,
            "task_brief": one.trace.task_brief,
            "instance_outcomes": one.outcomes,
        }
    return {
        "trace_path": "/".join(one.path.parts[-_PLACE:]),
        "execution": execution,
        "status": one.trace.status,
        "instance_outcomes": outcomes,
    }
