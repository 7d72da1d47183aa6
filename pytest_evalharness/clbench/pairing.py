"""Two runs' rollouts of one task side by side: which belong together, and by how much they differ. Pure.

Rewards are normalised as on the leaderboard, by one and the same stateless baseline in both arms: with R the sum of a rollout's
rewards, E that of the reference's baseline and M the reference reward, a rollout's number is (R - E) / (M - E).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from pytest_evalharness.clbench.artifact import Pass, TaskArtifact
from pytest_evalharness.clbench.domains import BY_TASK, Domain
from pytest_evalharness.clbench.orders import digest
from pytest_evalharness.clbench.scales import Scale, rewards, total
from pytest_evalharness.clbench.whole_passes import Excluded, usable, whole_baseline
from pytest_evalharness.stats.stratified import Stratum

_EQUAL = 1e-9
_MOST_ABSENT = 100
"""More rollouts than anybody runs of a task: a seed that no run has must not make a list without end."""


class Pairing(StrEnum):
    """How the two arms' rollouts of a task belong together."""

    INSTANCES = "by instance"
    """Rollouts of one seed met one order, and ids name contents: instance against instance, then summed by rollout."""
    SUMS = "by rollout sum"
    """Rollouts of one seed met one order, and ids only number positions: sums of rollouts."""
    NONE = "unpaired"
    """A time series that is repeated, other seeds, or other orders: rollouts of the arms are independent."""


@dataclass(frozen=True)
class TaskDifference:
    """One task of a comparison.

    Attributes:
        task: its id.
        pairing: how rollouts belong together.
        seeds: `run_index` of the candidate's and of the baseline's rollouts, in the order of the numbers.
        candidate: the normalised reward of each of the candidate's rollouts.
        baseline: the baseline's.
        higher: instances on which the candidate earned more on average over its rollouts; None where ids tell no contents.
        lower: on which it earned less; likewise.
        instances: of a pass.
        left_out: rollouts that are lost, by side: names with the reason.
        empty: the normalised reward of a rollout of empty answers.
    """

    task: str
    pairing: Pairing
    seeds: tuple[tuple[int, ...], tuple[int, ...]]
    candidate: tuple[float, ...]
    baseline: tuple[float, ...]
    higher: int | None
    lower: int | None
    instances: int
    left_out: dict[str, tuple[str, ...]]
    empty: float

    @property
    def stratum(self) -> Stratum:
        """Its numbers as one stratum of the comparison."""
        return Stratum(self.candidate, self.baseline, self.pairing is not Pairing.NONE)

    @property
    def fewest(self) -> int:
        """Rollouts of the arm that has fewer."""
        return min(len(self.candidate), len(self.baseline))

    @property
    def difference(self) -> float:
        """The candidate's mean normalised reward minus the baseline's."""
        return self.stratum.difference


@dataclass(frozen=True)
class Normalising:
    """By what a task's rewards are normalised in both arms: the sums E and M of the module's formula, and the scale."""

    base: float
    maximum: float
    scale: Scale

    def of(self, reward: float) -> float:
        """The normalised reward of a rollout's sum."""
        return (reward - self.base) / (self.maximum - self.base)


def normalising(reference: TaskArtifact, instances: int, scale: Scale) -> Normalising | None:
    """What normalises a task by a run's stateless baseline; None where that has not so many instances, or no denominator."""
    base = whole_baseline(reference, instances)
    if base is None:
        return None
    told = total(reference.task, base, scale, reference.query_budget)
    maximum = BY_TASK[reference.task].largest * instances
    return Normalising(told, maximum, scale) if maximum - told > _EQUAL else None


def counted(artifact: TaskArtifact) -> tuple[tuple[Pass, ...], tuple[Excluded, ...]]:
    """The rollouts that a comparison counts, and those that are lost to it.

    Beside those that are not whole these are rollouts that were to be there and are not, and, where an empty answer costs
    something, those with an instance that nobody scored: as 0 it would be better than playing.
    """
    kept, lost = usable(artifact)
    if BY_TASK[artifact.task].nulls[0][0] < 0.0:
        unscored = {one.run_index: sum(o.reward is None for o in one.outcomes) for one in kept}
        lost += tuple(
            Excluded(artifact.task, index or 0, f"{count} of its instances have no reward")
            for index, count in unscored.items()
            if count
        )
        kept = tuple(one for one in kept if not unscored[one.run_index])
    return kept, (*lost, *(Excluded(artifact.task, index, "it is not there") for index in _absent(artifact)))


