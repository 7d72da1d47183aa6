"""Whether each seed would meet another order, asked of the checkout's own tasks before anything is paid.

An order is told by the ids of the first instances together with digests of their prompts, several of them: two orders often begin with
the same instance, and different instances often with the same prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.clbench.campaign import order_probe
from pytest_evalharness.clbench.campaign.asking import Answer, ask
from pytest_evalharness.clbench.campaign.checkout import DEFAULT, MINIATURE, Checkout
from pytest_evalharness.clbench.campaign.plan import Campaign, PlanKind
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import BY_TASK, CODEBASE, SALES
from pytest_evalharness.clbench.orders import AT_LEAST

BASELINE = order_probe.BASELINE
NAME = "seed orders"
_STARTS_CONTAINERS = frozenset({CODEBASE, SALES})
"""Tasks that start a workspace for their first question: their instances are told by ids alone, which are bound to content."""
_MORE = 12
"""Instances that are compared where the first few of two seeds are the same."""
_ATONCE = 2


@dataclass(frozen=True)
class Orders:
    """The orders of one task.

    Attributes:
        task: its id.
        digests: by pass, a rollout's index or `baseline`; empty where a pass cannot be told from another.
        problem: why nothing is known; empty if something is.
    """

    task: str
    digests: Mapping[str, str]
    problem: str = ""


def orders_of(campaign: Campaign, environment: Mapping[str, str]) -> list[Orders]:
    """The orders that the rollouts of every permuted task would meet; at least two seeds, even where one is run."""
    passes = [BASELINE, *map(str, range(max(2, campaign.rollouts)))]
    tasks = [task for task in campaign.tasks if permuted(campaign.checkout, task)]
    with ThreadPoolExecutor(_ATONCE) as pool:
        return list(pool.map(lambda task: _orders(campaign.checkout, task, passes, environment), tasks))


def permuted(checkout: Checkout, task: str) -> bool:
    """Whether another seed is meant to be another order; a time series keeps its own."""
    known = BY_TASK.get(task)
    return (known is None or known.permuted) and checkout.schedule(task).mode != "replicate"


def _orders(checkout: Checkout, task: str, passes: Sequence[str], environment: Mapping[str, str]) -> Orders:
    if not checkout.python:
        return Orders(task, {}, "the interpreter of its clbench is not known")
    found = Orders(task, {})
    for instances in (AT_LEAST, _MORE):
        answer = ask(_argv(checkout, task, instances, passes), checkout.root, environment)
        found = read(task, answer)
        if found.problem or not same(found):
            break  # small stages are shuffled into the same beginning now and then: only more instances tell
    return found


def _argv(checkout: Checkout, task: str, instances: int, passes: Sequence[str]) -> list[str]:
    told = [str(instances), *passes]
    if checkout.embedded:
        return [checkout.python, "-m", f"{MINIATURE}.orders", task, DEFAULT, *told]
    how = "ids" if task in _STARTS_CONTAINERS else "prompts"
    # Without -P this package's own modules would stand before the standard library.
    return [checkout.python, "-P", str(Path(order_probe.__file__)), task, DEFAULT, how, *told]


def read(task: str, answer: Answer) -> Orders:
    """The orders of an answer of the probe."""
    if not answer.ok:
        return Orders(task, {}, answer.problem)
    try:
        told = json.loads(answer.said.strip().rpartition("\n")[2])["orders"]
        return Orders(task, {name: _digest(one) for name, one in told.items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        return Orders(task, {}, "the probe's answer cannot be read")


def _digest(told: Mapping[str, object]) -> str:
    met, ids = told["met"], told["ids"]
    if not ids and (not isinstance(met, list) or len(met) < AT_LEAST):
        return ""
    return hashlib.sha256(json.dumps([met, ids]).encode()).hexdigest()[:12]


def order_check(campaign: Campaign, found: Sequence[Orders]) -> Check:
    """Whether the orders are distinct, and seed 0 is the baseline's."""
    needed = "another order of instances for each seed, time series excepted; seed 0 in the baseline's"
    if campaign.kind is PlanKind.SMOKE:
        return Check(NAME, State.OK, "a smoke has one seed and measures nothing", needed)
    problems = [problem for one in found for problem in _problems(one)]
    untold = [
        f"{one.task}: {one.problem or 'its instances cannot be told apart'}"
        for one in found
        if one.problem or "" in one.digests.values()
    ]
    if problems:
        mend = "a checkout that gives run_index to its tasks: run-all does it, the deprecated bridge does not"
        return Check(NAME, State.FAILED, "; ".join([*problems, *untold]), needed, mend)
    if untold:
        mend = "install what the task needs into the checkout's environment (clbench doctor), and try again"
        return Check(NAME, State.UNKNOWN, "; ".join(untold), needed, mend)
    shown = "; ".join(f"{one.task} {', '.join(_seeds(one).values())}" for one in found)
    return Check(NAME, State.OK, shown or "no task is permuted", needed)


def _seeds(one: Orders) -> dict[str, str]:
    return {name: digest for name, digest in one.digests.items() if name != BASELINE}


def same(one: Orders) -> list[list[str]]:
    """Groups of seeds that would meet one and the same order."""
    groups: dict[str, list[str]] = {}
    for name, digest in _seeds(one).items():
        if digest:
            groups.setdefault(digest, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _problems(one: Orders) -> list[str]:
    told = [f"{one.task}: seeds {', '.join(group)} would meet one and the same order" for group in same(one)]
    first, canonical = _seeds(one).get("0"), one.digests.get(BASELINE)
    if first and canonical and first != canonical:
        told.append(f"{one.task}: seed 0 would not meet the baseline's order")
    return told
