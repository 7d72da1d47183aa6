"""The run directory of a campaign that came to an end, or to none: its manifest, its run groups, what it was told to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.clbench.artifact import Unreadable, decoded, unpacked
from pytest_evalharness.clbench.campaign.live_shapes import LiveTaskName, Place
from pytest_evalharness.clbench.campaign.remains import folder_name
from pytest_evalharness.errors import NothingToSalvage

MANIFEST = "manifest.json"
METADATA = "metadata.json"
TOGETHER = "task_artifacts.json.gz"
_KIND = "run_all_manifest"
_RUNS, _SCHEDULE = ("--runs", "-k"), ("--schedule", "--task.schedule")
_GROUP, _WORKERS = ("--run-group-id",), ("--max-workers",)
_DEFAULT = "default"
_FIRST_LINE = 1 << 20
_BELOW_ROOT = 3
"""Folders between the checkout's root and the inside of `final_results/runs/<slug>`."""


class LiveHead(msgspec.Struct, gc=False):
    """`live/<run group>/manifest.json`, with what a published artifact takes from it."""

    task: Any = None
    system: Any = None
    task_brief: Any = None
    baseline: Place | None = None
    runs: list[Place] | None = None


@dataclass(frozen=True)
class EndedFolder:
    """A run directory.

    Attributes:
        folder: `final_results/runs/<slug>`.
        root: the checkout's root.
        manifest: `manifest.json`, whole.
    """

    folder: Path
    root: Path
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The campaign's."""
        return str(self.manifest.get("run_name") or self.folder.name)

    @property
    def system(self) -> str | None:
        """Which system."""
        told = self.manifest.get("system")
        return told if isinstance(told, str) else None

    @property
    def arguments(self) -> tuple[str, ...]:
        """What was forwarded to every task."""
        told = self.manifest.get("system_args")
        return tuple(map(str, told)) if isinstance(told, list) else ()

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        """The manifest's line of each task; the last one counts, as it does for the benchmark."""
        told = self.manifest.get("tasks")
        lines = told if isinstance(told, list) else []
        return {
            str(one["task"]): one
            for one in lines
            if isinstance(one, dict) and one.get("task") and folder_name(str(one["task"])) == one["task"]
        }

    def results(self, task: str) -> Path:
        """Where the benchmark writes a task's passes."""
        return self.root / "results" / task

    def groups(self, task: str) -> list[str]:
        """The run groups in which this campaign ran a task, as folders' names, the earliest first.

        A campaign that was resumed has several. One that was resumed and crashed again is in no list of batches: only
        the child's command line, in the first line of its log, tells it, also after the log went into the archive.
        """
        entry = self.entries.get(task, {})
        told = {entry.get("batch_id"), self.manifest.get("run_group_id")}
        told |= {one.get("run_group_id") for one in self._batches() if task in (one.get("tasks_run") or ())}
        if live := entry.get("live_manifest_path"):
            told.add(Path(str(live)).parent.name)
        told |= set(self._logged(task))
        names = {folder_name(str(one)) for one in told if one}
        results = self.results(task)
        return sorted(
            one
            for one in names
            if (results / "live" / one).is_dir()
            or (results / "traces" / one).is_dir()
            or self.written(task, one) is not None
        )

    def _batches(self) -> Iterator[Mapping[str, Any]]:
        try:
            metadata = json.loads(unpacked(self.folder / METADATA))
        except (Unreadable, ValueError):
            metadata = {}
        for held in (self.manifest, metadata):
            told = held.get("batches") if isinstance(held, dict) else None
            yield from (one for one in told or () if isinstance(one, dict))

    def workers(self, task: str) -> int | None:
        """Workers of its process pool, as its child was told; None where the schedule decides."""
        told = [_option(tuple(line.split()), _WORKERS) for line in self._commands(task)]
        number = next((one for one in told if one is not None), "")
        return int(number) if number.isdecimal() else None

    def _logged(self, task: str) -> Iterator[str]:
        for line in self._commands(task):
            if (group := _option(tuple(line.split()), _GROUP)) is not None:
                yield group

    def _commands(self, task: str) -> Iterator[str]:
        """The command lines of the task's children, the latest first."""
        for path in (
            self.folder / "logs" / f"{task}.log",
            *sorted(self.folder.glob(f"archive/*/{task}/{task}.log"), reverse=True),
        ):
            try:
                with path.open("rb") as file:
                    first = file.readline(_FIRST_LINE).decode("utf-8", "replace")
            except OSError:
                continue
            if first.startswith("$ "):
                yield first

    def published(self, task: str) -> Path | None:
        """The task's artifact below `tasks/`, as `--missing-only` looks for it."""
        places = (self.folder / "tasks" / f"{task}{ending}" for ending in (".json.gz", ".json"))
        return next((path for path in places if path.exists()), None)

    def written(self, task: str, group: str) -> Path | None:
        """The artifact that the task's own process wrote, the latest of a run group."""
        results = self.results(task)
        found = [
            path
            for path in (results.iterdir() if results.is_dir() else ())
            if path.name.startswith(f"viewer_artifact_{group}_") and path.name.endswith((".json", ".json.gz"))
        ]
        return max(found, default=None)

    def head(self, task: str, group: str) -> LiveHead | None:
        """The manifest of a run group's live snapshots; None if it has none that can be read."""
        try:
            return decoded(unpacked(self.results(task) / "live" / group / MANIFEST), LiveHead)
        except Unreadable:
            return None

    def rollouts(self, task: str, head: LiveHead | None) -> int | None:
        """How many rollouts a task was to have; None where nothing tells."""
        if head is not None and head.runs:
            return len(head.runs)
        if (told := _option(self.arguments, _RUNS)) is not None and told.isdecimal():
            return int(told)
        told_runs = self.defaults(task).get("runs")
        return told_runs if isinstance(told_runs, int) and not isinstance(told_runs, bool) else None

    def schedule(self) -> str:
        """The schedule that its children really ran: a forwarded one wins, whatever the manifest says."""
        return _option(self.arguments, _SCHEDULE) or _DEFAULT

    def defaults(self, task: str) -> dict[str, Any]:
        """What the schedule says of rollouts, workers and order; empty if it cannot be read."""
        path = self.root / "src" / "tasks" / task / "schedules" / f"{folder_name(self.schedule())}.json"
        try:
            told = json.loads(unpacked(path)).get("run_defaults")
        except (Unreadable, ValueError, AttributeError):
            return {}
        return told if isinstance(told, dict) else {}

    def relative(self, path: Path) -> str:
        """A path as the manifest writes it."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path.as_posix()


def expected_instances(head: LiveHead | None) -> int | None:
    """Instances of a complete pass, as the runner counted them; None where it did not."""
    if head is None or not isinstance(head.task, dict):
        return None
    try:
        params = msgspec.convert(head.task, LiveTaskName).params
    except msgspec.ValidationError:
        return None
    return None if params is None else params.expected or params.asked


def open_folder(folder: Path, root: Path | None = None) -> EndedFolder:
    """The run directory of a campaign.

    Args:
        folder: `final_results/runs/<slug>`.
        root: the checkout's root; where the manifest says, or three folders up, when left out.

    Raises:
        NothingToSalvage: it is none, or its manifest cannot be read.
    """
    where = folder.resolve()
    try:
        manifest = json.loads(unpacked(where / MANIFEST))
    except (Unreadable, ValueError) as problem:
        raise _nothing(folder, f"{MANIFEST}: {problem}") from None
    if not isinstance(manifest, dict) or manifest.get("kind") not in {None, _KIND}:
        raise _nothing(folder, f"{MANIFEST} is that of no run-all")
    return EndedFolder(where, (root or _root(where, manifest)).resolve(), manifest)


def _root(folder: Path, manifest: Mapping[str, Any]) -> Path:
    told = manifest.get("final_results_dir")
    parts = Path(told).parts if isinstance(told, str) and not Path(told).is_absolute() else ()
    if parts and folder.parts[-len(parts) :] == parts:
        return Path(*folder.parts[: -len(parts)])
    return Path(*folder.parts[:-_BELOW_ROOT]) if len(folder.parts) > _BELOW_ROOT else folder.parent


def _option(arguments: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    """The value of an option; the last one wins."""
    found = None
    for at, one in enumerate(arguments):
        name, equals, value = one.partition("=")
        if name not in names:
            continue
        if equals:
            found = value
        elif at + 1 < len(arguments):
            found = arguments[at + 1]
    return found


def _nothing(folder: Path, why: str) -> NothingToSalvage:
    return NothingToSalvage(
        f"{folder} is no run directory of a campaign: {why}",
        not_done="nothing was changed",
        next_step="evalharness clbench salvage NAME, or final_results/runs/NAME of a checkout",
    )
