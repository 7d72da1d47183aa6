"""What does scoring published CL-Bench runs cost, and what the trust report? Prints one line a figure, asserts nothing.

python benchmarks/bench_clbench.py [--runs 12] [--prompt 2000]
"""

import argparse
import gzip
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from pytest_evalharness.clbench import trust
from pytest_evalharness.clbench.domains import COHORT, REFERENCE_RUN, Domain, Family
from pytest_evalharness.clbench.leaderboard import reference_of, standings
from pytest_evalharness.clbench.run_folder import read_run

ROLLOUTS, TURNS = 5, 3


def said(what: str, figure: str) -> None:
    """One line."""
    print(f"{what:<78} {figure}", flush=True)


def outcome(domain: Domain, at: int, rng: random.Random) -> dict[str, object]:
    """One invented instance."""
    told: dict[str, object] = {"instance_id": f"{domain.short}:{at}", "instance_index": at, "cost_usd": 0.01}
    if domain.task == COHORT:
        reference, agent = rng.random(), rng.random()
        metadata = {"mean_reference_kl": reference, "mean_kl_divergence": agent, "kl_unit": "bits"}
        return told | {"reward": reference - agent, "metadata": metadata}
    return told | {"reward": round(rng.random() * domain.largest, 4), "success": True, "metadata": {}}


def trace(domain: Domain, index: int | None, prompt: str, rng: random.Random) -> dict[str, object]:
    """One invented pass with its interactions."""
    order = list(range(domain.instances))
    if index:
        rng.shuffle(order)
    interactions = [
        {
            "step_number": step,
            "query": {
                "prompt": f"{at} {step} {prompt}",
                "instance_id": f"{domain.short}:{at}",
                "metadata": {},
            },
            "response": {"action": {"answer": prompt[:200]}, "metadata": {"model": "none"}},
            "observation": {"content": prompt[:500], "instance_complete": step == TURNS - 1},
        }
        for at in order
        for step in range(TURNS)
    ]
    return {
        "status": "completed",
        "execution": {"run_index": index, "usage": {"interaction": {"cost_usd": 0.01 * domain.instances}}},
        "interactions": interactions,
        "result": {"instance_outcomes": [outcome(domain, at, rng) for at in order]},
    }


def publish(folder: Path, prompt: str, rng: random.Random) -> int:
    """A run directory; returns the bytes that its artifacts unpack to."""
    (folder / "tasks").mkdir(parents=True)
    size = 0
    for domain in Family.OFFICIAL.domains:
        told = {
            "kind": "viewer_artifact",
            "summary": {
                "task": {"name": domain.task, "params": {"expected_num_instances": domain.instances}},
                "schedule": "default",
            },
            "baseline_trace": trace(domain, None, "", rng),
            "run_traces": [{"run_index": k, "trace": trace(domain, k, prompt, rng)} for k in range(ROLLOUTS)],
        }
        raw = json.dumps(told).encode()
        size += len(raw)
        (folder / "tasks" / f"{domain.task}.json.gz").write_bytes(gzip.compress(raw, 6))
    return size


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--prompt", type=int, default=2000, help="characters a turn")
    parsed = parser.parse_args()
    rng = random.Random(1)
    prompt = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz     ", k=parsed.prompt))
    names = [REFERENCE_RUN, *(f"run-{at}" for at in range(1, parsed.runs))]
    with tempfile.TemporaryDirectory() as root:
        size = sum(publish(Path(root) / name, prompt, rng) for name in names)
        files = sorted(Path(root).rglob("*.json.gz"))
        began = time.perf_counter()
        for path in files:
            json.loads(gzip.decompress(path.read_bytes()))
        plain = time.perf_counter() - began
        began = time.perf_counter()
        runs = [read_run(Path(root) / name) for name in names]
        read = time.perf_counter() - began
        found = standings(runs, reference_of(runs, None))
        scored = time.perf_counter() - began
        began = time.perf_counter()
        for run in runs:
            trust.checks(run)
        checked = (time.perf_counter() - began) / len(runs)
    said(
        f"{len(found)} runs x {len(Family.OFFICIAL.tasks)} tasks x {ROLLOUTS} rollouts and baselines, {size / 2**20:.0f} MiB unpacked",
        f"{scored:.2f} s",
    )
    said("  of it reading", f"{read:.2f} s")
    said("  the same files by gzip and json alone, against it", f"{plain:.2f} s, ratio {plain / scored:.1f}")
    said("the trust report of one run that was read", f"{checked * 1000:.0f} ms")
    said("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
