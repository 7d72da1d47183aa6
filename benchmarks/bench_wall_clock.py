"""How much longer an A/B takes than its slower arm: `python benchmarks/bench_wall_clock.py [ticks] [pace]`.

Plays one A/B on the embedded league with games in real time (24 ticks a second; 1440 ticks are a minute). Prints one
line a figure and asserts nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

CASE = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
def test_crew(ab, observatory):
    arms = [observatory.experience_request(arm.request_ids[0]) for arm in (ab.candidate, ab.baseline)]
    longest = max((arm.completed_at - arm.created_at).total_seconds() for arm in arms)
    print(f"LONGEST {longest}")
    ab.require("better", "worse", "equivalent", "inconclusive")
"""


def main(ticks: str = "1440", pace: str = "1") -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_wall.py").write_text(CASE)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-s",
            "-q",
            "--candidate=keeper:v2",
            "--baseline=keeper:v1",
        ]
        command += [
            "--eval-server=embedded",
            f"--eval-ticks={ticks}",
            f"--eval-arena-pace={pace}",
            "--junitxml=r.xml",
        ]
        started = time.perf_counter()
        told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        whole = time.perf_counter() - started
        if told.returncode != 0:
            sys.exit(told.stdout + told.stderr)
        arm = float(told.stdout.partition("LONGEST ")[2].split()[0])
        case = float(next(ET.parse(Path(folder, "r.xml")).iter("testcase")).get("time", "nan"))
        events = [
            json.loads(line) for line in next(Path(folder).glob(".evalharness/runs/*/events.jsonl")).open()
        ]
        print(f"slower arm, created to completed on the server: {arm:.1f} s")
        print(f"the case, from its set-up to its verdict: {case:.1f} s (ratio {case / arm:.3f})")
        print(f"the whole pytest process, server start included: {whole:.1f} s (ratio {whole / arm:.3f})")
        print(f"events written: {len(events)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