def _absent(artifact: TaskArtifact) -> list[int]:
    """Seeds that were to be run and of which the artifact has no rollout, as far as it tells."""
    held = [one.run_index or 0 for one in artifact.rollouts]
    salvaged = artifact.salvaged.rollouts_expected if artifact.salvaged else None
    span = max(held) - min(held) + 1 if held else 0
    planned = min(max(artifact.planned or 0, salvaged or 0, span), len(held) + _MOST_ABSENT)
    first = 0 if not held or max(held) < planned else min(held)
    seeds = (index for index in range(first, first + planned + len(held)) if index not in held)
    return list(islice(seeds, max(0, planned - len(held))))


def unlike(candidate: TaskArtifact, baseline: TaskArtifact) -> str:
    """How the instances of two runs' rollouts differ; empty where they are the same, or nothing tells that they differ."""
    domain = BY_TASK[candidate.task]
    met = [
        (f"{side}, {one.name}", _contents(one, domain))
        for side, artifact in (("candidate", candidate), ("baseline", baseline))
        for one in counted(artifact)[0]
    ]
    told = [(name, contents) for name, contents in met if contents is not None]
    for name, contents in told[1:]:
        if contents != told[0][1]:
            first, other = len(told[0][1]), len(contents)
            sizes = f"{first} and {other}" if first != other else f"{first}, not all of them the same"
            return f"{domain.short}: {told[0][0]} and {name} met other instances ({sizes})"
    sizes_met = {len(one.outcomes) for artifact in (candidate, baseline) for one in counted(artifact)[0]}
    if len(sizes_met) > 1:
        return f"{domain.short}: rollouts have {' and '.join(map(str, sorted(sizes_met)))} instances"
    return ""


def _contents(one: Pass, domain: Domain) -> tuple[str, ...] | None:
    """What a pass met, whatever the order; None where the artifact does not tell."""
    if domain.positional:
        return (
            None
            if one.prompts is None or len(one.prompts) != len(one.outcomes)
            else tuple(sorted(one.prompts))
        )
    return tuple(sorted(outcome.instance_id for outcome in one.outcomes))


def difference_of(candidate: TaskArtifact, baseline: TaskArtifact, scaled: Normalising) -> TaskDifference:
    """A task's rollouts of both arms, normalised and paired as far as they belong together.

    Args:
        candidate: with at least one whole rollout.
        baseline: likewise, of the same instances.
        scaled: by what both are normalised.
    """
    task, domain = candidate.task, BY_TASK[candidate.task]
    (ours, lost_c), (theirs, lost_b) = counted(candidate), counted(baseline)
    pairing = _pairing(ours, theirs, domain)
    higher = lower = None
    if not domain.positional:
        higher, lower = _moves(
            _by_instance(candidate, ours, scaled.scale), _by_instance(baseline, theirs, scaled.scale)
        )
    return TaskDifference(
        task=task,
        pairing=pairing,
        seeds=(tuple(one.run_index or 0 for one in ours), tuple(one.run_index or 0 for one in theirs)),
        candidate=_normalised(candidate, ours, scaled),
        baseline=_normalised(baseline, theirs, scaled),
        higher=higher,
        lower=lower,
        instances=len(ours[0].outcomes),
        left_out={
            side: tuple(f"{domain.short}, rollout {one.run_index}: {one.why}" for one in lost)
            for side, lost in (("candidate", lost_c), ("baseline", lost_b))
        },
        empty=scaled.of(domain.nulls[0][0] * len(ours[0].outcomes)),
    )


def _pairing(ours: Sequence[Pass], theirs: Sequence[Pass], domain: Domain) -> Pairing:
    same_seeds = [one.run_index for one in ours] == [one.run_index for one in theirs]
    if not domain.permuted or not same_seeds:
        return Pairing.NONE
    orders = [[digest(one, positional=domain.positional) for one in arm] for arm in (ours, theirs)]
    if any(c is not None and b is not None and c != b for c, b in zip(*orders, strict=True)):
        return Pairing.NONE
    return Pairing.SUMS if domain.positional else Pairing.INSTANCES


def _normalised(artifact: TaskArtifact, kept: Sequence[Pass], scaled: Normalising) -> tuple[float, ...]:
    return tuple(scaled.of(total(artifact.task, one, scaled.scale, artifact.query_budget)) for one in kept)


def _by_instance(artifact: TaskArtifact, kept: Sequence[Pass], scale: Scale) -> dict[str, float]:
    """The mean reward of each instance over rollouts."""
    found: dict[str, list[float]] = {}
    for one in kept:
        earned = rewards(artifact.task, one, scale, artifact.query_budget)
        for outcome, reward in zip(one.outcomes, earned, strict=True):
            found.setdefault(outcome.instance_id, []).append(reward)
    return {name: math.fsum(told) / len(told) for name, told in found.items()}


def _moves(ours: dict[str, float], theirs: dict[str, float]) -> tuple[int, int]:
    apart = [ours[name] - theirs[name] for name in ours if name in theirs]
    return sum(one > _EQUAL for one in apart), sum(one < -_EQUAL for one in apart)
