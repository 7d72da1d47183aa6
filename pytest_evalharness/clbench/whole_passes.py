"""Which passes of a task may be averaged: those that are whole. Sums of fewer instances cannot be compared. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact


@dataclass(frozen=True)
class Excluded:
    """A rollout that is in no mean, and why."""

    task: str
    run_index: int
    why: str


def usable(artifact: TaskArtifact) -> tuple[tuple[Pass, ...], tuple[Excluded, ...]]:
    """The rollouts that may be averaged, and those that may not: no outcomes, or another number than is complete."""
    kept, excluded = [], []
    for one in artifact.rollouts:
        found, index = len(one.outcomes), one.run_index or 0
        if found == 0 or (artifact.expected is not None and found != artifact.expected):
            of = "" if artifact.expected is None else f" of {artifact.expected}"
            excluded.append(Excluded(artifact.task, index, f"it has {found}{of} outcomes"))
        else:
            kept.append(one)
    return tuple(kept), tuple(excluded)


def whole_baseline(artifact: TaskArtifact, instances: int) -> Pass | None:
    """The task's baseline if it has so many instances: sums of fewer cannot be compared."""
    told = artifact.baseline
    return told if told is not None and len(told.outcomes) == instances else None
