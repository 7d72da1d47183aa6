"""What a game is to a comparison: its seats and the sides they belong to, its roles, and the names of its settings. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import UsageError
from pytest_evalharness.verdict import wins

MAX_TICKS = "maxTicks"
SEED = "seed"
_TEAMS = re.compile(r"(parity|blocks)(?:/([0-9]{1,2}))?", re.ASCII)
_EACH = "none"
_NEAR = 3
_TWO = 2


class Roles(StrEnum):
    """What roles a game has: those that a request can force, those that the game deals and its results tell, or none."""

    FORCED = "forced"
    DEALT = "dealt"
    NONE = "none"


@dataclass(frozen=True)
class Game:
    """A game as far as a comparison must know it.

    Attributes:
        name: the coworld's name.
        sides: the side of each seat; a seat that plays for itself is a side of its own.
        roles: what roles it has.
        ticks: whether games are sent a tick limit: its settings know one, and it was asked for.
        win: when a side has won, where nobody declares it otherwise.
        pinned: settings that are sent with every game because its sides follow from them.
        keys: the names of its settings; None where nobody knows them. No part of what is asked.
        tells: the names in its results, likewise.
    """

    name: str
    sides: tuple[int, ...]
    roles: Roles = Roles.NONE
    ticks: bool = False
    win: str = wins.HIGHEST
    pinned: Mapping[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] | None = field(default=None, compare=False)
    tells: tuple[str, ...] | None = field(default=None, compare=False)

    @property
    def seats(self) -> int:
        """How many seats it has."""
        return len(self.sides)

    @property
    def teams(self) -> bool:
        """Whether a side has several seats."""
        return len(set(self.sides)) < self.seats

    def with_seat(self, seat: int) -> tuple[int, ...]:
        """The seats of a seat's side, in order; the first of them is its captain's."""
        return tuple(one for one, side in enumerate(self.sides) if side == self.sides[seat])

    @property
    def captains(self) -> tuple[int, ...]:
        """The first seat of each side, in order."""
        return tuple(dict.fromkeys(self.with_seat(seat)[0] for seat in range(self.seats)))

    def place(self, seat: int, tested_seat: int) -> int:
        """Which opponent sits in a seat that is not of the tested side: opponents take the other sides in order."""
        others = [captain for captain in self.captains if captain != self.with_seat(tested_seat)[0]]
        return others.index(self.with_seat(seat)[0])

    @property
    def words(self) -> str:
        """The game in words."""
        sides = len(set(self.sides))
        shape = f"{self.seats} seats" + (f" in {sides} sides" if self.teams else "")
        return f"{printable(self.name)}, {shape}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, a part of what is asked."""
        return {
            "name": self.name,
            "sides": list(self.sides),
            "roles": self.roles.value,
            "ticks": self.ticks,
            "win": self.win,
            **({"pinned": dict(self.pinned)} if self.pinned else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Game:
        """The game that `to_json` gave."""
        return cls(
            data["name"],
            tuple(data["sides"]),
            Roles(data["roles"]),
            ticks=data["ticks"],
            win=data["win"],
            pinned=data.get("pinned", {}),
        )


CREWRIFT = Game(
    "crewrift",
    tuple(range(8)),
    Roles.FORCED,
    ticks=True,
    win=wins.LISTED,
    keys=(
        "slots", "closedRoster", "fastMode", "seed", "minPlayers", "imposterCount", "autoImposterCount", "tasksPerPlayer",
        "buttonCalls", "startWaitTicks", "voteTimerTicks", "voteResultTicks", "connectTimeoutTicks", "disconnectTimeoutTicks",
        "killCooldownTicks", "buttonResetsKillCooldowns", "roleRevealTicks", "taskCompleteTicks", "messageCooldownTicks",
        "gameOverTicks", "maxTicks", "maxGames", "killRange", "ventRange", "reportRange", "showTaskArrows", "showTaskBubbles",
        "showPlayerLabels", "mapPath", "tokens", "players",
    ),
)  # fmt: skip
"""The league that the runbook is about. It is known without asking; only a setting that is not on this list is asked for."""


def sides_of(word: str, seats: int) -> tuple[int, ...]:
    """The side of each seat.

    Args:
        word: `parity` (seat s belongs to side s mod T) or `blocks` (to side s div (seats/T)), with `/T` for another number of
            sides than two; `none` where every seat is a side of its own.
        seats: how many seats there are.

    Raises:
        ValueError: the word is none of these, or the seats cannot be shared out so.
    """
    if word == _EACH:
        return tuple(range(seats))
    found = _TEAMS.fullmatch(word)
    if found is None:
        raise ValueError(
            f"teams must be 'parity', 'blocks', or either with a number of sides ('blocks/4'), or 'none', got {word!r}"
        )
    count = int(found[2] or _TWO)
    if not _TWO <= count <= seats or seats % count:
        raise ValueError(f"teams {word!r}: {seats} seats cannot be shared out to {count} sides")
    size = seats // count
    return tuple(seat % count if found[1] == "parity" else seat // size for seat in range(seats))


def require_keys(names: Iterable[str], game: Game) -> None:
    """Check the names of a game's settings before anything is posted.

    Raises:
        UsageError: the game has no such setting; tells the nearest that it has.
    """
    if game.keys is None:
        return
    for name in names:
        if name not in game.keys:
            raise UsageError(
                f"config sets {printable(name)!r}, and {printable(game.name)} has no such setting{_near(name, game.keys)}",
                not_done="nothing was submitted",
                next_step="correct the mark or the option and run the same command again",
            )


def _near(name: str, known: Sequence[str]) -> str:
    """The names that were probably meant; all of them where none is near."""
    lower = {one.lower(): one for one in known}
    near = [lower[one] for one in difflib.get_close_matches(name.lower(), list(lower), _NEAR)]
    if near:
        return f"; did you mean {' or '.join(repr(printable(one)) for one in near)}?"
    return f"; it has {', '.join(printable(one) for one in sorted(known)) or 'none at all'}"
