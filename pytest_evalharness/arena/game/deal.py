"""What every seat is dealt before a match: a role, tasks, and what it knows from the start."""

from __future__ import annotations

from random import Random

from pytest_evalharness.arena.game import station
from pytest_evalharness.arena.game.config import GameConfig
from pytest_evalharness.arena.game.policies.observation import Observation, Rules


def deal(config: GameConfig, players: int, imposters: frozenset[int], chance: Random) -> list[Observation]:
    """The first observation of every seat. Crew get tasks; imposters get to know each other."""
    rules = Rules(
        players=players,
        imposters=len(imposters),
        task_ticks=config.task_complete_ticks,
        kill_cooldown=config.kill_cooldown_ticks,
        kill_range=config.kill_range,
        report_range=config.report_range,
        vent_range=config.vent_range,
    )
    observations = []
    for seat in range(players):
        fellows = sorted(imposters - {seat}) if seat in imposters else None
        tasks = _tasks(config.tasks_per_player, chance) if fellows is None else []
        observations.append(
            Observation(
                rules, seat, room=station.HUB, tasks=tasks, buttons=config.button_calls, fellows=fellows
            )
        )
    return observations


def _tasks(wanted: int, chance: Random) -> list[int]:
    """Different stations as long as there are any, each given by its room."""
    stations = list(station.STATIONS)
    all_of_them, rest = divmod(wanted, len(stations))
    return stations * all_of_them + chance.sample(stations, rest)
