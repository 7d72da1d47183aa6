"""The trust report on a published run: of each check what was seen, what is needed, and how to mend it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pytest_evalharness.clbench import coverage_checks, result_checks
from pytest_evalharness.clbench.checking import Check
from pytest_evalharness.clbench.run_folder import PublishedRun
from pytest_evalharness.clbench.whole_passes import usable

CHECKS: tuple[Callable[[PublishedRun], Check], ...] = (
    coverage_checks.files,
    coverage_checks.coverage,
    coverage_checks.rollouts,
    coverage_checks.baselines,
    coverage_checks.campaign,
    coverage_checks.salvaged,
    coverage_checks.schedule,
    result_checks.one_scale,
    result_checks.recomputed,
    result_checks.in_range,
    result_checks.rewards_told,
    result_checks.nothing_poisoned,
    result_checks.nothing_null,
    result_checks.seed_orders,
    result_checks.prices,
)
"""In the order in which they are told."""


def checks(run: PublishedRun) -> list[Check]:
    """Every check of a run."""
    return [check(run) for check in CHECKS]


def full_rollouts(run: PublishedRun) -> dict[str, int]:
    """Complete rollouts by task, of all tasks of its family."""
    return {task: len(usable(run.tasks[task])[0]) if task in run.tasks else 0 for task in run.family.tasks}
