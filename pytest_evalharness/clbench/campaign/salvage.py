"""A campaign that crashed, brought to the state in which `--missing-only` runs what is missing and nothing else.

The benchmark copies results into the run directory only when every task has ended, so a `run-all` that is killed leaves paid
results where neither it nor the leaderboard's scripts look. Whole results are published, complete rollouts of interrupted tasks
are put together in artifacts that say so, and the manifest says of each task what is true.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.clbench.artifact import Unreadable, unpacked
from pytest_evalharness.clbench.campaign.artifact_files import (
    Writer,
    copied,
    packed,
    readable,
    stored,
    together,
)
from pytest_evalharness.clbench.campaign.costs import elsewhere
from pytest_evalharness.clbench.campaign.ended_folder import (
    MANIFEST,
    METADATA,
    TOGETHER,
    EndedFolder,
    open_folder,
)
from pytest_evalharness.clbench.campaign.exchange import Exchange, alone, exchange
from pytest_evalharness.clbench.campaign.mending import (
    ENDED,
    OK,
    mark_of,
    mended,
    metadata,
    setting,
    status_of,
)
from pytest_evalharness.clbench.campaign.rebuilding import artifact_writer
from pytest_evalharness.clbench.campaign.remains import PassLeft
from pytest_evalharness.clbench.campaign.rerun import Price
from pytest_evalharness.clbench.campaign.salvage_plan import (
    Source,
    TaskLeft,
    tasks_left,
)
from pytest_evalharness.clbench.domains import Family, families
from pytest_evalharness.errors import NothingToSalvage, NotSalvaged, StillRunning, UsageError

_UNCHANGED = "the run directory is as it was"
_SHOWN = 5
Alive = Callable[[EndedFolder], Sequence[str]]
"""Tells which processes of a campaign are alive, a phrase each."""


@dataclass(frozen=True)
class Salvage:
    """What was found, and what was done.

    Attributes:
        folder: the run directory.
        name: the campaign's.
        tasks: what is left of each task.
        written: files of the run directory that are new, or would be.
        aside: files that are only in the backup, or would be.
        backup: the folder with what was replaced; None where nothing was.
        dry_run: whether nothing was to be written.
    """

    folder: Path
    name: str
    tasks: tuple[TaskLeft, ...]
    written: tuple[str, ...]
    aside: tuple[str, ...]
    backup: Path | None
    dry_run: bool

    @property
    def complete(self) -> bool:
        """Whether nothing has to be run again."""
        return all(one.state.stays for one in self.tasks)

    @property
    def to_run(self) -> tuple[TaskLeft, ...]:
        """The tasks that `--missing-only` will run."""
        return tuple(one for one in self.tasks if not one.state.stays)

    @property
    def written_off(self) -> tuple[tuple[str, PassLeft], ...]:
        """Interrupted rollouts with their task: they are in no mean, and are not continued."""
        return tuple((one.task, lost) for one in self.tasks for lost in one.written_off)

    @property
    def cost(self) -> tuple[float | None, bool]:
        """Dollars that running what is missing will cost as far as known, and whether that is all of it."""
        told = [one.rerun for one in self.to_run if one.rerun is not None]
        known = [one.cost for one in told if one.cost is not None]
        whole = len(known) == len(self.to_run) and all(one.whole_cost for one in told)
        return (sum(known) if known or not self.to_run else None), whole


def salvage(
    where: Path,
    *,
    clock: Clock,
    alive: Alive,
    root: Path | None = None,
    again: Collection[str] = (),
    prices: Mapping[str, Price] | None = None,
    dry_run: bool = False,
) -> Salvage:
    """Salvage a campaign. Doing it twice changes nothing the second time.

    Args:
        where: its run directory.
        clock: tells when.
        alive: tells which of its processes are alive.
        root: the checkout's root; worked out from the manifest when left out.
        again: tasks to run again, whatever they hold: what is published of them goes into the backup.
        prices: what tasks cost elsewhere; what is published of that when left out.
        dry_run: say what would be done, and write nothing.

    Raises:
        NothingToSalvage: the folder is no campaign's, or the checkout it ran in is not there.
        UsageError: a task to run again is none of the campaign's.
        StillRunning: something of it is alive.
        NotSalvaged: it could not be written; the folder is as it was.
    """
    folder = open_folder(where, root)
    _require_there(folder, again)
    _require_dead(folder, alive)
    prices = _prices(folder) if prices is None else prices
    try:
        with contextlib.nullcontext() if dry_run else alone(folder.folder):
            # Somebody may have salvaged it since it was opened.
            folder = open_folder(where, root)
            tasks = tasks_left(folder, again=again, prices=prices)
            told = _exchange(folder, tasks, clock.now())
            stamps = _stamps(folder, tasks)
            backup = (
                None
                if dry_run
                else exchange(folder.folder, told, lambda: _require_still(folder, tasks, stamps, alive))
            )
    except (OSError, Unreadable) as problem:
        why = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
        raise NotSalvaged(
            f"{folder.folder} was not salvaged: {why}",
            not_done=_UNCHANGED,
            next_step="make room or end what writes there, then the same command again",
        ) from None
    return _said(folder, tasks, told, backup, dry_run=dry_run)


def prepare_missing_only(
    where: Path,
    *,
    clock: Clock,
    alive: Alive,
    root: Path | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Salvage:
    """Make `run-all --missing-only` safe: call it before every resume.

    After it, every task that the benchmark would pass over has an artifact that can be read and measures something, every task
    whose results are whole is passed over, and what a resume will replace is either in its archive or in our backup.

    Raises:
        NothingToSalvage: the folder is no campaign's.
        StillRunning: something of it is alive.
        NotSalvaged: it could not be written; the folder is as it was, and nothing should be resumed on it.
    """
    return salvage(where, clock=clock, alive=alive, root=root, prices=prices)


def _require_there(folder: EndedFolder, again: Collection[str]) -> None:
    """Refuse to call lost what is only looked for in the wrong place."""
    results = folder.root / "results"
    told = any(
        entry.get("status") == OK and folder.published(task) is None for task, entry in folder.entries.items()
    )
    if not results.is_dir() and (told or not (folder.root / "src").is_dir()):
        raise NothingToSalvage(
            f"{folder.name} did not run in {folder.root}: there is no {results}",
            not_done=f"nothing was called lost: {_UNCHANGED}",
            next_step="--checkout DIR names the benchmark's checkout that it ran in",
        )
    for task in again:
        if task not in folder.entries:
            near = difflib.get_close_matches(task, folder.entries, 1)
            raise UsageError(
                f"{task!r} is no task of {folder.name}{f': did you mean {near[0]}?' if near else ''}",
                not_done=_UNCHANGED,
                next_step=f"its tasks: {', '.join(folder.entries)}",
            )


def _prices(folder: EndedFolder) -> Mapping[str, Price]:
    embedded = families(folder.entries) == {Family.EMBEDDED}
    told = elsewhere(folder.system or "", embedded=embedded)
    return {task: Price(one.rollout, one.baseline) for task, one in told.items()}


def _require_dead(folder: EndedFolder, alive: Alive) -> None:
    if told := list(alive(folder)):
        others = len(told) - _SHOWN
        more = f"; and {others} others" if others > 0 else ""
        raise StillRunning(
            f"{folder.name} is still running: {'; '.join(told[:_SHOWN])}{more}",
            not_done=f"nothing was salvaged: {_UNCHANGED}",
            next_step="let it end, or end it; then evalharness clbench salvage again",
        )


def _stamps(folder: EndedFolder, tasks: list[TaskLeft]) -> dict[Path, tuple[int, int, int] | None]:
    files = [folder.folder / MANIFEST, *(path for one in tasks for path in one.files)]
    return {path: _stamp(path) for path in files}


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        told = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return told.st_ino, told.st_mtime_ns, told.st_size


def _require_still(
    folder: EndedFolder,
    tasks: list[TaskLeft],
    before: dict[Path, tuple[int, int, int] | None],
    alive: Alive,
) -> None:
    """Stop where the campaign has come to life while its leftovers were read."""
    _require_dead(folder, alive)
    changed = [path for path, stamp in _stamps(folder, tasks).items() if stamp != before.get(path)]
    if changed:
        raise Unreadable(
            f"{folder.relative(changed[0])} changed while it was read: something still writes it"
        )


def _said(
    folder: EndedFolder, tasks: list[TaskLeft], told: Exchange, backup: Path | None, *, dry_run: bool
) -> Salvage:
    return Salvage(
        folder.folder, folder.name, tuple(tasks), tuple(told.written), tuple(told.aside), backup, dry_run
    )


def _exchange(folder: EndedFolder, tasks: list[TaskLeft], now: float) -> Exchange:
    """Everything that has to change, the manifest last: until it is there, the benchmark believes the old one."""
    told = Exchange()
    artifacts: dict[str, Writer] = {}
    for one in tasks:
        place = f"tasks/{one.task}.json.gz"
        if one.aside is not None and (folder.folder / place != one.aside[0] or one.source is Source.NONE):
            told.aside.append(one.aside[0].relative_to(folder.folder).as_posix())
        if one.artifact is not None:
            artifacts[one.task] = stored(one.artifact)
        if one.source is Source.COPIED and one.artifact is not None:
            told.written[place] = copied(one.artifact)
        if one.source is Source.REBUILT:
            artifacts[one.task] = _rebuilt(folder, one)
            told.written[place] = packed(artifacts[one.task])
    manifest = mended(folder, tasks, now)
    complete = bool(tasks) and all(one.state.stays for one in tasks)
    if complete and (told or not _is_whole(folder.folder / TOGETHER)):
        manifest["task_artifacts"] = None
        manifest["task_artifacts_path"] = folder.relative(folder.folder / TOGETHER)
        told.written[TOGETHER] = together(artifacts)
    if complete and not _is_finished(folder.folder / METADATA):
        told.written[METADATA] = readable(metadata(folder, manifest, now))
    if manifest != folder.manifest:
        told.written[MANIFEST] = readable(manifest)
    return told


def _rebuilt(folder: EndedFolder, left: TaskLeft) -> Writer:
    return artifact_writer(
        left.task,
        left.baseline,
        left.kept,
        setting(folder, left),
        mark_of(folder, left),
        status=status_of(left),
    )


def _is_whole(path: Path) -> bool:
    try:
        unpacked(path)
    except Unreadable:
        return False
    return True


def _is_finished(path: Path) -> bool:
    """Whether run-all wrote at its very end that nothing failed."""
    try:
        told = json.loads(unpacked(path))
    except (Unreadable, ValueError):
        return False
    return isinstance(told, dict) and told.get("status") == ENDED
