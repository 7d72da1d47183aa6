"""Paint Arena as the league hosts it: two seats, no roles, no `win`: who has painted more has won, and ties happen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalharness.arena.game.hosted import Hosted, Order, Played, Recorded, Variant
from pytest_evalharness.arena.game.keys import Key, config_schema, effective, results_schema

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.paint.match import Match

_KEYS = {
    "width": Key(12, "tiles from left to right", 4, 40),
    "height": Key(8, "tiles from top to bottom", 4, 40),
    "max_ticks": Key(100, "length of the match", 1, 10_000),
    "tick_rate": Key(5.0, "ticks a second", 0.1, 60),
    "player_connect_timeout_seconds": Key(180.0, "how long a player is waited for; has no effect here"),
}


class PaintArena(Hosted):
    """The painting game."""

    name = "paintarena"
    title = "Paint Arena"
    version = "0.2.0"
    description = (
        "Two painters walk a grid and paint the tile they stand on, over the other's paint too. "
        "The score is the number of tiles that bear one's paint at the end; the strictly higher score has won."
    )
    seats = 2
    variants = (
        Variant(
            "default",
            "Default",
            "A small canvas for twenty seconds.",
            {"width": 12, "height": 8, "max_ticks": 100, "tick_rate": 5},
        ),
    )
    gone_at = 40

    def cast(self) -> list[tuple[str, list[str]]]:
        """The players of the cast."""
        from pytest_evalharness.arena.game.paint.painters import CAST

        return [(name, list(builds)) for name, builds in CAST]

    def effective_config(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """The whole configuration."""
        return effective(_KEYS, overrides)

    def tick_limit(self, config: Mapping[str, Any]) -> int:
        """`max_ticks`."""
        return int(config["max_ticks"])

    def seconds(self, config: Mapping[str, Any], ticks: int) -> float:
        """`tick_rate` ticks a second."""
        return float(ticks / config["tick_rate"])

    def play(self, order: Order) -> Played:
        """Play a match."""
        match = self._match(order, record=False)
        return Played(match.results, match.ticks)

    def _match(self, order: Order, *, record: bool) -> Match:
        from pytest_evalharness.arena.game.paint.match import play

        builds, gone = self.attending(order)
        return play(self.effective_config(order.overrides), builds, order.seed, gone, record=record)

    def record(self, order: Order) -> Recorded:
        """Play a match for its record."""
        import json

        from pytest_evalharness.arena.game.telemetry import archive

        match = self._match(order, record=True)
        ticks = list(enumerate(zip(match.moves, match.painted, strict=True), start=1))
        game_log = "".join(
            json.dumps({"tick": tick, "moves": moves, "painted_tiles": painted}) + "\n"
            for tick, (moves, painted) in ticks
        )
        logs, uploads = [], []
        for seat, (_, build) in enumerate(order.seats):
            lines = [f"[{tick:>6}] {moves[seat]}, {painted[seat]} tiles" for tick, (moves, painted) in ticks]
            logs.append("".join(line + "\n" for line in (f"connected as slot {seat}", *lines)))
            rows = [
                {
                    "kind": "trace",
                    "tick": tick,
                    "event": "domain.tile_painted",
                    "name": "domain.tile_painted",
                    "data": {"move": moves[seat], "painted_tiles": painted[seat]},
                }
                for tick, (moves, painted) in ticks
            ]
            uploads.append(archive(rows, build))
        return Recorded(game_log, logs, uploads, uploads)

    def config_schema(self) -> dict[str, Any]:
        """The schema of the configuration."""
        return config_schema(_KEYS, self.seats)

    def results_schema(self) -> dict[str, Any]:
        """The schema of results.json."""
        tiles = {"type": "integer", "minimum": 0}
        return results_schema(
            self.seats, {"scores": {"type": "number"}, "painted_tiles": tiles}, {"ticks": tiles}
        )
