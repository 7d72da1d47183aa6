"""The commands of the benchmark: what each word leads to, and the short ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature import registry

Command = Callable[[Sequence[str], Path], int]
HELP = """usage: clbench <command> [options]

Commands:
  list      List available tasks and systems
  run       Run a benchmark
  run-all   Run a system on all tasks using each task's default.json schedule
  inspect   Show parameters and schedules of a task or system
  init      Not in the miniature
  validate  Validate a task or system
  smoke     Run one interaction end-to-end as a wiring check
  doctor    Check environment prerequisites
  setup     Nothing to do in the miniature

This is pytest-evalharness's embedded miniature, not the benchmark: its tasks are invented.
"""


def main(argv: Sequence[str], root: Path) -> int:
    """Run a command.

    Args:
        argv: a command and what follows it.
        root: of the checkout; results go below the working directory.

    Returns:
        The exit code; 1 for no command, an unknown one, and `--help`, as upstream.

    Raises:
        SystemExit: argparse refuses an argument (2), or a name fits nothing (1).
    """
    chosen = _COMMANDS.get(argv[0]) if argv else None
    if chosen is None:
        print(HELP)
        return 1
    try:
        return chosen(argv[1:], root)
    except KeyboardInterrupt:
        print("\n\nInterrupted by user.")
        return 1


def _list(argv: Sequence[str], root: Path) -> int:
    parser = argparse.ArgumentParser(prog="clbench list")
    parser.add_argument("kind", nargs="?", choices=["tasks", "systems"])
    kind = parser.parse_args(argv).kind
    if kind != "systems":
        print("Tasks:", *(f"  {name}" for name in sorted(registry.TASKS)), sep="\n")
    if kind is None:
        print()
    if kind != "tasks":
        print("Systems:", *(f"  {name}" for name in sorted(registry.SYSTEMS)), sep="\n")
    return 0


def _inspect(argv: Sequence[str], root: Path) -> int:
    from pytest_evalharness.clbench.miniature.arguments import unknown

    parser = argparse.ArgumentParser(prog="clbench inspect")
    parser.add_argument("kind", choices=["task", "system"])
    parser.add_argument("name")
    parsed = parser.parse_args(argv)
    if parsed.name not in (registry.TASKS if parsed.kind == "task" else registry.SYSTEMS):
        unknown(parsed.kind, parsed.name)
    if parsed.kind == "system":
        system = registry.system_class(parsed.name)
        _describe("System", parsed.name, system.__module__, system.summary, system.parameters)
        return 0
    task = registry.task_class(parsed.name)
    summary = (task.__doc__ or "").strip().splitlines()[0]
    _describe("Task", parsed.name, task.__module__, summary, registry.TASK_PARAMETERS)
    _describe_task(root, parsed.name, task.brief)
    return 0


def _describe(kind: str, name: str, module: str, summary: str, parameters: dict[str, Any]) -> None:
    print(f"{kind}: {name}\nModule: {module}\nSummary: {summary}\n\nParameters:")
    for key, default in parameters.items():
        shown = f" (default: {default!r})"
        print(f"  - {key}: {'str | None' if default is None else type(default).__name__}{shown}")


def _describe_task(root: Path, name: str, brief: dict[str, Any]) -> None:
    from pytest_evalharness.clbench.miniature.schedules import schedules

    print("\nNamed schedules:")
    for one in schedules(root, name):
        told = f"stages={len(one.stages)}, runs={one.runs}, mode={one.mode}, max_workers={one.max_workers}"
        print(f"  - {one.id}: {one.title} - {one.description} [{told}]")
    print("\nTask Brief:")
    for key, words in brief.items():
        print(f"  {key.replace('_', ' ').title()}: {words}")


def _smoke(argv: Sequence[str], root: Path) -> int:
    from pytest_evalharness.clbench.miniature.arguments import fail, unknown
    from pytest_evalharness.clbench.miniature.schedules import schedules

    parser = argparse.ArgumentParser(prog="clbench smoke")
    parser.add_argument("task_name")
    parser.add_argument("--system", "-s", required=True)
    parser.add_argument("--schedule")
    parser.add_argument("--system.model", dest="model")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("-v", dest="verbose", action="count", default=0)
    parser.add_argument("--verbosity", type=int, default=0)
    parsed, _ = parser.parse_known_args(argv)
    for kind, name, known in (
        ("task", parsed.task_name, registry.TASKS),
        ("system", parsed.system, registry.SYSTEMS),
    ):
        if name not in known:
            unknown(kind, name)
    chosen = parsed.schedule or next((one.id for one in schedules(root, parsed.task_name)), None)
    print(f"Smoke test: {parsed.task_name} + {parsed.system}\n  schedule: {chosen}\n")
    try:
        _two_steps(root, parsed, str(chosen))
    except Exception as problem:  # noqa: BLE001 - upstream tells every failure so
        fail("Smoke test failed.", f"Task: {parsed.task_name}", f"{type(problem).__name__}: {problem}")
    print("\nSmoke test passed.")
    return 0


def _two_steps(root: Path, parsed: argparse.Namespace, chosen: str) -> None:
    from pytest_evalharness.clbench.miniature.passes import build_task
    from pytest_evalharness.clbench.miniature.systems.contract import Place

    task = build_task(root, parsed.task_name, {**registry.TASK_PARAMETERS, "schedule": chosen})
    kind = registry.system_class(parsed.system)
    params = kind.parameters | ({"model": parsed.model} if parsed.model else {})
    system = kind(Place(root, parsed.task_name, 0), params)
    print("  [ok] task and system instantiate")
    try:
        query, _ = task.reset()
        print("  [ok] task.reset() returned a Query")
        for number in ("", "second "):
            if query is None:
                break
            response = system.respond(query)
            step = task.step(response.action, response.said)
            system.observe(query, step.observation)
            print(f"  [ok] {number}task.step() succeeded (done={step.query is None})")
            query = step.query
    finally:
        system.close()


def _validate(argv: Sequence[str], root: Path) -> int:
    from pytest_evalharness.clbench.miniature.arguments import unknown

    parser = argparse.ArgumentParser(prog="clbench validate")
    parser.add_argument("kind", choices=["task", "system"])
    parser.add_argument("name")
    parsed = parser.parse_args(argv)
    if parsed.name not in (registry.TASKS if parsed.kind == "task" else registry.SYSTEMS):
        unknown(parsed.kind, parsed.name)
    print(f"{parsed.kind} {parsed.name}: ok")
    return 0


def _doctor(argv: Sequence[str], root: Path) -> int:
    import os

    print(f"[ok] Python {sys.version.split()[0]}")
    print(f"[ok] checkout {root}")
    key = "ok" if os.environ.get("OPENROUTER_API_KEY") else "warn"
    print(f"[{key}] OPENROUTER_API_KEY (the miniature asks no provider)")
    return 0


def _setup(argv: Sequence[str], root: Path) -> int:
    print("Nothing to set up: the miniature makes its data from a seed.")
    return 0


def _init(argv: Sequence[str], root: Path) -> int:
    print("Error: the embedded miniature has no templates; its tasks and systems are fixed.", file=sys.stderr)
    return 1


def _run(argv: Sequence[str], root: Path) -> int:
    from pytest_evalharness.clbench.miniature.run import command

    return command(argv, root)


def _run_all(argv: Sequence[str], root: Path) -> int:
    from pytest_evalharness.clbench.miniature.suite import command

    return command(argv, root)


def _install(argv: Sequence[str], root: Path) -> int:
    from pytest_evalharness.clbench.miniature.install import install

    parser = argparse.ArgumentParser(prog="python -m pytest_evalharness.clbench.miniature install")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the checkout goes; made if absent")
    print(install(parser.parse_args(argv).folder))
    return 0


_COMMANDS: dict[str, Command] = {
    "list": _list,
    "inspect": _inspect,
    "run": _run,
    "run-all": _run_all,
    "smoke": _smoke,
    "init": _init,
    "validate": _validate,
    "doctor": _doctor,
    "setup": _setup,
    "install": _install,
}
