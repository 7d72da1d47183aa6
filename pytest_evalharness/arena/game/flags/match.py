"""Playing one match: field and captains in, results and, if it is recorded, what happened out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from pytest_evalharness.arena.game.flags.captains import SKILLS, Runner
from pytest_evalharness.arena.game.flags.field import SEATS, Field
from pytest_evalharness.arena.game.streams import stream


class Event(NamedTuple):
    """Something that happened to a seat: it took a flag, captured it, or was tagged by another."""

    tick: int
    seat: int
    key: str
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A finished match: results.json, its length, and its events if it was recorded."""

    results: dict[str, Any]
    ticks: int
    events: list[Event] = field(default_factory=list)


def play(
    config: Mapping[str, Any],
    builds: Sequence[str],
    seed: int,
    gone: Mapping[int, int],
    *,
    record: bool = False,
) -> Match:
    """Play a match. The same arguments give the same match, in every process and on every platform.

    Args:
        config: the whole configuration; a seed in it other than -1 takes precedence over `seed`.
        builds: the build in each seat.
        seed: of all randomness in the match.
        gone: the tick from which a seat's player does nothing any more, for seats whose player fails.
        record: also keep what happened.

    Raises:
        KeyError: a build is not in the catalogue.
    """
    seed = config["seed"] if config["seed"] != -1 else seed
    ground = Field(config["width"], config["height"], config["teamLayout"])
    table = _Table(ground, builds, seed, gone)
    tick = 0
    while tick < config["maxTicks"] and max(ground.captures) < config["capturesToWin"]:
        table.play_tick(tick, config["capturesToWin"])
        tick += 1
    captures = list(ground.captures)
    results = {
        "scores": [captures[side] for side in ground.sides],
        "teams": list(ground.sides),
        "captures": captures,
        "tags": table.tags,
        "ticks": tick,
    }
    return Match(results, tick, table.events if record else [])


class _Table:
    """The seats at play: who is there, in which order they move, and what happens."""

    def __init__(self, ground: Field, builds: Sequence[str], seed: int, gone: Mapping[int, int]) -> None:
        self._ground = ground
        self._gone = gone
        self._order: Random = stream(seed, "flags/order")
        self._runners = [
            Runner(
                SKILLS[build],
                seat,
                stream(seed, f"flags/{seat}"),
                attacks=seat == ground.sides.index(ground.sides[seat]),
            )
            for seat, build in enumerate(builds)
        ]
        self.tags = [0] * SEATS
        self.events: list[Event] = []

    def play_tick(self, tick: int, enough: int) -> None:
        """Everybody moves, in an order that is drawn anew, then tags; nobody does after the capture that decides."""
        seats = [seat for seat in range(SEATS) if tick < self._gone.get(seat, tick + 1)]
        self._order.shuffle(seats)
        for seat in seats:
            self._move(tick, seat)
            if max(self._ground.captures) == enough:
                return
        for seat in seats:
            self._tag(tick, seat)

    def _move(self, tick: int, seat: int) -> None:
        carried = self._ground.carries(seat)
        self._ground.move(seat, self._runners[seat].goes(self._ground))
        if self._ground.carries(seat) is not carried:  # nobody loses a flag by moving but at home
            self.events.append(Event(tick, seat, "captured" if carried else "took_flag"))

    def _tag(self, tick: int, seat: int) -> None:
        ground = self._ground
        for other in ground.opponents[seat]:
            if not ground.intrudes(other) or ground.distance(ground.places[seat], ground.places[other]) > 1:
                continue
            if self._runners[seat].tags():
                ground.tagged(other)
                self.tags[seat] += 1
                self.events.append(Event(tick, other, "tagged", seat))
