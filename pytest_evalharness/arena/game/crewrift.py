"""Crewrift as the league hosts it: eight seats with hidden roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_evalharness.arena.game.hosted import Hosted, Order, Played, Recorded, RefusedConfigError, Variant
from pytest_evalharness.arena.game.scoring import Scoring

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.match import SeatEntry

_TICKS_PER_SECOND = 24
_KIND = {bool: "boolean", int: "integer", str: "string", list: "array"}
_COUNTERS = (
    "tasks",
    "kills",
    "vote_players",
    "vote_skip",
    "vote_timeout",
    "connect_timeout",
    "disconnect_timeout",
)


class Crewrift(Hosted):
    """The hidden-role game."""

    name = "crewrift"
    title = "Crewrift"
    version = "0.6.2"
    description = "Two imposters among eight: tasks, kills, meetings and votes."
    seats = 8
    variants = (
        Variant(
            "crewrift-classic",
            "Classic",
            "Long meetings, slow kills.",
            {"voteTimerTicks": 7200, "killCooldownTicks": 800},
        ),
        Variant(
            "crewrift-prime",
            "Prime",
            "Shorter meetings, faster kills.",
            {"voteTimerTicks": 1200, "killCooldownTicks": 500},
        ),
    )
    gone_at = 1_000

    def cast(self) -> list[tuple[str, list[str]]]:
        """The players of the cast."""
        from pytest_evalharness.arena.game.cast import CAST

        return [(player.name, list(player.builds)) for player in CAST]

    def effective_config(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """The whole configuration."""
        from pytest_evalharness.arena.game.config import ConfigError, parse_config

        try:
            config = parse_config(overrides)
        except ConfigError as error:
            raise RefusedConfigError(str(error)) from error
        forced = len(config.slots)
        if forced > self.seats:
            raise RefusedConfigError(f"slots: {forced} entries for {self.seats} seats")
        if config.imposters_for(self.seats) > self.seats - sum(slot.role == "crew" for slot in config.slots):
            raise RefusedConfigError("imposterCount: more imposters than seats that may hold one")
        return config.as_overrides()

    def tick_limit(self, config: Mapping[str, Any]) -> int:
        """`maxTicks`."""
        return int(config["maxTicks"])

    def seconds(self, config: Mapping[str, Any], ticks: int) -> float:
        """24 ticks a second."""
        del config
        return ticks / _TICKS_PER_SECOND

    def play(self, order: Order) -> Played:
        """Play a match."""
        from pytest_evalharness.arena.game.config import parse_config
        from pytest_evalharness.arena.game.match import play

        match = play(parse_config(order.overrides), self._seated(order), order.seed, scoring=order.scoring)
        return Played(dict(match.results), match.ticks)

    def _seated(self, order: Order) -> list[SeatEntry]:
        """The seats of a match, with what fails in them."""
        from pytest_evalharness.arena.game.match import SeatEntry

        fails = dict(order.mishaps)
        return [
            SeatEntry(
                name,
                build,
                absent=fails.get(seat) == "connect",
                drops_at=self.gone_at if fails.get(seat) == "disconnect" else None,
                crashes_at=self.gone_at if fails.get(seat) == "crash" else None,
            )
            for seat, (name, build) in enumerate(order.seats)
        ]

    def record(self, order: Order) -> Recorded:
        """Play a match for its record."""
        from pytest_evalharness.arena.game.config import parse_config
        from pytest_evalharness.arena.game.match import play
        from pytest_evalharness.arena.game.telemetry import archive, telemetry

        match = play(parse_config(order.overrides), self._seated(order), order.seed, record=True)
        logs = ["".join(line + "\n" for line in lines) for lines in match.logs]
        uploads, silent = (
            [
                archive(telemetry(match.events, seat, fires=fires), build)
                for seat, (_, build) in enumerate(order.seats)
            ]
            for fires in (True, False)
        )
        return Recorded(_game_log(match.events), logs, uploads, silent)

    def rescored(self, results: Mapping[str, Any], scoring: Scoring) -> dict[str, Any]:
        """The league has counted in two ways."""
        return {**results, "scores": scoring.points(results)}

    def config_schema(self) -> dict[str, Any]:
        """The schema of the configuration."""
        properties: dict[str, Any] = {
            key: {"type": _KIND[type(value)], "default": value}
            for key, value in self.effective_config({}).items()
        }
        slot = {
            "type": "object",
            "properties": {
                "role": {"type": "string", "enum": ["crew", "imposter"]},
                "color": {"type": "string"},
                "token": {"type": "string"},
            },
            "additionalProperties": False,
        }
        properties["slots"] = {"type": "array", "maxItems": 16, "items": slot, "default": []}
        seats = {"type": "array", "minItems": self.seats, "maxItems": self.seats}
        properties["tokens"] = {**seats, "items": {"type": "string"}}
        properties["players"] = {**seats, "items": {"type": "object"}}
        return {
            "type": "object",
            "properties": properties,
            "required": ["tokens", "players"],
            "additionalProperties": False,
        }

    def results_schema(self) -> dict[str, Any]:
        """The schema of results.json."""

        def per_seat(items: dict[str, Any]) -> dict[str, Any]:
            return {"type": "array", "minItems": 1, "maxItems": 16, "items": items}

        properties: dict[str, Any] = {
            "names": per_seat({"type": "string"}),
            "scores": per_seat({"type": "number"}),
            "win": per_seat({"type": "boolean"}),
            "imposter": per_seat({"type": "integer", "minimum": 0, "maximum": 1}),
            "crew": per_seat({"type": "integer", "minimum": 0, "maximum": 1}),
            **{name: per_seat({"type": "integer", "minimum": 0}) for name in _COUNTERS},
            "any_seat_voted_or_no_meeting": {"type": "boolean"},
            "mean_kills_per_imposter_seat": {"type": "number"},
            "mean_tasks_per_seat": {"type": "number"},
        }
        return {
            "type": "object",
            "properties": properties,
            "required": ["scores"],
            "additionalProperties": False,
        }


def _game_log(events: Sequence[Any]) -> str:
    import json

    return "".join(json.dumps(event._asdict(), sort_keys=True) + "\n" for event in events)
