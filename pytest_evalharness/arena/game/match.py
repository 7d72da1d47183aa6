"""Playing one match: configuration, seating and seed in; results, length, digest and, if recorded, artifacts out."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from pytest_evalharness.arena.game.config import GameConfig
from pytest_evalharness.arena.game.logs import seat_logs
from pytest_evalharness.arena.game.policies import CATALOGUE
from pytest_evalharness.arena.game.policies.skill import Skill
from pytest_evalharness.arena.game.record import Event, Input, Recorder, unpack_inputs
from pytest_evalharness.arena.game.results import results_of
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.game.simulation import NEVER, Simulation


@dataclass(frozen=True, slots=True)
class SeatEntry:
    """Who sits where: a display name, and the build whose skills play.

    ``absent`` means the player never connects, ``drops_at`` the tick from which it is gone; both void the match
    after the configuration's timeout. ``crashes_at`` is the tick at which it breaks while its connection seems to stand:
    the match is played to its end without it.
    """

    name: str
    build: str
    absent: bool = False
    drops_at: int | None = None
    crashes_at: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A finished match.

    Attributes:
        results: the content of ``results.json``.
        ticks: length of the match from the lobby until it was decided (the game-over screen not counted).
        ending: why it ended, in words.
        digest: SHA-256 over seed, configuration, seating, results, length and all inputs.
        seed: the seed it was played with.
        events, inputs, logs: empty unless it was recorded; one log (lines of text) per seat.
    """

    results: dict[str, object]
    ticks: int
    ending: str
    digest: str
    seed: int
    events: tuple[Event, ...] = ()
    inputs: tuple[Input, ...] = ()
    logs: tuple[tuple[str, ...], ...] = ()


def play(
    config: GameConfig,
    seats: Sequence[SeatEntry],
    seed: int,
    *,
    record: bool = False,
    scoring: Scoring = Scoring.OUTCOME,
) -> Match:
    """Play a match. The same arguments give the same match, in every process and on every platform.

    Args:
        config: the rules; a seed in it other than -1 takes precedence over ``seed``.
        seats: one entry per seat, in slot order.
        seed: of all randomness in the match.
        record: also keep events, inputs and per-seat logs.
        scoring: how scores come about, and who wins at the time limit; it changes nothing of what is played.

    Raises:
        ConfigError: if the configuration does not fit this number of seats.
        UnknownBuildError: if a seat's build is not in the catalogue.
    """
    skills = [_skill(entry) for entry in seats]
    return play_skills(config, seats, skills, seed, record=record, scoring=scoring)


def play_skills(
    config: GameConfig,
    seats: Sequence[SeatEntry],
    skills: Sequence[Skill],
    seed: int,
    *,
    record: bool = False,
    scoring: Scoring = Scoring.OUTCOME,
) -> Match:
    """As `play`, with the skills given instead of looked up by build."""
    seed = seed if config.seed == -1 else config.seed
    recorder = Recorder(wants_events=record)
    simulation = Simulation(
        config,
        skills,
        seed,
        recorder,
        absent=[slot for slot, entry in enumerate(seats) if entry.absent],
        drops=[NEVER if entry.drops_at is None else entry.drops_at for entry in seats],
        crashes=[NEVER if entry.crashes_at is None else entry.crashes_at for entry in seats],
    )
    ending = simulation.run()
    results = results_of(simulation, [entry.name for entry in seats], scoring)
    digest = _digest(config, seats, simulation, results, seed)
    if not record:
        return Match(results, simulation.tick, ending.value, digest, seed)
    inputs = unpack_inputs(recorder.inputs)
    events = recorder.events(simulation.tick, config.game_over_ticks)
    logs = seat_logs(simulation, events, inputs)
    return Match(results, simulation.tick, ending.value, digest, seed, events, inputs, logs)


class UnknownBuildError(LookupError):
    """A build that is not in the catalogue."""


def _skill(entry: SeatEntry) -> Skill:
    try:
        return CATALOGUE[entry.build]
    except KeyError:
        raise UnknownBuildError(f"{entry.build}: no such build in the catalogue") from None


def _digest(
    config: GameConfig,
    seats: Sequence[SeatEntry],
    simulation: Simulation,
    results: dict[str, object],
    seed: int,
) -> str:
    """SHA-256 of everything that makes this match this match."""
    seating = [_seated(entry) for entry in seats]
    content = json.dumps([seed, seating, simulation.tick, results], sort_keys=True)
    digest = sha256((_canonical(config) + content).encode())
    inputs = simulation.recorder.inputs
    digest.update(struct.pack(f"<{len(inputs)}q", *inputs))
    return digest.hexdigest()


def _seated(entry: SeatEntry) -> tuple[object, ...]:
    """An entry as the digest has it; matches without crashes keep the digests that they always had."""
    told = (entry.name, entry.build, entry.absent, entry.drops_at)
    return told if entry.crashes_at is None else (*told, entry.crashes_at)


@lru_cache(maxsize=64)
def _canonical(config: GameConfig) -> str:
    return json.dumps(config.as_overrides(), sort_keys=True)
