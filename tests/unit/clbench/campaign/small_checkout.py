"""A checkout with next to no code in it, in the form that the benchmark has: what a driver reads of it, and what it asks of it."""

import json
import sys

from pytest_evalharness.clbench.domains import Family

OFFICIAL = Family.OFFICIAL.tasks
SIZES = {"database_exploration": 40, "exploitable_poker": 120, "blind_spectrum_monitoring": 90}
SIZES |= {"cohort_studies": 20, "codebase_adaptation": 19, "sales_prediction": 12}

SYSTEM = '''
from ...registry import register_system


class Base:
    def __init__(self, model="openrouter/some/model", engine="llm", mode="stateful", *, docker=False,
                 docker_image="clbench-ouroboros:dev", max_workers=10, loop="action", conversation="rollout",
                 memory_instruction="tools", evolution=False, final_answer_delivery=False, resume=None):
        raise AssertionError("nobody builds a system before the first dollar")


@register_system("ouroboros")
class Ouroboros(Base):
    """An adapter."""
'''

REGISTRY = '''
import json, random, sys
from pathlib import Path

SIZES = {sizes!r}


class Query:
    def __init__(self, instance_id, prompt):
        self.instance_id, self.prompt = instance_id, prompt


class Task:
    """Shuffles as the benchmark does, unless the tree has a file that says it does not."""

    def __init__(self, schedule=None, run_index=None):
        print("a task that prints while it is built")
        self.num_instances = SIZES[self.name]
        self.order = list(range(self.num_instances))

    def prepare_run(self, run_index):
        if run_index and not Path("broken").exists():
            random.Random(run_index).shuffle(self.order)

    def build_canonical_run_state(self):
        self.instances = [{{"instance_id": f"{{self.name}}-{{one}}"}} for one in self.order]
        if self.name == "blind_spectrum_monitoring":
            self.instances = list(self.order)

    def reset_baseline_instance(self, position):
        if self.name == "codebase_adaptation":
            raise AssertionError("this would start a container")
        return Query(f"id {{position}}", f"a secret prompt {{self.order[position]}}")


def get_task_class(name):
    return type(name, (Task,), {{"name": name}})
'''

PROGRAM = """
import argparse, json, sys

SIZES = {sizes!r}
KNOWN = {known!r}
parser = argparse.ArgumentParser()
parser.add_argument("command")
parser.add_argument("task")
for name in ("--system", "--schedule", "--system-params", "--run-group-id"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--max-workers", type=int, default=12)
parser.add_argument("--no-live-server", action="store_true")
parser.add_argument("--dry-run", action="store_true")
told = parser.parse_args()
assert told.command == "run" and told.dry_run, "only a dry run costs nothing"
if told.system != "ouroboros":
    sys.exit(f"Error: Unknown system {{told.system!r}}.")
given = json.loads(told.system_params or "{{}}")
print("Dry run successful.")
print("Resolved system params:", KNOWN | {{name: value for name, value in given.items() if name in KNOWN}})
print("Resolved task params:", {{"schedule": told.schedule, "expected_num_instances": SIZES[told.task]}})
mode = "replicate" if told.task == "sales_prediction" else "permute"
print(f"Runs: {{told.runs}}, max workers: {{told.max_workers}}, mode: {{mode}}")
print("Task brief:", "a secret brief")
"""
KNOWN = {
    "model": "m",
    "engine": "llm",
    "mode": "stateful",
    "docker": False,
    "docker_image": "clbench-ouroboros:dev",
}
KNOWN |= {"max_workers": 10, "loop": "action", "conversation": "rollout", "memory_instruction": "tools"}
KNOWN |= {"evolution": False, "final_answer_delivery": False}


def lay_down(root, tasks=OFFICIAL, **defaults):
    """Folders, schedules and a start script that does nothing."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "run_benchmark.py").write_text("raise SystemExit(0)\n")
    (root / "src/systems/ouroboros").mkdir(parents=True)
    (root / "src/systems/ouroboros/__init__.py").touch()
    (root / "src/systems/common.py").touch()
    for task in tasks:
        folder = root / "src/tasks" / task / "schedules"
        folder.mkdir(parents=True)
        mode = "replicate" if task == "sales_prediction" else "permute"
        told = {"id": "default", "run_defaults": {"runs": 5, "max_workers": 12, "mode": mode} | defaults}
        (folder / "default.json").write_text(json.dumps(told))
    return root


def with_code(root):
    """The same with a program that does dry runs, tasks that can be built, and a system that can be read."""
    lay_down(root)
    (root / "run_benchmark.py").write_text(PROGRAM.format(sizes=SIZES, known=KNOWN))
    (root / "src/systems/ouroboros/system.py").write_text(SYSTEM)
    (root / "src/__init__.py").touch()
    (root / "src/registry.py").write_text(REGISTRY.format(sizes=SIZES))
    (root / "scripts").mkdir()
    (root / "scripts/analyze_final_results.py").write_text('"""reads mean_reference_kl"""\n')
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    return root
