"""Schedules: JSON files of a checkout that order variants into stages and hold a run's defaults."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT = "default"


@dataclass(frozen=True)
class Stage:
    """One stretch of instances; a variant fixes what it holds, none leaves it to the task's parameters."""

    variant: str | None


@dataclass(frozen=True)
class Schedule:
    """A named schedule.

    Attributes:
        id: the file's stem.
        title: in lists.
        description: likewise.
        stages: in order.
        runs: rollouts, unless the command line says otherwise.
        max_workers: of the pool that rollouts and baseline share.
        mode: permute, resample or replicate.
    """

    id: str
    title: str
    description: str
    stages: tuple[Stage, ...]
    runs: int = 1
    max_workers: int = 12
    mode: str = "permute"


def folder(root: Path, task: str) -> Path:
    """Where a task's schedules are."""
    return root / "src" / "tasks" / task / "schedules"


def schedules(root: Path, task: str) -> list[Schedule]:
    """A task's schedules by file name.

    Raises:
        ValueError: a file is no schedule, or its id is not its name.
    """
    return [_read(path) for path in sorted(folder(root, task).glob("*.json"))]


def schedule(root: Path, task: str, name: str) -> Schedule:
    """One schedule.

    Raises:
        KeyError: the task has none of that name; the text names those it has.
        ValueError: as `schedules`.
    """
    found = schedules(root, task)
    for one in found:
        if one.id == name:
            return one
    known = ", ".join(one.id for one in found)
    raise KeyError(
        f"Unknown schedule '{name}' for task '{task}'." + (f" Available schedules: {known}" if known else "")
    )


def _read(path: Path) -> Schedule:
    told: dict[str, Any] = json.loads(path.read_text())
    if told.get("id") != path.stem:
        raise ValueError(f"Schedule file {path} must have the id '{path.stem}', not '{told.get('id')}'.")
    defaults = told.get("run_defaults") or {}
    return Schedule(
        path.stem,
        str(told.get("display_name", path.stem)),
        str(told.get("description", "")),
        tuple(Stage(one.get("variant")) for one in told.get("stages") or ()),
        int(defaults.get("runs", 1)),
        int(defaults.get("max_workers", 12)),
        str(defaults.get("mode", "permute")),
    )
