"""One task's artifact, read typed and kept small: what was earned, at what cost, in which order."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from pytest_evalharness.clbench.shapes import (
    Interaction,
    Outcome,
    RunTrace,
    Salvaged,
    Summary,
    SystemParams,
    TaskParams,
    Trace,
    Usage,
    ViewerArtifact,
)

_MOST = 1 << 30
"""Bytes that a file may unpack to: real ones have tens of MiB."""
_LARGEST = 1e9
"""No reward, divergence or cost comes near it; sums of larger ones would overflow in silence."""
_GZIP = b"\x1f\x8b"
Shape = TypeVar("Shape")


class Unreadable(ValueError):
    """A file is not what it should be; the text says why."""


@dataclass(frozen=True)
class Pass:
    """One pass over a task: a rollout, or the stateless baseline.

    Attributes:
        run_index: the rollout's seed, from 0; None for the baseline.
        status: what the runner says of it.
        outcomes: an instance each, in the order in which they were met.
        cost: dollars of all calls, None where nobody tells.
        unpriced: whether calls were made whose price is not known.
        turns: interactions by instance id; None where the artifact keeps none.
        forfeited: instances in which the adapter, or an error of the model, answered for the system.
        prompts: MD5 of the first prompt of each instance, in order; None where the artifact keeps none.
        in_bits: (reference, agent) divergences by instance of the trace's other list, where it tells bits.
        blocked: baseline instances that a provider refused.
    """

    run_index: int | None
    status: str | None
    outcomes: tuple[Outcome, ...]
    cost: float | None
    unpriced: bool
    turns: dict[str, int] | None
    forfeited: frozenset[str]
    prompts: tuple[str, ...] | None
    in_bits: dict[str, tuple[float, float]]
    blocked: int

    @property
    def name(self) -> str:
        """How messages call it."""
        return pass_words(self.run_index)


def pass_words(run_index: int | None) -> str:
    """How messages call a pass: a rollout by its seed, the baseline for None."""
    return "the baseline" if run_index is None else f"rollout {run_index}"


@dataclass(frozen=True)
class TaskArtifact:
    """Everything that a run published of one task.

    Attributes:
        task: its id.
        expected: instances of a complete pass; None where the artifact does not tell.
        query_budget: of the database task; None where the artifact does not tell.
        schedule: the schedule's id, None where it is not told.
        run_mode: permute, resample or replicate.
        system: the system's name.
        model: its model, as it was named.
        baseline: the run's own stateless baseline.
        rollouts: by seed.
        salvaged: what it says of a crash; None where the benchmark itself wrote it.
        group: the benchmark's name of the start that made it; None where it is not told.
        planned: rollouts that were to be run; None where that is not told.
    """

    task: str
    expected: int | None
    query_budget: int | None
    schedule: str | None
    run_mode: str | None
    system: str | None
    model: str | None
    baseline: Pass | None
    rollouts: tuple[Pass, ...]
    salvaged: Salvaged | None = None
    group: str | None = None
    planned: int | None = None


def unpacked(path: Path) -> bytes:
    """A file's content, unpacked if its first bytes say gzip, whatever its name.

    Raises:
        Unreadable: no ordinary file, damaged, empty, or larger than a GiB.
    """
    try:
        if not path.is_file():
            raise Unreadable("it is no ordinary file")
        if path.stat().st_size > _MOST:
            raise Unreadable(f"it is larger than {_MOST >> 20} MiB")
        return plain(path.read_bytes())
    except OSError as problem:
        raise Unreadable(problem.strerror or str(problem)) from None


def plain(raw: bytes) -> bytes:
    """A file's bytes, unpacked if the first of them say gzip.

    Raises:
        Unreadable: damaged, empty, or larger than a GiB.
    """
    try:
        content = _inflated(raw) if raw[:2] == _GZIP else raw
    except zlib.error as problem:
        raise Unreadable(f"a spoilt gzip file: {problem}") from None
    if not content.strip():
        raise Unreadable("it is empty")
    return content


def _inflated(packed: bytes) -> bytes:
    """All members of a gzip file, each in one call: the standard library's file object takes twice as long."""
    parts: list[bytes] = []
    left = _MOST
    while packed[:2] == _GZIP:
        member = zlib.decompressobj(wbits=31)
        parts.append(member.decompress(packed, left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise Unreadable(f"it unpacks to more than {_MOST >> 20} MiB")
        if not member.eof:
            raise Unreadable("a spoilt gzip file: it is cut off")
        packed = member.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def decoded(raw: bytes | msgspec.Raw, shape: type[Shape]) -> Shape:
    """JSON as one of the shapes.

    Raises:
        Unreadable: no JSON, or a value of the wrong type; the text names it.
    """
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Unreadable(str(problem)) from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


def artifact_of(task: str, raw: bytes | msgspec.Raw) -> TaskArtifact:
    """One task's artifact.

    Raises:
        Unreadable: it is none, is another task's, or contradicts itself.
    """
    told = decoded(raw, ViewerArtifact)
    if told.kind not in {None, "viewer_artifact"}:
        raise Unreadable(f"its kind is {told.kind!r}, not 'viewer_artifact'")
    if told.summary is None and told.run_traces is None:
        raise Unreadable("it has neither a summary nor rollouts")
    summary = told.summary or Summary()
    name = summary.task.name if summary.task else None
    if name not in {None, task}:
        raise Unreadable(f"it holds the task {name!r}, not {task!r}")
    params = (summary.task.params if summary.task else None) or TaskParams()
    system = summary.system
    model = ((system.params if system else None) or SystemParams()).model
    return TaskArtifact(
        task=task,
        expected=params.expected,
        query_budget=params.max_queries_per_question,
        schedule=summary.schedule if isinstance(summary.schedule, str) else None,
        run_mode=summary.run_mode,
        system=system.name if system else None,
        model=model if isinstance(model, str) else None,
        baseline=None if told.baseline_trace is None else _pass(told.baseline_trace, None),
        rollouts=_rollouts(told.run_traces or []),
        salvaged=told.salvage,
        group=summary.run_group_id,
        planned=summary.run_count if isinstance(summary.run_count, int) else None,
    )


def _rollouts(told: list[RunTrace]) -> tuple[Pass, ...]:
    found: dict[int, Pass] = {}
    for position, one in enumerate(told):
        trace = one.trace or Trace()
        index = one.run_index
        if index is None:
            index = trace.execution.run_index if trace.execution else None
        index = position if index is None else index
        if index < 0 or index in found:
            raise Unreadable(f"it has the rollout {index} twice" if index >= 0 else f"a rollout is {index}")
        found[index] = _pass(trace, index)
    return tuple(found[index] for index in sorted(found))


def _pass(trace: Trace, index: int | None) -> Pass:
    outcomes = tuple((trace.result.instance_outcomes if trace.result else None) or ())
    _require_sound(outcomes, pass_words(index))
    usage = trace.execution.usage.interaction if trace.execution and trace.execution.usage else None
    turns, answered_for, prompts = _played(trace.interactions)
    return Pass(
        run_index=index,
        status=trace.status,
        outcomes=outcomes,
        cost=_cost(usage, outcomes),
        unpriced=usage is not None and (usage.pricing_complete is False or bool(usage.unpriced_call_count)),
        turns=turns,
        forfeited=answered_for | {one.instance_id for one in outcomes if one.forfeited},
        prompts=prompts,
        in_bits=dict(_in_bits(trace.instance_outcomes or ())),
        blocked=(trace.execution.instances_blocked if trace.execution else None) or 0,
    )


def _require_sound(outcomes: Iterable[Outcome], where: str) -> None:
    seen: set[str] = set()
    for one in outcomes:
        told = one.metadata
        divergences = () if told is None else (told.mean_kl_divergence, told.mean_reference_kl, told.regret)
        for value in (one.reward, one.raw_metric_value, one.cost_usd, *divergences):
            if value is not None and not abs(value) <= _LARGEST:
                raise Unreadable(
                    f"{where}: {one.instance_id!r} has a number that no run earns or costs: {value:g}"
                )
        if one.instance_id in seen:
            raise Unreadable(f"{where} has the instance {one.instance_id!r} twice")
        seen.add(one.instance_id)


def _cost(usage: Usage | None, outcomes: tuple[Outcome, ...]) -> float | None:
    if usage is not None and usage.cost_usd is not None:
        if not 0.0 <= usage.cost_usd <= _LARGEST:
            raise Unreadable(f"a pass has a cost that no run has: {usage.cost_usd:g}")
        return usage.cost_usd
    told = [one.cost_usd for one in outcomes if one.cost_usd is not None]
    return math.fsum(told) if told else None


def _played(
    interactions: list[Interaction] | None,
) -> tuple[dict[str, int] | None, frozenset[str], tuple[str, ...] | None]:
    """Turns an instance, instances that the adapter answered, and first prompts."""
    if not interactions:
        return None, frozenset(), None
    turns: Counter[str] = Counter()
    answered_for, prompts = set(), []
    for one in interactions:
        name = one.query.instance_id if one.query else None
        if name is None or one.query is None:
            continue
        if name not in turns:
            prompts.append(hashlib.md5(bytes(one.query.prompt), usedforsecurity=False).hexdigest())
        turns[name] += 1
        if one.response is not None and one.response.forfeited:
            answered_for.add(name)
    return dict(turns), frozenset(answered_for), tuple(prompts)


def _in_bits(outcomes: Iterable[Outcome]) -> Iterable[tuple[str, tuple[float, float]]]:
    for one in outcomes:
        told = one.metadata
        if told is None or told.kl_unit != "bits":
            continue
        if told.mean_reference_kl is not None and told.mean_kl_divergence is not None:
            yield one.instance_id, (told.mean_reference_kl, told.mean_kl_divergence)
