"""Options that say what a CL-Bench campaign is, shared by the commands that check, start and try one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalharness.cli import whole
from pytest_evalharness.cli.home import add_home, home_of
from pytest_evalharness.errors import UsageError

if TYPE_CHECKING:
    from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind

_RECIPES = ("runbook", "plain")


def add_plan(command: argparse.ArgumentParser) -> None:
    """Add what names the checkout, the system and its parameters."""
    command.add_argument(
        "--checkout",
        required=True,
        metavar="DIR",
        help="the benchmark's checkout, or `embedded` for the miniature that comes with this package",
    )
    command.add_argument("--system", required=True, metavar="NAME", help="below src/systems of the checkout")
    command.add_argument(
        "--recipe",
        choices=_RECIPES,
        help="runbook (for ouroboros): the validated configuration; plain: parallelism only (the system's own)",
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the system, before the recipe's; VALUE is JSON, else text; repeatable",
    )
    command.add_argument(
        "--task", action="append", default=[], metavar="ID", help="only this task; repeatable"
    )
    command.add_argument(
        "--task-parallelism", type=whole(1), metavar="N", help="tasks at once (the recipe's)"
    )
    command.add_argument(
        "--per-task-parallelism",
        type=whole(1),
        metavar="N",
        help="workers of a task's process pool (the recipe's)",
    )
    add_home(command)


def campaign_from(parsed: argparse.Namespace, kind: PlanKind, name: str) -> Campaign:
    """The campaign that the options describe.

    Raises:
        EvalHarnessError: the folder is no checkout, or an option names what is not there.
    """
    from pytest_evalharness.clbench.campaign.checkout import open_checkout
    from pytest_evalharness.clbench.campaign.plan import campaign_of
    from pytest_evalharness.clbench.campaign.recipe import RECIPES

    home: Path = home_of(parsed)
    return campaign_of(
        open_checkout(parsed.checkout, home),
        parsed.system,
        kind,
        name,
        RECIPES[parsed.recipe] if parsed.recipe else None,
        params=params_of(parsed.param),
        tasks=parsed.task,
        task_parallelism=parsed.task_parallelism,
        per_task_parallelism=parsed.per_task_parallelism,
    )


def params_of(told: list[str]) -> dict[str, Any]:
    """Parameters by key.

    Raises:
        UsageError: one has no `=`.
    """
    params = {}
    for one in told:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise UsageError(
                f"--param {one!r} is no KEY=VALUE",
                not_done="nothing was started",
                next_step="--param max_workers=3",
            )
        try:
            params[key.replace("-", "_")] = json.loads(value)
        except ValueError:
            params[key.replace("-", "_")] = value
    return params
