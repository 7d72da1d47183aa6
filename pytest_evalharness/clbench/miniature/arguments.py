"""The arguments of `clbench run`: what is refused, what is dropped without a word, and what comes before what."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pytest_evalharness.clbench.miniature import registry
from pytest_evalharness.clbench.miniature.schedules import Schedule, schedule

MODES = ("permute", "resample", "replicate")
_VALUES = {
    "--system", "--task", "--config", "--output", "--system-params", "--task-params", "--runs", "-k", "--max-workers",
    "--run-mode", "--run-group-id", "--verbosity",
}  # fmt: skip
_BOOLEANS = {
    "true": True,
    "1": True,
    "yes": True,
    "y": True,
    "false": False,
    "0": False,
    "no": False,
    "n": False,
}


def fail(message: str, *details: str, hint: str = "") -> NoReturn:
    """Say why nothing more is done, and leave with 1."""
    print(f"Error: {message}", *(f"  {one}" for one in details), sep="\n", file=sys.stderr)
    if hint:
        print(f"Hint: {hint}", file=sys.stderr)
    raise SystemExit(1)


def unknown(kind: str, name: str) -> NoReturn:
    """Leave with 1: nothing is registered under a name."""
    known = sorted(registry.TASKS if kind == "task" else registry.SYSTEMS)
    close = difflib.get_close_matches(name, known)
    details = [f"{kind.title()}: {name}"] + ([f"Closest matches: {', '.join(close)}"] if close else [])
    fail(f"Unknown {kind} '{name}'.", *details, hint=f"Run 'clbench list {kind}s' to see available {kind}s.")


def parser() -> argparse.ArgumentParser:
    """The flags that every run has; those of its task and system are added once their names are known."""
    flag = argparse.BooleanOptionalAction
    out = argparse.ArgumentParser(prog="clbench run", description="Run one task with one system.")
    for name in (
        "--system",
        "--task",
        "--config",
        "--output",
        "--system-params",
        "--task-params",
        "--run-group-id",
    ):
        out.add_argument(name)
    out.add_argument("--runs", "-k", type=int)
    out.add_argument("--max-workers", type=int)
    out.add_argument("--run-mode", choices=MODES)
    out.add_argument("--verbose-runs", action=flag, default=None)
    out.add_argument("--live-dashboard", action=flag, default=True)
    out.add_argument("--live-server", action=flag, default=True)
    out.add_argument("--dry-run", action="store_true")
    out.add_argument("--debug", action="store_true")
    out.add_argument("-v", dest="verbose", action="count", default=0)
    out.add_argument("--verbosity", type=int, default=0)
    return out


def translated(argv: Sequence[str]) -> list[str]:
    """The positional task and the short `--schedule` as the long flags that they stand for."""
    out: list[str] = []
    value = named = False
    for one in argv:
        if value:
            value = False
        elif not one.startswith("-") and not named:
            out.append("--task")
            named = True
        elif one == "--schedule":
            out.append("--task.schedule")
            value = True
            continue
        elif "=" not in one:
            value = one in _VALUES or one.startswith(("--system.", "--task."))
        out.append(one)
    return out


def config(path: str | None) -> dict[str, Any]:
    """What the file of `--config` holds, empty without one; 1 if it is no JSON object."""
    if path is None:
        return {}
    try:
        told = json.loads(Path(path).read_text())
    except FileNotFoundError:
        fail(
            "Config file not found.", f"Path: {path}", hint="Check the path passed to --config and try again."
        )
    except ValueError as problem:
        fail("Config file contains invalid JSON.", f"Path: {path}", str(problem))
    if not isinstance(told, dict):
        fail("Config file contains no JSON object.", f"Path: {path}")
    return told


def params(
    parser: argparse.ArgumentParser,
    parsed: argparse.Namespace,
    config: dict[str, Any],
    kind: str,
    defaults: dict[str, Any],
) -> dict[str, Any]:
    """Defaults, then the file, then the command line, whose JSON comes last; other keys are dropped without a word."""
    flags = {name: getattr(parsed, f"{kind}.{name}") for name in defaults}
    told = {name: value for name, value in flags.items() if value is not None}
    raw = getattr(parsed, f"{kind}_params")
    if raw:
        told |= _mapping(raw, f"--{kind}-params")
    found = {}
    for name, default in defaults.items():
        value = ((config.get(kind) or {}).get("params") or {}).get(name, default)
        if name in told:
            try:
                value = _converted(told[name], default)
            except ValueError as problem:
                parser.error(f"Invalid {kind} parameter '{name}': {problem}")
        if value is not None:
            found[name] = value
    return found


def _mapping(raw: str, flag: str) -> dict[str, Any]:
    try:
        told = json.loads(raw)
    except ValueError as problem:
        fail(
            f"Invalid JSON passed to {flag}.",
            str(problem),
            hint=f"Wrap the JSON in single quotes: {flag} '{{}}'.",
        )
    if not isinstance(told, dict):
        fail(f"{flag} must be a JSON object.", f"Received {type(told).__name__} instead.")
    return told


def _converted(value: Any, default: Any) -> Any:
    """A flag's text in its default's type; values out of JSON stay what they are."""
    if not isinstance(value, str) or isinstance(default, str):
        return value
    if isinstance(default, bool):
        if value.lower() not in _BOOLEANS:
            raise ValueError(f"Invalid boolean value: {value}")
        return _BOOLEANS[value.lower()]
    return value if default is None and not value.isdecimal() else type(default or 0)(value)


def chosen_schedule(root: Path, task: str, params: dict[str, Any]) -> Schedule:
    """The schedule that is named; one that is not there has defaults, for only building the task finds out. 1 without a name."""
    if not params.get("schedule"):
        hint = f"Pass --task.schedule <id> or run 'clbench inspect task {task}' to see available schedules."
        fail("A schedule is required to run this benchmark.", f"Task: {task}", hint=hint)
    try:
        return schedule(root, task, str(params["schedule"]))
    except (KeyError, ValueError):
        # Upstream finds out when the task is built: a dry run with a schedule that is none succeeds.
        return Schedule(str(params["schedule"]), "", "", ())


def setup(parsed: argparse.Namespace, config: dict[str, Any], chosen: Schedule) -> tuple[int, int, str]:
    """Rollouts, workers and mode: the command line, the file, the schedule."""

    def told(name: str, default: Any) -> Any:
        flag = getattr(parsed, name)
        return config.get(name, default) if flag is None else flag

    return (
        int(told("runs", chosen.runs)),
        int(told("max_workers", chosen.max_workers)),
        str(told("run_mode", chosen.mode)),
    )
