"""A campaign that runs: its manifest and its live snapshots, in the form that the benchmark writes, at a time that a test sets."""

import json
import os

import pytest

from pytest_evalharness.clbench.campaign.live import LiveReader

GROUP = "2026-11-30T00-00-00.000001Z_run-all"
NOON = 1_780_315_200.0
"""2026-06-01T12:00:00Z."""


class HandClock:
    """Two clocks that only move when told; the wall clock may jump."""

    def __init__(self):
        self.wall, self.steady = NOON, 500.0
        self.waits = []

    def now(self):
        return self.wall

    def monotonic(self):
        return self.steady

    def wait(self, seconds, stop=None):
        self.waits.append(seconds)
        self.forward(seconds)
        return False

    def forward(self, seconds):
        self.wall += seconds
        self.steady += seconds


def outcome(at, reward=0.5, cost=0.01, **more):
    return {
        "instance_id": f"i{at}",
        "instance_index": at,
        "reward": reward,
        "metadata": {},
        "cost_usd": cost,
    } | more


def turn(at, **response):
    return {
        "query": {"prompt": "?", "instance_id": f"i{at}"},
        "response": {"action": {}, "metadata": response},
    }


class LiveCampaign:
    """Writes what the benchmark would."""

    def __init__(self, root, clock):
        self.root, self.clock = root, clock
        self.folder = root / "final_results" / "runs" / "mine"
        self.folder.mkdir(parents=True)
        (root / "results").mkdir()
        self.manifest = {"run_name": "mine", "status": "running", "system_args": ["--runs", "2"], "tasks": []}

    def live(self, task, group=GROUP):
        return self.root / "results" / task / "live" / group

    def store(self, path, told):
        """Replaced in one step, and stamped with the test's time."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".tmp")
        part.write_bytes(told if isinstance(told, bytes) else json.dumps(told, indent=2).encode())
        os.utime(part, (self.clock.wall, self.clock.wall))
        part.replace(path)
        return path

    def task(self, task, *, status="running", rollouts=2, expected=4, baseline=True, group=GROUP, head=True):
        """A task in the manifest, and the manifest of its live folder."""
        where = f"results/{task}/live/{group}/manifest.json"
        entry = {"task": task, "schedule": "default", "status": status, "live_manifest_path": where}
        self.manifest["tasks"] = [one for one in self.manifest["tasks"] if one["task"] != task] + [entry]
        self.store(self.folder / "manifest.json", self.manifest)
        if head and status != "pending":
            runs = [
                {"run_index": k, "trace_path": f"{self.live(task, group)}/run_{k + 1}.json"}
                for k in range(rollouts)
            ]
            told = {
                "kind": "live_manifest",
                "status": "running",
                "task": {"name": task, "params": {"expected_num_instances": expected} if expected else {}},
                "baseline": {"trace_path": "baseline.json"} if baseline else None,
                "runs": runs,
            }
            self.store(self.live(task, group) / "manifest.json", told)

    def write(self, task, index, outcomes, *, open_turns=(), start="10:00", group=GROUP, **more):
        """A pass after these outcomes, each of two turns, and the turns of an instance that is open."""
        closed = [turn(one["instance_index"]) for one in outcomes for _ in range(2)]
        turns = [*closed, *open_turns]
        cost = more.pop("cost", sum(one["cost_usd"] or 0.0 for one in outcomes))
        execution = {
            "start_time": start,
            "total_interactions": len(turns),
            "wall_duration_seconds": more.pop("seconds", 60.0 * len(outcomes)),
            "usage": {"interaction": {"cost_usd": cost, **more.pop("usage", {})}},
        } | more.pop("execution", {})
        told = {
            "status": "completed" if index is None else "running",
            "execution": execution,
            "interactions": turns,
            "instance_outcomes": outcomes,
            "result": None,
        } | more
        label = "baseline" if index is None else f"run_{index + 1}"
        return self.store(self.live(task, group) / f"{label}.json", told)

    def reader(self):
        return LiveReader(self.root, self.folder, clock=self.clock)


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def campaign(tmp_path, clock):
    found = LiveCampaign(tmp_path, clock)
    clock.forward(60.0)  # what was written a moment ago is read again: these tests look later than they write
    return found


@pytest.fixture
def made():
    """The makers of outcomes and turns."""
    return type("Made", (), {"outcome": staticmethod(outcome), "turn": staticmethod(turn)})
