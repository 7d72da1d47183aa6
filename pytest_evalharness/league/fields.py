"""The fields that a comparison was played on: the one it was frozen on, and those that took its place. Pure.

More games are laid down as extensions, in order. One that brings a roster of its own begins a new field; any other adds
games to the field before it. Each extension's arms stand in the comparison under names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pytest_evalharness.base.text import printable
from pytest_evalharness.league.arms import SIDES, Arm
from pytest_evalharness.league.blocks import BlockSpec
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.pool_plan import Configurations
from pytest_evalharness.league.roster import Roster
from pytest_evalharness.ledger.journal import extended_side
from pytest_evalharness.verdict.words import Rule

EXTENSIONS = "extensions"
"""Under which key they stand beside what was frozen first."""
_MINUTE = len("2026-11-29T18:57")


@dataclass(frozen=True)
class Field:
    """One field with the arms that met it.

    Attributes:
        roster: the other seats.
        arms: who sat where, with every game that was added.
        names: under which names the arm and its extensions stand in the comparison, in order, by side.
    """

    roster: Roster
    arms: Mapping[str, Arm]
    names: Mapping[str, tuple[str, ...]]

    def arms_in(self, arms: Mapping[str, str]) -> dict[str, str]:
        """A comparison's arm keys, as if this field were the only one.

        Args:
            arms: all its keys, by name.
        """
        return {
            name: arms[stands]
            for side in SIDES
            for name, stands in zip(_names(side, len(self.names[side])), self.names[side], strict=True)
        }

    def extended(self, number: int, extension: Mapping[str, Any]) -> Field:
        """The field with the games of an extension; `number` is the extension's."""
        more = [BlockSpec(**block) for block in extension["blocks"]]
        return Field(
            self.roster,
            {side: self.arms[side].extended(more) for side in SIDES},
            {side: (*self.names[side], extended_side(side, number)) for side in SIDES},
        )


def fields_of(told: Mapping[str, Any]) -> list[Field]:
    """The fields of a comparison, in the order in which they were frozen.

    Args:
        told: what was frozen, with its extensions.
    """
    found = [_begun(told, {side: (side,) for side in SIDES})]
    for number, extension in enumerate(told.get(EXTENSIONS, ())):
        if "arms" in extension:
            found.append(_begun(extension, {side: (extended_side(side, number),) for side in SIDES}))
        else:
            found[-1] = found[-1].extended(number, extension)
    return found


def _begun(told: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> Field:
    arms = {side: Arm.from_json(side, told["arms"][side]) for side in SIDES}
    return Field(Roster.from_json(told["roster"]), arms, names)


def _names(side: str, count: int) -> list[str]:
    """How an arm and its extensions are called where there is only one field."""
    return [side, *(extended_side(side, number) for number in range(count - 1))]


class Met(Protocol):
    """A field and the arms that met it, as they are kept or as they are played."""

    @property
    def roster(self) -> Roster:
        """The other seats."""

    @property
    def arms(self) -> Mapping[str, Arm]:
        """Who sat where, by side."""


@dataclass(frozen=True)
class FieldsPlan(Configurations):
    """One comparison on several fields: each is a stratum, and what was declared for the first is claimed of all."""

    @classmethod
    def of(cls, plan: ComparisonPlan, fields: Sequence[Met]) -> FieldsPlan:
        """The plan of a comparison that was extended by further fields.

        Args:
            plan: what was asked.
            fields: all its fields.
        """
        return cls(
            tuple(f"field {n} ({_frozen_at(one.roster)})" for n, one in enumerate(fields, 1)),
            (plan, *(_on_a_later_field(plan, one.arms[SIDES[0]].episodes) for one in fields[1:])),
        )

    @property
    def title(self) -> str:
        """What it is called, for people."""
        return f"{'A/A' if self.aa else 'A/B'} {printable(self.plans[0].subject)}"


def _on_a_later_field(plan: ComparisonPlan, episodes: int) -> ComparisonPlan:
    """What is asked on a field that was added after results were seen: no look is planned there, and no rule of one look stands."""
    declared = replace(plan.declaration, rule=Rule.OVERLAP, looks=())
    return replace(plan, episodes=episodes, declaration=declared)


def _frozen_at(roster: Roster) -> str:
    return f"{printable(roster.resolved_at)[:_MINUTE]}Z"
