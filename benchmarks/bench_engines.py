"""What does an engine benchmark cost, and how does it grow? Prints one line a figure, asserts nothing.

python benchmarks/bench_engines.py [--largest 100000]
"""

import argparse
import os
import resource
import subprocess
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.engines.ope.importance import Weighted
from pytest_evalharness.engines.ope.resampling import counts
from pytest_evalharness.engines.ope.scoring import score
from pytest_evalharness.engines.ope.target import Target

STAGES, PER_STAGE, MOVES, POLICIES = 8, 22, 8, 8


def said(what: str, figure: str) -> None:
    """One line."""
    print(f"{what:<78} {figure}", flush=True)


def log(calls: int, seed: int = 1) -> Calls:
    """Calls of up to eight turns in 176 states and eight moves, as a stage that grows every turn makes them."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, STAGES + 1, calls)
    rows = int(lengths.sum())
    call = np.repeat(np.arange(calls), lengths)
    step = np.arange(rows) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    state = step * PER_STAGE + rng.integers(0, PER_STAGE, rows)
    shares = rng.dirichlet(np.full(MOVES, 2.0), STAGES * PER_STAGE)
    move = (rng.random(rows)[:, None] > shares.cumsum(axis=1)[state]).sum(axis=1).clip(0, MOVES - 1)
    reward = np.zeros(rows)
    reward[np.cumsum(lengths) - 1] = rng.choice([0.0, 40.0, 100.0], calls)
    return Calls(
        tuple(map(str, range(calls))),
        tuple(map(str, range(STAGES * PER_STAGE))),
        tuple(map(str, range(MOVES))),
        call,
        step,
        state,
        move,
        reward,
        shares[state, move],
    )


def policies(calls: Calls) -> dict[str, Target]:
    """Eight tables beside today and random."""
    rng = np.random.default_rng(3)
    tables = {f"table {at}": Target(rng.integers(0, MOVES, len(calls.states))) for at in range(POLICIES)}
    return {"today": Target.today(calls), "random": Target.random(calls), **tables}


def seconds_of(calls: Calls, resamples: int) -> float:
    """Seconds of a whole benchmark: everything refitted in every resample."""
    chosen = policies(calls)
    began = time.perf_counter()
    score(calls, chosen, resamples=resamples)
    return time.perf_counter() - began


def index_and_recompute(calls: Calls, target: Target, resamples: int) -> float:
    """Seconds of one policy's PDWIS interval when every resample indexes its calls and sums anew: the plain numpy way."""
    weights = Weighted.of(calls, target).weights
    earned = weights * calls.padded(calls.reward, 0.0)
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    for _ in range(resamples):
        drawn = rng.integers(0, len(calls), len(calls))
        with np.errstate(invalid="ignore", divide="ignore"):
            earned[drawn].sum(axis=0) / weights[drawn].sum(axis=0)
    return time.perf_counter() - began


SCOPE_RL = """
import importlib, importlib.util, sys, time
from types import ModuleType
import numpy as np
for name, *classes in (("torch", "Tensor"), ("gym", "Env"), ("d3rlpy",), ("d3rlpy.preprocessing", "ActionScaler")):
    sys.modules[name] = ModuleType(name)  # imported by the package as a whole, and not used here
    for one in classes:
        setattr(sys.modules[name], one, type(one, (), {}))
package = ModuleType("scope_rl")
package.__path__ = list(importlib.util.find_spec("scope_rl").submodule_search_locations)
sys.modules["scope_rl"] = package
utils = importlib.import_module("scope_rl.utils")
values = np.random.default_rng(0).random(int(sys.argv[1]))
began = time.perf_counter()
utils.estimate_confidence_interval_by_bootstrap(values, n_bootstrap_samples=int(sys.argv[2]), random_state=0)
print(time.perf_counter() - began)
"""
"""scope-rl's interval of one policy: means of resampled scalars that were normalised once."""


def scope_rl(calls: int, resamples: int) -> float | None:
    """Seconds of scope-rl's own interval; None where it is not installed (tests/conformance/install.sh)."""
    folder = os.environ.get("EVALHARNESS_PEERS_VENV") or Path(__file__).parents[1] / ".venv-peers"
    command = [
        str(Path(folder) / "bin" / "python"),
        "-W",
        "ignore",
        "-c",
        SCOPE_RL,
        str(calls),
        str(resamples),
    ]
    try:
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return None


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--resamples", type=int, default=1000)
    parsed = parser.parse_args()
    unit = np.random.default_rng(0).random((2000, 2000))
    began = time.perf_counter()
    unit @ unit
    said("a 2000 x 2000 matrix product (the machine)", f"{time.perf_counter() - began:.2f} s")
    calls = log(20_000)
    whole = seconds_of(calls, parsed.resamples)
    said(
        f"20,000 calls, {POLICIES} tables and 2 baselines, {parsed.resamples:,} resamples, refitted",
        f"{whole:.1f} s",
    )
    drawn = list(counts(len(calls), parsed.resamples, 0))
    table = policies(calls)["table 0"]
    began = time.perf_counter()
    weighted = Weighted.of(calls, table)
    for block in drawn:
        weighted.pdwis(weighted.sums(block))
    added = time.perf_counter() - began
    plain = index_and_recompute(calls, table, parsed.resamples // 10) * 10
    said("one more table's PDWIS interval on drawn counts", f"{added:.3f} s")
    said("the same by indexing and summing anew, against it", f"{plain:.2f} s, ratio {plain / added:.0f}")
    peer = scope_rl(len(calls), parsed.resamples)
    told = "not installed" if peer is None else f"{peer:.2f} s, ratio {peer / added:.0f}"
    said("scope-rl's interval of one policy, without recomputed denominators, against it", told)
    del drawn
    small = seconds_of(log(5_000), 200)
    large = seconds_of(log(parsed.largest), 200)
    growth = (large / small) / (parsed.largest / 5_000)
    said(
        f"5,000 to {parsed.largest:,} calls, 200 resamples (1 is linear)",
        f"{small:.2f} s to {large:.2f} s, {growth:.2f}",
    )
    said(
        "peak memory of this process", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"
    )


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):  # as `score` does
        main()
