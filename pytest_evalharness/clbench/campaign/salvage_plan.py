"""What of a campaign is whole, what is partial, and what has to be run again. Reads only.

A stateful rollout is one measurement: its memory is what is measured, so an interrupted one cannot be continued and is written
off by name. A rollout that completed counts, whatever became of the others. Where a campaign was resumed and crashed again, the
first completed rollout of a seed is taken, never the better one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.clbench.artifact import TaskArtifact, Unreadable, artifact_of, decoded, unpacked
from pytest_evalharness.clbench.campaign.ended_folder import EndedFolder, LiveHead, expected_instances
from pytest_evalharness.clbench.campaign.python_json import standard
from pytest_evalharness.clbench.campaign.rebuilding import MARK, PARTIAL
from pytest_evalharness.clbench.campaign.remains import BLOCKED, COMPLETED, PassLeft, PassState, pass_left
from pytest_evalharness.clbench.campaign.rerun import Price, Rerun, rerun
from pytest_evalharness.clbench.domains import FULL_ROLLOUTS
from pytest_evalharness.clbench.whole_passes import usable, whole_baseline

SET_ASIDE = "set_aside"
"""Below a manifest's mark: run groups by task whose results were set aside and must not come back."""


class TaskState(StrEnum):
    """How a task stands."""

    WHOLE = "whole"
    GAPS = "ended with gaps"
    """The benchmark itself ended it, though parts of it were refused; running it again may end alike."""
    PARTIAL = "partial"
    """Some of its passes ended."""
    LOST = "lost"
    """None of its passes ended."""
    NOT_BEGUN = "not begun"

    @property
    def stays(self) -> bool:
        """Whether `--missing-only` may pass it over."""
        return self in {TaskState.WHOLE, TaskState.GAPS}


class Source(StrEnum):
    """Where a task's artifact comes from."""

    PUBLISHED = "published"
    """It stands in the run directory already."""
    COPIED = "copied"
    """The task's own process wrote it, and run-all did not live to copy it."""
    REBUILT = "rebuilt"
    """It is put together from its passes."""
    NONE = "none"


@dataclass(frozen=True)
class TaskLeft:
    """What is left of a task.

    Attributes:
        task: its id.
        state: how it stands.
        source: where its artifact comes from.
        artifact: the file that is published or copied; None where it is put together, or there is none.
        complete: seeds of complete rollouts, wherever they stand.
        kept: rollouts that an artifact is put together from, by seed.
        baseline: likewise the stateless baseline.
        written_off: rollouts that were begun and did not end, each attempt.
        unfinished_baseline: the baseline that was begun and did not end.
        rollouts: how many there were to be; None where nothing tells.
        groups: run groups in which it ran, the earliest first.
        head: what the live manifest says of it.
        aside: a published artifact that has to go, and why.
        set_aside: run groups whose results must not come back.
        rerun: what is run again and its cost; None if nothing is.
    """

    task: str
    state: TaskState
    source: Source
    artifact: Path | None = None
    complete: tuple[int, ...] = ()
    kept: tuple[PassLeft, ...] = ()
    baseline: PassLeft | None = None
    written_off: tuple[PassLeft, ...] = ()
    unfinished_baseline: PassLeft | None = None
    rollouts: int | None = None
    groups: tuple[str, ...] = ()
    head: LiveHead | None = None
    aside: tuple[Path, str] | None = None
    set_aside: tuple[str, ...] = ()
    rerun: Rerun | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that its artifact is made of."""
        made = [one.path for one in (*self.kept, self.baseline) if one is not None and one.path is not None]
        return (*([self.artifact] if self.artifact else []), *made)


class Head(msgspec.Struct, gc=False):
    """The head of an artifact, as far as it tells where that comes from."""

    summary: dict[str, Any] | None = None
    salvage: dict[str, Any] | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The run groups that it was made in."""
        if self.salvage is not None:
            return tuple(map(str, self.salvage.get("groups") or ()))
        told = (self.summary or {}).get("run_group_id")
        return (str(told),) if told else ()

    @property
    def partial(self) -> bool:
        """Whether it was put together here from some of its passes."""
        return self.salvage is not None and (self.summary or {}).get("status") == PARTIAL


@dataclass(frozen=True)
class _Held:
    """An artifact that can be read."""

    path: Path
    artifact: TaskArtifact
    head: Head


