"""One batch of `clbench run-all`: the manifest, a child process a task, and the artifacts that are copied at the very end."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature.passes import SUITE_PID
from pytest_evalharness.clbench.miniature.run import new_run_group_id
from pytest_evalharness.clbench.miniature.schedules import DEFAULT
from pytest_evalharness.clbench.miniature.summaries import headline, write_packed
from pytest_evalharness.clbench.miniature.traces import write_json

_TAIL = 60
_NO_NUMBERS: dict[str, float | None] = {
    "cumulative_gain": None,
    "total_reward": None,
    "mean_latency_seconds": None,
    "total_cost_usd": None,
}


def child_program(root: Path) -> list[str]:
    """What starts a child: the `clbench` on the path, whoever's it is, else the checkout's own script."""
    found = shutil.which("clbench")
    return [found] if found else [sys.executable, str(root / "run_benchmark.py")]


class Batch:
    """One batch of a run: its manifest, its children, and the artifacts that are copied at the end."""

    def __init__(  # noqa: PLR0917 - it is what a batch consists of
        self,
        root: Path,
        parsed: argparse.Namespace,
        extra: list[str],
        folder: Path,
        existing: dict[str, Any] | None,
        tasks: list[str],
        skipped: list[tuple[str, str]],
        verbosity: int,
    ) -> None:
        self.root, self.parsed, self.extra, self.folder = root, parsed, extra, folder
        self.tasks, self.skipped, self.verbosity = tasks, skipped, verbosity
        self.group = new_run_group_id("run-all")
        self.started = datetime.now(UTC).isoformat()
        self.program = child_program(root)
        self.lock = threading.Lock()
        self.manifest = self._manifest(existing)
        self.codes: dict[str, int] = {}

    def execute(self) -> int:
        """Run the children, then publish."""
        os.environ[SUITE_PID] = str(os.getpid())
        for name in ("tasks", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if self._appending:
            self._archive()
        self._persist()
        if self.parsed.live_dashboard:
            self._serve()
        print(
            f"Running {len(self.tasks)} task(s) with up to {self.parsed.task_parallelism} parallel task subprocess(es)..."
        )
        print(
            f"Run id: {self.group}\nRun name: {self.parsed.name}\nFinal results dir: {self._shown(self.folder)}"
        )
        for name, reason in self.skipped:
            print(f"  [skip] {name}: {reason}")
        sys.stdout.flush()
        with ThreadPoolExecutor(self.parsed.task_parallelism) as pool:
            for done in as_completed([pool.submit(self._run, name) for name in self.tasks]):
                name, code, seconds = done.result()
                self.codes[name] = code
                print(f"  [{'ok  ' if code == 0 else 'FAIL'}] {name} ({seconds:.0f}s)", flush=True)
        self._publish()
        return self._told()

    @property
    def _appending(self) -> bool:
        return bool(self.parsed.append or self.parsed.missing_only or self.parsed.overwrite_task)

    @property
    def _mode(self) -> str:
        named = ("overwrite_task", "missing_only", "append")
        return next((one for one in named if getattr(self.parsed, one)), "initial")

    def _shown(self, path: Path) -> str:
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return str(path)

    def _manifest(self, existing: dict[str, Any] | None) -> dict[str, Any]:
        told: dict[str, Any] = {
            "run_name": self.parsed.name,
            "run_slug": self.folder.name,
            "system": self.parsed.system,
            "system_args": self.extra,
            "finished_at": None,
            "status": "running",
            "poll_interval_ms": 2000,
            "manifest_path": self._shown(self.folder / "manifest.json"),
            "final_results_dir": self._shown(self.folder),
            "logs_dir": self._shown(self.folder / "logs"),
            "current_batch_id": self.group,
        }
        entries = [self._entry(name) for name in self.tasks]
        if existing is None:
            head = {"kind": "run_all_manifest", "run_group_id": self.group, "started_at": self.started}
            return {**head, **told, "tasks": entries}
        replaced = self.tasks if self.parsed.overwrite_task or self.parsed.missing_only else []
        kept = [one for one in existing.get("tasks", ()) if one.get("task") not in replaced]
        return {**existing, **told, "tasks": kept + entries}

    def _entry(self, name: str) -> dict[str, Any]:
        return {
            "task": name,
            "schedule": DEFAULT,
            "status": "pending",
            "started_at": None,
            "finished_at": None,
            "exit_code": None,
            "duration_seconds": None,
            "log_path": self._shown(self.folder / "logs" / f"{name}.log"),
            "live_manifest_path": f"results/{name}/live/{self.group}/manifest.json",
            "summary_path": None,
            "final_artifact_path": self._shown(self.folder / "tasks" / f"{name}.json.gz"),
            "batch_id": self.group,
            "headline": dict(_NO_NUMBERS),
        }

    def _persist(self) -> None:
        with self.lock:
            write_json(self.folder / "manifest.json", self.manifest)

    def _update(self, name: str, **more: Any) -> None:
        mine = [one for one in self.manifest["tasks"] if one["task"] == name]
        target = next((one for one in mine if one.get("batch_id") == self.group), mine[0])
        with self.lock:
            target.update(more)
        self._persist()

    def _archive(self) -> None:
        """Move what a task left aside; an artifact without a log beside it stays, as upstream leaves it."""
        for name in self.tasks:
            log = self.folder / "logs" / f"{name}.log"
            files = [self.folder / "tasks" / f"{name}{end}" for end in (".json.gz", ".json")]
            if not (log.exists() or files[1].exists()):
                continue
            aside = self.folder / "archive" / self.group / name
            aside.mkdir(parents=True, exist_ok=True)
            for one in (*files, log):
                if one.exists():
                    shutil.move(str(one), str(aside / one.name))
            reason = "overwritten by clbench run-all --overwrite-task"
            told = {"task": name, "archived_at_batch": self.group, "reason": reason}
            (aside / "archive_metadata.json").write_text(json.dumps(told, indent=2))

    def _run(self, name: str) -> tuple[str, int, float]:
        self._update(name, status="running", started_at=datetime.now(UTC).isoformat())
        began = time.monotonic()
        words = [
            "run",
            name,
            "--system",
            self.parsed.system,
            "--schedule",
            DEFAULT,
            "--run-group-id",
            self.group,
        ]
        words += self._flags() + self.extra
        with (self.folder / "logs" / f"{name}.log").open("w") as log:
            log.write(f"$ {' '.join([*self.program, *words])}\n\n")
            log.flush()
            done = subprocess.run([*self.program, *words], stdout=log, stderr=subprocess.STDOUT, check=False)
        seconds = time.monotonic() - began
        artifact = self._artifact(name) if done.returncode == 0 else None
        self._update(
            name,
            status="ok" if done.returncode == 0 else "failed",
            finished_at=datetime.now(UTC).isoformat(),
            exit_code=done.returncode,
            duration_seconds=round(seconds, 2),
            summary_path=None if artifact is None else self._shown(artifact),
            headline=dict(_NO_NUMBERS) if artifact is None else headline(_unpacked(artifact)["summary"]),
        )
        return name, done.returncode, seconds

    def _flags(self) -> list[str]:
        live = (
            ["--live-dashboard", "--no-live-server"]
            if self.parsed.live_dashboard
            else ["--no-live-dashboard"]
        )
        more = ["--debug"] if self.parsed.debug else []
        more += [f"-{'v' * self.verbosity}"] if self.verbosity else []
        workers = self.parsed.per_task_parallelism
        return live + more + ([] if workers is None else ["--max-workers", str(workers)])

    def _artifact(self, name: str) -> Path | None:
        found = sorted((self.root / "results" / name).glob(f"viewer_artifact_{self.group}_*.json.gz"))
        return found[-1] if found else None

    def _publish(self) -> None:
        """Only now, when all have ended, is anything copied."""
        finished = datetime.now(UTC).isoformat()
        failed = any(one["status"] == "failed" for one in self.manifest["tasks"])
        status = "completed_with_failures" if failed else "completed"
        self.manifest |= {"finished_at": finished, "status": status}
        self._persist()
        together: dict[str, Any] = {}
        for entry in self.manifest["tasks"]:
            together[entry["task"]] = self._copied(entry)
        packed = self.folder / "task_artifacts.json.gz"
        write_packed(packed, together)
        self.manifest |= {"task_artifacts": None, "task_artifacts_path": self._shown(packed)}
        self._persist()
        self._metadata(finished, status)
        self._persist()

    def _copied(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        if not entry["summary_path"]:
            return None
        source = self.root / entry["summary_path"]
        target = self.folder / "tasks" / f"{entry['task']}.json.gz"
        try:
            artifact = _unpacked(source)
            if source.resolve() != target.resolve():
                shutil.copy2(source, target)
        except (OSError, ValueError):
            return None
        entry |= {"raw_summary_path": entry["summary_path"], "summary_path": self._shown(target)}
        return artifact

    def _metadata(self, finished: str, status: str) -> None:
        path = self.folder / "metadata.json"
        before = json.loads(path.read_text()).get("batches", []) if path.exists() else []
        skipped = [{"task": name, "reason": reason} for name, reason in self.skipped]
        batch = {
            "batch_id": self.group,
            "run_group_id": self.group,
            "mode": self._mode,
            "tasks_run": self.tasks,
            "tasks_passed": [name for name in self.tasks if self.codes[name] == 0],
            "tasks_failed": [name for name in self.tasks if self.codes[name] != 0],
            "tasks_skipped": skipped,
            "started_at": self.started,
            "finished_at": finished,
        }
        self.manifest["batches"] = [*before, batch]
        told = {
            "run_name": self.parsed.name,
            "run_slug": self.folder.name,
            "run_group_id": self.manifest.get("run_group_id", self.group),
            "latest_batch_id": self.group,
            "system": self.parsed.system,
            "system_args": self.extra,
            "tasks_requested": self.parsed.task or "all",
            "tasks_run": [one["task"] for one in self.manifest["tasks"]],
            "tasks_skipped": skipped,
            "started_at": self.manifest.get("started_at", self.started),
            "finished_at": finished,
            "status": status,
            "command_hint": "clbench run-all --name ... --system ...",
            "manifest_path": self.manifest["manifest_path"],
            "batches": self.manifest["batches"],
        }
        path.write_text(json.dumps(told, indent=2) + "\n")

    def _told(self) -> int:
        failed = [name for name in self.tasks if self.codes[name] != 0]
        passed = [name for name in self.tasks if self.codes[name] == 0]
        print(f"\nRUN-ALL SUMMARY\nPassed ({len(passed)}):  {', '.join(passed) or 'none'}")
        for name in failed:
            log = self.folder / "logs" / f"{name}.log"
            tail = "\n".join(log.read_text(errors="replace").rstrip().splitlines()[-_TAIL:])
            print(f"\n--- {name} (exit {self.codes[name]}) - {self._shown(log)} ---\n{tail or '(no output)'}")
        return 1 if failed else 0

    def _serve(self) -> None:
        from pytest_evalharness.clbench.miniature.dashboard import serve

        try:
            print(f"Live dashboard: {serve(self.root)}")
        except OSError as problem:
            print(f"Aggregate dashboard server could not start: {problem}")


def _unpacked(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return told
