"""`python -m pytest_evalharness.clbench.miniature.orders TASK SCHEDULE INSTANCES PASS…`: in which order passes meet instances.

The miniature's answer to the question that is put to a real checkout's tasks: nothing is played, digests are printed, no prompt.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature.faults import Faults
from pytest_evalharness.clbench.miniature.passes import build_task
from pytest_evalharness.clbench.miniature.registry import TASK_PARAMETERS
from pytest_evalharness.clbench.miniature.schedules import schedule
from pytest_evalharness.clbench.miniature.tasks.contract import Task

BASELINE = "baseline"


def main(arguments: Sequence[str], root: Path) -> int:
    """Print one JSON object: by index, the number of instances and the first of them."""
    task, chosen, instances, *passes = arguments
    orders = {one: _order(root, task, chosen, one, int(instances)) for one in passes}
    print(json.dumps({"orders": orders}))
    return 0


def _order(root: Path, task: str, chosen: str, name: str, instances: int) -> dict[str, Any]:
    met = []
    for position in range(min(instances, _built(root, task, chosen, name).num_instances)):
        one = _built(root, task, chosen, name)
        one.position = position
        one.begin_instance()
        met.append([one.instance_id, hashlib.md5(one.prompt().encode(), usedforsecurity=False).hexdigest()])
    return {"instances": _built(root, task, chosen, name).num_instances, "ids": "", "met": met}


def _built(root: Path, name: str, chosen: str, one: str) -> Task:
    """The task of a pass, a rollout's index or `baseline`, as the pass builds it."""
    task = build_task(root, name, {**TASK_PARAMETERS, "schedule": chosen})
    if one == BASELINE or schedule(root, name, chosen).mode == "replicate":
        return task
    if not Faults(root).striking("same_order", name, int(one), 0):
        task.prepare_run(int(one))
    return task


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
