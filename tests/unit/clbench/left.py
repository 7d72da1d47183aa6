"""What engines and the adapter leave, made up here in the form in which they write it."""

import json
from datetime import UTC, datetime


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class Left:
    """A runs root and the logs of a campaign."""

    def __init__(self, folder):
        self.runs_root = folder / "runs"
        self.logs = folder / "final_results" / "runs" / "mine" / "logs"
        self.logs.mkdir(parents=True)
        self.root("aaaa0001")

    def root(self, name, prefix="obo_dockerclbench_"):
        self.folder = self.runs_root / f"{prefix}{name}"
        for part in ("clone/.git", "data/logs", "data/task_results", "data/state"):
            (self.folder / part).mkdir(parents=True)
        return self.folder

    def task(self, name, status="completed", **told):
        record = {"task_id": name, "status": status, "result": "", "final_answer": "", **told}
        path = self.folder / "data" / "task_results" / f"{name}.json"
        path.write_text(json.dumps(record))
        return path

    def rows(self, log, *rows):
        path = self.folder / "data" / "logs" / log
        with path.open("a") as file:
            file.writelines((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        return path

    def events(self, *rows):
        return self.rows("events.jsonl", *rows)

    def says(self, task, *lines):
        path = self.logs / f"{task}.log"
        with path.open("a") as file:
            file.writelines(f"[live-bridge] {line}\n" for line in lines)
        return path

    def submitted(self, task, name, position):
        self.says(task, f"submitted live task {name} (scope=question, timeout=1800s, q_index={position})")


def error(task, kind="provider_transient", round_=1, attempt=1, **more):
    """A failed attempt, as the engine writes it."""
    return {
        "ts": at(1_800_000_000), "type": "llm_api_error", "task_id": task, "execution_id": "e1",
        "round_id": f"e1:round:{round_}", "llm_call_id": f"c{round_}.{attempt}", "round": round_, "attempt": attempt,
        "model": "m", "error": "boom", "error_kind": kind, **more,
    }  # fmt: skip


def wait(task, phase, elapsed, started=1_800_000_000.0, **more):
    """A row of a wait for the network."""
    return {
        "ts": at(started + elapsed), "type": "network_wait", "task_id": task, "phase": phase, "elapsed_sec": elapsed,
        "redials": 1, "model": "m", "next_sleep_sec": 30.0, **more,
    }  # fmt: skip
