"""A published run directory, `final_results/runs/<name>/`: its manifest and its tasks' artifacts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pytest_evalharness.clbench.artifact import TaskArtifact, Unreadable, artifact_of, decoded, unpacked
from pytest_evalharness.clbench.domains import BY_TASK, Family, families
from pytest_evalharness.clbench.shapes import Manifest
from pytest_evalharness.errors import FamiliesMixed, RunUnreadable

_ENDINGS = (".json.gz", ".json")
_TOGETHER = "task_artifacts.json.gz"
_NOTHING = "nothing was read of it"
_THREADS = 2
"""One unpacks while the other decodes; more would only hold more files in memory."""


@dataclass(frozen=True)
class PublishedRun:
    """What a run published.

    Attributes:
        name: the run's, or its folder's where no manifest tells it.
        folder: where it is.
        manifest: `manifest.json`, None if there is none.
        metadata: `metadata.json`, which is written only when everything has ended.
        tasks: artifacts by task, in the benchmark's order.
        separate: tasks that have a file of their own below `tasks/`.
        unreadable: why files that are there cannot be read, by name.
        unknown: files below `tasks/` that are none of the benchmark's tasks.
    """

    name: str
    folder: Path
    manifest: Manifest | None
    metadata: Manifest | None
    tasks: dict[str, TaskArtifact]
    separate: frozenset[str]
    unreadable: dict[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    @property
    def is_reference(self) -> bool:
        """Whether it is the leaderboard's own reference."""
        return self.name == self.family.reference_run

    @property
    def family(self) -> Family:
        """Whose tasks it ran; the benchmark's own where nothing tells."""
        return next(iter(_families(self)), Family.OFFICIAL)

    def require_readable(self) -> None:
        """Refuse a run of which a part cannot be read: what is left would be another run.

        Raises:
            RunUnreadable: the sentence names each file.
        """
        if self.unreadable:
            told = "; ".join(f"{name}: {why}" for name, why in self.unreadable.items())
            raise RunUnreadable(
                f"{self.folder} cannot be read whole: {told}",
                not_done=_NOTHING,
                next_step=f"evalharness clbench check {self.folder} says what there is",
            )


def read_run(folder: str | Path) -> PublishedRun:
    """A run directory, with what of it cannot be read told in `unreadable`.

    Raises:
        RunUnreadable: it is no folder, or holds nothing that the benchmark publishes.
        FamiliesMixed: it holds tasks of the benchmark beside those of the embedded miniature.
    """
    where = Path(folder)
    try:
        if not where.is_dir():
            raise _no_run(where, "there is no such folder")
        run = _read_folder(where)
    except OSError as problem:
        raise _no_run(where, problem.strerror or str(problem)) from None
    if len(_families(run)) > 1:
        raise FamiliesMixed(
            f"{where} holds tasks of the benchmark and of the embedded miniature in one run",
            not_done=f"{_NOTHING}: no mean over both means anything",
            next_step="run each in a checkout of its own, under another name",
        )
    return run


def _families(run: PublishedRun) -> frozenset[Family]:
    """Of what it holds, or of what it was to hold."""
    named = [one.task for one in (run.manifest.tasks if run.manifest else None) or ()]
    return families(run.tasks) or families(named)


def _read_folder(where: Path) -> PublishedRun:
    unreadable: dict[str, str] = {}
    manifest = _record(where / "manifest.json", unreadable)
    metadata = _record(where / "metadata.json", unreadable)
    tasks, unknown = _separate(where / "tasks", unreadable)
    separate = frozenset(tasks)
    if missing := [task for task in BY_TASK if task not in tasks and task not in _named(unreadable)]:
        tasks |= _together(where / _TOGETHER, missing, unreadable)
    if not tasks and not unreadable and manifest is None:
        raise _no_run(where, f"it has no tasks/*.json[.gz], no {_TOGETHER} and no manifest.json")
    told = [one.run_name for one in (manifest, metadata) if one is not None and one.run_name]
    return PublishedRun(
        name=told[0] if told else where.resolve().name,
        folder=where,
        manifest=manifest,
        metadata=metadata,
        tasks={task: tasks[task] for task in BY_TASK if task in tasks},
        separate=separate,
        unreadable=unreadable,
        unknown=unknown,
    )


def _record(path: Path, unreadable: dict[str, str]) -> Manifest | None:
    if not path.exists():
        return None
    try:
        return decoded(unpacked(path), Manifest)
    except Unreadable as problem:
        unreadable[path.name] = str(problem)
        return None


def _separate(folder: Path, unreadable: dict[str, str]) -> tuple[dict[str, TaskArtifact], tuple[str, ...]]:
    """The artifacts that have a file each, and files that are none of the benchmark's tasks."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        ending = next((one for one in _ENDINGS if path.name.endswith(one)), None)
        if ending is None:
            continue
        files.setdefault(path.name.removesuffix(ending), []).append(path)
    mine = {task: paths for task, paths in files.items() if task in BY_TASK}
    found: dict[str, TaskArtifact] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for (task, paths), read in zip(mine.items(), pool.map(_read, mine, mine.values()), strict=True):
            if isinstance(read, TaskArtifact):
                found[task] = read
            else:
                unreadable[f"tasks/{paths[0].name}"] = read
    return found, tuple(task for task in files if task not in BY_TASK)


def _read(task: str, paths: list[Path]) -> TaskArtifact | str:
    """A task's artifact, or why there is none."""
    if len(paths) > 1:
        return f"{paths[1].name} stands beside it: which of the two is the result?"
    try:
        return artifact_of(task, unpacked(paths[0]))
    except Unreadable as problem:
        return str(problem)


def _named(unreadable: dict[str, str]) -> set[str]:
    """Tasks whose own file is there and spoilt: another copy must not silently take its place."""
    return {name.removeprefix("tasks/").partition(".")[0] for name in unreadable if name.startswith("tasks/")}


def _together(path: Path, missing: list[str], unreadable: dict[str, str]) -> dict[str, TaskArtifact]:
    """The missing tasks out of the file that holds all of them."""
    if not path.exists():
        return {}
    found: dict[str, TaskArtifact] = {}
    try:
        held = decoded(unpacked(path), dict[str, msgspec.Raw])
        for task in missing:
            if task in held and bytes(held[task]) != b"null":
                found[task] = artifact_of(task, held[task])
    except Unreadable as problem:
        unreadable[path.name] = str(problem)
    return found


def _no_run(where: Path, why: str) -> RunUnreadable:
    return RunUnreadable(
        f"{where} is no run directory of the benchmark: {why}",
        not_done=_NOTHING,
        next_step="name a folder below final_results/runs/",
    )
