"""What does a look at a running CL-Bench campaign cost? Prints one line a figure, asserts nothing.

python benchmarks/bench_clbench_status.py [--megabytes 50] [--rollouts 5]
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pytest_evalharness.clbench.campaign.live import LiveReader
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.status_lines import lines
from pytest_evalharness.clbench.campaign.watch import Watched, watch
from pytest_evalharness.clbench.domains import ALL, Domain, Family

GROUP = "2026-01-01T00-00-00.000000Z_run-all"
TURNS, REPEATS = 12, 5


def said(what: str, figure: str) -> None:
    """One line."""
    print(f"{what:<88} {figure}", flush=True)


def best(act: Callable[[], object]) -> float:
    """Seconds of the fastest of some repetitions."""
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return min(taken)


def trace(domain: Domain, index: int | None, instances: int, text: str) -> dict[str, object]:
    """A pass after so many instances, in the form of a live snapshot."""
    interactions = [
        {
            "step_number": step,
            "timestamp": "2026-01-01T00:00:00.000000",
            "query": {
                "prompt": text,
                "instance_id": f"{domain.short}:{at}",
                "instance_index": at,
                "metadata": {},
            },
            "response": {
                "action": {"answer": text[:200]},
                "action_type": "structured",
                "metadata": {"model": "none"},
            },
            "observation": {
                "content": text[: len(text) // 2],
                "instance_complete": step == TURNS - 1,
                "metadata": {},
            },
            "timing": {"response_latency_seconds": 1.5},
            "usage": {"respond": {"events": [{"cost_usd": 0.01, "input_tokens": 900, "output_tokens": 90}]}},
            "done": False,
        }
        for at in range(instances)
        for step in range(TURNS)
    ]
    outcomes = [
        {
            "instance_id": f"{domain.short}:{at}",
            "instance_index": at,
            "reward": 0.5,
            "metadata": {},
            "cost_usd": 0.12,
        }
        for at in range(instances)
    ]
    return {
        "status": "running",
        "phase": "baseline" if index is None else "run",
        "task": {"name": domain.task, "params": {"expected_num_instances": domain.instances}},
        "execution": {
            "start_time": "2026-01-01T00:00:00",
            "total_interactions": len(interactions),
            "wall_duration_seconds": 60.0 * instances,
            "usage": {"interaction": {"cost_usd": 0.12 * instances, "pricing_complete": True}},
        },
        "interactions": interactions,
        "instance_outcomes": outcomes,
        "result": None,
    }


def write(path: Path, told: object) -> int:
    """A file as the benchmark writes it: indented, and replaced in one step. Returns its size."""
    part = path.with_suffix(".json.tmp")
    part.write_text(json.dumps(told, indent=2))
    part.replace(path)
    return path.stat().st_size


def campaign(root: Path, megabytes: int, rollouts: int) -> Path:
    """A checkout with a campaign in it: one snapshot of so many MB, and small ones of every other pass."""
    rng = random.Random(1)
    text = "".join(rng.choices('abcdefghijklmnopqrstuvwxyz    \n"\u00e9', k=4000))
    domains = [one for one in ALL if one.family is Family.OFFICIAL]
    tasks = []
    for domain in domains:
        live = root / "results" / domain.task / "live" / GROUP
        live.mkdir(parents=True)
        runs = [{"run_index": k, "trace_path": f"run_{k + 1}.json"} for k in range(rollouts)]
        params = {"expected_num_instances": domain.instances}
        head = {
            "status": "running",
            "task": {"name": domain.task, "params": params},
            "baseline": {},
            "runs": runs,
        }
        write(live / "manifest.json", head)
        write(live / "baseline.json", trace(domain, None, 3, text[:200]))
        for k in range(rollouts):
            write(live / f"run_{k + 1}.json", trace(domain, k, 5, text[:200]))
        where = (live / "manifest.json").relative_to(root)
        tasks.append({"task": domain.task, "status": "running", "live_manifest_path": str(where)})
    big, path = domains[1], large(root)
    each = write(path, trace(big, 0, 2, text)) / 2
    write(path, trace(big, 0, round(megabytes * 1e6 / each), text))
    folder = root / "final_results" / "runs" / "bench"
    folder.mkdir(parents=True)
    write(
        folder / "manifest.json",
        {"run_name": "bench", "status": "running", "system_args": [], "tasks": tasks},
    )
    return folder


def large(root: Path) -> Path:
    """The large snapshot's place."""
    return root / "results" / ALL[1].task / "live" / GROUP / "run_1.json"


class Look:
    """One look after the other, as `status --follow` takes them."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.reader = LiveReader(root, folder)
        self.watched: Watched | None = None

    def __call__(self) -> int:
        """Take one; returns the lines that it would print."""
        snapshot = self.reader.read()
        self.watched = watch(snapshot, self.watched)
        return sum(1 for _ in lines(Standing(snapshot, self.watched.alarms)))


def anew(root: Path, folder: Path) -> int:
    """The first look of a command."""
    return Look(root, folder)()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=50, help="of the large snapshot")
    parser.add_argument("--rollouts", type=int, default=5)
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as named:
        root = Path(named)
        folder = campaign(root, parsed.megabytes, parsed.rollouts)
        time.sleep(
            0.1
        )  # a file that was written a moment ago is read again: its stamp may not tell the next change
        raw = large(root).read_bytes()
        by_json, by_msgspec = best(lambda: json.loads(raw)), best(lambda: msgspec.json.decode(raw))
        read = best(lambda: large(root).read_bytes())
        count = len(list(root.rglob("*.json")))
        first = best(lambda: anew(root, folder))
        look = Look(root, folder)
        look()
        before = look.reader.files.bytes_read
        again = best(look)
        reread = look.reader.files.bytes_read - before
        write(folder / "manifest.json", json.loads((folder / "manifest.json").read_text()))
        look()
        little = look.reader.files.bytes_read - before
        command = [sys.executable, "-m", "pytest_evalharness.cli", "clbench", "status", str(folder)]
        whole = best(lambda: subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env=os.environ))
        empty = best(
            lambda: subprocess.run(
                [*command[:-2], "status", "--help"], check=False, stdout=subprocess.DEVNULL
            )
        )
    size = len(raw) / 1e6
    said(f"first look at {count} files, one of them of {size:.0f} MB", f"{first:.3f} s")
    said("  json alone of the large one, against it", f"{by_json:.3f} s, ratio {by_json / first:.1f}")
    said(
        "  msgspec alone of the large one, against it", f"{by_msgspec:.3f} s, ratio {by_msgspec / first:.1f}"
    )
    said(
        "  reading the large one's bytes, the bare limit, against it",
        f"{read:.3f} s, ratio {read / first:.2f}",
    )
    said("the next look, where nothing changed", f"{again * 1000:.1f} ms, {reread} bytes read")
    said("the next look, where the campaign's manifest was replaced", f"{little} bytes read")
    said("the command, as it is typed", f"{whole:.2f} s, of it {empty:.2f} s to start")
    said("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
