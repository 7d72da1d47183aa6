"""The schedule file that a smoke needs and that no checkout has: laid down for it, and taken away after it.

A smoke that is killed leaves the file; the next one, or anybody who opens the checkout for one, finds it by its content and removes
it. A file of that name with any other content is the user's own: it is used as it is and never touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.files import readable_json, sync_folder, write_atomic
from pytest_evalharness.clbench.campaign.command_lines import SMOKE_SCHEDULE
from pytest_evalharness.errors import SmokeRefused

_FOLDERS = ("schedules", "rollouts")
_NOT_STARTED = "nothing was started and nothing was paid"
CONTENT = readable_json(
    {
        "id": SMOKE_SCHEDULE,
        "display_name": "Smoke",
        "description": "Laid down by evalharness clbench smoke, which removes it when it has ended. Safe to delete.",
        "tags": ["smoke"],
        "run_defaults": {"runs": 1, "max_workers": 1, "mode": "replicate"},
        # Without a variant the number of questions that is asked for counts.
        "stages": [{"variant": None, "label": "Smoke", "notify_change": False, "schedule": {}}],
    }
).encode()


@dataclass(frozen=True)
class SmokeSchedule:
    """The schedule that a smoke runs.

    Attributes:
        path: its file.
        own: whether it is the user's own.
        leftover: whether an earlier smoke had left it.
    """

    path: Path
    own: bool
    leftover: bool

    @property
    def words(self) -> str:
        """What was done, in a sentence."""
        if self.own:
            return f"the schedule {self.path} is your own: it is used as it is, and stays"
        before = "; an earlier smoke that was killed had left it there" if self.leftover else ""
        return f"the schedule {self.path} was laid down for this smoke and is removed after it{before}"


@contextlib.contextmanager
def smoke_schedule(root: Path, task: str) -> Iterator[SmokeSchedule]:
    """Have the schedule there while the body runs.

    Args:
        root: of the checkout.
        task: whose schedule.

    Raises:
        SmokeRefused: the task has no schedules, another smoke of it is under way, or the file cannot be written.
    """
    folder = next((one for name in _FOLDERS if (one := root / "src" / "tasks" / task / name).is_dir()), None)
    if folder is None:
        raise SmokeRefused(
            f"{root} has no schedules of {task}",
            not_done=_NOT_STARTED,
            next_step="--task names one of the checkout's tasks",
        )
    with _alone(folder, task):
        leftover = remove_leftover(folder)
        path = folder / f"{SMOKE_SCHEDULE}.json"
        own = path.exists()
        try:
            if not own:
                write_atomic(path, CONTENT)
        except OSError as problem:
            raise SmokeRefused(
                f"the schedule {path} cannot be written: {problem.strerror or problem}",
                not_done=_NOT_STARTED,
                next_step="a smoke needs to add one file to the checkout, or to find one of that name",
            ) from None
        try:
            yield SmokeSchedule(path, own, leftover)
        finally:
            if not own:
                remove_leftover(folder)


def remove_leftover(folder: Path) -> bool:
    """Remove what a smoke of ours has laid down; returns whether it was there. Anything else stays."""
    there = False
    for path in (folder / f"{SMOKE_SCHEDULE}.json", *folder.glob(f".{SMOKE_SCHEDULE}.json.*")):
        with contextlib.suppress(OSError):
            if not path.is_symlink() and path.is_file() and _is_ours(path):
                path.unlink()
                there = there or path.suffix == ".json"
    sync_folder(folder)
    return there


def _is_ours(path: Path) -> bool:
    """Of a file that was not moved into place yet any part may be there."""
    content = path.read_bytes()
    return content == CONTENT or (path.name.startswith(".") and CONTENT.startswith(content))


@contextlib.contextmanager
def _alone(folder: Path, task: str) -> Iterator[None]:
    """Keep a second smoke away: it would take the first one's file for a leftover. The lock ends with its process.

    The folder itself is locked: a file would be one more to leave behind.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if isinstance(problem, BlockingIOError):
                raise SmokeRefused(
                    f"another smoke of {task} is under way in this checkout",
                    not_done=_NOT_STARTED,
                    next_step="wait for it to end",
                ) from None
            # A file system without locks: nothing keeps two smokes apart, and one at a time needs nothing.
        yield
    finally:
        os.close(handle)
