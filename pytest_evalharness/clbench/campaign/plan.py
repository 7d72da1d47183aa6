"""A campaign: what is run, and what must be the same for it to be resumed. Nothing is started or written."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.checkout import Checkout
from pytest_evalharness.clbench.campaign.command_lines import run_all, smoke, system_args
from pytest_evalharness.clbench.campaign.recipe import (
    OUROBOROS,
    PREFIXES,
    SKIP_BASELINE,
    Recipe,
    applied,
    recipe_for,
)
from pytest_evalharness.clbench.campaign.secret_values import compared, secrets_in
from pytest_evalharness.clbench.domains import DATABASE, FULL_ROLLOUTS, LEDGER, Family
from pytest_evalharness.errors import UsageError

_SMOKE_TASKS = (DATABASE, LEDGER)
_LONGEST_NAME = 200
"""Bytes of a folder's name, where most file systems have 255 and the benchmark appends to it."""


class PlanKind(StrEnum):
    """How much is run."""

    SMOKE = "smoke"
    """Three questions of one task, to see the chain work. It measures nothing."""
    SEED = "seed"
    """One rollout of each task, with its baseline."""
    SUBMISSION = "submission"
    """What the schedules say: five rollouts of each task, with its baseline."""


@dataclass(frozen=True)
class Campaign:
    """What is run.

    Attributes:
        name: the user's.
        kind: how much.
        checkout: where.
        system: under test.
        tasks: ids, in the benchmark's order.
        rollouts: of each task.
        argv: what is started, with the checkout's root as working folder.
        system_args: the part of it that is forwarded to every task and that the benchmark compares at a resume.
        environment: variables on top of the process's own: all that change a result, and PATH where children need another.
        deviations: from the recipe, one sentence each.
        recipe: its name.
        params: of the system's constructor.
        task_parallelism: tasks at once.
        per_task_parallelism: workers of each task's process pool.
        images: ids by name of the container images that it will use.
    """

    name: str
    kind: PlanKind
    checkout: Checkout
    system: str
    tasks: tuple[str, ...]
    rollouts: int
    argv: tuple[str, ...]
    system_args: tuple[str, ...]
    environment: Mapping[str, str]
    deviations: tuple[str, ...]
    recipe: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    task_parallelism: int = 1
    per_task_parallelism: int = 1
    images: Mapping[str, str] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of its folder, as the benchmark makes it."""
        return slug_of(self.name)

    @property
    def run_folder(self) -> Path:
        """Where its results are published."""
        return self.checkout.run_folder(self.slug)

    @property
    def resume_argv(self) -> tuple[str, ...]:
        """What is started to run what is missing."""
        at = self.argv.index("--name") + 2
        return (*self.argv[:at], "--missing-only", *self.argv[at:])

    @property
    def has_baseline(self) -> bool:
        """Whether the stateless baseline is run, as far as the plan decides it."""
        return self.environment.get(SKIP_BASELINE) != "1" or self.system != OUROBOROS

    def identity(self) -> dict[str, Any]:
        """What must be the same for results to be of one campaign. JSON types only; secrets are there as digests."""
        return {
            "argv": list(self.argv),
            "system": self.system,
            "system_args": list(self.system_args),
            "environment": {
                name: compared(name, value)
                for name, value in sorted(self.environment.items())
                if name.startswith(PREFIXES)
            },
            "revision": self.checkout.revision,
            "dirty": self.checkout.changes or self.checkout.dirty,
            "images": dict(sorted(self.images.items())),
        }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In what two identities differ, one sentence each; empty if they are the same campaign."""
    out = [
        f"{key} was {_shown(before.get(key))} and is {_shown(now.get(key))}"
        for key in sorted({*before, *now} - {"environment", "images"})
        if before.get(key) != now.get(key)
    ]
    for key, one in (("environment", "variable"), ("images", "image")):
        old, new = before.get(key) or {}, now.get(key) or {}
        out += [
            f"{one} {printable(name)} was {_shown(old.get(name))} and is {_shown(new.get(name))}"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
    return out


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    return printable(json.dumps(value, ensure_ascii=False), 400)


def campaign_of(
    checkout: Checkout,
    system: str,
    kind: PlanKind,
    name: str,
    recipe: Recipe | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    tasks: Sequence[str] = (),
    inherited: Mapping[str, str] | None = None,
    task_parallelism: int | None = None,
    per_task_parallelism: int | None = None,
    images: Mapping[str, str] | None = None,
) -> Campaign:
    """A plan as a campaign.

    Args:
        checkout: where.
        system: under test.
        kind: how much.
        name: of the run.
        recipe: the system's own when left out.
        params: constructor parameters that come before the recipe's.
        tasks: some of the tasks; all of the leaderboard's when left out.
        inherited: the process's environment when left out.
        task_parallelism: the recipe's when left out.
        per_task_parallelism: likewise.
        images: ids by name of the container images that it will use.

    Raises:
        UsageError: the name is none, a task or all of them are not in the checkout, or a parameter holds a secret.
    """
    _require_name(name)
    _require_no_secret(params or {})
    recipe = recipe or recipe_for(system)
    environment = os.environ if inherited is None else inherited
    chosen = _tasks(checkout, kind, tasks)
    mine = applied(recipe, params or {}, environment)
    at_once = task_parallelism or recipe.task_parallelism
    workers = per_task_parallelism or recipe.per_task_parallelism
    deviations = [*mine.deviations, *_parallel(recipe, at_once, workers)]
    variables = {**mine.environment, **checkout.environment(environment)}
    forwarded = system_args(mine.params, one_rollout=kind is not PlanKind.SUBMISSION)
    if kind is PlanKind.SMOKE:
        variables[SKIP_BASELINE] = "1"
        at_once = workers = 1
        argv = smoke(checkout, chosen[0], system, forwarded)
    else:
        argv = run_all(
            checkout,
            name,
            system,
            chosen,
            forwarded,
            task_parallelism=at_once,
            per_task_parallelism=workers,
        )
    return Campaign(
        name=name,
        kind=kind,
        checkout=checkout,
        system=system,
        tasks=chosen,
        rollouts=_rollouts(checkout, kind, chosen),
        argv=argv,
        system_args=forwarded,
        environment=variables,
        deviations=tuple(deviations),
        recipe=recipe.name,
        params=mine.params,
        task_parallelism=at_once,
        per_task_parallelism=workers,
        images=images or {},
    )


def _require_name(name: str) -> None:
    if not slug_of(name) or name.startswith("-"):
        raise UsageError(
            f"{printable(repr(name))} is no name for a run: it has to begin with something that can be part of a folder's name",
            not_done="nothing was started",
            next_step="--name with letters and digits",
        )
    if len(slug_of(name).encode()) > _LONGEST_NAME:
        raise UsageError(
            f"{printable(name, 40)} is no name for a run: it is longer than the name of a folder may be",
            not_done="nothing was started",
            next_step=f"--name of at most {_LONGEST_NAME} bytes",
        )


def _require_no_secret(params: Mapping[str, Any]) -> None:
    if found := secrets_in(params):
        raise UsageError(
            f"there is a secret in parameter {', '.join(printable(one) for one in found)}",
            not_done="nothing was started: parameters are written into logs, manifests and the list of processes",
            next_step="take it out, and put it into the environment",
        )


def slug_of(name: str) -> str:
    """The folder that the benchmark makes of a run's name; empty if nothing of it is left."""
    kept = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)
    return "-".join(part for part in kept.split("-") if part).strip("._-")


