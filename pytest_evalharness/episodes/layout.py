"""Where an episode's files lie: names of our own making only, below folders that are no links."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pytest_evalharness.base.files import safe_component
from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.artifacts import Artifact, Category
from pytest_evalharness.errors import UsageError

INDEX = "index.json"
WATCH_STATE = "watch_state.json"
EPISODE = "episode.json"
LOCK = ".lock"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_UNDATED = "00000000T000000"
_SHORT_REQUEST = 16
_SHORT_UUID = 8
_FURTHER = 4
"""Characters by which a short id grows where another episode has it already."""
_FILES: Mapping[Category, str] = {
    Category.RESULTS: "results.json",
    Category.ERROR_INFO: "error_info.json",
    Category.GAME_LOG: "logs/game.log",
    Category.PLAYER_LOG: "logs/policy_agent_{seat}.log",
    Category.PLAYER_ARTIFACT: "artifacts/policy_artifact_{seat}.zip",
}


class ReplayNames:
    """What a replay is called: as served, and decoded."""

    def __init__(self, *, seed_names: bool = False) -> None:
        self.served = "replay.json.z" if seed_names else "replay.raw"
        self.decoded = "replay.json" if seed_names else "replay.bin"


def file_of(artifact: Artifact, replay: ReplayNames) -> str:
    """Where an artifact lies below its episode's folder, with `/`."""
    if artifact.category is Category.REPLAY:
        return replay.served
    return _FILES[artifact.category].format(seat=artifact.seat)


def folder_name(episode_id: str, created_at: float | None, taken: Mapping[str, str]) -> str:
    """`<YYYYMMDDTHHMMSS>_<short-id>` for an episode; the id is as long as it takes to be nobody else's.

    Args:
        episode_id: its id; untrusted.
        created_at: seconds since 1970, shown in UTC.
        taken: names that are in use, in lower case → the id of the episode that has each.
    """
    stamp = _UNDATED
    if created_at is not None:
        with contextlib.suppress(ValueError, OverflowError, OSError):
            stamp = datetime.fromtimestamp(created_at, UTC).strftime("%Y%m%dT%H%M%S")
    whole = safe_component(episode_id)
    if whole != episode_id:  # another id may be made safe in the same way
        whole = f"{whole[:_SHORT_REQUEST]}-{hashlib.sha256(episode_id.encode(errors='replace')).hexdigest()}"
        length = len(whole)
    else:
        length = _SHORT_REQUEST if "_" in whole else _SHORT_UUID
    while True:
        # A name must not end in a dot or dash: the first is unsafe on some systems, the second looks cut off.
        name = f"{stamp}_{whole[:length].rstrip('-.')}"
        if taken.get(name.lower(), episode_id) == episode_id:
            return name
        if length >= len(whole):
            whole = f"{whole}-{hashlib.sha256(episode_id.encode(errors='replace')).hexdigest()}"
        length += _FURTHER


def real_folder(root: Path, *parts: str) -> Path:
    """A folder below `root`, made where it is missing.

    Raises:
        UsageError: something on the way is a link, or no folder: what is written there would land elsewhere.
        OSError: it cannot be made.
    """
    path = root
    if not root.is_dir():
        root.mkdir(parents=True, exist_ok=True)
    for part in parts:
        path = path / part
        try:
            found = path.lstat()
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                path.mkdir()
            found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise UsageError(
                f"{printable(path)} is a link or a file where a folder should be",
                not_done="nothing was written through it",
                next_step="take it away, or name another folder with --out",
            )
    return path


def parent_of(folder: Path, relative: str) -> Path:
    """The folder that a file of an episode lies in, made where it is missing; errors as `real_folder`."""
    return real_folder(folder, *relative.split("/")[:-1])


def size_on_disk(root: Path, relative: str) -> int | None:
    """The size of a regular file below a folder, reached through no link; None where there is no such file."""
    path = str(
        root
    )  # not a Path at each step: tens of thousands of files are looked at before anything is downloaded
    parts = relative.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        return None
    try:
        for part in parts[:-1]:
            path = f"{path}/{part}"
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                return None
        found = os.lstat(f"{path}/{parts[-1]}")
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def open_new(path: Path, *, keep: bool = False) -> int:
    """A file descriptor to write to, never through a link; `keep` opens what is there to go on at its end.

    Without it, what is there is taken away and not emptied: it may be a pipe, or a file of two names.

    Raises:
        OSError: it cannot be opened, or is a link.
    """
    flags = os.O_RDWR | os.O_CREAT | _NO_LINK
    if not keep:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return os.open(path, flags | (os.O_APPEND if keep else os.O_EXCL), 0o644)


def read_within(path: Path, most: int) -> bytes:
    """What a file holds; nobody waits for a pipe, or reads where a link leads.

    Raises:
        OSError: it is not there, a link, or no file.
        ValueError: it has more than `most` bytes.
    """
    handle = os.open(path, os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        if found.st_size > most:
            raise ValueError("it is too large")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(found.st_size)
    finally:
        os.close(handle)
