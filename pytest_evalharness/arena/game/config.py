"""The rules of one match: the Crewrift configuration keys, validated.

Keys that change play: ``seed``, ``minPlayers``, ``imposterCount``, ``autoImposterCount``, ``slots``,
``tasksPerPlayer``, ``buttonCalls``, ``startWaitTicks``, ``roleRevealTicks``, ``voteTimerTicks``,
``voteResultTicks``, ``messageCooldownTicks``, ``killCooldownTicks``, ``buttonResetsKillCooldowns``,
``taskCompleteTicks``, ``connectTimeoutTicks``, ``disconnectTimeoutTicks``, ``maxTicks``, ``killRange``,
``ventRange`` and ``reportRange`` (the longer the reach, the shorter the walk within a room). ``gameOverTicks`` only
dates the end of the event log.

Accepted, validated and without effect on a simulated match: ``closedRoster``, ``fastMode`` (pacing belongs to
whoever runs the match), ``maxGames`` (a match is one game), ``mapPath`` (there is one map), the ``show…`` switches
and a slot's ``color`` and ``token``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal, cast, get_args

Role = Literal["crew", "imposter"]

MAX_SLOTS: Final = 16
_TICKS_MAX: Final = 1_000_000
_SEED_MAX: Final = 2**63 - 1
_SLOT_KEYS: Final = ("role", "color", "token")
_INJECTED: Final = ("tokens", "players")


class ConfigError(ValueError):
    """A configuration the game refuses; the message names the key."""


@dataclass(frozen=True, slots=True)
class SlotRule:
    """What the configuration says of one seat; ``role`` None leaves the seat to the draw."""

    role: Role | None = None
    color: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class GameConfig:
    """All keys of a match, at the defaults of the classic variant. Durations are in ticks, 24 a second.

    ``seed`` -1 leaves the seed to the caller of `match.play`. ``maxTicks`` counts every tick from the lobby on,
    meetings included; 0 means no limit (a match that does not end by itself is stopped after a million ticks).
    """

    slots: tuple[SlotRule, ...] = ()
    closed_roster: bool = False
    fast_mode: bool = True
    seed: int = -1
    min_players: int = 8
    imposter_count: int = 2
    auto_imposter_count: bool = False
    tasks_per_player: int = 8
    button_calls: int = 1
    start_wait_ticks: int = 120
    vote_timer_ticks: int = 7200
    vote_result_ticks: int = 72
    connect_timeout_ticks: int = 2880
    disconnect_timeout_ticks: int = 720
    kill_cooldown_ticks: int = 800
    button_resets_kill_cooldowns: bool = False
    role_reveal_ticks: int = 120
    task_complete_ticks: int = 72
    message_cooldown_ticks: int = 100
    game_over_ticks: int = 360
    max_ticks: int = 10_000
    max_games: int = 0
    kill_range: int = 20
    vent_range: int = 16
    report_range: int = 20
    show_task_arrows: bool = True
    show_task_bubbles: bool = True
    show_player_labels: bool = True
    map_path: str = ""

    def imposters_for(self, players: int) -> int:
        """How many imposters a match of this many players has."""
        if self.auto_imposter_count:
            return 0 if players < 5 else (players - 3) // 2  # noqa: PLR2004 - the rule itself
        return self.imposter_count

    def as_overrides(self) -> dict[str, object]:
        """The configuration under its public keys, as JSON values."""
        out: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            out[_camel(field.name)] = (
                [{k: v for k in _SLOT_KEYS if (v := getattr(slot, k)) is not None} for slot in value]
                if field.name == "slots"
                else value
            )
        return out


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


_FIELD_OF_KEY: Final = {_camel(field.name): field.name for field in fields(GameConfig)}
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "seed": (-1, _SEED_MAX),
    "minPlayers": (1, MAX_SLOTS),
    "imposterCount": (0, MAX_SLOTS),
    "tasksPerPlayer": (0, 100),
    "buttonCalls": (0, 100),
    "voteTimerTicks": (1, _TICKS_MAX),
    "taskCompleteTicks": (1, _TICKS_MAX),
    "killRange": (0, 1000),
    "ventRange": (0, 1000),
    "reportRange": (0, 1000),
}
KEYS: Final = tuple(_FIELD_OF_KEY)


def parse_config(overrides: Mapping[str, object]) -> GameConfig:
    """The configuration with these keys replaced, whole keys at a time.

    Raises:
        ConfigError: for an unknown or injected key, a value of the wrong type or out of range, or more forced
            imposters than the match has.
    """
    values: dict[str, object] = {}
    for key, value in overrides.items():
        if key in _INJECTED:
            raise ConfigError(f"{key}: set by the runner, it cannot be overridden")
        name = _FIELD_OF_KEY.get(key)
        if name is None:
            raise ConfigError(f"{key}: unknown game config key")
        values[name] = _slots(value) if key == "slots" else _scalar(key, value)
    config = GameConfig(**values)  # type: ignore[arg-type] # each value was checked against its field above
    _check_forced_roles(config)
    return config


def check_players(config: GameConfig, players: int) -> None:
    """Refuse a number of seats this configuration cannot be played with.

    Raises:
        ConfigError: naming the key.
    """
    if players > MAX_SLOTS:
        raise ConfigError(f"players: at most {MAX_SLOTS}, not {players}")
    if players < config.min_players:
        raise ConfigError(f"minPlayers: {config.min_players} players needed, {players} seats given")
    if len(config.slots) > players:
        raise ConfigError(f"slots: {len(config.slots)} entries for {players} seats")


def _scalar(key: str, value: object) -> object:
    default = _DEFAULTS[key]
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ConfigError(f"{key}: must be true or false, not {value!r}")
        return value
    if isinstance(default, str):
        if not isinstance(value, str):
            raise ConfigError(f"{key}: must be a string, not {value!r}")
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{key}: must be an integer, not {value!r}")
    low, high = _RANGES.get(key, (0, _TICKS_MAX))
    if not low <= value <= high:
        raise ConfigError(f"{key}: must be from {low} to {high}, not {value}")
    return value


def _slots(value: object) -> tuple[SlotRule, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise ConfigError(f"slots: must be a list of objects, not {value!r}")
    if len(value) > MAX_SLOTS:
        raise ConfigError(f"slots: at most {MAX_SLOTS} entries, not {len(value)}")
    return tuple(_slot(index, entry) for index, entry in enumerate(value))


def _slot(index: int, entry: object) -> SlotRule:
    where = f"slots[{index}]"
    if not isinstance(entry, Mapping):
        raise ConfigError(f'{where}: must be an object such as {{"role": "crew"}}, not {entry!r}')
    for key, value in entry.items():
        if key not in _SLOT_KEYS:
            raise ConfigError(f"{where}.{key}: unknown key")
        if not isinstance(value, str):
            raise ConfigError(f"{where}.{key}: must be a string, not {value!r}")
    role = entry.get("role")
    if role is not None and role not in get_args(Role):
        raise ConfigError(f'{where}.role: must be "crew" or "imposter", not {role!r}')
    return SlotRule(cast("Role | None", role), entry.get("color"), entry.get("token"))


def _check_forced_roles(config: GameConfig) -> None:
    forced = sum(slot.role == "imposter" for slot in config.slots)
    if not config.auto_imposter_count and forced > config.imposter_count:
        raise ConfigError(f"slots: {forced} forced imposters, but imposterCount is {config.imposter_count}")


_DEFAULTS: Final = {key: getattr(GameConfig(), name) for key, name in _FIELD_OF_KEY.items()}