def _tasks(checkout: Checkout, kind: PlanKind, asked: Sequence[str]) -> tuple[str, ...]:
    there = checkout.tasks()
    family = Family.EMBEDDED if checkout.embedded else Family.OFFICIAL
    mine = tuple(task for task in family.tasks if task in there)  # a fork's others are in no score
    for task in asked:
        if task not in there:
            near = difflib.get_close_matches(task, there, 1)
            raise UsageError(
                f"there is no task {task!r} in {checkout.words}{f': did you mean {near[0]}?' if near else ''}",
                not_done="nothing was started",
                next_step=f"tasks: {', '.join(there)}",
            )
    if not mine:
        raise UsageError(
            f"none of the {family} tasks is in {checkout.words}",
            not_done="nothing was started",
            next_step="restore src/tasks of the checkout",
        )
    if kind is PlanKind.SMOKE:
        if len(set(asked)) > 1:
            raise UsageError(
                f"a smoke plays one task, and {len(set(asked))} were named: {', '.join(dict.fromkeys(asked))}",
                not_done="nothing was started",
                next_step="one smoke for each of them, or a campaign of the plan seed",
            )
        return tuple(asked[:1]) or tuple(task for task in _SMOKE_TASKS if task in mine)[:1] or mine[:1]
    return tuple(task for task in mine if task in asked) if asked else mine


def _rollouts(checkout: Checkout, kind: PlanKind, tasks: Sequence[str]) -> int:
    if kind is not PlanKind.SUBMISSION:
        return 1
    return max((checkout.schedule(task).rollouts for task in tasks), default=FULL_ROLLOUTS)


def _parallel(recipe: Recipe, at_once: int, workers: int) -> list[str]:
    wanted = (
        ("task parallelism", at_once, recipe.task_parallelism),
        ("workers a task", workers, recipe.per_task_parallelism),
    )
    return [f"{what} is {mine}; the recipe has {theirs}" for what, mine, theirs in wanted if mine != theirs]
