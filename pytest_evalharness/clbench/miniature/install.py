"""Writes a checkout: the programs, the schedules and the folders that a driver of the benchmark looks for."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.clbench.miniature import registry

VERSION = "embedded-miniature 1"
"""What a checkout calls itself; it is no git repository and has no revision."""
_SCRIPT = '''"""The embedded miniature's entry point, as the benchmark has one."""

import sys
from pathlib import Path

if __name__ == "__main__":
    from pytest_evalharness.clbench.miniature.program import main

    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parent))
'''
_REGISTRY = '''"""Where systems register, as in the benchmark."""


def register_system(name):
    """Register a class under a name."""
    return lambda kind: kind
'''
_README = """# Embedded miniature

A small stand-in for a checkout of continual-learning-bench, written by pytest-evalharness. Its commands, flags, exit codes and files
are the benchmark's; its tasks and systems are invented, and its scores say nothing about any other system.
"""
_SIZES = {
    "mini_band_scan": ("permute", 2),
    "mini_coin_duel": ("permute", 3),
    "mini_ledger_lookup": ("permute", 2),
    "mini_shop_forecast": ("replicate", 2),
}


def install(folder: Path) -> Path:
    """Write a checkout, or write it again: results, and files that are not its own, stay.

    Returns:
        Its root, absolute.

    Raises:
        OSError: the folder cannot be written to.
    """
    root = folder.resolve()
    for name, content in _files().items():
        path = root / name
        if not path.exists() or path.read_text() != content:
            write_atomic(path, content, mode=0o755 if name.startswith("bin/") else 0o644)
    return root


def _files() -> dict[str, str]:
    found = {
        "VERSION": f"{VERSION}\n",
        "README.md": _README,
        "run_benchmark.py": _SCRIPT,
        # Relative to itself, so that a copied checkout is another checkout.
        "bin/clbench": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "${{0%/*}}/../run_benchmark.py" "$@"\n',
        "results/.gitignore": "*\n!.gitignore\n",
        "src/registry.py": _REGISTRY,
    }
    for task in registry.TASKS:
        found[f"src/tasks/{task}/schedules/default.json"] = _default(task)
        found[f"src/tasks/{task}/task.py"] = (
            f'"""The task `{task}` is in the package that wrote this checkout."""\n'
        )
    for system in registry.SYSTEMS:
        found[f"src/systems/{system}/__init__.py"] = f'"""The system `{system}`."""\n'
        found[f"src/systems/{system}/system.py"] = _constructor(system)
    return found


def _constructor(name: str) -> str:
    """A system's constructor in source, as whoever checks parameters without running anything reads it."""
    kind = registry.system_class(name)
    takes = "".join(f"        {key}={default!r},\n" for key, default in kind.parameters.items())
    return (
        f'"""The constructor of `{name}`, which is in the package that wrote this checkout."""\n\n'
        f"from src.registry import register_system\n\n\n"
        f'@register_system("{name}")\nclass {kind.__name__}:\n    """{kind.summary}"""\n\n'
        f"    def __init__(\n        self,\n{takes}    ):\n        raise NotImplementedError\n"
    )


def _default(task: str) -> str:
    mode, stages = _SIZES[task]
    told = {
        "id": "default",
        "display_name": "Default",
        "description": f"The whole of {task}, in {stages} stages.",
        "run_defaults": {"runs": 5, "max_workers": 12, "mode": mode},
        "stages": [{"variant": f"stage_{at}", "label": f"stage {at + 1}"} for at in range(stages)],
    }
    return json.dumps(told, indent=2) + "\n"
