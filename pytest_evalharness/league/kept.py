"""Comparisons as the ledger keeps them, whoever played them: their configurations, their builds, what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import SIDES
from pytest_evalharness.league.fields import EXTENSIONS, FieldsPlan
from pytest_evalharness.league.frozen import Frozen, frozen_of, keys_of, strata_of
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import PoolPlan
from pytest_evalharness.league.records import EpisodeRecord
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.records import Block, Comparison
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.verdict.claim import Declaration


@dataclass(frozen=True)
class Builds:
    """Who is compared with whom: versions tell it, labels are for people."""

    candidate: str
    baseline: str
    labels: tuple[str, str]

    @property
    def versions(self) -> tuple[str, str]:
        """The policy version ids in the tested seats."""
        return self.candidate, self.baseline

    def __str__(self) -> str:
        return " against ".join(map(printable, self.labels))


@dataclass(frozen=True)
class Part:
    """Two arms of a comparison: all of it, or one configuration of a pool.

    Attributes:
        name: which configuration or which field; empty for a comparison that has only one.
        plan: what was asked.
        builds: who is in the tested seats.
        frozen: who sat where; None while it is not frozen.
    """

    name: str
    plan: ComparisonPlan
    builds: Builds
    frozen: Frozen | None

    @property
    def labels(self) -> tuple[str, str]:
        """Who is in the tested seats, each as the numbered version that its label stood for; as it was asked before it is frozen."""
        if self.frozen is None:
            return self.builds.labels
        candidate, baseline = (self.frozen.arms[side].label for side in SIDES)
        return candidate, baseline

    def keys(self, side: str) -> tuple[str, ...]:
        """The keys of one side's arm and of its extensions; none while it is not frozen."""
        if self.frozen is None or self.frozen.comparison is None:
            return ()
        return tuple(keys_of(self.frozen.comparison, side))

    @property
    def arm_keys(self) -> tuple[str, ...]:
        """The keys of its two arms; none while it is not frozen."""
        if self.frozen is None or self.frozen.comparison is None:
            return ()
        return tuple(self.frozen.comparison.arms[side] for side in SIDES)


@dataclass(frozen=True)
class Kept:
    """One comparison of the ledger.

    Attributes:
        comparison: its row.
        plan: what was asked.
        parts: its arms, two by two.
        judgement: what was last concluded from all that it holds, plain data; None before, and while an extension is not judged.
        blocks: the requests of all its arms.
    """

    comparison: Comparison
    plan: ComparisonPlan | PoolPlan
    parts: tuple[Part, ...]
    judgement: dict[str, Any] | None
    blocks: tuple[Block, ...]

    @classmethod
    def read(cls, ledger: Ledger, comparison_id: str) -> Kept:
        """A comparison as it stands in the journal."""
        comparison = ledger.comparison(comparison_id)
        told = ledger.verdicts(comparison_id)
        plan = plan_of(comparison.plan)
        blocks = [block for key in comparison.arms.values() for block in ledger.blocks(key)]
        return cls(
            comparison,
            plan,
            tuple(_parts(comparison, plan)),
            told[-1].judgement if told and told[-1].recorded_at >= _extended_at(comparison) else None,
            tuple(blocks),
        )

    @property
    def declaration(self) -> Declaration:
        """What was declared."""
        return self.plan.declaration

    @property
    def played(self) -> bool:
        """Whether every request has brought its results."""
        return bool(self.blocks) and all(block.state is BlockState.FINISHED for block in self.blocks)

    @property
    def episodes(self) -> list[EpisodeRecord]:
        """The games of all its arms that are finished."""
        told = [block.evidence["episodes"] for block in self.blocks if block.evidence is not None]
        plan = self.plan if isinstance(self.plan, ComparisonPlan) else self.plan.plans[0]
        reading = plan.reading()
        return [EpisodeRecord.from_json(episode, reading) for episodes in told for episode in episodes]

    @property
    def cancelled(self) -> bool:
        """Whether somebody ended a request of it on purpose; what a planned look no longer needed is no such request."""
        return any(block.state is BlockState.CANCELLED and block.error is not None for block in self.blocks)

    @property
    def never_posted(self) -> bool:
        """Whether the server knows nothing of it."""
        return all(block.untouched for block in self.blocks)

    @property
    def name(self) -> str:
        """The case that asked, made harmless, and which attempt it is if it is not the first."""
        attempt = f" (attempt {self.comparison.attempt})" if self.comparison.attempt > 1 else ""
        return printable(self.comparison.case_name) + attempt

    @property
    def words(self) -> str:
        """What became of it: the verdict, or where it stands."""
        if self.judgement is not None:
            return str(self.judgement["verdict"])
        before = "extended, " if _extended_at(self.comparison) else ""
        if self.played:
            return f"{before}played, not judged yet"
        if self.cancelled:
            return f"{before}cancelled"
        return "not posted" if self.never_posted else f"{before}not finished"


def plan_of(told: dict[str, Any]) -> ComparisonPlan | PoolPlan:
    """The plan that a ledger keeps."""
    return PoolPlan.from_json(told) if "strata" in told else ComparisonPlan.from_json(told)


def _parts(comparison: Comparison, plan: ComparisonPlan | PoolPlan) -> Iterator[Part]:
    told = comparison.frozen
    if isinstance(plan, ComparisonPlan):
        first = None if told is None else frozen_of(comparison, told)
        yield from _fields(plan, _builds(comparison, plan), first)
        return
    frozen: list[Frozen | None] = [None] * len(plan.plans)
    if told is not None:
        frozen = list(strata_of(comparison, told))
    for (name, part), one in zip(plan.strata, frozen, strict=True):
        yield Part(name, part, _builds(comparison, part), one)


def _fields(plan: ComparisonPlan, builds: Builds, first: Frozen | None) -> Iterator[Part]:
    """A comparison's only two arms, or those of each field that it was played on."""
    if first is None or not first.later:
        yield Part("", plan, builds, first)
        return
    fields = first, *first.later
    for (name, part), one in zip(FieldsPlan.of(plan, fields).strata, fields, strict=True):
        yield Part(name, part, builds, one)


def _extended_at(comparison: Comparison) -> float:
    """When more games were last laid down for a comparison; 0 if none were."""
    extensions = (comparison.frozen or {}).get(EXTENSIONS, ())
    return float(extensions[-1]["at"]) if extensions else 0.0


def _builds(comparison: Comparison, plan: ComparisonPlan) -> Builds:
    versions = comparison.plan.get("versions", {})
    candidate, baseline = (plan.label(side) for side in SIDES)
    return Builds(versions.get(candidate, candidate), versions.get(baseline, baseline), (candidate, baseline))
