"""A task's passes in one pool of processes: rollouts first, the baseline's instances in the places that are left."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature import usage
from pytest_evalharness.clbench.miniature.passes import Job, Refused, play
from pytest_evalharness.clbench.miniature.traces import earned, local_now, system_entry, timing, write_json

MERCY = "CLBENCH_MINIATURE_MERCY"
"""Seconds that an orphan works on; upstream's work for ever."""
_DEFAULT_MERCY = 60.0


def run_passes(
    rollouts: list[Job], baseline: list[Job], max_workers: int, baseline_live: Path | None
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The traces of all rollouts, and the merged one of the baseline, None if there is none.

    Raises:
        RuntimeError: a pass failed; those that run already are played to their end first, and their results are lost.
    """
    if not baseline and (len(rollouts) == 1 or max_workers == 1):
        return [_named(f"Run {at + 1}/{len(rollouts)}", job) for at, job in enumerate(rollouts)], None
    jobs = [*rollouts, *baseline]
    workers = min(max_workers, len(jobs))
    print(
        f"Starting {len(rollouts)} run(s) + {len(baseline)}-instance baseline with {workers} parallel workers",
        flush=True,
    )
    merged = Baseline(baseline, baseline_live) if baseline else None
    found: dict[int, dict[str, Any]] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_watch, initargs=(os.getpid(),)
    ) as pool:
        futures = {pool.submit(play, job): at for at, job in enumerate(jobs)}
        for done in as_completed(futures):
            at = futures[done]
            if at < len(rollouts):
                found[at] = _result(f"Run {at + 1}/{len(rollouts)}", done)
                print(f"  Run {at + 1}/{len(rollouts)} {found[at]['status']}", flush=True)
            elif merged is not None:
                merged.take(at - len(rollouts), done)
    traces = [found[at] for at in range(len(rollouts))]
    return traces, None if merged is None else merged.written()


def _named(label: str, job: Job) -> dict[str, Any]:
    try:
        return play(job)
    except Exception as problem:
        raise RuntimeError(f"{label} failed: {problem}") from problem


def _result(label: str, done: Future[dict[str, Any]]) -> dict[str, Any]:
    try:
        return done.result()
    except Refused:
        raise
    except Exception as problem:
        raise RuntimeError(f"{label} failed: {problem}") from problem


class Baseline:
    """The instances of a baseline as they come in, merged into one trace that is written after each of them.

    Args:
        jobs: one an instance.
        live: where the partial trace goes, None for nowhere.
    """

    def __init__(self, jobs: list[Job], live: Path | None) -> None:
        self.jobs, self.live = jobs, live
        self.traces: dict[int, dict[str, Any]] = {}
        self.blocked: list[dict[str, Any]] = []
        self.started = local_now()

    def take(self, number: int, done: Future[dict[str, Any]]) -> None:
        """Add an instance, or that it was refused."""
        try:
            self.traces[number] = _result(f"Baseline instance {number + 1}/{len(self.jobs)}", done)
        except Refused as problem:
            self.blocked.append({**problem.record(), "status": "blocked", "instance_index": number})
        print(f"  Baseline {len(self.traces)}/{len(self.jobs)} complete (instance #{number + 1})", flush=True)
        self.written()

    def written(self) -> dict[str, Any]:
        """The merged trace, also written down."""
        trace = self._merged()
        if self.live is not None:
            write_json(self.live, trace)
        return trace

    def _merged(self) -> dict[str, Any]:
        ordered = [self.traces[number] for number in sorted(self.traces)]
        outcomes = [one for trace in ordered for one in trace["instance_outcomes"]]
        interactions = [one for trace in ordered for one in trace["interactions"]]
        events, observed = (
            [event for one in interactions for event in one["usage"][kind]["events"]]
            for kind in ("respond", "observe")
        )
        status = "completed_with_gaps" if self.blocked else "completed"
        brief = ordered[0]["task_brief"] if ordered else None
        first, total = self.jobs[0], len(self.jobs)
        blocked = sorted(self.blocked, key=lambda one: int(one["instance_index"]))
        seconds = [one["timing"]["response_latency_seconds"] for one in interactions]
        execution = {
            **timing(self.started, local_now(), seconds, over=True),
            "run_group_id": first.run_group_id,
            "run_index": None,
            "status": status,
            "phase": "baseline",
            "task_brief": brief,
            "instances_total": total,
            "instances_completed": len(outcomes),
            "instances_blocked": len(blocked),
            "coverage_ratio": round(len(outcomes) / total, 6),
            "blocked_instances": blocked,
            "usage": usage.both(events, observed),
            "instance_outcomes": outcomes,
        }
        return {
            "status": status,
            "phase": "baseline",
            "schedule": first.task_params["schedule"],
            "task_brief": brief,
            "system": system_entry(first.system, first.system_params),
            "task": {"name": first.task, "params": first.task_params},
            "execution": execution,
            "artifacts": {"instances": [one["artifacts"] for one in ordered]},
            "system_artifacts": None,
            "interactions": interactions,
            "instance_outcomes": outcomes,
            "blocked_instances": blocked,
            "instance_traces": ordered,
            "result": {**earned(outcomes, f" of {total}", {}), "instance_outcomes": outcomes},
        }


def _watch(owner: int) -> None:
    """End this worker some time after its owner: an orphan spends on, as upstream's do, but not for ever."""
    mercy = float(os.environ.get(MERCY) or _DEFAULT_MERCY)

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.getppid() == owner:
                time.sleep(0.5)
        time.sleep(mercy)
        os._exit(1)

    threading.Thread(target=watch, name="clbench-miniature-owner", daemon=True).start()
