"""Several files of one folder changed together: all of them or none, with what they replace kept beside."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pytest_evalharness.base.files import sync_folder

BACKUP = "before-salvage-"
"""Folders of originals: `before-salvage-1`, `before-salvage-2`, …"""
_STAGING = ".salvage-"
_LOCK = ".salvage.lock"
_MODE = 0o644
"""What the benchmark gives its own files."""
_NUMBERED = re.compile(re.escape(BACKUP) + r"(\d+)")


class Busy(OSError):
    """Another process is changing the same folder."""


@dataclass
class Exchange:
    """What is to change in a folder. Names are relative to it, with `/`.

    Attributes:
        written: how the new content of a file is written, in the order in which the files come into place.
        aside: files that only go into the backup.
    """

    written: dict[str, Callable[[BinaryIO], None]] = field(default_factory=dict)
    aside: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.written or self.aside)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes from changing the folder; the lock goes with the process, however it ends.

    Raises:
        Busy: another process is at it.
        OSError: the folder cannot be written to.
    """
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"another process is salvaging {folder}") from None
        yield
    finally:
        os.close(handle)


def exchange(folder: Path, told: Exchange, ready: Callable[[], None] = lambda: None) -> Path | None:
    """Change the folder; call it inside of `alone`.

    Everything new is written beside first, so a disk that is full is found out while nothing has changed. Then the originals
    get a second name in the backup, which takes no room either, and the new files are moved into place one by one.

    Args:
        folder: the folder.
        told: what is to change.
        ready: called when everything is written and nothing has changed yet; what it raises stops the exchange.

    Returns:
        The folder that holds the originals; None if there was nothing to change.

    Raises:
        OSError: it could not be done; the folder is as it was.
    """
    remove_leftovers(folder)
    if not told:
        return None
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
    try:
        for name, write in told.written.items():
            _stage(staging / "new" / name, write)
        ready()
        kept = _originals(folder, staging / "old", [*told.written, *told.aside])
        backup = folder / f"{BACKUP}{_next(folder)}"
        (staging / "old").rename(backup)
        sync_folder(folder)
        try:
            _into_place(folder, staging / "new", told)
        except BaseException:
            _put_back(folder, backup, kept, told)
            shutil.rmtree(backup, ignore_errors=True)
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return backup


def remove_leftovers(folder: Path) -> None:
    """Remove what a process that was killed while it wrote has left beside; none of it ever counted."""
    for path in folder.glob(f"{_STAGING}*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


def _stage(path: Path, write: Callable[[BinaryIO], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(_MODE)


def _originals(folder: Path, into: Path, names: list[str]) -> set[str]:
    """Give every file that is there a second name below `into`; returns those that are."""
    into.mkdir()
    kept = set()
    for name in names:
        source = folder / name
        if not source.is_file():
            continue
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _second_name(source, target)
        kept.add(name)
    return kept


def _second_name(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _into_place(folder: Path, new: Path, told: Exchange) -> None:
    for name in told.aside:
        (folder / name).unlink(missing_ok=True)
    for name in told.written:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).replace(folder / name)
        sync_folder((folder / name).parent)
    sync_folder(folder)


def _put_back(folder: Path, backup: Path, kept: set[str], told: Exchange) -> None:
    for name in reversed([*told.aside, *told.written]):
        if name not in kept:
            (folder / name).unlink(missing_ok=True)
            continue
        again = backup / f"{name}.again"
        _second_name(backup / name, again)
        again.replace(folder / name)


def _next(folder: Path) -> int:
    found = [int(match[1]) for path in folder.iterdir() if (match := _NUMBERED.fullmatch(path.name))]
    return max(found, default=0) + 1
