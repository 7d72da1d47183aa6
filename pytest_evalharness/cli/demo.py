"""`evalharness demo`: the main job on the embedded league, three times, and what each verdict means."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASE = '''"""A copy of this file in your project is all it takes: name your policies on the command line."""

import pytest


@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
def test_crew_win_rate(ab):
    ab.require()
'''
SEED = 2026


@dataclass(frozen=True)
class Scene:
    """One run of the demo: who plays, and what must come out."""

    title: str
    candidate: str
    baseline: str
    exit_code: int
    verdict: str
    meaning: str


SCENES = (
    Scene(
        "a good edit",
        "keeper:v2",
        "keeper:v1",
        0,
        "better",
        "the interval for the difference lies above zero: ship it. The case passes, the exit code is 0.",
    ),
    Scene(
        "a bad edit",
        "keeper:v3",
        "keeper:v1",
        1,
        "worse",
        "the interval lies below zero: the edit hurts. The case fails, the exit code is 1, and CI is red.",
    ),
    Scene(
        "a copy of itself",
        "keeper-alias:v1",
        "keeper:v1",
        11,
        "untrustworthy",
        "both names are one build, so nothing could be learnt. It was refused before anything was posted; the exit code is 11.",
    ),
)


def add_to(commands: Any) -> None:
    """Add the subcommand."""
    demo = commands.add_parser(
        "demo",
        help="judge a good edit, a bad one and a copy on the embedded league",
        description="Judge a good edit, a bad one and a copy of itself on the embedded league, and say what each verdict means. "
        "The seeds are fixed, so the verdicts never vary.",
    )
    demo.add_argument("--home", default=".demo", help="a fresh folder for the demo's files (.demo)")
    demo.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play the scenes; 0 only if every one came out as announced."""
    home = fresh_home(Path(parsed.home))
    case = home / "evals" / "test_crew.py"
    case.parent.mkdir(parents=True)
    case.write_text(CASE)
    started = time.monotonic()
    surprises = [scene.title for scene in SCENES if not play(scene, home, case)]
    print(f"\nThree edits judged in {time.monotonic() - started:.0f} s. Files:")
    print(f"  {case}   the case: copy it")
    for folder in sorted((home / "run" / "runs").glob("*")):
        print(f"  {folder}/   results.json, summary.md")
    print(f"  {home}/*.xml   the JUnit files")
    print(
        "Next: docs/tutorial.md, or pytest evals/ --candidate=keeper:v4 --baseline=keeper:v1 for an edit that changes nothing."
    )
    if surprises:
        print(f"NOT as announced: {', '.join(surprises)}", file=sys.stderr)
        return 1
    return 0


def fresh_home(wanted: Path) -> Path:
    """A folder that nobody has used: an old run would be read again instead of played."""
    home, number = wanted.absolute(), 1
    while home.exists():
        number += 1
        home = wanted.absolute().with_name(f"{wanted.name}-{number}")
    home.mkdir(parents=True)
    return home


def play(scene: Scene, home: Path, case: Path) -> bool:
    """Run pytest as a user would; True if it came out as announced."""
    print(
        f"\n=== {scene.title}: pytest {case.name} --candidate={scene.candidate} --baseline={scene.baseline}",
        flush=True,
    )
    junit = home / f"{scene.candidate.replace(':', '-')}.xml"
    code = subprocess.run(
        command(scene, home, case, junit), cwd=home, env=environment(), check=False
    ).returncode
    verdict = verdict_of(home)
    as_announced = code == scene.exit_code and verdict == scene.verdict
    mark = "as announced" if as_announced else f"NOT as announced ({scene.verdict}, exit {scene.exit_code})"
    print(f"--> {verdict.upper()}, exit {code}, {mark}: {scene.meaning}", flush=True)
    return as_announced


def command(scene: Scene, home: Path, case: Path, junit: Path) -> Sequence[str]:
    """The command line of a scene."""
    return [
        sys.executable, "-m", "pytest", str(case), "-p", "pytest_evalharness.plugin", "-p", "no:cacheprovider", "-q",
        f"--rootdir={home}", f"--candidate={scene.candidate}", f"--baseline={scene.baseline}",
        "--eval-server=embedded", f"--eval-arena-seed={SEED}", f"--eval-home={home / 'run'}",
        f"--junitxml={junit}", "-o", "junit_family=xunit1",
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """The environment without anybody's settings, and with only the plugin that this is about."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EVALHARNESS_", "PYTEST_"))}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def verdict_of(home: Path) -> str:
    """What the newest run concluded."""
    case = newest_case(home / "run")
    return str(case["results"][0]["judgement"]["verdict"] if case["results"] else case["outcome"])


def newest_case(home: Path) -> dict[str, Any]:
    """The first case of the newest run below a home; one whose outcome is `nothing` where there is none."""
    files = sorted((home / "runs").glob("*/results.json"), key=lambda path: path.stat().st_mtime_ns)
    cases = json.loads(files[-1].read_text())["cases"] if files else []
    nothing: dict[str, Any] = {"outcome": "nothing", "results": [], "clbench": []}
    return cases[0] if cases else nothing