def tasks_left(
    folder: EndedFolder, *, again: Collection[str] = (), prices: Mapping[str, Price] | None = None
) -> list[TaskLeft]:
    """What is left of every task of a campaign, in the manifest's order.

    Args:
        folder: its run directory.
        again: tasks whose results are set aside, whatever they hold.
        prices: what tasks cost elsewhere, for those of which this campaign tells nothing.
    """
    return [
        _task(folder, task, again=task in again, price=(prices or {}).get(task)) for task in folder.entries
    ]


@dataclass(frozen=True)
class _Ground:
    """Where a task is looked for."""

    folder: EndedFolder
    task: str
    heads: Mapping[str, LiveHead | None]
    rollouts: int | None
    price: Price | None


def _task(folder: EndedFolder, task: str, *, again: bool, price: Price | None) -> TaskLeft:
    there = folder.groups(task)
    heads = {group: folder.head(task, group) for group in there}
    head = next((heads[one] for one in reversed(there) if heads[one] is not None), None)
    ground = _Ground(folder, task, heads, folder.rollouts(task, head), price)
    held, aside = _published(folder, task)
    gone = set(there) if again else _set_aside(folder, task)
    if held is not None and again:
        aside, held = (held.path, "it is to be run again"), None
    if held is not None and not held.head.partial:
        state = _ended_as(held.artifact, ground.rollouts)
        if state is not None:
            return _of_artifact(ground, state, Source.PUBLISHED, held)
        gone |= set(held.head.groups)
        aside, held = (held.path, "a provider refused every rollout"), None
    groups = [one for one in there if one not in gone]
    for group in reversed(groups):
        written = _readable(task, folder.written(task, group))
        state = None if written is None else _ended_as(written.artifact, ground.rollouts)
        if written is not None and state is not None:
            return replace(_of_artifact(ground, state, Source.COPIED, written), aside=aside)
    found = _of_passes(ground, groups, held)
    return replace(found, aside=aside, set_aside=tuple(sorted(gone & set(there))))


def _published(folder: EndedFolder, task: str) -> tuple[_Held | None, tuple[Path, str] | None]:
    """The artifact in the run directory; or the file that is none, and why."""
    path = folder.published(task)
    if path is None:
        return None, None
    try:
        return _read(task, path), None
    except Unreadable as problem:
        return None, (path, str(problem))


def _readable(task: str, path: Path | None) -> _Held | None:
    try:
        return None if path is None else _read(task, path)
    except Unreadable:
        return None


def _read(task: str, path: Path) -> _Held:
    raw = standard(unpacked(path))
    return _Held(path, artifact_of(task, raw), decoded(raw, Head))


def _set_aside(folder: EndedFolder, task: str) -> set[str]:
    """Run groups whose results were replaced on purpose: they must not come back because what replaces them has crashed."""
    told = folder.manifest.get(MARK)
    named = told.get(SET_ASIDE) if isinstance(told, dict) else None
    gone = set(map(str, (named or {}).get(task) or ())) if isinstance(named, dict) else set()
    for path in folder.folder.glob(f"archive/*/{task}/{task}.json*"):
        held = _readable(task, path)
        if held is not None and not held.head.partial:
            gone |= set(held.head.groups)
    return gone


def _ended_as(artifact: TaskArtifact, rollouts: int | None) -> TaskState | None:
    """How the benchmark ended a task; None if nothing in it measures anything."""
    if not artifact.rollouts or all(one.status == BLOCKED for one in artifact.rollouts):
        return None
    complete = _complete(artifact)
    base = artifact.baseline
    sound = base is None or (not base.blocked and whole_baseline(artifact, _size(artifact)) is not None)
    full = len(complete) >= (len(artifact.rollouts) if rollouts is None else rollouts)
    return TaskState.WHOLE if full and sound else TaskState.GAPS


def _complete(artifact: TaskArtifact) -> tuple[int, ...]:
    return tuple(one.run_index or 0 for one in usable(artifact)[0] if one.status in {None, COMPLETED})


def _size(artifact: TaskArtifact) -> int:
    kept, _ = usable(artifact)
    return artifact.expected or (len(kept[0].outcomes) if kept else 0)


def _of_artifact(ground: _Ground, state: TaskState, source: Source, held: _Held) -> TaskLeft:
    return TaskLeft(
        ground.task,
        state,
        source,
        held.path,
        _complete(held.artifact),
        rollouts=ground.rollouts,
        groups=held.head.groups,
    )


