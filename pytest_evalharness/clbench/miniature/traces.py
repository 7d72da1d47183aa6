"""A pass written down: interactions, outcomes and usage, as a live snapshot after every turn and as the trace at the end."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature import usage
from pytest_evalharness.clbench.miniature.systems.contract import Response
from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Outcome, Query
from pytest_evalharness.clbench.miniature.usage import Call


def local_now() -> datetime:
    """Now, on the machine's clock and without a zone: so it stands in traces, while manifests are in UTC."""
    return datetime.now()  # noqa: DTZ005 - as upstream writes it


def system_entry(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """How traces and manifests name a system; what they say of continuity is the same for every one, memory or not."""
    continuity = {
        "mode": "fresh_per_turn",
        "always_continue": False,
        "allow_resume_during_instance": False,
        "reset_behavior": "reset_clears_conversation",
        "description": "A system begins each turn anew, unless it has a memory of its own.",
        "baseline_scope": "Each instance of the baseline has a system of its own.",
    }
    return {"name": name, "params": params, "continuity": continuity}


def write_json(path: Path, value: Any) -> None:
    """Replace a file by way of a neighbour, so that a reader never sees a part of it. Nothing is synced, as upstream."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(path.suffix + ".tmp")
    beside.write_text(json.dumps(value))
    os.replace(beside, path)  # noqa: PTH105


def timing(started: datetime, ended: datetime, latencies: Sequence[float], *, over: bool) -> dict[str, Any]:
    """How long a pass has taken, and its answers; one that is not over has no end."""
    total = sum(latencies)
    return {
        "start_time": started.isoformat(),
        "end_time": ended.isoformat() if over else None,
        "total_interactions": len(latencies),
        "wall_duration_seconds": round((ended - started).total_seconds(), 6),
        "total_response_seconds": round(total, 6),
        "avg_response_seconds": round(total / len(latencies), 6) if latencies else 0.0,
        "max_response_seconds": round(max(latencies, default=0.0), 6),
    }


def earned(outcomes: Sequence[dict[str, Any]], of: str, metrics: dict[str, Any]) -> dict[str, Any]:
    """What a pass earned: a missing reward is none. `of` says of how many instances, where some may be missing."""
    rewards = [one["reward"] or 0.0 for one in outcomes]
    score = sum(rewards) / len(rewards) if rewards else 0.0
    return {
        "score": score,
        "metrics": metrics,
        "summary": f"{len(rewards)}{of} instances, mean reward {score:.4f}",
        "eval_metrics": {
            "loss_curve": [],
            "optimal_performance": 0.0,
            "actual_performance": 0.0,
            "extra": None,
        },
    }


class Recorder:
    """Collects one pass.

    Args:
        head: `system`, `task`, `task_brief` and `schedule` of the trace.
        phase: run or baseline.
        run_group_id: of the whole `clbench run`.
        run_index: the rollout; of a baseline instance its number.
        live: where the snapshot goes, None for none.
    """

    def __init__(
        self, head: dict[str, Any], phase: str, run_group_id: str, run_index: int | None, live: Path | None
    ) -> None:
        self.head, self.phase, self.group, self.run_index, self.live = (
            head,
            phase,
            run_group_id,
            run_index,
            live,
        )
        self.started = local_now()
        self.interactions: list[dict[str, Any]] = []
        self.outcomes: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.observed: list[dict[str, Any]] = []
        self.latencies: list[float] = []

    def interaction(
        self,
        query: Query,
        response: Response,
        observation: Observation,
        later: tuple[Call, ...] = (),
        *,
        seconds: float,
        done: bool,
    ) -> None:
        """Add a turn, and rewrite the snapshot; `later` are calls that only the observation brought to light."""
        events, observed = ([call.as_dict() for call in calls] for calls in (response.calls, later))
        self.events += events
        self.observed += observed
        self.latencies.append(seconds)
        summed = usage.summary(events)
        self.interactions.append(
            {
                "step_number": len(self.interactions) + 1,
                "timestamp": local_now().isoformat(),
                "query": _query(query),
                "response": {
                    "action": response.action,
                    "action_type": "structured",
                    "metadata": {**response.said, "usage": summed},
                },
                "observation": _observation(observation),
                "timing": {
                    "response_start_time": (local_now() - timedelta(seconds=seconds)).isoformat(),
                    "response_end_time": local_now().isoformat(),
                    "response_latency_seconds": seconds,
                    "response_latency_ms": round(1000 * seconds, 3),
                },
                "usage": {
                    "respond": {**summed, "events": events},
                    "observe": {**usage.summary(observed), "events": observed},
                    "interaction": usage.summary([*events, *observed]),
                },
                "done": done,
            }
        )
        self.snapshot()

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Add outcomes, and rewrite the snapshot if there are any."""
        self.outcomes += [one.as_dict() for one in outcomes]
        if outcomes:
            self.snapshot()

    def snapshot(self) -> None:
        """Rewrite the live file, if there is one."""
        if self.live is not None:
            write_json(self.live, {**self.payload("running", None), "artifacts": {"files": []}})

    def finish(self, status: str, extra: dict[str, Any] | None = None) -> dict[str, Any]:
        """The trace of an ended pass, also written as the last snapshot; memory and artifacts are in the trace only."""
        result = earned(self.outcomes, "", {"blocked": True} if status == "blocked" else {})
        trace = self.payload(status, result) | (extra or {})
        if self.live is not None:
            write_json(self.live, {**trace, "artifacts": {"files": []}})
        return trace

    def payload(self, status: str, result: dict[str, Any] | None) -> dict[str, Any]:
        """The trace as it is now."""
        outcomes = [self._priced(one) for one in self.outcomes]
        execution = {
            **timing(self.started, local_now(), self.latencies, over=result is not None),
            "run_group_id": self.group,
            "run_index": self.run_index,
            "usage": usage.both(self.events, self.observed),
        }
        return {
            "status": status,
            "phase": self.phase,
            **self.head,
            "execution": execution,
            "artifacts": {},
            "system_memory": None,
            "system_artifacts": None,
            "interactions": self.interactions,
            "instance_outcomes": outcomes,
            "result": None if result is None else {**result, "instance_outcomes": outcomes},
        }

    def _priced(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """An outcome with what its turns cost and took; one that took no turn says nothing of either, as upstream."""
        mine = [one for one in self.interactions if one["query"]["instance_id"] == outcome["instance_id"]]
        if not mine:
            return dict(outcome)
        cost = sum(one["usage"]["interaction"]["cost_usd"] for one in mine)
        seconds = sum(one["timing"]["response_latency_seconds"] for one in mine)
        return {**outcome, "cost_usd": round(cost, 10), "latency_seconds": round(seconds, 6)}


def _query(query: Query) -> dict[str, Any]:
    return {
        "prompt": query.prompt,
        "instance_id": query.instance_id,
        "instance_index": query.instance_index,
        "metadata": query.metadata,
        "response_schema": query.schema,
        "feedback": None if query.feedback is None else _observation(query.feedback),
    }


def _observation(told: Observation) -> dict[str, Any]:
    return {"content": told.content, "instance_complete": told.instance_complete, "metadata": told.metadata}
