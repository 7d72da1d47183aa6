"""Passes that measured an outage are moved aside, with the evidence, so that nothing averages them in.

A poisoned rollout is to be run again, not to be left out: what is moved here is missing from then on, for the benchmark's own
`--missing-only` and for salvage, which put the task's artifact together again from its other passes. A pass that earned nothing
at a price is told by the watch and stays: leaving it out would make a score better, which is no reason to believe that.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_evalharness.base.clock import Clock, SystemClock, iso
from pytest_evalharness.base.files import readable_json, safe_component, sync_folder, write_atomic
from pytest_evalharness.clbench.artifact import Unreadable, decoded, unpacked
from pytest_evalharness.clbench.campaign.snapshot import LivePass, Snapshot
from pytest_evalharness.clbench.campaign.streaks import Streak, streaks
from pytest_evalharness.clbench.poisoning import STREAK

FOLDER = "quarantine"
"""Below a campaign's folder."""
_RECORD = ".record.json"
_TOGETHER = "task_artifacts.json.gz"
_ENDINGS = (".json.gz", ".json")
_DIGITS = 8
_CHUNK = 1 << 20


class _Made(msgspec.Struct, gc=False):
    """Of which run groups salvage put an artifact together."""

    groups: list[str] | None = None


class _Named(msgspec.Struct, gc=False):
    """Of which run group the benchmark did."""

    run_group_id: str | None = None


class _Head(msgspec.Struct, gc=False):
    """An artifact, as far as it tells where it comes from."""

    summary: _Named | None = None
    salvage: _Made | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The run groups whose passes it holds."""
        if self.salvage is not None and self.salvage.groups:
            return tuple(self.salvage.groups)
        told = self.summary.run_group_id if self.summary else None
        return (told,) if told else ()


@dataclass(frozen=True)
class Poisoned:
    """A pass that is to be moved aside.

    Attributes:
        live: the pass.
        found: its streaks, at least one.
    """

    live: LivePass
    found: tuple[Streak, ...]

    @property
    def why(self) -> str:
        """A sentence of the longest streak."""
        longest = max(self.found, key=lambda one: len(one.instances))
        return f"{len(longest.instances)} instances in a row: {longest.words}"


class Moved(msgspec.Struct, frozen=True):
    """A file that was moved: where from, as it was named then, its name in the record's folder, and its content."""

    source: str
    name: str
    sha256: str
    size: int


class Quarantined(msgspec.Struct, frozen=True):
    """What is written down of a pass that was moved aside.

    Attributes:
        task: its task's id.
        run_index: the rollout; None of the baseline.
        group: the run group.
        why: what was wrong with it.
        instances: ids of its poisoned instances.
        done: instances that it had.
        cost: dollars that it had cost; None where nobody told.
        at: when, ISO 8601.
        files: every file that was moved.
    """

    task: str
    run_index: int | None
    group: str
    why: str
    instances: list[str]
    done: int
    cost: float | None
    at: str
    files: list[Moved]

    @property
    def key(self) -> tuple[str, str, int | None]:
        """Which pass of which run group."""
        return self.task, self.group, self.run_index


def poisoned_passes(
    snapshot: Snapshot, *, priced: bool | None = None, least: int = STREAK
) -> tuple[Poisoned, ...]:
    """Every pass with a streak of poisoned instances that nothing writes any more.

    Args:
        snapshot: how the campaign is.
        priced: whether calls cost anything; None tells it from the snapshot.
        least: instances in a row.
    """
    paid = snapshot.priced if priced is None else priced
    found = ((one, streaks(one, priced=paid, least=least)) for one in snapshot.passes())
    return tuple(Poisoned(one, runs) for one, runs in found if runs and one.group and not one.state.open)


