"""What a campaign left on disk, pass by pass: which passes came to their end, and which were interrupted.

The benchmark writes a pass in up to three places: `results/<task>/live/<run group>/run_<k>.json` after every interaction (k from
1), `results/<task>/traces/<run group>/run_<kkkk>.json` (from 0) when every pass of the task has ended, and then all of them
together in `results/<task>/viewer_artifact_<run group>_<time>.json.gz`. Nothing here is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.clbench.artifact import Unreadable, decoded, pass_words, unpacked
from pytest_evalharness.clbench.campaign.live_shapes import LiveTaskName
from pytest_evalharness.clbench.campaign.python_json import compact, standard
from pytest_evalharness.clbench.shapes import Usages

COMPLETED, BLOCKED = "completed", "blocked"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class PassState(StrEnum):
    """How a pass stands."""

    WHOLE = "whole"
    """It completed with every instance: it counts."""
    BLOCKED = "blocked"
    """A provider refused to go on: it has ended, it is not complete, and running it again may end alike."""
    INTERRUPTED = "interrupted"
    """It was still under way, or nothing proves that it ended."""
    UNREADABLE = "unreadable"
    """Its file is no snapshot of this pass."""
    NEVER_BEGUN = "never begun"
    """Nothing of it is there."""

    @property
    def ended(self) -> bool:
        """Whether the benchmark itself brought it to an end."""
        return self in {PassState.WHOLE, PassState.BLOCKED}


class Execution(msgspec.Struct, gc=False):
    """How a pass went; the rest of it is kept as it stands."""

    run_index: int | None = None
    run_group_id: str | None = None
    usage: Usages | None = None
    instances_total: int | None = None
    instances_completed: int | None = None
    instances_blocked: int | None = None
    coverage_ratio: float | None = None


class Ending(msgspec.Struct, gc=False):
    """What a pass earned."""

    score: float | None = None
    metrics: dict[str, Any] | None = None
    eval_metrics: dict[str, Any] | None = None
    instance_outcomes: list[dict[str, Any]] | None = None


class Trace(msgspec.Struct, gc=False):
    """A snapshot, as far as a pass is judged and summed up by it."""

    status: str | None = None
    phase: str | None = None
    schedule: Any = None
    task_brief: Any = None
    system: Any = None
    task: LiveTaskName | None = None
    execution: Execution | None = None
    instance_outcomes: list[dict[str, Any]] | None = None
    result: Ending | None = None


class _Details(msgspec.Struct, gc=False):
    """The same execution with everything that stands in it."""

    execution: dict[str, Any] | None = None


@dataclass(frozen=True)
class PassLeft:
    """What is left of one pass.

    Attributes:
        run_index: the rollout's seed, from 0; None for the baseline.
        state: how it stands.
        instances: how many instances have an outcome.
        expected: how many a complete pass has; None where nothing tells.
        cost: dollars spent on it, as far as they are told.
        group: the run group it belongs to.
        path: its file; None if there is none.
        why: what is wrong with it, where it is not whole.
        trace: its content; None if there is none.
    """

    run_index: int | None
    state: PassState
    instances: int = 0
    expected: int | None = None
    cost: float | None = None
    group: str = ""
    path: Path | None = None
    why: str = ""
    trace: Trace | None = None

    @property
    def name(self) -> str:
        """How messages call it."""
        return pass_words(self.run_index)

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports and for what is put together."""
        return {
            "run_index": self.run_index,
            "run_group": self.group,
            "instances": self.instances,
            "expected": self.expected,
            "cost_usd": self.cost,
            "why": self.why,
        }

    @property
    def words(self) -> str:
        """How far it came, and what that cost."""
        of = "" if self.expected is None else f" of {self.expected}"
        spent = "" if self.cost is None else f", ${self.cost:,.2f} spent"
        return f"{self.name}: {self.instances}{of} instances{spent}"

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """Its instances, in order; of one that ended, the list that is scored."""
        return _outcomes(self.trace) if self.trace is not None else []

    def raw(self) -> bytes:
        """Its file without blanks.

        Raises:
            Unreadable: it cannot be read any more.
        """
        assert self.path is not None
        return compact(unpacked(self.path))

    def execution(self) -> dict[str, Any]:
        """Everything that it says of how it went.

        Raises:
            Unreadable: it cannot be read any more.
        """
        assert self.path is not None
        return decoded(standard(unpacked(self.path)), _Details).execution or {}


