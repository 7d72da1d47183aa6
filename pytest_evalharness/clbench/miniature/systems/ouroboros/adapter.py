"""The live bridge: one engine task a question, holds while the host's network is gone, and a ladder of ways to an answer."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from dataclasses import asdict
from typing import Any, ClassVar

from pytest_evalharness.clbench.miniature.faults import Faults
from pytest_evalharness.clbench.miniature.policy import EMPTY_ACTIONS, Player
from pytest_evalharness.clbench.miniature.systems.contract import Place, Response, System
from pytest_evalharness.clbench.miniature.systems.ouroboros.parameters import DEFAULTS, require_sound
from pytest_evalharness.clbench.miniature.systems.ouroboros.process import EngineProcess
from pytest_evalharness.clbench.miniature.systems.ouroboros.runroot import KEY, make_runroot
from pytest_evalharness.clbench.miniature.tasks.contract import Observation, Query
from pytest_evalharness.clbench.miniature.usage import Call

HOLD = "OUROBOROS_NET_OUTAGE_HOLD_SEC"
DEFAULT_HOLD = 21_600.0
FORFEIT_AFTER = 3
"""Empty answers in a row on one instance after which the bridge says that the engine is dead."""
_STEP = 0.05
"""Seconds between two looks at a network that is gone; the real bridge takes 30."""
_TO_ENGINE = ("oom", "key_limit", "transport_death", "blip", "prose", "late_error", "no_shim", "truncated")
_VALUES = {"transport_death": 3.0, "blip": 1.0, "oom": 1.0}


def say(text: str) -> None:
    """A line of the bridge, which the benchmark keeps in the task's log."""
    print(f"[live-bridge] {text}", file=sys.stderr, flush=True)