def _of_passes(ground: _Ground, groups: list[str], held: _Held | None) -> TaskLeft:
    """A task that no artifact holds whole."""
    alike = _alike(groups, ground.heads)
    head = ground.heads[alike[-1]] if alike else None
    count = range(FULL_ROLLOUTS if ground.rollouts is None else ground.rollouts)
    attempts = [one for group in alike for one in _attempts(ground, group, count)]
    baselines = [one for one in attempts if one.run_index is None]
    passes = [one for one in attempts if one.run_index is not None]
    has_baseline = head is None or head.baseline is not None
    base = _best(baselines)
    kept = [one for index in count if (one := _best([p for p in passes if p.run_index == index])) is not None]
    ended = {one.run_index for one in kept}
    state = _state(kept, base, len(count), begun=bool(attempts), has_baseline=has_baseline)
    needed = rerun(passes, baselines, ground.rollouts, ground.price, has_baseline=has_baseline)
    found = TaskLeft(
        ground.task,
        state,
        Source.REBUILT if state.stays or state is TaskState.PARTIAL else Source.NONE,
        complete=tuple(one.run_index or 0 for one in kept if one.state is PassState.WHOLE),
        kept=tuple(kept),
        baseline=base,
        written_off=tuple(one for one in passes if one.run_index not in ended),
        unfinished_baseline=max(baselines, key=lambda one: one.instances, default=None)
        if base is None
        else None,
        rollouts=ground.rollouts,
        groups=tuple(alike),
        head=head,
        rerun=None if state.stays else needed,
    )
    if held is None or state.stays or _adds(kept, base, held):
        return found
    # What was put together before holds at least as much: snapshots may have been removed since.
    return replace(
        found,
        state=TaskState.PARTIAL,
        source=Source.PUBLISHED,
        artifact=held.path,
        complete=_complete(held.artifact),
        kept=(),
        baseline=None,
        unfinished_baseline=found.unfinished_baseline if held.artifact.baseline is None else None,
    )


def _alike(groups: list[str], heads: Mapping[str, LiveHead | None]) -> list[str]:
    """The run groups in which the task ran as in the latest: rollouts of other systems or parameters are no seeds of it."""
    last = next((head for one in reversed(groups) if (head := heads[one]) is not None), None)
    if last is None:
        return groups[-1:]
    return [
        one
        for one in groups
        if (head := heads[one]) is not None and (head.task, head.system) == (last.task, last.system)
    ]


def _attempts(ground: _Ground, group: str, count: range) -> list[PassLeft]:
    """Every pass of a run group that was begun, the baseline first."""
    expected = expected_instances(ground.heads[group])
    results = ground.folder.results(ground.task)
    found = [pass_left(results, ground.task, group, index, expected) for index in (None, *count)]
    return [one for one in found if one.state is not PassState.NEVER_BEGUN]


def _best(attempts: list[PassLeft]) -> PassLeft | None:
    """The pass to keep of those at one place: the first that is whole; else the last that a provider refused."""
    whole = [one for one in attempts if one.state is PassState.WHOLE]
    blocked = [one for one in attempts if one.state is PassState.BLOCKED]
    return whole[0] if whole else blocked[-1] if blocked else None


def _state(
    kept: list[PassLeft], base: PassLeft | None, rollouts: int, *, begun: bool, has_baseline: bool
) -> TaskState:
    if len(kept) == rollouts and (base is not None or not has_baseline):
        whole = all(one.state is PassState.WHOLE for one in (*kept, *([base] if base else [])))
        if whole:
            return TaskState.WHOLE
        if any(one.state is PassState.WHOLE for one in kept):
            return TaskState.GAPS
        return TaskState.LOST
    if kept or base:
        return TaskState.PARTIAL
    return TaskState.LOST if begun else TaskState.NOT_BEGUN


def _adds(kept: list[PassLeft], base: PassLeft | None, held: _Held) -> bool:
    """Whether the passes hold more than an artifact that was put together from some of them before."""
    before = {one.run_index for one in held.artifact.rollouts}
    now = {one.run_index for one in kept}
    has, had = base is not None, held.artifact.baseline is not None
    return (now > before and has >= had) or (now >= before and has > had)
