"""Every setting once: command line > environment > ini > default. Pure: it is handed the sources.

Secrets are not settings. They come from the environment or the credential file, nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pytest_evalharness.base import values
from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings.declared import (
    BY_KEY,
    DIALECTS,
    EMBEDDED,
    LARGEST_REQUEST,
    NO_LEAGUE,
    PAGE_LEAGUE,
    PARALLEL,
    SETTINGS,
)
from pytest_evalharness.settings.setting import Kind, Origin, Setting

__all__ = [
    "BY_KEY",
    "DIALECTS",
    "EMBEDDED",
    "LARGEST_REQUEST",
    "NO_LEAGUE",
    "PAGE_LEAGUE",
    "PARALLEL",
    "SETTINGS",
    "Kind",
    "Origin",
    "Resolved",
    "Setting",
    "Settings",
    "resolve",
    "unknown_variables",
]

_OTHER_VARIABLES = frozenset(
    {"EVALHARNESS_TOKEN", "EVALHARNESS_EVIDENCE_KEY", "EVALHARNESS_COWORLD_VENV", "EVALHARNESS_LEVERS9_VENV"}
)
"""Variables with our prefix that are no settings: secrets, and where this repository's tests find clients."""


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A line for each variable that looks like a setting and is none: a typo there would go unnoticed."""
    known = {setting.variable for setting in SETTINGS} | _OTHER_VARIABLES
    lines = []
    for name in sorted(environment):
        if name.startswith("EVALHARNESS_") and name not in known:
            near = values.near(name, sorted(known))
            hint = f"; did you mean {near}?" if near else ""
            lines.append(f"the environment variable {name} is no setting and was ignored{hint}")
    return lines


class Resolved(NamedTuple):
    """A value and where it came from."""

    value: Any
    origin: Origin


class Settings:
    """All settings of a run, resolved once."""

    def __init__(self, resolved: Mapping[str, Resolved]) -> None:
        self._values = dict(resolved)

    def __getitem__(self, key: str) -> Any:
        """A setting's value."""
        return self._values[key].value

    def origin(self, key: str) -> Origin:
        """Where a setting's value came from."""
        return self._values[key].origin

    def place(self, key: str) -> str:
        """Where a setting's value came from, as the user spells it there."""
        setting = BY_KEY[key]
        return {
            Origin.COMMAND_LINE: setting.option,
            Origin.ENVIRONMENT: setting.variable,
            Origin.INI: f"ini key {setting.ini}",
            Origin.DEFAULT: "the default",
        }[self.origin(key)]

    def commanded(self, key: str) -> bool:
        """Whether the command line itself gave the value."""
        return self._values[key].origin is Origin.COMMAND_LINE

    def as_plain(self) -> dict[str, Any]:
        """Values as plain data, for records. None of them is a secret."""
        return {k: list(v.value) if isinstance(v.value, tuple) else v.value for k, v in self._values.items()}


def resolve(
    options: Callable[[str], Any],
    environment: Mapping[str, str],
    ini: Callable[[str], str | None],
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Resolve every setting by the one precedence.

    Args:
        options: a key to what the command line said: None if nothing, a string, a list of strings, or True.
        environment: environment variables.
        ini: a key to what the ini file said, or None.
        defaults: a key to what stands where nobody said anything, for a command with defaults of its own.

    Raises:
        UsageError: a value cannot be read; the message names the place it came from.
    """
    own = defaults or {}
    return Settings(
        {s.key: _resolve_one(s, options, environment, ini, own.get(s.key, s.default)) for s in SETTINGS}
    )


def _resolve_one(
    setting: Setting,
    options: Callable[[str], Any],
    environment: Mapping[str, str],
    ini: Callable[[str], str | None],
    default: Any,
) -> Resolved:
    given = options(setting.key)
    if given is not None and given is not False and given != []:
        return Resolved(_read(setting, given, setting.option), Origin.COMMAND_LINE)
    if setting.variable in environment:
        raw = environment[setting.variable]
        return Resolved(_read(setting, _split(setting, raw), setting.variable), Origin.ENVIRONMENT)
    written = ini(setting.key)
    if written:
        return Resolved(_read(setting, _split(setting, written), f"ini key {setting.ini}"), Origin.INI)
    return Resolved(default, Origin.DEFAULT)


def _split(setting: Setting, raw: str) -> Any:
    if setting.kind is Kind.REPEATED:
        return [part for part in raw.replace(",", "\n").splitlines() if part.strip()]
    return raw


def _read(setting: Setting, given: Any, place: str) -> Any:
    try:
        if setting.kind is Kind.SWITCH:
            return given if isinstance(given, bool) else setting.parse(given)
        if setting.kind is Kind.REPEATED:
            return tuple(setting.parse(part) for part in given)
        return setting.parse(str(given))
    except ValueError as problem:
        raise UsageError(
            f"{place}: {given!r} {problem}",
            not_done="nothing was submitted",
            next_step=f"{_spelling(setting)}: {setting.help}",
        ) from None


def _spelling(setting: Setting) -> str:
    return setting.option if setting.kind is Kind.SWITCH else f"{setting.option} {setting.metavar}"
