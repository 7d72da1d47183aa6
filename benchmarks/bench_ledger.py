"""What does keeping a run cost, and how fast is it read again? Prints one line a figure, asserts nothing.

python benchmarks/bench_ledger.py
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.league.evidence_file import export, verify
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec

EPISODES = 100
ROUNDS = 20
CASE = f"""
import pytest

@pytest.mark.league_ab(role="crew", episodes={EPISODES}, claim="better")
def test_crew(ab):
    ab.require()
"""
PLAIN = "def test_plain():\n    pass\n"
COMMAND = ("--candidate=keeper:v2", "--baseline=keeper:v1", "--eval-server=embedded")


def said(what: str, figure: str) -> None:
    """One line."""
    print(f"{what:<66} {figure}")


def pytest_seconds(folder: Path, *words: str) -> float:
    """Seconds of one pytest process."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "pytest_evalharness.plugin",
        *words,
    ]
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return time.perf_counter() - began


def seconds(words: list[str]) -> float:
    """Seconds of one process."""
    began = time.perf_counter()
    subprocess.run(words, capture_output=True, check=True)
    return time.perf_counter() - began


def journal_costs(evidence: dict) -> None:
    """One arm of 100 episodes through all its states, against writing its evidence to a file."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder), clock=SystemClock(), owner=Owner.current("bench", ""))
        began = time.perf_counter()
        for turn in range(ROUNDS):
            comparison = ledger.open_comparison({"turn": turn}, run_id="r", case_name="c")
            specs = {side: ArmSpec(f"{side}{turn}", {}, [{}]) for side in ("candidate", "baseline")}
            for key in ledger.freeze(comparison.id, {}, specs).arms.values():
                lease = ledger.acquire(ledger.blocks(key)[0].block_id)
                assert lease is not None
                lease.begin_post()
                lease.posted(f"x{key}")
                lease.running(0.0)
                lease.finish(evidence)
        kept = (time.perf_counter() - began) / (ROUNDS * 2 * EPISODES)
        ledger.close()
        path = Path(folder) / "bare"
        began = time.perf_counter()
        for _ in range(ROUNDS * 2):
            with path.open("w") as file:
                json.dump(evidence, file)
                file.flush()
                os.fsync(file.fileno())
        bare = (time.perf_counter() - began) / (ROUNDS * 2 * EPISODES)
    said("journal, every state of an arm of 100 episodes", f"{1e6 * kept:.0f} us an episode")
    said("  against json.dump and fsync of the same evidence", f"{kept / bare:.1f}x")


def main() -> None:
    """Print every figure."""
    said("processors, and processes that want one now", f"{os.cpu_count()}, {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_case.py").write_text(CASE)
        first = pytest_seconds(folder, *COMMAND)
        again = min(pytest_seconds(folder, *COMMAND) for _ in range(3))
        (folder / "test_case.py").write_text(PLAIN)
        plain = min(pytest_seconds(folder) for _ in range(3))
        said("a comparison of 2 x 100 games, played on the embedded league", f"{first:.2f} s")
        said("the same command again: read, judged, all reports written", f"{again:.2f} s")
        said("  of which beyond a pytest process with one empty test", f"{again - plain:.2f} s")
        said("  as a multiple of that process", f"{again / plain:.1f}x")
        home = folder / ".evalharness"
        with Ledger.open(home, clock=SystemClock(), owner=Owner.current("bench", "")) as ledger:
            runs = [run for run in ledger.runs.newest_first() if ledger.judged_in(run.id)]
            began = time.perf_counter()
            content = export(ledger, runs[0].id)
            exported = time.perf_counter() - began
            began = time.perf_counter()
            assert not verify(content)
            verified = time.perf_counter() - began
            size = len(json.dumps(content))
            said("its evidence exported", f"{exported:.2f} s, {size / 1e6:.2f} MB")
            said("its evidence verified", f"{verified:.2f} s")
            show = [
                sys.executable,
                "-m",
                "pytest_evalharness.cli",
                "runs",
                "show",
                runs[0].id,
                "--home",
                str(home),
            ]
            shown, bare = (
                min(seconds(words) for _ in range(3)) for words in (show, [sys.executable, "-c", ""])
            )
            said("evalharness runs show", f"{shown:.2f} s")
            said("  of which beyond a Python process that does nothing", f"{shown - bare:.2f} s")
            (comparison,) = content["comparisons"]
            journal_costs(comparison["blocks"]["candidate"][0]["evidence"])
        assert re.fullmatch(r"[0-9a-f]{64}", content["sha256"])


if __name__ == "__main__":
    main()