class Ouroboros(System):
    """An engine of its own for each rollout, and a fresh one for each instance of the baseline."""

    name: ClassVar[str] = "ouroboros"
    summary: ClassVar[str] = (
        "The adapter in miniature: an engine process with a folder of its own, and a bridge to it."
    )
    parameters: ClassVar[dict[str, Any]] = DEFAULTS

    @classmethod
    def makes_baseline(cls) -> bool:
        """Not where the environment says so."""
        return os.environ.get("OUROBOROS_BENCH_SKIP_BASELINE") != "1"

    def __init__(self, place: Place, params: dict[str, Any]) -> None:
        super().__init__(place, params)
        require_sound(params)
        self.faults = Faults(place.root)
        self.seed = f"{place.task}:{place.run_index}:{place.instance}"
        self.question = ""
        self.count = self.empty = self.tasks = 0
        self.abandoned = False
        self.task_id = ""
        self.down_since: float | None = None
        self.engine = None if params.get("engine") == "llm" else self._boot()
        self.player = Player(random.Random(self.seed))

    def _struck(self, name: str, position: int) -> float | None:
        """A fault's value where it strikes, else None."""
        found = self.faults.striking(name, self.place.task, self.place.run_index, position)
        if found is None:
            return None
        return _VALUES.get(name, 0.0) if found.value is None else found.value

    def _boot(self) -> EngineProcess:
        first = self.place.instance or 0
        root = make_runroot(self.place.root, self.params)
        if self._struck("uid_clash", first) is not None:
            raise PermissionError(13, "Permission denied", str(root.shim_target))
        if self._struck("other_key", first) is not None:
            root.settings.write_text(json.dumps({**root.read_settings(), KEY: "sk-or-v1-spent-elsewhere"}))
        bind = os.environ.get("CLBENCH_SHIM_BIND") or "127.0.0.1"
        root.shim_target.write_text(f"http://{bind}:0/\n")
        told = {
            "seed": self.seed,
            "stateful": self.params.get("mode") == "stateful",
            "workers": self.params.get("max_workers"),
            "dead_workers": self._struck("partial_mount", first) is not None,
        }
        engine = EngineProcess(root, self.params, told)
        kind = (
            f"container of {self.params['docker_image']}" if engine.container else "process of this machine"
        )
        say(
            f"engine {engine.name} booted as a {kind}, runroot {root.path.name}, health {json.dumps(engine.health)}"
        )
        if engine.health["workers_alive"] == 0:
            engine.stop()
            raise RuntimeError(
                f"engine {engine.name} is unhealthy: workers_total > 0, workers_alive = 0 (server.log says why)"
            )
        return engine

    def respond(self, query: Query) -> Response:
        """Put a turn to the engine; an empty action where it gives none, and a task of its own for the question's next turn then."""
        if self.engine is None:
            return Response(self.player.act(query), {}, (self._call(0.01, 1),))
        position = query.instance_index if self.place.instance is None else self.place.instance
        if query.instance_id != self.question:
            self.question, self.empty, self.tasks = query.instance_id, 0, 0
        begun = self.tasks > 0 and not self.abandoned
        if not self._hold(position, self.task_id if begun else ""):
            return self._fallback(query, "host network is still down")
        if not begun:
            self._submit(query.instance_index)
        struck = {name: value for name in _TO_ENGINE if (value := self._struck(name, position)) is not None}
        if self.tasks > struck.get("oom", 0.0):
            struck.pop("oom", None)
        message = {"command": "turn", "task_id": self.task_id, "query": asdict(query), "faults": struck}
        return self._answer(query, position, self.engine.ask(message))

    def _submit(self, index: int) -> None:
        self.count += 1
        self.tasks += 1
        self.abandoned = False
        self.task_id = f"t-{self.engine.name.rpartition('-')[2] if self.engine else 0}-{self.count}"
        say(f"submitted live task {self.task_id} (scope={self.params.get('conversation')}, q_index={index})")

    def _hold(self, position: int, task_id: str) -> bool:
        """Wait while the host's network is gone; False if it is gone for longer than may be waited.

        A question that is under way has its clock paused; one that is not yet sent is not sent.
        """
        began = time.monotonic()
        budget = float(os.environ.get(HOLD) or DEFAULT_HOLD)
        told, shown = False, 0.0
        why = "scope clock paused" if task_id else "nothing is sent yet"
        where = f"host network DOWN - outage hold (task {task_id or None}, {why})"
        while self._network_down(position):
            waited = time.monotonic() - began
            if waited >= budget:
                say(f"{where} over: {waited:.0f}s/{budget:.0f}s")
                self._tell_wait(task_id, "exhausted", waited)
                return False
            if waited >= shown:
                say(f"{where} {waited:.0f}s/{budget:.0f}s")
                self._tell_wait(task_id, "waiting" if told else "entered", waited)
                told, shown = True, max(1.0, 2 * waited)
            time.sleep(_STEP)
        if told:
            waited = time.monotonic() - began
            say(f"host network back after {waited:.1f}s (task {task_id or None})")
            self._tell_wait(task_id, "recovered", waited)
        return True

    def _network_down(self, position: int) -> bool:
        value = self._struck("outage", position)
        if value is None:
            self.down_since = None
            return False
        if self.down_since is None:  # the first look finds it, however short it is
            self.down_since = time.monotonic()
            return True
        return not value or time.monotonic() - self.down_since < value

    def _tell_wait(self, task_id: str, phase: str, waited: float) -> None:
        if self.engine is not None and task_id:
            message = {"command": "wait", "task_id": task_id, "phase": phase, "waited": round(waited, 3)}
            self.engine.ask(message)

    def _answer(self, query: Query, position: int, told: dict[str, Any]) -> Response:
        """The ladder: an action, a typed answer, a repair of its form, and the schema's empty action."""
        status = told["status"]
        if status == "acting":
            return Response(told["action"])
        if status == "queued":
            say(
                f"task {self.task_id} still not terminal after 240s in the queue: workers presumed dead - abandoning scope"
            )
            return self._fallback(query, "workers presumed dead")
        if told["final"]:
            say(
                f"typed answer of task {self.task_id} ({status}, {told['reason']}) salvaged instead of abandoning"
            )
            return Response(json.loads(told["final"]))
        if status == "completed":
            return self._repaired(query, position)
        say(f"task {self.task_id} terminal ({status}) without a protocol action - abandoning scope")
        return self._fallback(query, told["reason"])

    def _repaired(self, query: Query, position: int) -> Response:
        if os.environ.get("OUROBOROS_FORMAT_REPAIR") == "0" or self.engine is None:
            say(f"task {self.task_id} completed, no deliverable answer - abandoning scope")
            return self._fallback(query, "prose")
        if self._struck("repair_broken", position) is not None:
            say("respond failed: NameError: the round that repairs the form is broken")
            raise NameError("name 'repair_scope' is not defined")
        repair = f"{self.task_id}-repair"
        say(f"format-repair: task {self.task_id} has no answer in form -> repair task {repair} submitted")
        told = self.engine.ask({"command": "repair", "task_id": self.task_id, "repair_id": repair})
        say(f"format-repair: task {self.task_id} REPAIRED via {repair}")
        return Response(told["action"])

    def _fallback(self, query: Query, reason: str) -> Response:
        self.empty += 1
        self.abandoned = True
        said: dict[str, Any] = {"fallback_reason": reason}
        if self.empty >= FORFEIT_AFTER:
            said |= {"latency_timeout": True, "forfeit_reason": "engine_unresponsive"}
        return Response(EMPTY_ACTIONS[query.schema], said)

    def observe(self, query: Query, observation: Observation) -> tuple[Call, ...]:
        """Tell the engine; at the end of an instance its task is over, and its cost is told at once."""
        if self.engine is None:
            self.player.learn(query, observation)
            return ()
        message = {
            "command": "observe",
            "task_id": self.task_id,
            "content": observation.content,
            "complete": observation.instance_complete,
            "metadata": observation.metadata,
        }
        told = self.engine.ask(message)
        if not observation.instance_complete:
            return ()
        say(f"finalized item of task {self.task_id}")
        return (self._call(told["cost"], told["turns"]),) if told["cost"] else ()

    def _call(self, dollars: float, turns: int) -> Call:
        model = str(self.params.get("model"))
        return Call(model, "openrouter", "ouroboros_engine_task", 900 * turns, 60 * turns, dollars)

    def close(self) -> None:
        """Stop the engine, unless a fault says that it is forgotten."""
        if self.engine is not None and self._struck("leak", self.place.instance or 0) is None:
            self.engine.stop()
