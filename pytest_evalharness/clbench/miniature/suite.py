"""`clbench run-all`: every task as a child process of `clbench run`, and the run's directory below `final_results/`.

Kept as upstream has it: a task's artifact is copied only when all tasks have ended, a resume compares the forwarded words alone,
children come from whichever `clbench` is on the path, and the manifest says `default` whatever schedule was forwarded.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_evalharness.clbench.miniature import registry
from pytest_evalharness.clbench.miniature.arguments import unknown
from pytest_evalharness.clbench.miniature.batch import Batch
from pytest_evalharness.clbench.miniature.schedules import DEFAULT, schedules


def command(argv: Sequence[str], root: Path) -> int:
    """Run the command.

    Args:
        argv: what follows `run-all`; words that are not its own go to every child.
        root: of the checkout.

    Returns:
        0 if every child ended with 0, there was nothing to do, or it was a dry run; else 1.

    Raises:
        SystemExit: 2 for arguments that contradict each other or what is there, 1 for a task that nobody knows.
    """
    parser = _parser()
    parsed, extra = parser.parse_known_args(argv)
    verbosity = max(parsed.verbosity, parsed.verbose)
    slug = slugified(parsed.name)
    if not slug:
        parser.error("--name must contain at least one filesystem-safe character")
    if parsed.overwrite_task and not parsed.task:
        parser.error("--overwrite-task requires an explicit --task list")
    for name in parsed.task or ():
        if name not in registry.TASKS:
            unknown("task", name)
    tasks, skipped = _candidates(parsed, root)
    folder = root / parsed.final_results_dir / slug
    existing = _existing(parser, parsed, extra, folder) if tasks else None
    tasks = _left(parser, parsed, folder, existing, tasks, skipped)
    if not tasks:
        print("No tasks to run.")
        _print_skipped(skipped)
        return 0
    if parsed.dry_run:
        print(
            f"Dry run successful.\nRun name: {parsed.name}\nSystem: {parsed.system}\nFinal results dir: {folder}"
        )
        print(f"Tasks to run ({len(tasks)}): {', '.join(tasks)}")
        _print_skipped(skipped)
        return 0
    return Batch(root, parsed, extra, folder, existing, tasks, skipped, verbosity).execute()


def _parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="clbench run-all", description="Run a system on all tasks with a default schedule."
    )
    out.add_argument("--name", required=True)
    out.add_argument("--system", "-s", required=True)
    out.add_argument("--task", "-t", nargs="*")
    out.add_argument("--skip", nargs="*", default=[])
    out.add_argument("--task-parallelism", "-j", type=int, default=4)
    out.add_argument("--per-task-parallelism", type=int)
    out.add_argument("--dry-run", action="store_true")
    out.add_argument("--debug", action="store_true")
    out.add_argument("-v", dest="verbose", action="count", default=0)
    out.add_argument("--verbosity", type=int, default=0)
    out.add_argument("--live-dashboard", action=argparse.BooleanOptionalAction, default=True)
    out.add_argument("--final-results-dir", default="final_results/runs")
    out.add_argument("--append", action="store_true")
    out.add_argument("--missing-only", action="store_true")
    out.add_argument("--overwrite-task", action="store_true")
    return out


def slugified(name: str) -> str:
    """A run's name as a folder's."""
    kept = "".join(one if one.isalnum() or one in "-_." else "-" for one in name)
    return "-".join(part for part in kept.split("-") if part).strip("._-")


def _candidates(parsed: argparse.Namespace, root: Path) -> tuple[list[str], list[tuple[str, str]]]:
    tasks, skipped = [], []
    for name in parsed.task or registry.TASKS:
        if name in parsed.skip:
            skipped.append((name, "explicitly skipped via --skip"))
        elif not any(one.id == DEFAULT for one in schedules(root, name)):
            skipped.append((name, "no default.json schedule"))
        else:
            tasks.append(name)
    return tasks, skipped


def _existing(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, extra: list[str], folder: Path
) -> dict[str, Any] | None:
    """The manifest of the run that is added to; 2 where that cannot be."""
    appending = parsed.append or parsed.missing_only or parsed.overwrite_task
    if not folder.exists():
        if appending:
            parser.error(f"cannot append: final results run does not exist: {folder}")
        return None
    if not appending:
        if not parsed.dry_run:
            parser.error(f"final results run already exists: {folder}. Choose a new --name.")
        return None
    path = folder / "manifest.json"
    if not path.exists():
        parser.error(f"cannot append to {folder}: manifest.json is missing")
    try:
        told: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        parser.error(f"cannot read existing run manifest: {problem}")
    if told.get("kind") != "run_all_manifest":
        parser.error(f"cannot append to non-run-all manifest: {path}")
    if told.get("system") != parsed.system:
        parser.error(
            f"cannot append with a different system: existing={told.get('system')!r}, requested={parsed.system!r}"
        )
    if list(told.get("system_args") or ()) != extra:
        parser.error(
            "cannot append with different forwarded system/task args. "
            f"existing={told.get('system_args')!r}, requested={extra!r}"
        )
    return told


def _left(  # noqa: PLR0917 - all of it decides
    parser: argparse.ArgumentParser,
    parsed: argparse.Namespace,
    folder: Path,
    existing: dict[str, Any] | None,
    tasks: list[str],
    skipped: list[tuple[str, str]],
) -> list[str]:
    """The tasks that are still to be run: nothing looks into what is there already."""
    done = [
        one["task"]
        for one in (existing or {}).get("tasks", ())
        if one.get("status") == "ok"
        and any((folder / "tasks" / f"{one['task']}{end}").exists() for end in (".json.gz", ".json"))
    ]
    if parsed.missing_only:
        skipped += [(name, "already present in final results") for name in sorted(done) if name in tasks]
        return [name for name in tasks if name not in done]
    collisions = [name for name in tasks if name in done]
    if existing is not None and not parsed.overwrite_task and collisions:
        told = ", ".join(collisions)
        parser.error(
            f"selected task(s) already have completed artifacts: {told}. Use --missing-only or --overwrite-task."
        )
    return tasks


def _print_skipped(skipped: Sequence[tuple[str, str]]) -> None:
    if skipped:
        print("Skipped:", *(f"  {name}: {reason}" for name, reason in skipped), sep="\n")
