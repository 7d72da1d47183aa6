"""Reads what a running campaign writes: its manifest, and the live snapshot of every pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_evalharness.base.clock import Clock, SystemClock, parse_iso
from pytest_evalharness.clbench.artifact import decoded
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.live_passes import live_pass, published_passes
from pytest_evalharness.clbench.campaign.live_shapes import (
    CampaignManifest,
    CampaignTask,
    LiveManifest,
    counted,
)
from pytest_evalharness.clbench.campaign.quarantine import Quarantined, quarantined
from pytest_evalharness.clbench.campaign.snapshot import (
    FINISHED,
    LivePass,
    LiveTask,
    PassState,
    Snapshot,
    merged,
    settled,
)
from pytest_evalharness.clbench.domains import BY_TASK, FULL_ROLLOUTS

__all__ = ["LivePass", "LiveReader", "LiveTask", "PassState", "Snapshot", "merged"]

_DEFAULT = "default"
_SCHEDULE = ("--schedule", "--task.schedule")
_ROLLOUTS = ("--runs", "-k")
_PROGRAM, _RUNS = "run_benchmark.py", "final_results"


class LiveReader:
    """Reads a campaign again and again; a file that did not change is not read again.

    Once an instance was seen it is never lost again: a file that is torn, damaged or gone leaves what was read of it
    before, and the pass says so in `problem`.

    Args:
        checkout_root: the benchmark's checkout, where `results/` is; None where only the run's folder is at hand.
        run_folder: the campaign's, `final_results/runs/<name>`. It need not be there yet.
        clock: tells the time.
    """

    def __init__(self, checkout_root: Path | None, run_folder: Path, *, clock: Clock | None = None) -> None:
        self._root = checkout_root
        self._folder = run_folder
        self._clock = clock or SystemClock()
        self.files = ChangedFiles(self._clock.now)
        self._passes: dict[tuple[str, int | None], LivePass] = {}
        self._aside: dict[tuple[str, str, int | None], Quarantined] = {}

    def read(self) -> Snapshot:
        """The campaign as it is now. Never raises for what it finds: that is in the snapshot's problems."""
        held = self.files.read(self._folder / "manifest.json", _manifest)
        manifest = cast("CampaignManifest | None", held.value)
        problems = [] if held.problem is None else [("manifest.json", held.problem)]
        self._aside = {one.key: one for one in quarantined(self._folder)}
        tasks = tuple(self._task(one, manifest) for one in self._listed(manifest))
        problems += [(task.task, task.problem) for task in tasks if task.problem]
        problems += [
            (f"{one.task}, {one.name}", one.problem) for t in tasks for one in t.passes if one.problem
        ]
        return Snapshot(
            name=(manifest.run_name if manifest else None) or self._folder.name,
            status=manifest.status if manifest else None,
            at=self._clock.now(),
            taken=self._clock.monotonic(),
            tasks=tasks,
            problems=tuple(problems),
            system=(manifest.system if manifest else None) or "",
            began=_moment(manifest.started_at if manifest else None),
        )

    def _listed(self, manifest: CampaignManifest | None) -> list[CampaignTask]:
        """The manifest's tasks; without a manifest those of which an artifact is there."""
        if manifest is not None:
            told = {one.task: one for one in manifest.tasks or ()}
            return [one for name, one in told.items() if name and Path(name).name == name]
        found = {path.name.partition(".")[0] for path in self._folder.glob("tasks/*.json*")}
        return [CampaignTask(task) for task in BY_TASK if task in found]

    def _task(self, told: CampaignTask, manifest: CampaignManifest | None) -> LiveTask:
        where = self._live_folder(told)
        if where is not None:
            held = self.files.read(where / "manifest.json", _live_manifest)
            live = cast("LiveManifest | None", held.value)
            if places := self._places(told.task, where, live):
                passes = self._live_passes(told, where, places, live, manifest)
                return LiveTask(told.task, told.status, where.name, passes, held.problem)
        return self._published(told, manifest)

    def _live_folder(self, told: CampaignTask) -> Path | None:
        """Where a task's live snapshots are. A manifest is a stranger's: it may not name a folder elsewhere."""
        if self._root is None or not told.live_manifest_path:
            return None
        results = (self._root / "results").resolve()
        where = (self._root / told.live_manifest_path).resolve().parent
        return where if where.is_relative_to(results) and where != results else None

    def _places(self, task: str, where: Path, live: LiveManifest | None) -> dict[int | None, str]:
        """The passes of a live folder and their files' names, also of those that were there once."""
        known = {
            one.run_index: _label(None, one.run_index)
            for one in self._passes.values()
            if one.key[0] == task and one.group == where.name
        }
        told = known | _places(where, live)
        return {index: told[index] for index in sorted(told, key=lambda one: -1 if one is None else one)}

    def _live_passes(
        self,
        told: CampaignTask,
        where: Path,
        places: dict[int | None, str],
        live: LiveManifest | None,
        manifest: CampaignManifest | None,
    ) -> tuple[LivePass, ...]:
        found = [self._live(told.task, where, index, label) for index, label in places.items()]
        params = live.task.params if live and live.task else None
        # Some tasks overrule what they were asked for: what the runner counted comes first.
        counts = [params.expected if params else None, *(one.expected for one in found)]
        counts += [_by_schedule(told.task, manifest), params.asked if params else None]
        expected = next((count for count in counts if count), None)
        return tuple(settled(one, expected, ended=_ended(told, manifest)) for one in found)

    def _live(self, task: str, where: Path, index: int | None, label: str) -> LivePass:
        held = self.files.read(where / f"{label}.json", live_pass)
        told = self._aside.get((task, where.name, index))
        if told is not None and held.changed is None:
            self._passes.pop((task, index), None)
            state = PassState.QUARANTINED
            return LivePass(task, index, where.name, state, "failed", cost=told.cost, problem=None)
        one = held.value or LivePass(task, index)
        one = replace(one, task=task, run_index=index, group=where.name, changed=held.changed)
        before = self._passes.get(one.key)
        one = replace(one if before is None else merged(before, one), problem=held.problem)
        self._passes[one.key] = one
        return one

    def _published(self, told: CampaignTask, manifest: CampaignManifest | None) -> LiveTask:
        """A task without live snapshots: its artifact, or else what is to come."""
        for ending in (".json.gz", ".json"):
            path = self._folder / "tasks" / f"{told.task}{ending}"
            held = self.files.read(path, lambda raw: published_passes(told.task, raw))
            if held.value is not None or held.problem:
                return LiveTask(told.task, told.status or "ok", "", held.value or (), held.problem)
        expected, ended = _by_schedule(told.task, manifest), _ended(told, manifest)
        to_come = (LivePass(told.task, index) for index in (None, *range(_rollouts(manifest))))
        passes = tuple(settled(one, expected, ended=ended) for one in to_come)
        return LiveTask(told.task, told.status, "", passes)


