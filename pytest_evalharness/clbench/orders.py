"""Whether another seed was another order: five times the same sequence are not five measurements. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.domains import BY_TASK

AT_LEAST = 3
"""Instances that a digest has to cover: different orders often begin with the same instance or prompt."""


@dataclass(frozen=True)
class Orders:
    """The orders of one task.

    Attributes:
        task: its id.
        digests: by rollout; None where the artifact keeps neither ids of content nor prompts.
        same: groups of rollouts that met the same sequence.
        first_is_canonical: whether rollout 0 has the baseline's order; None where that cannot be told.
    """

    task: str
    digests: dict[int, str | None]
    same: tuple[tuple[int, ...], ...]
    first_is_canonical: bool | None

    @property
    def untold(self) -> bool:
        """Whether an order cannot be told."""
        return None in self.digests.values()


def orders(artifact: TaskArtifact) -> Orders | None:
    """The orders of a task's rollouts, None of one whose instances are a time series."""
    domain = BY_TASK[artifact.task]
    if not domain.permuted:
        return None
    found = {one.run_index: digest(one, positional=domain.positional) for one in artifact.rollouts}
    digests = {index: found[index] for index in found if index is not None}
    groups: dict[str, list[int]] = {}
    for index, one in digests.items():
        if one is not None:
            groups.setdefault(one, []).append(index)
    same = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    return Orders(artifact.task, digests, same, _canonical(artifact, positional=domain.positional))


def digest(one: Pass, *, positional: bool) -> str | None:
    """A digest of the whole sequence that a pass met: instance ids, or the first prompts where ids only number the positions.

    Args:
        one: a rollout.
        positional: whether ids only number the positions.

    Returns:
        Hexadecimal digits, None where the sequence is too short or cannot be told.
    """
    met = (one.prompts or ()) if positional else tuple(outcome.instance_id for outcome in one.outcomes)
    if len(met) < AT_LEAST:
        return None
    return hashlib.sha256("\n".join(met).encode(errors="backslashreplace")).hexdigest()[:16]


def _canonical(artifact: TaskArtifact, *, positional: bool) -> bool | None:
    first = next((one for one in artifact.rollouts if one.run_index == 0), None)
    if first is None or artifact.baseline is None or positional:
        return None
    ids = [outcome.instance_id for outcome in first.outcomes]
    canonical = [outcome.instance_id for outcome in artifact.baseline.outcomes]
    return ids == canonical if len(ids) == len(canonical) else None
