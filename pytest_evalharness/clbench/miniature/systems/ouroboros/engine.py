"""The engine's process: takes a question's turns from its standard input, plays them, and keeps records as an engine does.

It is a server: when the adapter dies it stays, as a container would, until it is stopped, its folder is gone, or the miniature's mercy
is over.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature.policy import NULL_ACTIONS, Player
from pytest_evalharness.clbench.miniature.systems.ouroboros.records import record
from pytest_evalharness.clbench.miniature.systems.ouroboros.runroot import BUDGET, KEY, SENTINEL, Runroot
from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Query

TURN_USD = 0.04
"""What a turn costs; an attempt reserves as much before it is sent."""
NOTE_USD = 0.0005
FEWEST_ATTEMPTS = 3
DEFAULT_ATTEMPTS = 6
_STORM = 3
_STORM_SECONDS = 60.0
_SPENT = "spent"
"""A key with this word in it is one whose limit is reached: every call is refused with 402."""


class Engine:
    """One engine.

    Args:
        root: its folder.
        told: `seed`, `stateful`, `workers` of its start.
    """

    def __init__(self, root: Runroot, told: dict[str, Any]) -> None:
        self.root = root
        self.stateful = bool(told["stateful"])
        self.workers = int(told["workers"])
        self.player = Player(random.Random(str(told["seed"])))
        self.task: dict[str, Any] = {}
        self.query: Query | None = None
        self.spent = 0.0
        self.crashes: list[float] = []
        self.pool_off = False

    def turn(self, told: dict[str, Any]) -> dict[str, Any]:
        """Play one turn of a question; the answer is an action, or how the task ended without one."""
        name, struck = told["task_id"], told["faults"]
        if self.task.get("task_id") != name:
            if not self.stateful:
                self.player.forget()
            self.task = {
                "task_id": name,
                "turns": 0,
                "cost": 0.0,
                "action": None,
                "key": self.root.read_settings()[KEY],
            }
        if self.pool_off:
            return {"status": "queued"}
        self.query = _query(told["query"])
        self.task["turns"] += 1
        ended = self._ended_early(struck) or self._calls(struck)
        if ended:
            return self._end(**ended)
        action = self.player.act(self.query)
        if "no_shim" in struck:
            self.root.event(
                "tools.jsonl",
                "tool_call",
                task_id=name,
                tool="run_command",
                result="curl: (7) Connection refused",
            )
            action = NULL_ACTIONS[self.query.schema]
        self._pay(TURN_USD + NOTE_USD * len(self.player.notes))
        self.root.event(
            "events.jsonl", "llm_round", task_id=name, round=self.task["turns"], attempt=1, cost_usd=TURN_USD
        )
        self.task["action"] = action
        if "prose" in struck:
            return self._end(status="completed", result="I have left the answer in the workspace.", final="")
        if "late_error" in struck:
            return self._end(status="failed", reason="llm_api_error", final=json.dumps(action))
        return {"status": "acting", "action": action, "cost": 0.0}

    def _ended_early(self, struck: dict[str, float]) -> dict[str, Any] | None:
        """How a question ends before any call is made for it."""
        settings = self.root.read_settings()
        cap = float(os.environ.get("CLBENCH_PER_TASK_COST_USD") or 0.0)
        if self.spent >= float(settings[BUDGET]) or (cap and self.task["cost"] >= cap):
            return {
                "status": "failed",
                "reason": "budget_exhausted",
                "result": "the budget is spent",
                "final": "",
            }
        if "truncated" in struck:
            return {"status": "failed", "reason": "round_limit", "result": "no round is left", "final": ""}
        if "oom" in struck:
            self._crashed()
            return {
                "status": "failed",
                "reason": "worker_crash_signal",
                "result": "worker process crashed (signal 9): the pool goes on without it",
                "final": "",
                "signal": 9,
            }
        return None

    def _crashed(self) -> None:
        now = time.time()
        self.crashes = [*(one for one in self.crashes if now - one < _STORM_SECONDS), now]
        self.root.event("supervisor.jsonl", "worker_crashed", task_id=self.task["task_id"], signal=9)
        if len(self.crashes) >= _STORM:
            self.pool_off = True
            self.root.event(
                "supervisor.jsonl", "crash_storm_detected", crashes=len(self.crashes), window_sec=60
            )

    def _calls(self, struck: dict[str, float]) -> dict[str, Any] | None:
        """The attempts of a call: those that fail leave a row each; how the task ends if none is left."""
        if "key_limit" in struck or _SPENT in str(self.task["key"]):
            text = "402 Insufficient credits: openrouter_key_limit"
            self._failed(1, "payment_required", text, status_code=402)
            return {"status": "failed", "reason": "llm_api_error", "result": text, "final": ""}
        budget = max(
            FEWEST_ATTEMPTS, int(os.environ.get("OUROBOROS_TRANSIENT_RETRY_MAX") or DEFAULT_ATTEMPTS)
        )
        deaths = int(struck.get("transport_death", 0))
        for attempt in range(1, deaths + 1):
            self._failed(
                attempt, "transport_death", "the connection died after the request was sent", reserved=True
            )
        blips = int(struck.get("blip", 0))
        for attempt in range(deaths + 1, min(deaths + blips, budget) + 1):
            self._failed(attempt, "provider_error", "502 Bad gateway", status_code=502)
        if deaths + blips >= budget and blips:
            return {
                "status": "failed",
                "reason": "provider_unavailable",
                "result": "no attempt is left",
                "final": "",
            }
        return None

    def _failed(
        self, attempt: int, kind: str, text: str, *, status_code: int | None = None, reserved: bool = False
    ) -> None:
        self.root.event(
            "events.jsonl",
            "llm_api_error",
            task_id=self.task["task_id"],
            round=self.task["turns"],
            attempt=attempt,
            error_kind=kind,
            error=text,
            status_code=status_code,
            reserved_usd=TURN_USD if reserved else 0.0,
            cost_usd=0.0,
        )

    def wait(self, told: dict[str, Any]) -> dict[str, Any]:
        """Note that a call waits for a network that is gone, which costs nothing."""
        phase, seconds = told["phase"], told["waited"]
        name = told["task_id"]
        self.root.event(
            "events.jsonl", "network_wait", task_id=name, phase=phase, waited_sec=seconds, cost_usd=0.0
        )
        return {}

    def observe(self, told: dict[str, Any]) -> dict[str, Any]:
        """See what an action led to; at the end of an instance the task ends, and only then is its cost told."""
        seen = Observation(told["content"], told["complete"], told["metadata"])
        if self.query is not None:
            self.player.learn(self.query, seen)
        if not told["complete"] or self.task.get("task_id") != told["task_id"]:
            return {"cost": 0.0}
        if "status" not in self.task:
            self._end(status="completed", final=json.dumps(self.task["action"]))
        return {"cost": round(self.task["cost"], 6), "turns": self.task["turns"]}

    def repair(self, told: dict[str, Any]) -> dict[str, Any]:
        """Say once more, in form, what was said in prose: a small task of its own."""
        self._pay(TURN_USD / 4)
        final = json.dumps(self.task["action"])
        self.root.write_task(
            record(told["repair_id"], "completed", result="", final=final, cost=TURN_USD / 4)
        )
        return {"action": self.task["action"]}

    def _pay(self, dollars: float) -> None:
        self.spent += dollars
        self.task["cost"] += dollars
        state = {"spent_usd": round(self.spent, 6), "budget_usd": self.root.read_settings()[BUDGET]}
        (self.root.data / "state" / "state.json").write_text(json.dumps(state))

    def _end(
        self, *, status: str, final: str, reason: str = "", result: str = "", signal: int | None = None
    ) -> dict[str, Any]:
        self.task["status"] = status
        cost = round(self.task["cost"], 6)
        self.root.write_task(
            record(
                self.task["task_id"],
                status,
                result=result,
                final=final,
                reason=reason,
                signal=signal,
                cost=cost,
            )
        )
        self.root.event(
            "events.jsonl", "task_done", task_id=self.task["task_id"], status=status, cost_usd=cost
        )
        return {"status": status, "reason": reason, "result": result, "final": final}


def _query(told: dict[str, Any]) -> Query:
    feedback = told["feedback"]
    seen = None if feedback is None else Observation(feedback["content"])
    return Query(
        told["prompt"], told["instance_id"], told["instance_index"], told["schema"], told["metadata"], seen
    )


def serve(root: Runroot, told: dict[str, Any], mercy: float) -> None:
    """Answer a line with a line until told to stop; linger if the adapter dies without a word."""
    engine = Engine(root, told)
    root.line("server.log", f"engine {os.getpid()} ready with {engine.workers} workers")
    alive = 0 if told["dead_workers"] else engine.workers
    _say({"supervisor_ready": True, "workers_total": engine.workers, "workers_alive": alive})
    if told["dead_workers"]:
        root.line("server.log", "ModuleNotFoundError: No module named 'ouroboros'")
    commands = {"turn": engine.turn, "observe": engine.observe, "repair": engine.repair, "wait": engine.wait}
    for line in sys.stdin:
        message = json.loads(line)
        if message["command"] == "stop":
            return
        _say(commands[message["command"]](message))
    over = time.monotonic() + mercy
    while time.monotonic() < over and (root.path / SENTINEL).exists():
        time.sleep(0.2)


def _say(told: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.close(1)
        os.open(os.devnull, os.O_WRONLY)


if __name__ == "__main__":
    serve(Runroot(Path(sys.argv[-1])), json.loads(sys.stdin.readline()), float(sys.argv[-2]))
