"""The captains: what a build can do, how its seats decide, and the cast of the league.

A captain holds all seats of its side; they share its skills, not their thoughts. Skills say how well a build plays, never how
often it wins: that comes out of play.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from pytest_evalharness.arena.game.flags.field import Field, Place

_NEAR: Final = 3


@dataclass(frozen=True, slots=True)
class Skill:
    """What a build can do.

    Attributes:
        pace: the chance, at each tick, that a seat takes its step.
        evasion: the chance to go round an opponent that is near, in its half.
        watch: the chance that a defender goes for an intruder rather than stays with the flag.
        grip: the chance, at each tick, to tag an intruder within reach.
    """

    pace: float
    evasion: float
    watch: float
    grip: float


class Runner:
    """Plays one seat for one match. The first seat of a side attacks, the others defend."""

    __slots__ = ("_attacks", "_chance", "_seat", "_skill")

    def __init__(self, skill: Skill, seat: int, rng: Random, *, attacks: bool) -> None:
        self._skill = skill
        self._seat = seat
        self._chance = rng.random
        self._attacks = attacks

    def goes(self, field: Field) -> Place:
        """Where it goes: one step, or none."""
        here = field.places[self._seat]
        if self._chance() >= self._skill.pace:
            return here
        if not self._attacks:
            return self._step(field, self._post(field))
        side = field.sides[self._seat]
        goal = field.base(side if field.carries(self._seat) else 1 - side)
        if field.intrudes(self._seat):
            others = [field.places[other] for other in field.opponents[self._seat]]
            near = [place for place in others if field.distance(here, place) <= _NEAR]
            if near and self._chance() < self._skill.evasion:
                return self._round(field, goal, near)
        return self._step(field, goal)

    def _post(self, field: Field) -> Place:
        """Where a defender wants to be: at the nearest intruder that it watches, else by its flag."""
        home = field.base(field.sides[self._seat])
        intruders = [field.places[other] for other in field.opponents[self._seat] if field.intrudes(other)]
        if intruders and self._chance() < self._skill.watch:
            return min(
                intruders, key=lambda place: (field.distance(place, field.places[self._seat]), place[1])
            )
        return home

    def _step(self, field: Field, goal: Place) -> Place:
        column, row = field.places[self._seat]
        across, down = goal[0] - column, goal[1] - row
        # Of two ways that are as good as one another any is taken, or everybody would be met half-way.
        if across and (not down or self._chance() < abs(across) / (abs(across) + abs(down))):
            return column + (1 if across > 0 else -1), row
        return (column, row + (1 if down > 0 else -1)) if down else (column, row)

    def _round(self, field: Field, goal: Place, near: list[Place]) -> Place:
        """The step that keeps clear of who is near, and of those the one that leads on."""
        column, row = field.places[self._seat]
        ways = [
            (column + across, row + down)
            for across, down in ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0))
            if 0 <= column + across < field.width and 0 <= row + down < field.height
        ]

        def worth(place: Place) -> tuple[int, int, float]:
            clear = min(field.distance(place, other) for other in near)
            return min(clear, 2), -field.distance(place, goal), self._chance()

        return max(ways, key=worth)

    def tags(self) -> bool:
        """Whether it gets hold of an intruder within reach."""
        return self._chance() < self._skill.grip


SKILLS: Final = {
    "warden-1": Skill(pace=0.8, evasion=0.5, watch=0.6, grip=0.15),
    # The edit: quicker on its feet, and fewer detours.
    "warden-2": Skill(pace=0.9, evasion=0.3, watch=0.7, grip=0.17),
    # The edit: hardly leaves its flag any more.
    "warden-3": Skill(pace=0.8, evasion=0.5, watch=0.2, grip=0.1),
    "anvil-1": Skill(pace=0.8, evasion=0.4, watch=0.7, grip=0.15),
    "anvil-2": Skill(pace=0.84, evasion=0.6, watch=0.75, grip=0.16),
    "bulwark-1": Skill(pace=0.78, evasion=0.4, watch=0.8, grip=0.16),
    "bulwark-2": Skill(pace=0.8, evasion=0.5, watch=0.85, grip=0.18),
    "citadel-1": Skill(pace=0.8, evasion=0.4, watch=0.5, grip=0.15),
    "citadel-2": Skill(pace=0.82, evasion=0.5, watch=0.6, grip=0.15),
    "drawbridge-1": Skill(pace=0.74, evasion=0.4, watch=0.5, grip=0.14),
    "drawbridge-2": Skill(pace=0.78, evasion=0.5, watch=0.5, grip=0.14),
    "escarp-1": Skill(pace=0.74, evasion=0.3, watch=0.4, grip=0.12),
    "escarp-2": Skill(pace=0.76, evasion=0.4, watch=0.4, grip=0.14),
    "flanker-1": Skill(pace=0.7, evasion=0.3, watch=0.3, grip=0.11),
    "flanker-2": Skill(pace=0.74, evasion=0.3, watch=0.4, grip=0.11),
}
"""Every build's skill."""

CAST: Final = tuple(
    (name, tuple(build for build in SKILLS if build.startswith(f"{name}-")))
    for name in ("warden", "anvil", "bulwark", "citadel", "drawbridge", "escarp", "flanker")
)
"""The players of the league, each with its builds, oldest first."""
