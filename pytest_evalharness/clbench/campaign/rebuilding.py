"""A task's artifact put together from its passes, in the form in which the benchmark writes it, and marked as such.

Traces stay the bytes that the benchmark wrote, blanks aside; only the summary above them is made here. Gains are paired by
instance id, as the benchmark pairs them: of a scan, whose ids number positions, that is the position.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from pytest_evalharness.clbench.campaign.ended_folder import LiveHead
from pytest_evalharness.clbench.campaign.remains import PassLeft, PassState

MARK = "salvage"
"""The key of an artifact, and of a manifest's line, that says that it was put together here."""
PARTIAL = "partial"
"""The status of a summary that holds some of its rollouts; the benchmark has no such word."""
_PLACE = 5
"""Parts of `results/<task>/live/<run group>/run_1.json`."""
_DIGITS = 6
_COST_DIGITS = 10


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
        "aggregate": _aggregate(own, rollouts),
        "runs": [_run(one, own, paired=baseline is not None) for one in rollouts],
    }


def headline(told: dict[str, Any]) -> dict[str, float | None]:
    """The four numbers that a campaign's manifest has of a task, of a summary that was made anywhere.

    Rewards and dollars are means over rollouts of their sums; the gain is the sum over positions of its means.
    """
    aggregate = told.get("aggregate") or {}
    runs = [one.get("aggregate") or {} for one in told.get("runs") or [] if isinstance(one, dict)]
    gains = _numbers(aggregate.get("mean_gain_by_index"))
    latencies = _numbers(aggregate.get("mean_latency_by_index"))
    return {
        "cumulative_gain": round(sum(gains), _DIGITS) if gains else None,
        "total_reward": _mean(_numbers(one.get("total_reward") for one in runs), _DIGITS),
        "mean_latency_seconds": _mean(latencies, _DIGITS),
        "total_cost_usd": _mean(_numbers(one.get("total_cost") for one in runs), _COST_DIGITS),
    }


def _run(one: PassLeft, baseline: list[dict[str, Any]], *, paired: bool) -> dict[str, Any]:
    outcomes = _with_gains(one.outcomes, baseline) if paired else one.outcomes
    ending = one.trace.result if one.trace else None
    return {
        "run_index": one.run_index,
        "score": ending.score if ending else None,
        **_entry(one, outcomes),
        "aggregate": _sums(outcomes),
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


def _with_gains(outcomes: list[dict[str, Any]], baseline: list[dict[str, Any]]) -> list[dict[str, Any]]:
    earned = {str(one.get("instance_id")): one.get("reward") for one in baseline}
    made = []
    for one in outcomes:
        base, reward = earned.get(str(one.get("instance_id"))), one.get("reward")
        if base is None or reward is None:
            made.append(one)
        else:
            made.append(
                {**one, "baseline_reward": round(base, _DIGITS), "gain": round(reward - base, _DIGITS)}
            )
    return made


def _sums(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    rewards = [float(one.get("reward") or 0.0) for one in outcomes]
    told: dict[str, Any] = {
        "instances_completed": len(outcomes),
        "total_reward": round(sum(rewards), _DIGITS),
        "mean_reward": _mean(rewards, _DIGITS) or 0.0,
        "reward_by_index": [round(one, _DIGITS) for one in rewards],
    }
    for key, name in (("cost_usd", "cost"), ("gain", "gain")):
        series = [one.get(key) for one in outcomes]
        if numbers := _numbers(series):
            told[f"total_{name}"] = round(sum(numbers), _DIGITS)
            told[f"mean_{name}"] = _mean(numbers, _DIGITS)
            told[f"{name}_by_index"] = [None if one is None else round(one, _DIGITS) for one in series]
    if "total_gain" in told:
        matched = sum(one.get("gain") is not None for one in outcomes)
        told["gain_instances_matched"] = matched
        told["gain_coverage_ratio"] = round(matched / len(outcomes), _DIGITS)
    return told


def _aggregate(baseline: list[dict[str, Any]], rollouts: Sequence[PassLeft]) -> dict[str, Any]:
    """Means by position over rollouts that completed: one that was blocked met other instances at a position."""
    whole = [one for one in rollouts if one.state is PassState.WHOLE]
    paired = [_with_gains(one.outcomes, baseline) for one in whole]
    scores = _numbers(one.trace.result.score for one in whole if one.trace and one.trace.result)
    gains = _by_position(paired, "gain")
    running = _running_mean(gains)
    told: dict[str, Any] = {
        "baseline_reward_by_index": [round(float(one.get("reward") or 0.0), _DIGITS) for one in baseline],
        "baseline_cost_by_index": _rounded(one.get("cost_usd") for one in baseline),
        "mean_reward_by_index": _by_position(paired, "reward"),
        "mean_gain_by_index": gains,
        "cumulative_mean_gain_by_index": running,
        "final_cumulative_mean_gain": next((one for one in reversed(running) if one is not None), 0.0),
        "mean_cost_by_index": _by_position(paired, "cost_usd"),
        "mean_latency_by_index": _by_position(paired, "latency_seconds"),
        "runs_total": len(rollouts),
        "runs_completed": len(whole),
        "runs_blocked": sum(one.state is PassState.BLOCKED for one in rollouts),
    }
    if scores:
        spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
        told["score"] = {
            "mean": statistics.fmean(scores),
            "std": spread,
            "min": min(scores),
            "max": max(scores),
        }
    return told


def _by_position(passes: list[list[dict[str, Any]]], key: str) -> list[float | None]:
    length = max(map(len, passes), default=0)
    columns = [_numbers(one[at].get(key) for one in passes if at < len(one)) for at in range(length)]
    return [_mean(one, _DIGITS) for one in columns] if any(columns) else []


def _running_mean(values: list[float | None]) -> list[float | None]:
    """The mean of the values up to each position."""
    so_far = (values[: at + 1] for at in range(len(values)))
    return [_mean([one for one in part if one is not None], _DIGITS) for part in so_far]


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    told = [None if one is None else round(one, _DIGITS) for one in values]
    return told if any(one is not None for one in told) else []


def _numbers(values: Iterable[Any] | None) -> list[float]:
    return [float(one) for one in values or () if isinstance(one, int | float) and not isinstance(one, bool)]


def _mean(values: list[float], digits: int) -> float | None:
    return round(sum(values) / len(values), digits) if values else None
