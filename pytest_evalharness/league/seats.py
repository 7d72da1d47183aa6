"""Which seat plays which role, and which seat is tested. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

SEATS = 8
"""Crewrift's; every plan knows its own game's."""
IMPOSTERS = 2
NATURAL = "natural"
"""In place of a role that is not forced: the game deals it anew in every episode, and the results tell it."""


class Role(StrEnum):
    """A seat's forced role, in the game's own words."""

    CREW = "crew"
    IMPOSTER = "imposter"


@dataclass(frozen=True)
class Layout:
    """The forced roles by seat; the same in both arms of a comparison."""

    roles: tuple[Role, ...]

    def first(self, role: Role) -> int:
        """The lowest seat that plays a role. A role is tested by choosing a seat, never by moving roles."""
        return self.roles.index(role)

    def slots(self) -> list[dict[str, str]]:
        """The `slots` of a game config: one entry per seat, because the service replaces the whole key."""
        return [{"role": str(role)} for role in self.roles]


def layout(seed: int) -> Layout:
    """The forced-role layout of a seed.

    The imposters' seats are `random.Random(seed).sample(range(8), 2)`, as the runbook's own tool draws them,
    so a seed means the same layout here and there (679961 gives seats 2 and 3).
    """
    imposters = set(random.Random(seed).sample(range(SEATS), IMPOSTERS))
    return Layout(tuple(Role.IMPOSTER if seat in imposters else Role.CREW for seat in range(SEATS)))
