"""The cast: the players of the league, their versions and how strong they are meant to be.

The tiers are an intention that playing has to confirm; nothing in a match reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Tier(StrEnum):
    """Where a player's latest version stands in mixed-role play."""

    OWN = "own"  # the user's own player: never in its own field
    STRONG = "strong"  # the seven that fill the other seats of a comparison
    CREW_ONLY = "crew only"  # excellent crew, hopeless imposter: behind the strong seven overall
    MIDDLING = "middling"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Player:
    """A player of the league; its builds are numbered from 1, the last is its latest."""

    name: str
    tier: Tier
    versions: int

    @property
    def builds(self) -> tuple[str, ...]:
        """The build behind each version, oldest first."""
        return tuple(f"{self.name}-{version}" for version in range(1, self.versions + 1))


CAST: Final = (
    Player("keeper", Tier.OWN, 4),
    Player("aurora", Tier.STRONG, 5),
    Player("basilisk", Tier.STRONG, 4),
    Player("cobalt", Tier.STRONG, 6),
    Player("drifter", Tier.STRONG, 4),
    Player("ember", Tier.STRONG, 3),
    Player("fathom", Tier.STRONG, 5),
    Player("gantry", Tier.STRONG, 4),
    Player("rival", Tier.CREW_ONLY, 3),
    Player("harrow", Tier.MIDDLING, 4),
    Player("isotope", Tier.MIDDLING, 5),
    Player("juniper", Tier.MIDDLING, 3),
    Player("kestrel", Tier.MIDDLING, 4),
    Player("lantern", Tier.MIDDLING, 3),
    Player("marlin", Tier.MIDDLING, 4),
    Player("nimbus", Tier.WEAK, 3),
    Player("orchard", Tier.WEAK, 4),
    Player("pylon", Tier.WEAK, 3),
    Player("quarry", Tier.WEAK, 3),
    Player("rook", Tier.WEAK, 4),
    Player("sable", Tier.WEAK, 3),
    Player("tundra", Tier.WEAK, 3),
)
