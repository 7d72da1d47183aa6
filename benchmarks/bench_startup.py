"""What the plugin costs every pytest run of an environment: `python benchmarks/bench_startup.py`.

Prints one line a figure and asserts nothing. Times are medians of several processes; ratios are within one run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 9
QUIET = [
    "-p",
    "no:hypothesispytest",
    "-p",
    "no:anyio",
    "-p",
    "no:timeout",
    "-p",
    "no:rerunfailures",
    "-p",
    "no:xdist",
]


def seconds(*command: str, cwd: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, check=True)
    return time.perf_counter() - started


def own_modules_ms(cwd: str) -> float:
    """The summed self time of our modules when the plugin loads, as `-X importtime` tells it."""
    code = "import pytest, importlib, pytest_evalharness.plugin as p; [importlib.import_module(n) for n in p.pytest_plugins]"
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], cwd=cwd, capture_output=True, text=True, check=True
    ).stderr
    rows = [
        line.removeprefix("import time:").split("|")
        for line in told.splitlines()
        if "pytest_evalharness" in line
    ]
    return sum(float(row[0]) for row in rows) / 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        own = statistics.median(own_modules_ms(folder) for _ in range(RUNS))
        print(f"our modules at plugin load (-X importtime, self): {own:.1f} ms")
        pairs = []
        for _ in range(RUNS):  # in turn, so that a drift of the machine hits both
            bare = seconds("-m", "pytest", "-q", *QUIET, "-p", "no:evalharness", cwd=folder)
            ours = seconds("-m", "pytest", "-q", *QUIET, cwd=folder)
            pairs.append((bare, ours))
        bare, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"bare pytest, one passing test: {bare * 1000:.0f} ms")
        print(
            f"the same with the plugin: {ours * 1000:.0f} ms (ratio {ours / bare:.3f}, +{(ours - bare) * 1000:.0f} ms)"
        )


if __name__ == "__main__":
    main()
