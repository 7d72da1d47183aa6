"""The runbook's validated configuration as a named recipe, and in what a campaign deviates from it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.secret_values import is_secret

OUROBOROS = "ouroboros"
BUDGET = "OUROBOROS_TOTAL_BUDGET"
"""Dollars that one engine may spend: one rollout of one task, since each has its own."""
DEFAULT_BUDGET = 25.0
"""What the adapter takes where the variable is not set."""
SKIP_BASELINE = "OUROBOROS_BENCH_SKIP_BASELINE"
EFFORTS = ("TASK", "EVOLUTION", "REVIEW", "SCOPE_REVIEW", "DEEP_SELF_REVIEW", "CONSCIOUSNESS")
"""Task types of the engine. Its defaults drift between releases, so every one of them is pinned."""
PREFIXES = ("OUROBOROS_", "CLBENCH_")
"""Variables that change a result and that the benchmark itself neither records nor compares."""
PLACES = frozenset({"OUROBOROS_BENCH_CLONE", "OUROBOROS_BENCH_RUNS_ROOT", "CLBENCH_SHIM_BIND"})
"""Variables that say where something is, which differs from machine to machine and is no deviation."""


@dataclass(frozen=True)
class Recipe:
    """A configuration under a name.

    Attributes:
        name: what is typed.
        system: the system to which parameters and variables belong; empty for any.
        params: constructor parameters.
        environment: variables.
        task_parallelism: tasks at once.
        per_task_parallelism: workers of each task's process pool.
    """

    name: str
    system: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    task_parallelism: int = 5
    per_task_parallelism: int = 2


RUNBOOK = Recipe(
    "runbook",
    OUROBOROS,
    params={
        "model": "openrouter/anthropic/claude-sonnet-4.6",
        "engine": "ouroboros",
        "mode": "stateful",
        "docker": True,
        "loop": "live",
        "conversation": "question",
        "memory_instruction": "tools",
        "max_workers": 3,
        "evolution": False,
        "final_answer_delivery": True,
    },
    environment={
        **{f"OUROBOROS_EFFORT_{kind}": "low" for kind in EFFORTS},
        "OUROBOROS_TASK_REVIEW_MODE": "required",
        "OUROBOROS_REVIEW_ENFORCEMENT": "blocking",
        "OUROBOROS_REVIEW_MAX_PASSES": "1",
        "OUROBOROS_TRANSIENT_RETRY_MAX": "12",
        "OUROBOROS_NET_OUTAGE_HOLD_SEC": "21600",
        BUDGET: "200",
    },
)
"""Field-tested with all six tasks and their baselines, at less than 1 % of instances lost."""
PLAIN = Recipe("plain")
"""Only the runner's parallelism: for systems of which the runbook says nothing."""
RECIPES: dict[str, Recipe] = {one.name: one for one in (RUNBOOK, PLAIN)}


def recipe_for(system: str) -> Recipe:
    """The recipe that a system gets where none is named."""
    return RUNBOOK if system == RUNBOOK.system else PLAIN


@dataclass(frozen=True)
class Applied:
    """A recipe with what the user changed.

    Attributes:
        params: constructor parameters.
        environment: every variable with one of the prefixes that the campaign will have, inherited ones among them.
        deviations: one sentence each.
    """

    params: dict[str, Any]
    environment: dict[str, str]
    deviations: tuple[str, ...]


def applied(recipe: Recipe, params: Mapping[str, Any], inherited: Mapping[str, str]) -> Applied:
    """A recipe under what the user asks for: parameters that are named and variables that are set come before it.

    Args:
        recipe: the recipe.
        params: constructor parameters that the user names.
        inherited: the process's environment.
    """
    mine = {name: value for name, value in inherited.items() if name.startswith(PREFIXES)}
    deviations = [*_differences(recipe.params, params), *_differences(recipe.environment, mine)]
    return Applied({**recipe.params, **params}, {**recipe.environment, **mine}, tuple(deviations))


def _differences(recipe: Mapping[str, Any], mine: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sorted(mine.items()):
        if name in PLACES:
            continue
        shown = "set to a secret" if is_secret(name, str(value)) else printable(repr(value), 80)
        if name not in recipe:
            yield f"{printable(name)} is {shown}; the recipe leaves it alone"
        elif value != recipe[name]:
            yield f"{printable(name)} is {shown}; the recipe has {recipe[name]!r}"
