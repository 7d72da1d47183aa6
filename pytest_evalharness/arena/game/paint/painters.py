"""The painters: what a build can do, how it decides, and the cast of the league.

Skills say how well a build plays, never how often it wins: that comes out of play.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from pytest_evalharness.arena.game.paint.canvas import BARE, MOVES, STAY, Canvas, around

_STEPS: Final = tuple(move for move in MOVES if move != STAY)


@dataclass(frozen=True, slots=True)
class Skill:
    """What a build can do.

    Attributes:
        steadiness: the chance, at each tick, to step where it means to; else it steps anywhere.
        sight: how many steps away it can tell whose a tile is; where it sees none to paint, it wanders.
        appetite: how many steps further it goes for a tile that its rival has painted than for a bare one.
    """

    steadiness: float
    sight: int = 30
    appetite: int = 1


class Painter:
    """Plays one seat for one match. It decides from the canvas, which everybody sees."""

    __slots__ = ("_chance", "_seat", "_skill", "_target")

    def __init__(self, skill: Skill, seat: int, rng: Random) -> None:
        self._skill = skill
        self._seat = seat
        self._chance = rng.random
        self._target: int | None = None

    def move(self, canvas: Canvas) -> str:
        """The next move."""
        if self._chance() >= self._skill.steadiness:
            return self._anywhere()
        if self._target is None or canvas.owners[self._target] == self._seat:
            self._target = self._seen(canvas)
        if self._target is None:
            return self._anywhere()
        return canvas.towards(canvas.places[self._seat], self._target)

    def _anywhere(self) -> str:
        return _STEPS[int(self._chance() * len(_STEPS))]

    def _seen(self, canvas: Canvas) -> int | None:
        """The tile to paint next: the nearest, where those of the rival count as nearer than they are."""
        best, cost = None, float("inf")
        place = canvas.places[self._seat]
        for steps, tile in around(canvas.width, canvas.height, place, self._seat):
            if steps > self._skill.sight or steps - self._skill.appetite >= cost:
                break
            owner = canvas.owners[tile]
            if owner == self._seat:
                continue
            this = steps if owner == BARE else steps - self._skill.appetite
            if this < cost:
                best, cost = tile, this
        return best


SKILLS: Final = {
    "painter-1": Skill(0.62),
    # The edit: a steadier hand.
    "painter-2": Skill(0.8),
    # The edit: short-sighted, and shy of its rival's tiles.
    "painter-3": Skill(0.62, sight=2, appetite=0),
    "umber-1": Skill(0.55),
    "umber-2": Skill(0.7),
    "vermilion-1": Skill(0.6),
    "vermilion-2": Skill(0.72, appetite=2),
    "wisteria-1": Skill(0.58),
    "wisteria-2": Skill(0.66),
    "xanthic-1": Skill(0.5),
    "xanthic-2": Skill(0.62, appetite=2),
    "yarrow-1": Skill(0.5, sight=6),
    "yarrow-2": Skill(0.56, sight=8),
    "zaffre-1": Skill(0.4, sight=4),
    "zaffre-2": Skill(0.48, sight=6),
}
"""Every build's skill."""

CAST: Final = tuple(
    (name, tuple(build for build in SKILLS if build.startswith(f"{name}-")))
    for name in ("painter", "umber", "vermilion", "wisteria", "xanthic", "yarrow", "zaffre")
)
"""The players of the league, each with its builds, oldest first."""