def checkout_of(run_folder: Path) -> Path | None:
    """The checkout that a run's folder lies in; None where it lies in none, as a published run's."""
    folder = run_folder.resolve()
    for parent in folder.parents:
        if (parent / "src" / "tasks").is_dir() or (parent / _PROGRAM).is_file():
            return parent
        if (parent / "results").is_dir() and folder.is_relative_to(parent / _RUNS):
            return parent
    return None


def _places(where: Path, live: LiveManifest | None) -> dict[int | None, str]:
    """The passes that a live folder tells of, and their files' names, which count rollouts from 1 where all else counts from 0."""
    found: dict[int | None, str] = {}
    if live is None:
        labels = (path.stem for path in where.glob("run_*.json"))
        found |= {
            int(label[4:]) - 1: label for label in labels if label[4:].isdecimal() and int(label[4:]) > 0
        }
        baseline = (where / "baseline.json").exists()
    else:
        for one in live.runs or ():
            if one.run_index is not None and one.run_index >= 0:
                found[one.run_index] = _label(one.trace_path, one.run_index)
        baseline = live.baseline is not None
    return {None: "baseline", **found} if baseline else found


def _label(path: str | None, index: int | None) -> str:
    """A pass's file, by its name only: the folder is the one that is being read."""
    if index is None:
        return "baseline"
    stem = Path(path).stem if path else ""
    return stem if stem.startswith("run_") else f"run_{index + 1}"


def _ended(told: CampaignTask, manifest: CampaignManifest | None) -> bool:
    """Whether a task's program has ended: its manifest says so of it, or of the whole campaign."""
    return told.status in FINISHED or (manifest is not None and manifest.status not in {None, "running"})


def _by_schedule(task: str, manifest: CampaignManifest | None) -> int | None:
    """Instances of a task's default schedule; None where another one was asked for, whatever the manifest calls it."""
    known = BY_TASK.get(task)
    return known.instances if known and _argument(manifest, _SCHEDULE) in {None, _DEFAULT} else None


def _rollouts(manifest: CampaignManifest | None) -> int:
    """How many rollouts a task that has not begun will have."""
    told = _argument(manifest, _ROLLOUTS)
    return (counted(int(told)) if told and told.isdecimal() else None) or FULL_ROLLOUTS


def _argument(manifest: CampaignManifest | None, names: tuple[str, ...]) -> str | None:
    """What the last of an argument's occurrences says, as the benchmark's own parser reads it."""
    found = None
    tokens = (manifest.system_args if manifest else None) or []
    for at, token in enumerate(tokens):
        name, equals, value = token.partition("=")
        if name in names:
            found = value if equals else (tokens[at + 1] if at + 1 < len(tokens) else None)
    return found


def _moment(told: str | None) -> float | None:
    try:
        return None if told is None else parse_iso(told)
    except ValueError:
        return None


def _manifest(raw: bytes) -> CampaignManifest:
    return decoded(raw, CampaignManifest)


def _live_manifest(raw: bytes) -> LiveManifest:
    return decoded(raw, LiveManifest)
