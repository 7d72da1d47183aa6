"""`evalharness clbench demo`: a smoke, three campaigns and three edits judged, on the embedded miniature of the benchmark."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pytest_evalharness.cli.demo import Scene, environment, fresh_home, newest_case

CASE = '''"""A copy of this file in your project is all it takes: RUN is a campaign's name, or a run's directory."""

import pytest


@pytest.mark.clbench_ab(candidate="{candidate}", baseline="{baseline}", claim="better")
def test_the_edit(clbench_ab):
    clbench_ab.require()
'''
CAMPAIGNS = {
    "forgets": ("plain", {}),
    "remembers": ("notebook", {}),
    "spoilt": ("notebook", {"CLBENCH_MINIATURE_FAULTS": "null=mini_shop_forecast:2"}),
}
"""The system of each, and what is wrong with it."""


EDITS = (
    Scene(
        "the agent gets a memory", "remembers", "forgets", 0, "better", "what it learns shows in the rewards: ship it."
    ),
    Scene("its memory is taken away", "forgets", "remembers", 1, "worse", "the case fails, and CI is red."),
    Scene(
        "a rollout of nothing but empty answers",
        "spoilt",
        "forgets",
        11,
        "untrustworthy",
        "it was paid, it completed, and it measures an outage: nothing is said about the edit.",
    ),
)  # fmt: skip


def add_to(inner: Any) -> None:
    """Add the subcommand."""
    demo = inner.add_parser(
        "demo",
        help="a smoke, three campaigns and three edits judged on the embedded miniature",
        description="Runs a smoke and three campaigns of the embedded miniature under supervision, judges three edits of an agent as "
        "pytest cases, and says what each verdict means. Nothing is paid and nothing outside is asked.",
    )
    demo.add_argument(
        "--folder", default=".demo-clbench", help="a fresh folder for the demo's files (%(default)s)"
    )
    demo.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Play it; 0 only if everything came out as announced."""
    home = fresh_home(Path(parsed.folder))
    started = time.monotonic()
    surprises = [] if _clbench(home, "smoke", "--system", "ouroboros") == 0 else ["the smoke"]
    for name, (system, faults) in CAMPAIGNS.items():
        words = ("run", "--system", system, "--name", name, "--plan", "submission")
        if _clbench(home, *words, **faults) not in {0, 1}:
            surprises.append(f"the campaign {name}")
    surprises += [edit.title for edit in EDITS if not judged(edit, home)]
    runs = home / ".evalharness" / "clbench" / "checkout" / "final_results" / "runs"
    print(
        f"\nA smoke, three campaigns and three edits in {time.monotonic() - started:.0f} s, all of them invented. Files:"
    )
    print(f"  {runs}/   what the campaigns published; evalharness clbench check and score read them")
    print(f"  {home}/test_*.py   the cases: copy one")
    print("Next: docs/reference/clbench.md, and evalharness clbench preflight --checkout YOURS before anything is paid.")  # fmt: skip
    if surprises:
        print(f"NOT as announced: {', '.join(surprises)}", file=sys.stderr)
        return 1
    return 0


def _clbench(home: Path, command: str, *words: str, **faults: str) -> int:
    """Run a command as a user would."""
    argv = ("clbench", command, "--checkout", "embedded", *words)
    print(f"\n=== evalharness {' '.join(argv)}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "pytest_evalharness.cli", *argv],
        cwd=home,
        env=environment() | faults,
        check=False,
    ).returncode


def judged(edit: Scene, home: Path) -> bool:
    """Run pytest as a user would; True if it came out as announced."""
    file = home / f"test_{edit.candidate}_against_{edit.baseline}.py"
    file.write_text(CASE.format(candidate=edit.candidate, baseline=edit.baseline))
    print(f"\n=== {edit.title}: pytest {file.name}", flush=True)
    code = subprocess.run(
        [
            sys.executable, "-m", "pytest", file.name, "-p", "pytest_evalharness.plugin", "-p", "no:cacheprovider", "-q",
            "--tb=no", f"--rootdir={home}", "--eval-clbench-checkout=embedded",
        ],
        cwd=home,
        env=environment(),
        check=False,
    ).returncode  # fmt: skip
    case = newest_case(home / ".evalharness")
    verdict = str(case["clbench"][0]["verdict"] if case["clbench"] else case["outcome"])
    as_announced = code == edit.exit_code and verdict == edit.verdict
    mark = "as announced" if as_announced else f"NOT as announced ({edit.verdict}, exit {edit.exit_code})"
    print(f"--> {verdict.upper()}, exit {code}, {mark}: {edit.meaning}", flush=True)
    return as_announced
