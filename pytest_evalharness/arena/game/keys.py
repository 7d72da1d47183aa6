"""A game's configuration keys as a table, from which both its check and its JSON schema are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.arena.game.hosted import RefusedConfigError

_INJECTED = ("tokens", "players")


@dataclass(frozen=True, slots=True)
class Key:
    """One key. Its type is that of its default; a float takes integers too, and nobody takes a boolean for a number.

    Attributes:
        default: what it is where nothing sets it.
        low, high: the range of a number, both ends included.
        choices: what a text may be.
        about: what it means.
    """

    default: int | float | str
    about: str
    low: float = 0
    high: float = 1_000_000
    choices: tuple[str, ...] = ()

    def checked(self, name: str, value: object) -> Any:
        """The value.

        Raises:
            RefusedConfigError: it is none for this key.
        """
        if self.choices:
            if value not in self.choices:
                raise RefusedConfigError(f"{name}: must be one of {', '.join(self.choices)}, not {value!r}")
            return value
        kinds = (int, float) if isinstance(self.default, float) else (int,)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise RefusedConfigError(f"{name}: must be {self._kind()}, not {value!r}")
        if not self.low <= value <= self.high:
            raise RefusedConfigError(f"{name}: must be from {self.low:g} to {self.high:g}, not {value}")
        return value

    def _kind(self) -> str:
        return "a number" if isinstance(self.default, float) else "an integer"

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        if self.choices:
            kind: dict[str, Any] = {"type": "string", "enum": list(self.choices)}
        else:
            name = "number" if isinstance(self.default, float) else "integer"
            kind = {"type": name, "minimum": self.low, "maximum": self.high}
        return {**kind, "default": self.default, "description": self.about}


def effective(keys: Mapping[str, Key], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration with these keys replaced.

    Raises:
        RefusedConfigError: an unknown or injected key, or a value that a key does not take.
    """
    config: dict[str, Any] = {name: key.default for name, key in keys.items()}
    for name, value in overrides.items():
        if name in _INJECTED:
            raise RefusedConfigError(f"{name}: set by the runner, it cannot be overridden")
        if name not in keys:
            raise RefusedConfigError(f"{name}: unknown game config key")
        config[name] = keys[name].checked(name, value)
    return config


def config_schema(keys: Mapping[str, Key], seats: int) -> dict[str, Any]:
    """The JSON schema of a configuration with these keys, for so many seats."""
    exactly = {"type": "array", "minItems": seats, "maxItems": seats}
    name = {"type": "string", "minLength": 1}
    player = {
        "type": "object",
        "properties": {"name": name},
        "required": ["name"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            **{key: each.schema() for key, each in keys.items()},
            "tokens": {**exactly, "items": name},
            "players": {**exactly, "items": player},
        },
        "required": ["tokens", "players"],
        "additionalProperties": False,
    }


def results_schema(
    seats: int, per_seat: Mapping[str, dict[str, Any]], others: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """The JSON schema of a results.json: lists with one entry a seat, and what else there is; all of it required."""
    lists = {
        name: {"type": "array", "minItems": seats, "maxItems": seats, "items": items}
        for name, items in per_seat.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {**lists, **others},
        "required": [*per_seat, *others],
        "additionalProperties": False,
    }
