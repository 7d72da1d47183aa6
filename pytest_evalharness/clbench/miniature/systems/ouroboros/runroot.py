"""An engine's folder: its clone, its settings with the live key, its state, its task records and its logs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RUNS_ROOT = "OUROBOROS_BENCH_RUNS_ROOT"
CLONE = "OUROBOROS_BENCH_CLONE"
KEY = "OPENROUTER_API_KEY"
BUDGET = "OUROBOROS_TOTAL_BUDGET"
SENTINEL = ".isolated_benchmark_root"
"""Marks a folder as an engine's own; an engine whose folder lost it ends."""
DEFAULT_BUDGET = 25.0


class Runroot:
    """One engine's folder.

    Args:
        path: of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self.settings = self.data / "settings.json"
        self.shim_target = self.data / "state" / "skills" / "remote_work" / "shim_target.txt"

    def event(self, log: str, kind: str, **more: Any) -> None:
        """Append a row to a log of JSON lines."""
        row = {"ts": datetime.now(UTC).isoformat(), "type": kind, **more}
        with (self.data / "logs" / log).open("a") as file:
            file.write(json.dumps(row) + "\n")

    def line(self, log: str, text: str) -> None:
        """Append a line to a log of text."""
        with (self.data / "logs" / log).open("a") as file:
            file.write(text + "\n")

    def write_task(self, record: dict[str, Any]) -> None:
        """Write how a task stands."""
        path = self.data / "task_results" / f"{record['task_id']}.json"
        beside = path.with_suffix(".tmp")
        beside.write_text(json.dumps(record, indent=1))
        os.replace(beside, path)  # noqa: PTH105

    def read_settings(self) -> dict[str, Any]:
        """The settings as they are now: a key that was exchanged holds from the next task on."""
        told: dict[str, Any] = json.loads(self.settings.read_text())
        return told


def make_runroot(checkout: Path, params: dict[str, Any]) -> Runroot:
    """Lay an engine's folder out, 0700 as `mkdtemp` makes it, with a settings file that is 0644 inside.

    Args:
        checkout: of the benchmark; without `OUROBOROS_BENCH_RUNS_ROOT` engines are below its `cl_bench_runs`.
        params: of the adapter.

    Raises:
        FileNotFoundError: the clone that is named is not there.
        OSError: the folder cannot be written to.
    """
    import tempfile  # the engine's process imports this module too, and starts once an instance

    parent = Path(os.environ.get(RUNS_ROOT) or checkout / "cl_bench_runs").expanduser()
    parent.mkdir(parents=True, exist_ok=True)
    prefix = "obo_dockerclbench_" if params.get("docker") else "obo_clbench_"
    root = Runroot(Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))
    (root.path / SENTINEL).write_text("an engine of a benchmark run owns this folder\n")
    _clone(root, params)
    for name in ("state/skills/remote_work", "task_results", "logs"):
        (root.data / name).mkdir(parents=True)
    settings = {
        KEY: os.environ.get(KEY, ""),
        BUDGET: float(os.environ.get(BUDGET) or DEFAULT_BUDGET),
        "OUROBOROS_MODEL": params.get("model"),
        "OUROBOROS_MAX_WORKERS": params.get("max_workers"),
        **{name: value for name, value in os.environ.items() if name.startswith("OUROBOROS_EFFORT_")},
    }
    root.settings.write_text(json.dumps(settings, indent=1))
    (root.data / "state" / "state.json").write_text(
        json.dumps({"spent_usd": 0.0, "budget_usd": settings[BUDGET]})
    )
    for log in ("events.jsonl", "tools.jsonl", "server.log", "supervisor.jsonl"):
        (root.data / "logs" / log).touch()
    return root


def _clone(root: Runroot, params: dict[str, Any]) -> None:
    told = os.environ.get(CLONE) or params.get("ouroboros_repo")
    version = "miniature"
    if told:
        source = Path(str(told)).expanduser()
        if not source.is_dir():
            raise FileNotFoundError(f"the engine's clone {source} is not there ({CLONE}, ouroboros_repo)")
        mark = source / "VERSION"
        version = mark.read_text().strip() if mark.exists() else version
    clone = root.path / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / ".git" / "HEAD").write_text("ref: refs/heads/miniature\n")
    (clone / "VERSION").write_text(f"{version}\n")
    (clone / "server.py").write_text('"""The engine of the miniature is a module of pytest-evalharness."""\n')
    (clone / "skills" / "remote_work").mkdir(parents=True)
    (clone / "skills" / "remote_work" / "SKILL.md").write_text("Ask the benchmark by way of its shim.\n")