def pass_left(results: Path, task: str, group: str, run_index: int | None, expected: int | None) -> PassLeft:
    """What is left of one pass of a run group.

    Args:
        results: `results/<task>` of the checkout.
        task: its id.
        group: the run group, as a folder's name.
        run_index: the rollout, None for the baseline.
        expected: instances of a complete pass, None where nothing tells.
    """
    best: PassLeft | None = None
    for path in _places(results, group, run_index):
        if not path.exists():
            continue
        found = _read(path, task, group, run_index, expected)
        if found.state.ended:
            return found
        if best is None or best.state is PassState.UNREADABLE:
            best = found
    return best or PassLeft(run_index, PassState.NEVER_BEGUN, expected=expected, group=group)


def _places(results: Path, group: str, run_index: int | None) -> Iterator[Path]:
    """Where a pass may stand, the best first: the final trace has the system's memory, the live one has not."""
    if run_index is None:
        yield results / "traces" / group / "baseline.json"
        yield results / "live" / group / "baseline.json"
    else:
        yield results / "traces" / group / f"run_{run_index:04d}.json"
        yield results / "live" / group / f"run_{run_index + 1}.json"


def _read(path: Path, task: str, group: str, run_index: int | None, expected: int | None) -> PassLeft:
    def unreadable(why: str) -> PassLeft:
        return PassLeft(run_index, PassState.UNREADABLE, expected=expected, group=group, path=path, why=why)

    try:
        trace = decoded(standard(unpacked(path)), Trace)
    except Unreadable as problem:
        return unreadable(str(problem))
    if foreign := _foreign(trace, task, group, run_index):
        return unreadable(foreign)
    if expected is None and trace.task is not None and trace.task.params is not None:
        expected = trace.task.params.expected or trace.task.params.asked
    outcomes = _outcomes(trace)
    names = [one.get("instance_id") for one in outcomes]
    if len(set(map(str, names))) != len(names):
        return unreadable("it has an instance twice")
    state, why = (_baseline if run_index is None else _rollout)(trace, len(outcomes), expected)
    return PassLeft(
        run_index=run_index,
        state=state,
        instances=len(outcomes),
        expected=expected,
        cost=_cost(trace, outcomes),
        group=group,
        path=path,
        why=why,
        trace=trace,
    )


def _foreign(trace: Trace, task: str, group: str, run_index: int | None) -> str:
    """Why a snapshot is that of another pass; empty if it is not."""
    told = trace.execution or Execution()
    if trace.task is not None and trace.task.name not in {None, task}:
        return f"it holds the task {trace.task.name!r}"
    if told.run_group_id is not None and folder_name(told.run_group_id) != group:
        return f"it belongs to the run group {told.run_group_id!r}"
    if told.run_index is not None and told.run_index != run_index:
        return f"it says that it is rollout {told.run_index}"
    if (trace.phase == "baseline") != (run_index is None) and trace.phase is not None:
        return f"its phase is {trace.phase!r}"
    return ""


def _rollout(trace: Trace, found: int, expected: int | None) -> tuple[PassState, str]:
    if trace.status == BLOCKED:  # also before its first instance, when there is no result either
        return PassState.BLOCKED, "a provider refused to go on"
    if trace.status != COMPLETED:
        return PassState.INTERRUPTED, f"its status is {trace.status}"
    if trace.result is None or trace.result.instance_outcomes is None:
        return PassState.INTERRUPTED, "it has no result"
    if expected is None:
        return PassState.INTERRUPTED, "nothing tells how many instances are complete"
    if found != expected:
        return PassState.INTERRUPTED, f"it has {found} of {expected} instances"
    return PassState.WHOLE, ""


def _baseline(trace: Trace, found: int, expected: int | None) -> tuple[PassState, str]:
    """A partial baseline calls itself completed: only its coverage tells."""
    told = trace.execution or Execution()
    total = told.instances_total or expected
    blocked = told.instances_blocked or 0
    if trace.result is None or total is None or found + blocked < total:
        return PassState.INTERRUPTED, f"it has {found} of {total or 'unknown'} instances"
    if blocked:
        return PassState.BLOCKED, f"a provider refused {blocked} instances"
    if expected is not None and found != expected:
        return PassState.INTERRUPTED, f"it has {found} of {expected} instances"
    return PassState.WHOLE, ""


def _outcomes(trace: Trace) -> list[dict[str, Any]]:
    ended = trace.result.instance_outcomes if trace.result else None
    return (trace.instance_outcomes or []) if ended is None else ended


def _cost(trace: Trace, outcomes: list[dict[str, Any]]) -> float | None:
    usage = trace.execution.usage.interaction if trace.execution and trace.execution.usage else None
    if usage is not None and usage.cost_usd is not None:
        return usage.cost_usd
    told = [one["cost_usd"] for one in outcomes if isinstance(one.get("cost_usd"), int | float)]
    return math.fsum(told) if told else None


def folder_name(group: str) -> str:
    """The folder that the benchmark makes of a run group's id."""
    return _UNSAFE.sub("_", group).strip("._-") or "run"
