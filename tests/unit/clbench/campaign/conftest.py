"""Campaigns as they lie on disk: a checkout's results and a run directory, in the form that the benchmark writes."""

import gzip
import json

import pytest

from pytest_evalharness.base.git import Git
from pytest_evalharness.clbench.domains import CODEBASE, DATABASE, SALES

FIRST = "2026-07-20T08-00-00.000001Z_run-all"
SECOND = "2026-07-20T16-00-00.000002Z_run-all"


def outcome(name, at, reward, cost):
    return {
        "instance_id": name,
        "instance_index": at,
        "reward": reward,
        "success": reward > 0,
        "metadata": {},
        "cost_usd": cost,
        "latency_seconds": 1.0,
    }


class Laid:
    """A campaign of three tasks with four instances and three rollouts each; a test lays down what its crash left."""

    tasks = (DATABASE, SALES, CODEBASE)
    instances, rollouts = 4, 3

    def __init__(self, root):
        self.root = root
        self.folder = root / "final_results" / "runs" / "mine"
        self.manifest = {
            "kind": "run_all_manifest",
            "run_name": "mine",
            "run_slug": "mine",
            "run_group_id": FIRST,
            "system": "notebook",
            "system_args": ["--system-params", '{"model":"m"}'],
            "started_at": "2026-07-20T08:00:00+00:00",
            "finished_at": None,
            "status": "running",
            "final_results_dir": "final_results/runs/mine",
            "current_batch_id": FIRST,
            "tasks": [self.entry(task, FIRST, "pending") for task in self.tasks],
        }
        (self.folder / "tasks").mkdir(parents=True)
        (self.folder / "logs").mkdir()
        (root / "results").mkdir()
        self.store()

    def entry(self, task, group, status):
        return {
            "task": task,
            "schedule": "default",
            "status": status,
            "exit_code": 0 if status == "ok" else None,
            "live_manifest_path": f"results/{task}/live/{group}/manifest.json",
            "summary_path": None,
            "final_artifact_path": f"final_results/runs/mine/tasks/{task}.json.gz",
            "batch_id": group,
            "headline": {"cumulative_gain": None, "total_reward": None, "total_cost_usd": None},
        }

    def store(self):
        (self.folder / "manifest.json").write_text(json.dumps(self.manifest, indent=2))

    def stored(self):
        return json.loads((self.folder / "manifest.json").read_text())

    def line(self, task):
        return next(one for one in self.stored()["tasks"] if one["task"] == task)

    def status(self, task, status, group=FIRST):
        """What the manifest says of a task."""
        self.manifest["tasks"] = [
            self.entry(task, group, status) if one["task"] == task else one for one in self.manifest["tasks"]
        ]
        self.store()

    def log(self, task, group):
        command = f"$ clbench run {task} --system notebook --schedule default --run-group-id {group}"
        (self.folder / "logs" / f"{task}.log").write_text(command + "\n\n")

    def trace(self, task, group, index, count=None, **more):
        count = self.instances if count is None else count
        seed = -1 if index is None else index
        outcomes = [
            outcome(f"{task}:{at}", at, round(0.1 * (seed + 1) + 0.05 * at, 6), 0.25) for at in range(count)
        ]
        whole = count == self.instances
        execution = {
            "run_group_id": group,
            "run_index": index,
            "total_interactions": 2 * count,
            "usage": {"interaction": {"cost_usd": 0.25 * count}},
        }
        if index is None:
            execution |= {
                "instances_total": self.instances,
                "instances_completed": count,
                "instances_blocked": 0,
                "coverage_ratio": count / self.instances,
            }
        ended = whole or index is None
        result = {
            "score": sum(one["reward"] for one in outcomes) / max(1, count),
            "instance_outcomes": outcomes,
        }
        return {
            "status": "completed" if ended else "running",
            "phase": "baseline" if index is None else "run",
            "schedule": "default",
            "system": {"name": "notebook", "params": {"model": "m"}},
            "task": {"name": task, "params": {}},
            "execution": execution,
            "system_memory": None,
            "interactions": [
                {"query": {"prompt": f"{one['instance_id']} ?", "instance_id": one["instance_id"]}}
                for one in outcomes
            ],
            "instance_outcomes": outcomes,
            "result": result if ended else None,
        } | more

    def head(self, task, group, *, baseline=True, params=None):
        """The manifest of live snapshots, which is there before any of them."""
        live = self.root / "results" / task / "live" / group
        live.mkdir(parents=True, exist_ok=True)
        told = {
            "kind": "live_manifest",
            "run_group_id": group,
            "status": "running",
            "phase": "baseline",
            "task": {"name": task, "params": {"expected_num_instances": self.instances} | (params or {})},
            "system": {"name": "notebook", "params": {"model": "m"}},
            "task_brief": None,
            "baseline": {"trace_path": "baseline.json"} if baseline else None,
            "runs": [{"run_index": k, "trace_path": f"run_{k + 1}.json"} for k in range(self.rollouts)],
        }
        (live / "manifest.json").write_text(json.dumps(told))
        self.log(task, group)
        return live

    def live(self, task, group=FIRST, baseline=4, rollouts=(4, 4, 4), **head):
        """Snapshots of a task: how many instances each pass has; None has no file."""
        live = self.head(task, group, baseline=baseline is not None, **head)
        if baseline is not None:
            (live / "baseline.json").write_text(json.dumps(self.trace(task, group, None, baseline), indent=2))
        for index, count in enumerate(rollouts):
            if count is not None:
                raw = json.dumps(self.trace(task, group, index, count), indent=2)
                (live / f"run_{index + 1}.json").write_text(raw)
        return live

    def artifact(self, task, group=FIRST, rollouts=3, **more):
        traces = [self.trace(task, group, index) for index in range(rollouts)]
        return {
            "kind": "viewer_artifact",
            "summary": {
                "run_group_id": group,
                "status": "completed",
                "task": {"name": task, "params": {"expected_num_instances": self.instances}},
                "schedule": "default",
                "aggregate": {"mean_gain_by_index": [0.1, 0.2, 0.3, 0.4]},
                "runs": [
                    {"aggregate": {"total_reward": 1.0 + k, "total_cost": 1.0}} for k in range(rollouts)
                ],
            },
            "baseline_trace": self.trace(task, group, None),
            "run_traces": [{"run_index": k, "trace": one} for k, one in enumerate(traces)],
        } | more

    def written(self, task, group=FIRST, **more):
        """What the task's own process writes at its end."""
        path = self.root / "results" / task / f"viewer_artifact_{group}_20260720_120000.json.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(json.dumps(self.artifact(task, group, **more)).encode()))
        return path

    def published(self, task):
        """The artifact in the run directory."""
        return json.loads(gzip.decompress((self.folder / "tasks" / f"{task}.json.gz").read_bytes()))

    def everything(self):
        """Every file of the run directory, with its content."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A user who waits for git has less patience than a machine that is busy takes of it."""
    monkeypatch.setitem(Git.__init__.__kwdefaults__, "seconds", 300.0)


@pytest.fixture
def laid(tmp_path):
    return Laid(tmp_path / "clb")
