"""Run by a checkout's own interpreter, in its root: in which order each rollout of a task meets its instances.

It builds the task as the runner does, constructor and `prepare_run`, plays nothing, and prints digests, never a prompt.
Only the standard library and the checkout's own modules are there. Arguments: TASK SCHEDULE ids|prompts INSTANCES PASS…;
a pass is a rollout's index, or `baseline`.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import io
import json
import sys
from pathlib import Path
from typing import Any

BASELINE = "baseline"
_ID_NAMES = ("instance_id", "id")


def main(arguments: list[str]) -> int:
    """Print one JSON object: by pass, how many instances it meets, a digest of all ids, and the first ids with digests of their prompts."""
    task, schedule, how, instances, *passes = arguments
    sys.path.insert(0, str(Path.cwd()))
    out, sys.stdout = sys.stdout, io.StringIO()  # what a task prints must not get between
    try:
        prompts = int(instances) if how == "prompts" else 0
        orders = {one: _order(task, schedule, one, prompts) for one in passes}
    finally:
        sys.stdout = out
    json.dump({"orders": orders}, out)
    return 0


def _order(task: str, schedule: str, one: str, prompts: int) -> dict[str, Any]:
    first = _built(task, schedule, one)
    build = getattr(first, "build_canonical_run_state", None)
    if build is not None:
        build()
    ids = [_id(instance) for instance in getattr(first, "instances", None) or ()]
    whole = "\n".join(ids) if ids and all(ids) and len(set(ids)) == len(ids) else ""
    met = []
    for position in range(min(prompts, first.num_instances)):
        # A task that has begun an instance has moved on: every question is asked of a new one.
        query = _built(task, schedule, one).reset_baseline_instance(position)
        met.append(
            [
                str(query.instance_id),
                hashlib.md5(str(query.prompt).encode(), usedforsecurity=False).hexdigest(),
            ]
        )
    return {
        "instances": first.num_instances,
        "ids": hashlib.md5(whole.encode(), usedforsecurity=False).hexdigest() if whole else "",
        "met": met,
    }


def _built(task: str, schedule: str, one: str) -> Any:
    """The task of a pass, a rollout's index or `baseline`, as the runner builds it."""
    kind = importlib.import_module("src.registry").get_task_class(task)
    told: dict[str, Any] = {"schedule": schedule}
    if one != BASELINE:
        told |= {"run_index": int(one), "rollout_index": int(one)}
    takes = inspect.signature(kind.__init__).parameters
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in takes.values()):
        told = {name: value for name, value in told.items() if name in takes}
    made = kind(**told)
    if one != BASELINE:
        made.prepare_run(int(one))
    return made


def _id(one: Any) -> str:
    """What identifies an instance; empty where nothing does."""
    if isinstance(one, dict):
        found = next((one[name] for name in _ID_NAMES if name in one), None)
    elif isinstance(one, tuple):
        found = one[0] if one and isinstance(one[0], str) else None
    else:
        found = next((getattr(one, name) for name in _ID_NAMES if hasattr(one, name)), None)
    return "" if found is None else str(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