def put_aside(
    checkout_root: Path, run_folder: Path, poisoned: Poisoned, *, clock: Clock | None = None
) -> Quarantined:
    """Move every file that holds a poisoned pass below the campaign's `quarantine/`, and write down why.

    The programs of its task must have ended: one that still runs would write the pass again. What is written down comes first,
    so that the same call finishes what a crash has interrupted; a second call with nothing to move changes nothing.

    Args:
        checkout_root: the benchmark's checkout.
        run_folder: the campaign's folder.
        poisoned: the pass.
        clock: tells the time.

    Raises:
        ValueError: the pass is still open.
        OSError: a file cannot be moved; what was moved before is written down.
    """
    one = poisoned.live
    if one.state.open:
        raise ValueError(f"{one.task}, {one.name} is still {one.state}: it would be written again")
    if Path(one.task).name != one.task:
        raise ValueError(f"{one.task!r} is no task's id")
    aside = run_folder / FOLDER / one.task / safe_component(one.group)
    record = aside / f"{_label(one)}{_RECORD}"
    before = _read(record)
    moving = [
        (path, _evidence(path, name, checkout_root))
        for name, path in _holding(checkout_root, run_folder, one)
    ]
    if before is not None and not moving:
        return before
    files = {file.name: file for file in (before.files if before else [])} | {
        file.name: file for _, file in moving
    }
    told = Quarantined(
        task=one.task,
        run_index=one.run_index,
        group=one.group,
        why=poisoned.why,
        instances=[name for streak in poisoned.found for name in streak.instances],
        done=one.done,
        cost=one.cost,
        at=before.at if before else iso((clock or SystemClock()).now()),
        files=list(files.values()),
    )
    write_atomic(record, readable_json(msgspec.to_builtins(told)))
    for path, file in moving:
        _move(path, aside / file.name)
    return told


def quarantined(run_folder: Path) -> tuple[Quarantined, ...]:
    """What was moved aside of a campaign, by task and pass; records that cannot be read are left out."""
    found = (_read(path) for path in sorted((run_folder / FOLDER).glob(f"*/*/*{_RECORD}")))
    return tuple(one for one in found if one is not None)


def _holding(root: Path, run_folder: Path, one: LivePass) -> Iterator[tuple[str, Path]]:
    """Every file that holds the pass, with a name for it: its own two, and what was put together of its group's passes."""
    results = root / "results" / one.task
    traced = "baseline" if one.run_index is None else f"run_{one.run_index:04d}"
    own = [
        ("live", results / "live" / one.group / f"{_label(one)}.json"),
        ("trace", results / "traces" / one.group / f"{traced}.json"),
    ]
    written = [
        ("written", path) for path in sorted(results.glob(f"viewer_artifact_{_literal(one.group)}_*.json*"))
    ]
    published = [
        ("published", path)
        for path in (
            *(run_folder / "tasks" / f"{one.task}{ending}" for ending in _ENDINGS),
            run_folder / _TOGETHER,
        )
        if path.is_file() and one.group in _groups(path, one.task)
    ]
    for kind, path in (*own, *written, *published):
        if path.is_file():
            yield f"{kind}-{path.name}", path


def _groups(path: Path, task: str) -> tuple[str, ...]:
    """The run groups that a published artifact was made of: a later one than the poisoned pass's stays where it is."""
    try:
        raw = unpacked(path)
        head = (
            decoded(raw, dict[str, _Head | None]).get(task) if path.name == _TOGETHER else decoded(raw, _Head)
        )
    except Unreadable:
        return ()
    return head.groups if head else ()


def _label(one: LivePass) -> str:
    """Its live snapshot's name, which counts rollouts from 1."""
    return "baseline" if one.run_index is None else f"run_{one.run_index + 1}"


def _literal(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _evidence(path: Path, name: str, root: Path) -> Moved:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    source, base = path.resolve(), root.resolve()
    named = source.relative_to(base) if source.is_relative_to(base) else source
    return Moved(str(named), f"{digest.hexdigest()[:_DIGITS]}-{name}", digest.hexdigest(), size)


def _move(source: Path, target: Path) -> None:
    """A file to another place, also on another disk: whole there before it is gone here."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(source, target)  # noqa: PTH105
    except OSError:
        part = target.with_name(f".{target.name}.part")
        try:
            shutil.copyfile(source, part)
            os.replace(part, target)  # noqa: PTH105
        finally:
            part.unlink(missing_ok=True)
        source.unlink()
    sync_folder(target.parent)


def _read(path: Path) -> Quarantined | None:
    try:
        return decoded(unpacked(path), Quarantined) if path.exists() else None
    except Unreadable:
        return None
