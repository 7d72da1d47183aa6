"""The project that a command is run in: its root folder and its ini keys, found where pytest finds them.

pytest is not asked: the command must be cheap, and what pytest loads on the way may be anything. So the search that it
documents is here once more: the first folder from here upwards that holds a configuration of pytest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_evalharness.errors import UsageError
from pytest_evalharness.settings import SETTINGS

_PREFIX = "evalharness_"


@dataclass(frozen=True)
class Project:
    """Where a command stands.

    Attributes:
        root: the folder that relative paths of its configuration are taken from; the current one if there is none.
        keys: its ini keys that are settings, by the setting's key.
    """

    root: Path
    keys: Mapping[str, str] = field(default_factory=dict)


def find_project(folder: Path) -> Project:
    """The project of a folder, as `pytest` without arguments would find it there.

    Raises:
        UsageError: its configuration cannot be read.
    """
    fallback: Path | None = None
    for base in (folder, *folder.parents):
        for name, read in _FILES.items():
            path = base / name
            if not path.is_file():
                continue
            found = _read(path, read)
            if found is not None:
                return Project(base, {key: _text(found[ini]) for key, ini in _inis() if ini in found})
            if name == "pyproject.toml" and fallback is None:
                fallback = base
    if fallback is None:
        fallback = next((one for one in (folder, *folder.parents) if (one / "setup.py").is_file()), folder)
    return Project(fallback)


def _inis() -> Iterator[tuple[str, str]]:
    for setting in SETTINGS:
        yield setting.key, setting.ini


def _text(value: Any) -> str:
    """A value as an ini file would hold it."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(path: Path, read: Callable[[Path], Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    import iniconfig

    try:
        return read(path)
    except OSError as problem:
        why = problem.strerror or str(problem)
    except (ValueError, TypeError, AttributeError, iniconfig.ParseError) as problem:
        why = str(problem)
    raise UsageError(
        f"{path} cannot be read: {why}",
        not_done="nothing was done",
        next_step="correct the file; pytest reads the same one",
    )


# --------------------------------------------------------- what a file says of pytest; None if nothing


def _own_toml(path: Path) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")).get("pytest", {})
    return found


def _pyproject(path: Path) -> Mapping[str, Any] | None:
    told: Mapping[str, Any] = (
        tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("pytest", {})
    )
    plain = {key: value for key, value in told.items() if key != "ini_options"}
    return plain or told.get("ini_options")


def _section(path: Path, name: str) -> Mapping[str, str] | None:
    import iniconfig

    sections = iniconfig.IniConfig(str(path))
    return dict(sections[name].items()) if name in sections else None


def _own_ini(path: Path) -> Mapping[str, Any] | None:
    return _section(path, "pytest") or {}


_FILES: Mapping[str, Callable[[Path], Mapping[str, Any] | None]] = {
    "pytest.toml": _own_toml,
    ".pytest.toml": _own_toml,
    "pytest.ini": _own_ini,
    ".pytest.ini": _own_ini,
    "pyproject.toml": _pyproject,
    "tox.ini": lambda path: _section(path, "pytest"),
    "setup.cfg": lambda path: _section(path, "tool:pytest"),
}
"""File → how it is read, in pytest's order."""
