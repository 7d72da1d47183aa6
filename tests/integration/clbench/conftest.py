"""A checkout of the embedded miniature, whose programs run as processes of their own."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

MODULE = "pytest_evalharness.clbench.miniature"
PATIENCE = 300.0
"""Seconds for a command that hangs: one that goes on takes a few, and some more where the machine is busy."""


@dataclass
class Miniature:
    """A checkout; `clbench` is found on the path of its processes, and orphans of a killed one end soon."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def environ(self, **more: str) -> dict[str, str]:
        """Of a process in it: nothing of this machine's campaigns."""
        prefixes = ("OUROBOROS_", "CLBENCH_", "OPENROUTER_")
        mine = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return mine | {"PATH": path, "CLBENCH_MINIATURE_MERCY": "1"} | self.environment | more

    def start(self, *argv: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command in a session of its own."""
        return subprocess.Popen(
            [sys.executable, str(self.root / "run_benchmark.py"), *argv],
            cwd=self.root,
            env=self.environ(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        with self.start(*argv, **environment) as process:
            out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def set_faults(self, *faults: str) -> None:
        """Change the faults while something runs."""
        beside = self.root / "faults.json.new"
        beside.write_text(json.dumps(faults))
        beside.replace(self.root / "faults.json")

    def run_folder(self, name: str) -> Path:
        return self.root / "final_results" / "runs" / name

    def manifest(self, name: str) -> dict[str, Any]:
        return json.loads((self.run_folder(name) / "manifest.json").read_text())

    def artifact(self, task: str, name: str | None = None) -> dict[str, Any]:
        """A published artifact, or the newest working one."""
        if name is not None:
            path = self.run_folder(name) / "tasks" / f"{task}.json.gz"
        else:
            path = max((self.root / "results" / task).glob("viewer_artifact_*.json.gz"))
        return json.loads(gzip.decompress(path.read_bytes()))

    def live(self, task: str) -> dict[str, dict[str, Any]]:
        """The live files of the newest run group, by name."""
        group = max((self.root / "results" / task / "live").iterdir())
        return {path.stem: json.loads(path.read_text()) for path in group.glob("*.json")}


def install(folder: Path) -> Miniature:
    """A fresh checkout, laid out by its own program."""
    subprocess.run([sys.executable, "-m", MODULE, "install", str(folder)], check=True, capture_output=True)
    return Miniature(folder)


@pytest.fixture
def miniature(tmp_path):
    return install(tmp_path / "checkout")


@pytest.fixture(scope="session")
def submitted(tmp_path_factory):
    """A checkout in which a campaign of two rollouts came to its end, under the name `whole`. Not to be changed."""
    checkout = install(tmp_path_factory.mktemp("submitted") / "checkout")
    words = [
        "run-all",
        "--name",
        "whole",
        "--system",
        "notebook",
        "--per-task-parallelism",
        "2",
        "--runs",
        "2",
    ]
    done = checkout.run(*words)
    assert done.returncode == 0, done.stderr
    return checkout
