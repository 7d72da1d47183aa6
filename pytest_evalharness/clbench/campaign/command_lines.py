"""How a campaign is typed: the benchmark's own words for it, always in one spelling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_evalharness.clbench.campaign.checkout import DEFAULT, Checkout

SMOKE_SCHEDULE = "smoke"
"""No checkout has it: the smoke lays it down and takes it away again."""
SMOKE_QUESTIONS = 3


def system_args(params: Mapping[str, Any], *, one_rollout: bool) -> tuple[str, ...]:
    """What every task gets; a resume has to repeat it to the letter.

    Args:
        params: of the system's constructor.
        one_rollout: whether each task has one rollout, whatever its schedule says.
    """
    runs = ("--runs", "1") if one_rollout else ()
    if not params:
        return runs
    return (*runs, "--system-params", json.dumps(params, sort_keys=True, separators=(",", ":")))


def run_all(
    checkout: Checkout,
    name: str,
    system: str,
    tasks: tuple[str, ...],
    forwarded: tuple[str, ...],
    *,
    task_parallelism: int,
    per_task_parallelism: int,
) -> tuple[str, ...]:
    """The command of a campaign.

    Args:
        checkout: where.
        name: of the run.
        system: under test.
        tasks: ids, in the benchmark's order.
        forwarded: from `system_args`.
        task_parallelism: tasks at once.
        per_task_parallelism: workers of each task's process pool.
    """
    return (
        *checkout.program,
        "run-all",
        *("--name", name, "--system", system, *_some(checkout, tasks)),
        *("--task-parallelism", str(task_parallelism)),
        *("--per-task-parallelism", str(per_task_parallelism)),
        *forwarded,
    )


def smoke(checkout: Checkout, task: str, system: str, forwarded: tuple[str, ...]) -> tuple[str, ...]:
    """The command of a smoke: a few questions of one task, one after the other."""
    return (
        *checkout.program,
        "run",
        task,
        "--system",
        system,
        "--schedule",
        SMOKE_SCHEDULE,
        "--task.num-questions",
        str(SMOKE_QUESTIONS),
        "--max-workers",
        "1",
        "--no-live-server",
        *forwarded,
    )


def _some(checkout: Checkout, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """What names the tasks, where they are not those that the benchmark would take by itself."""
    every = {task for task in checkout.tasks() if DEFAULT in checkout.schedules(task)}
    return () if set(tasks) == every else ("--task", *tasks)
