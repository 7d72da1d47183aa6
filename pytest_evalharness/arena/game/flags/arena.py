"""Capture the Flag as the league hosts it: four seats in two sides, each cloned from one captain.

`teamLayout` says which seats are a side's: with `interleaved` seat s is of side s mod `teamCount`, with `blocks` of side
s div (seats / `teamCount`). All seats of a side have its captures for a score; a side has won that has `capturesToWin`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalharness.arena.game.flags.field import BLOCKS, INTERLEAVED, SEATS, SIDES, side_of
from pytest_evalharness.arena.game.hosted import Hosted, Order, Played, Recorded, Variant
from pytest_evalharness.arena.game.keys import Key, config_schema, effective, results_schema

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.flags.match import Match

_TICKS_PER_SECOND = 24
_KEYS = {
    "seed": Key(-1, "-1 leaves it to the runner", -1, 2**63 - 1),
    "width": Key(13, "tiles from base to base", 5, 61),
    "height": Key(7, "tiles across", 3, 61),
    "maxTicks": Key(300, "length of a match that nobody wins before", 1, 100_000),
    "capturesToWin": Key(3, "a side with so many captures has won, and the match is over", 1, 100),
    "teamCount": Key(SIDES, "how many sides there are", SIDES, SIDES),
    "teamLayout": Key(
        INTERLEAVED,
        "which seats a side has: interleaved, seat s is of side s mod teamCount; blocks, of side s div (seats / teamCount)",
        choices=(INTERLEAVED, BLOCKS),
    ),
}


class CaptureTheFlag(Hosted):
    """The game of two sides."""

    name = "capture-the-flag"
    title = "Capture the Flag"
    version = "0.3.1"
    description = (
        "Two sides of two seats, each held by one captain, fetch the other's flag. "
        "A seat's score is its side's captures; a side that has capturesToWin has won, at maxTicks nobody has."
    )
    seats = SEATS
    variants = (
        Variant(
            "flags-parity",
            "Parity sides",
            "Seats 0 and 2 against seats 1 and 3.",
            {"teamCount": SIDES, "teamLayout": INTERLEAVED, "capturesToWin": 3, "maxTicks": 300},
        ),
        Variant(
            "flags-blocks",
            "Block sides",
            "Seats 0 and 1 against seats 2 and 3.",
            {"teamCount": SIDES, "teamLayout": BLOCKS, "capturesToWin": 3, "maxTicks": 300},
        ),
    )
    gone_at = 60

    def cast(self) -> list[tuple[str, list[str]]]:
        """The players of the cast."""
        from pytest_evalharness.arena.game.flags.captains import CAST

        return [(name, list(builds)) for name, builds in CAST]

    def effective_config(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """The whole configuration."""
        return effective(_KEYS, overrides)

    def tick_limit(self, config: Mapping[str, Any]) -> int:
        """`maxTicks`."""
        return int(config["maxTicks"])

    def seconds(self, config: Mapping[str, Any], ticks: int) -> float:
        """24 ticks a second."""
        del config
        return ticks / _TICKS_PER_SECOND

    def sides(self, config: Mapping[str, Any]) -> tuple[int, ...]:
        """As `teamLayout` says."""
        return tuple(side_of(seat, config["teamLayout"]) for seat in range(self.seats))

    def play(self, order: Order) -> Played:
        """Play a match."""
        match = self._match(order, record=False)
        return Played(match.results, match.ticks)

    def _match(self, order: Order, *, record: bool) -> Match:
        from pytest_evalharness.arena.game.flags.match import play

        builds, gone = self.attending(order)
        return play(self.effective_config(order.overrides), builds, order.seed, gone, record=record)

    def record(self, order: Order) -> Recorded:
        """Play a match for its record."""
        import json

        from pytest_evalharness.arena.game.telemetry import archive

        match = self._match(order, record=True)
        sides = self.sides(self.effective_config(order.overrides))
        game_log = "".join(json.dumps(event._asdict()) + "\n" for event in match.events)
        logs, uploads = [], []
        for seat, (_, build) in enumerate(order.seats):
            own = [event for event in match.events if seat in (event.seat, event.other)]
            lines = [
                f"[{event.tick:>6}] {event.key if event.seat == seat else f'{event.key} slot {event.seat}'}"
                for event in own
            ]
            head = [f"connected as slot {seat}", f"side {sides[seat]}"]
            logs.append("".join(line + "\n" for line in (*head, *lines)))
            rows = [
                {
                    "kind": "trace",
                    "tick": event.tick,
                    "event": f"domain.{event.key}",
                    "name": f"domain.{event.key}",
                    "data": {"seat": event.seat, "by": event.other},
                }
                for event in own
            ]
            uploads.append(archive(rows, build))
        return Recorded(game_log, logs, uploads, uploads)

    def config_schema(self) -> dict[str, Any]:
        """The schema of the configuration."""
        return config_schema(_KEYS, self.seats)

    def results_schema(self) -> dict[str, Any]:
        """The schema of results.json."""
        count: dict[str, Any] = {"type": "integer", "minimum": 0}
        per_seat = {
            "scores": {"type": "number", "description": "captures of the seat's side"},
            "teams": {**count, "description": "the seat's side"},
            "tags": count,
        }
        per_side = {"type": "array", "minItems": SIDES, "maxItems": SIDES, "items": count}
        return results_schema(self.seats, per_seat, {"captures": per_side, "ticks": count})
