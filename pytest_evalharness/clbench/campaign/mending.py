"""What a campaign's manifest and metadata should say after a crash, and what an artifact says of how it was put together.

Nothing is written here.
"""

from __future__ import annotations

import copy
from typing import Any

from pytest_evalharness.base.clock import iso
from pytest_evalharness.clbench.artifact import decoded, unpacked
from pytest_evalharness.clbench.campaign.ended_folder import MANIFEST, EndedFolder
from pytest_evalharness.clbench.campaign.outcome_sums import headline
from pytest_evalharness.clbench.campaign.python_json import standard
from pytest_evalharness.clbench.campaign.rebuilding import MARK, PARTIAL, Setting, summary
from pytest_evalharness.clbench.campaign.salvage_plan import SET_ASIDE, Head, Source, TaskLeft, TaskState

OK, FAILED, RUNNING, PENDING = "ok", "failed", "running", "pending"
ENDED, ENDED_SHORT = "completed", "completed_with_failures"


def mended(folder: EndedFolder, tasks: list[TaskLeft], now: float) -> dict[str, Any]:
    """The manifest as it should be."""
    made = copy.deepcopy(dict(folder.manifest))
    by_task = {one.task: one for one in tasks}
    last = {id(entry): entry for entry in EndedFolder(folder.folder, folder.root, made).entries.values()}
    for entry in last.values():
        _mend(folder, entry, by_task[entry["task"]])
    if gone := {one.task: list(one.set_aside) for one in tasks if one.set_aside}:
        named = made.setdefault(MARK, {}).setdefault(SET_ASIDE, {})
        named |= {task: sorted({*named.get(task, ()), *groups}) for task, groups in gone.items()}
    if made.get("status") == RUNNING or made != folder.manifest:
        short = any(entry.get("status") != OK for entry in last.values())
        made["status"] = ENDED_SHORT if short else ENDED
        if not made.get("finished_at"):
            made["finished_at"] = iso(now)
    return made


def _mend(folder: EndedFolder, entry: dict[str, Any], left: TaskLeft) -> None:
    """One line of the manifest: `ok` exactly where the benchmark may pass the task over."""
    published = folder.relative(folder.folder / "tasks" / f"{left.task}.json.gz")
    if left.state.stays:
        entry["status"] = OK
        if left.source is not Source.PUBLISHED or not entry.get("summary_path"):
            entry["summary_path"] = entry["final_artifact_path"] = published
        if left.source is Source.COPIED and left.artifact is not None:
            entry["raw_summary_path"] = folder.relative(left.artifact)
            entry.pop(MARK, None)
        if not any(one is not None for one in (entry.get("headline") or {}).values()):
            entry["headline"] = headline(_summary(folder, left))
        if left.source is Source.REBUILT:
            entry[MARK] = {"state": str(left.state), "rollouts_complete": list(left.complete)}
        return
    if left.state is TaskState.NOT_BEGUN and entry.get("status") == PENDING:
        return
    entry["status"] = FAILED
    entry["summary_path"] = None
    entry[MARK] = {
        "state": str(left.state),
        "rollouts_complete": list(left.complete),
        "written_off": [one.to_json() for one in left.written_off],
    }


def _summary(folder: EndedFolder, left: TaskLeft) -> dict[str, Any]:
    if left.artifact is not None:
        return decoded(standard(unpacked(left.artifact)), Head).summary or {}
    return summary(left.task, left.baseline, left.kept, setting(folder, left), status=status_of(left))


def metadata(folder: EndedFolder, manifest: dict[str, Any], now: float) -> dict[str, Any]:
    """What run-all writes at its very end, for a campaign of which nothing is missing."""
    entries = EndedFolder(folder.folder, folder.root, manifest).entries
    batch = str(manifest.get("current_batch_id") or manifest.get("run_group_id") or "")
    batches = [one for one in manifest.get("batches") or [] if isinstance(one, dict)]
    if all(one.get("batch_id") != batch for one in batches):
        ran = [task for task, entry in entries.items() if entry.get("batch_id") in {None, batch}]
        batches.append(
            {
                "batch_id": batch,
                "run_group_id": batch,
                "mode": "missing_only" if batches else "initial",
                "tasks_run": ran,
                "tasks_passed": ran,
                "tasks_failed": [],
                "tasks_skipped": [],
                "started_at": manifest.get("started_at"),
                "finished_at": manifest.get("finished_at") or iso(now),
                MARK: True,
            }
        )
    manifest["batches"] = batches
    return {
        "run_name": folder.name,
        "run_slug": manifest.get("run_slug") or folder.folder.name,
        "run_group_id": manifest.get("run_group_id"),
        "latest_batch_id": batch,
        "system": folder.system,
        "system_args": list(folder.arguments),
        "tasks_requested": list(entries),
        "tasks_run": list(entries),
        "tasks_skipped": [],
        "started_at": manifest.get("started_at"),
        "finished_at": manifest.get("finished_at") or iso(now),
        "status": ENDED,
        "command_hint": "clbench run-all --name ... --system ...",
        "manifest_path": folder.relative(folder.folder / MANIFEST),
        "batches": batches,
    }


def setting(folder: EndedFolder, left: TaskLeft) -> Setting:
    """How a task was run, as far as no trace tells it."""
    defaults = folder.defaults(left.task)
    workers, mode = folder.workers(left.task) or defaults.get("max_workers"), defaults.get("mode")
    return Setting(
        folder.schedule(),
        workers if isinstance(workers, int) else 0,
        mode if isinstance(mode, str) else "permute",
        left.head,
    )


def status_of(left: TaskLeft) -> str:
    """Of an artifact that is put together, in the benchmark's words where it has them."""
    if left.state is TaskState.PARTIAL:
        return PARTIAL
    return ENDED if left.state is TaskState.WHOLE else "completed_with_gaps"


def mark_of(folder: EndedFolder, left: TaskLeft) -> dict[str, Any]:
    """What an artifact says of how it was put together; without any time, so that it can be made again."""
    passes = (*left.kept, *([left.baseline] if left.baseline else []))
    return {
        "by": "pytest-evalharness",
        "state": str(left.state),
        "groups": sorted({one.group for one in passes}),
        "rollouts_expected": left.rollouts,
        "rollouts_complete": list(left.complete),
        "sources": [folder.relative(one.path) for one in passes if one.path],
        "written_off": [one.to_json() for one in left.written_off],
    }
