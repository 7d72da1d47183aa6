"""What does it cost to fit the engines that learn from a log? Prints one line a figure, asserts nothing.

python benchmarks/bench_fitting.py [--calls 100000]
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from pytest_evalharness.engines import catalogue, worlds
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.replay import replay, row_by_row
from pytest_evalharness.engines.worlds.playing import simulate

STAGES, PER_STAGE, MOVES, EPOCHS = 8, 22, 8, 50


def seconds(work: Callable[[], object]) -> float:
    """Processor time: the machine may have other work."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def eight_turns(calls: int) -> Log:
    """Calls of eight turns each in 176 states and eight moves."""
    rng = np.random.default_rng(0)
    step = np.tile(np.arange(STAGES), calls)
    return Log(
        states=tuple(f"{stage}:{one}:none" for stage in range(STAGES) for one in range(PER_STAGE)),
        moves=tuple("abcdefgh"),
        call=np.repeat(np.arange(calls), STAGES),
        state=step * PER_STAGE + rng.integers(0, PER_STAGE, len(step)),
        move=rng.choice(MOVES, len(step), p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05]),
        paid=np.where(step == STAGES - 1, rng.choice([0.0, 40.0, 100.0], len(step)), 0.0),
        gamma=1.0,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    calls = parser.parse_args().calls
    log = eight_turns(calls)
    for rule in ("q-learning", "sarsa", "td-lambda"):
        knobs = {"alpha": 0.1, "epochs": EPOCHS, "min_visits": 1, "trace": 0.8}
        at_once = seconds(lambda: replay(log, rule, **knobs))  # noqa: B023 - called here
        rows = seconds(lambda: row_by_row(log, rule, **knobs))  # noqa: B023
        print(
            f"{rule}, {len(log):,} turns x {EPOCHS} epochs: {at_once:.1f} s, row by row {rows:.1f} s ({rows / at_once:.1f} times)",
            flush=True,
        )
    evidence = simulate(worlds.named("acme"), calls, 1)
    evidence.transitions()
    spent = {
        name: seconds(lambda: catalogue.get(name).run(evidence))  # noqa: B023
        for name in (*catalogue.FROM_A_LOG, catalogue.SANITY)
    }
    print(f"all that learn from a log, {calls:,} simulated calls: {sum(spent.values()):.1f} s")


if __name__ == "__main__":
    main()
