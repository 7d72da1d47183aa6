"""What a finished `clbench run` says of itself: the summary, its aggregate, and the viewer artifact that holds everything."""

from __future__ import annotations

import gzip
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature.traces import local_now

Outcomes = list[dict[str, Any]]


def summary(
    *,
    head: dict[str, Any],
    run_group_id: str,
    max_workers: int,
    run_mode: str,
    traces: Sequence[dict[str, Any]],
    baseline: dict[str, Any] | None,
    trace_paths: Sequence[str],
    baseline_path: str | None,
) -> dict[str, Any]:
    """The summary of a run group.

    Args:
        head: `system`, `task` and `task_brief`.
        run_group_id: of all passes.
        max_workers: of the pool.
        run_mode: permute, resample or replicate; not told of a single rollout.
        traces: of the rollouts, by index.
        baseline: the merged baseline, None if there is none.
        trace_paths: where each rollout's trace is.
        baseline_path: where the baseline's is.
    """
    own = [] if baseline is None else baseline["instance_outcomes"]
    rewards = {one["instance_id"]: one["reward"] or 0.0 for one in own}
    runs = [
        _run(at, trace, rewards, path)
        for at, (trace, path) in enumerate(zip(traces, trace_paths, strict=True))
    ]
    blocked = sum(one["status"] == "blocked" for one in traces)
    gaps = baseline is not None and baseline["status"] == "completed_with_gaps"
    status = "completed_with_gaps" if blocked or gaps else "completed"
    if blocked == len(traces):
        status = "all_blocked"
    schedule = head["task"]["params"]["schedule"]
    signature = own if own and not gaps else traces[0]["instance_outcomes"]
    return {
        "run_group_id": run_group_id,
        "status": status,
        "system": head["system"],
        "task": head["task"],
        "task_brief": head["task_brief"],
        "variant": None,
        "schedule": schedule,
        "rollout_schedule": schedule,
        "run_count": len(traces),
        "rollouts": len(traces),
        "max_workers": max_workers,
        "run_mode": run_mode if len(traces) > 1 else None,
        "rollout_mode": run_mode if len(traces) > 1 else None,
        "baseline_mode": "reset_each_instance",
        "baseline": None if baseline is None else _baseline(baseline, baseline_path),
        "sequence_signature": [
            {"instance_id": one["instance_id"], "instance_index": one["instance_index"]} for one in signature
        ],
        "aggregate": _aggregate([one for one in runs if one["status"] != "blocked"], own)
        | {"runs_total": len(traces), "runs_completed": len(traces) - blocked, "runs_blocked": blocked},
        "runs": runs,
    }


def _baseline(trace: dict[str, Any], path: str | None) -> dict[str, Any]:
    return {
        "trace_path": path or "",
        "execution": trace["execution"],
        "status": trace["status"],
        "instance_outcomes": trace["instance_outcomes"],
    }


def _run(at: int, trace: dict[str, Any], rewards: dict[str, float], path: str) -> dict[str, Any]:
    outcomes = [_beside(one, rewards) for one in trace["instance_outcomes"]]
    execution = {
        **trace["execution"],
        "status": trace["status"],
        "phase": trace["phase"],
        "task_brief": trace["task_brief"],
        "instance_outcomes": trace["instance_outcomes"],
    }
    if "blocked_reason" in trace:
        execution["blocked_reason"] = trace["blocked_reason"]
    return {
        "run_index": at,
        "score": trace["result"]["score"],
        "trace_path": path,
        "execution": execution,
        "status": trace["status"],
        "instance_outcomes": outcomes,
        "aggregate": _of_run(outcomes),
    }


def _beside(outcome: dict[str, Any], rewards: dict[str, float]) -> dict[str, Any]:
    own = rewards.get(outcome["instance_id"])
    if own is None:
        return outcome
    return {**outcome, "baseline_reward": own, "gain": round((outcome["reward"] or 0.0) - own, 6)}


