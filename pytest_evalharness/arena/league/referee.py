"""The only door to the game: configurations checked, matches played. Everything that crosses it can be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_evalharness.arena.game.scoring import Scoring

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.match import SeatEntry

SEATS = 8
"""Every variant of the game has this many."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "crewrift-classic": {"voteTimerTicks": 7200, "killCooldownTicks": 800},
    "crewrift-prime": {"voteTimerTicks": 1200, "killCooldownTicks": 500},
}
"""What each variant sets; overrides replace whole keys on top."""

TICKS_PER_SECOND = 24


MISHAPS = ("connect", "disconnect", "crash")
"""How a player can fail a game that is played: it never connects, loses its connection, or breaks unnoticed."""

GONE_AT = 1_000
"""The tick at which a player that drops out, or breaks, does so."""


class RefusedConfigError(ValueError):
    """The game does not take this configuration; the message says why."""


@dataclass(frozen=True)
class Order:
    """A match to play: configuration overrides (variant included), seats as (display name, build), a seed."""

    overrides: Mapping[str, Any]
    seats: Sequence[tuple[str, str]]
    seed: int
    scoring: Scoring = Scoring.OUTCOME
    mishaps: Sequence[tuple[int, str]] = ()
    """Seats whose player fails, and in which of the `MISHAPS`."""


@dataclass(frozen=True)
class Played:
    """What a match left: `results` is results.json, `ticks` its length."""

    results: dict[str, Any]
    ticks: int


@dataclass(frozen=True)
class Recorded:
    """A match played for its record: the game's log, one log a seat, and what each seat would upload of its own play.

    `uploads` are zip archives of an adviser that answers, `silent_uploads` of one whose calls all fail.
    """

    game_log: str
    seat_logs: list[str]
    uploads: list[bytes]
    silent_uploads: list[bytes]


def effective_config(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration a match with these overrides has, under its public keys.

    Raises:
        RefusedConfigError: an unknown key or a value the game does not take.
    """
    from pytest_evalharness.arena.game.config import ConfigError, parse_config

    try:
        config = parse_config(overrides)
    except ConfigError as error:
        raise RefusedConfigError(str(error)) from error
    forced = len(config.slots)
    if forced > SEATS:
        raise RefusedConfigError(f"slots: {forced} entries for {SEATS} seats")
    if config.imposters_for(SEATS) > SEATS - sum(slot.role == "crew" for slot in config.slots):
        raise RefusedConfigError("imposterCount: more imposters than seats that may hold one")
    return config.as_overrides()


def play(order: Order) -> Played:
    """Play a match. Runs in a worker process."""
    from pytest_evalharness.arena.game.config import parse_config
    from pytest_evalharness.arena.game.match import play

    match = play(parse_config(order.overrides), _seated(order), order.seed, scoring=order.scoring)
    return Played(dict(match.results), match.ticks)


def _seated(order: Order) -> list[SeatEntry]:
    """The seats of a match, with what fails in them."""
    from pytest_evalharness.arena.game.match import SeatEntry

    fails = dict(order.mishaps)
    return [
        SeatEntry(
            name,
            build,
            absent=fails.get(seat) == "connect",
            drops_at=GONE_AT if fails.get(seat) == "disconnect" else None,
            crashes_at=GONE_AT if fails.get(seat) == "crash" else None,
        )
        for seat, (name, build) in enumerate(order.seats)
    ]


def play_many(orders: Sequence[Order]) -> list[Played]:
    """Play several matches in one go, for when nobody watches them one by one."""
    return [play(order) for order in orders]


def record(order: Order) -> Recorded:
    """Play a match again and keep what the first time did not: the same seed gives the same match."""
    from pytest_evalharness.arena.game.config import parse_config
    from pytest_evalharness.arena.game.match import play
    from pytest_evalharness.arena.game.telemetry import archive, telemetry

    match = play(parse_config(order.overrides), _seated(order), order.seed, record=True)
    logs = ["".join(line + "\n" for line in lines) for lines in match.logs]
    uploads, silent = (
        [
            archive(telemetry(match.events, seat, fires=fires), build)
            for seat, (_, build) in enumerate(order.seats)
        ]
        for fires in (True, False)
    )
    return Recorded(_game_log(match.events), logs, uploads, silent)


def _game_log(events: Sequence[Any]) -> str:
    import json

    return "".join(json.dumps(event._asdict(), sort_keys=True) + "\n" for event in events)


def cast() -> list[tuple[str, list[str]]]:
    """The players of the game's cast, each with its builds, oldest first."""
    from pytest_evalharness.arena.game.cast import CAST

    return [(player.name, list(player.builds)) for player in CAST]


_KIND = {bool: "boolean", int: "integer", str: "string", list: "array"}


def config_schema() -> dict[str, Any]:
    """The JSON schema of the game's configuration, as its manifest has it."""
    properties: dict[str, Any] = {
        key: {"type": _KIND[type(value)], "default": value} for key, value in effective_config({}).items()
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
    seats = {"type": "array", "minItems": SEATS, "maxItems": SEATS}
    properties["tokens"] = {**seats, "items": {"type": "string"}}
    properties["players"] = {**seats, "items": {"type": "object"}}
    return {
        "type": "object",
        "properties": properties,
        "required": ["tokens", "players"],
        "additionalProperties": False,
    }


_COUNTERS = (
    "tasks",
    "kills",
    "vote_players",
    "vote_skip",
    "vote_timeout",
    "connect_timeout",
    "disconnect_timeout",
)


def results_schema() -> dict[str, Any]:
    """The JSON schema of results.json, as the game's manifest has it."""

    def seats(items: dict[str, Any]) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "maxItems": 16, "items": items}

    properties: dict[str, Any] = {
        "names": seats({"type": "string"}),
        "scores": seats({"type": "number"}),
        "win": seats({"type": "boolean"}),
        "imposter": seats({"type": "integer", "minimum": 0, "maximum": 1}),
        "crew": seats({"type": "integer", "minimum": 0, "maximum": 1}),
        **{name: seats({"type": "integer", "minimum": 0}) for name in _COUNTERS},
        "any_seat_voted_or_no_meeting": {"type": "boolean"},
        "mean_kills_per_imposter_seat": {"type": "number"},
        "mean_tasks_per_seat": {"type": "number"},
    }
    return {"type": "object", "properties": properties, "required": ["scores"], "additionalProperties": False}