def _of_run(outcomes: Outcomes) -> dict[str, Any]:
    earned = [one["reward"] or 0.0 for one in outcomes]
    told: dict[str, Any] = {
        "instances_completed": len(outcomes),
        "total_reward": round(sum(earned), 6),
        "mean_reward": round(statistics.fmean(earned), 6) if earned else 0.0,
        "reward_by_index": earned,
    }
    costs = [one.get("cost_usd") for one in outcomes]
    if known := [one for one in costs if one is not None]:
        told |= {
            "total_cost": round(sum(known), 6),
            "mean_cost": round(statistics.fmean(known), 6),
            "cost_by_index": costs,
        }
    gains = [one["gain"] for one in outcomes if "gain" in one]
    if gains:
        told |= {
            "total_gain": round(sum(gains), 6),
            "mean_gain": round(statistics.fmean(gains), 6),
            "gain_by_index": [one.get("gain") for one in outcomes],
            "gain_instances_matched": len(gains),
            "gain_coverage_ratio": round(len(gains) / len(outcomes), 6),
        }
    return told


def _aggregate(runs: Sequence[dict[str, Any]], own: Outcomes) -> dict[str, Any]:
    scores = [one["score"] for one in runs]
    played = [one["instance_outcomes"] for one in runs]
    gains = _by_index(played, "gain")
    told: dict[str, Any] = {
        "baseline_reward_by_index": [one["reward"] for one in own],
        "baseline_cost_by_index": [one.get("cost_usd") for one in own],
        "mean_reward_by_index": _by_index(played, "reward"),
        "mean_gain_by_index": gains if own else [],
        "mean_cost_by_index": _by_index(played, "cost_usd"),
        "mean_latency_by_index": _by_index(played, "latency_seconds"),
        "final_cumulative_mean_gain": round(sum(one for one in gains if one is not None), 6),
    }
    if scores:
        told["score"] = {
            "mean": statistics.fmean(scores),
            "std": statistics.stdev(scores) if len(scores) > 1 else 0.0,
            "min": min(scores),
            "max": max(scores),
        }
    return told


def _by_index(played: Sequence[Outcomes], key: str) -> list[float | None]:
    found: list[float | None] = []
    for at in range(max(map(len, played), default=0)):
        told = [one[at][key] for one in played if at < len(one) and one[at].get(key) is not None]
        found.append(round(statistics.fmean(told), 6) if told else None)
    return found


def write_artifact(
    task: str, told: dict[str, Any], baseline: dict[str, Any] | None, traces: Sequence[dict[str, Any]]
) -> Path:
    """Write the viewer artifact below `results/` of the working directory; return where."""
    stamp = local_now().strftime("%Y%m%d_%H%M%S")
    path = Path("results") / task / f"viewer_artifact_{told['run_group_id']}_{stamp}.json.gz"
    payload = {
        "kind": "viewer_artifact",
        "summary": told,
        "baseline_trace": baseline,
        "run_traces": [{"run_index": at, "trace": trace} for at, trace in enumerate(traces)],
    }
    write_packed(path, payload)
    return path


def write_packed(path: Path, value: Any) -> None:
    """Write gzipped JSON by way of a neighbour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(path.suffix + ".tmp")
    beside.write_bytes(gzip.compress(json.dumps(value, separators=(",", ":")).encode(), 6, mtime=0))
    os.replace(beside, path)  # noqa: PTH105


def headline(told: dict[str, Any]) -> dict[str, float | None]:
    """The four numbers that a campaign's manifest shows of a task: means over rollouts, and the summed mean gain."""
    runs = told["runs"]
    gains = [one for one in told["aggregate"]["mean_gain_by_index"] if one is not None]
    rewards = [one["aggregate"]["total_reward"] for one in runs]
    costs = [one["aggregate"]["total_cost"] for one in runs if "total_cost" in one["aggregate"]]
    waits = [one for one in told["aggregate"]["mean_latency_by_index"] if one is not None]
    return {
        "cumulative_gain": round(sum(gains), 6) if gains else None,
        "total_reward": round(statistics.fmean(rewards), 6) if rewards else None,
        "mean_latency_seconds": round(statistics.fmean(waits), 6) if waits else None,
        "total_cost_usd": round(statistics.fmean(costs), 10) if costs else None,
    }
