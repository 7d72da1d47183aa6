"""A folder of downloaded episodes, read: typed results, replay headers, lines of logs and of telemetry.

Nothing is unpacked to disk, and everything in a folder counts as a stranger's: files are opened by the names of the index,
never through a link, and read within bounds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes import archives, error_info, logs, results
from pytest_evalharness.episodes.artifacts import Artifact, Category, Outcome, State
from pytest_evalharness.episodes.error_info import ErrorInfo, read_error_info
from pytest_evalharness.episodes.index import Entry, Index, read_index
from pytest_evalharness.episodes.layout import EPISODE, size_on_disk
from pytest_evalharness.episodes.replays import ReplayHeader, replay_header
from pytest_evalharness.episodes.results import Read, SeatResults, read_results
from pytest_evalharness.episodes.telemetry import FILE as TELEMETRY_FILE
from pytest_evalharness.episodes.telemetry import KIND as TELEMETRY
from pytest_evalharness.episodes.telemetry import Telemetry, read_telemetry
from pytest_evalharness.episodes.untrusted import MIB, json_of, unreadable
from pytest_evalharness.errors import UsageError

_LONGEST_LINE = MIB
_LARGEST_ROW = 64 * MIB
_STEP = 1024 * 1024


class EpisodeFolder:
    """One episode on disk.

    Attributes:
        entry: what the index says of it.
        path: its folder.
    """

    def __init__(self, root: Path, entry: Entry) -> None:
        self._root = root
        self.entry = entry
        self.path = root / entry.folder

    def __repr__(self) -> str:
        """The folder."""
        return f"EpisodeFolder({str(self.path)!r})"

    @property
    def id(self) -> str:
        """The episode's id; untrusted."""
        return self.entry.id

    @property
    def artifacts(self) -> Mapping[str, Outcome]:
        """Path below the folder → how that file stands."""
        return dict(self.entry.files)

    @property
    def seats(self) -> tuple[int, ...]:
        """The seats that anything is known of."""
        found = {one.artifact.seat for one in self.entry.files.values()}
        return tuple(sorted(seat for seat in found if seat is not None))

    @property
    def row(self) -> dict[str, Any]:
        """`episode.json`: the episode as the server showed it.

        Raises:
            ArtifactUnreadable: it is no JSON object.
            FileNotFoundError: it is not there.
        """
        found = json_of(self._bytes(EPISODE, _LARGEST_ROW), "episode.json", _LARGEST_ROW)
        if not isinstance(found, dict):
            raise unreadable("episode.json", "it is no object")
        return found

    def has(self, category: Category, seat: int | None = None) -> bool:
        """Whether an artifact is there."""
        found = self.entry.of(Artifact(category, seat))
        return bool(found) and all(one.state is State.OK for one in found)

    @property
    def results(self) -> Read | None:
        """`results.json`, read; None where there is none.

        Raises:
            ArtifactUnreadable: it is not what it should be.
        """
        data = self._artifact(Category.RESULTS, None, results.LARGEST)
        return None if data is None else read_results(data)

    @property
    def seat_results(self) -> SeatResults:
        """What the results say of each seat; nothing where there are none. Errors as `results`."""
        found = self.results
        return SeatResults({} if found is None else found.kept)

    @property
    def error(self) -> ErrorInfo | None:
        """`error_info.json`, read; None where there is none. Errors as `results`."""
        data = self._artifact(Category.ERROR_INFO, None, error_info.LARGEST)
        return None if data is None else read_error_info(data)

    @property
    def replay(self) -> ReplayHeader | None:
        """The header of the replay; None where there is no replay. Errors as `results`."""
        path = self._there(Category.REPLAY, None)
        return None if path is None else replay_header(path)

    def log_lines(self, seat: int | None = None) -> Iterator[str]:
        """The lines of a seat's log, or of the game's for None; nothing where there is no log.

        Half characters are replaced; a line is cut after a MiB. Lines are untrusted: `base.text.printable` before showing.
        """
        category = Category.GAME_LOG if seat is None else Category.PLAYER_LOG
        path = self._there(category, seat)
        if path is None:
            return
        with _opened(path) as file:
            while line := file.readline(_LONGEST_LINE):
                yield line.decode("utf-8", "replace").rstrip("\r\n")

    def log(self, seat: int | None = None) -> logs.Log | None:
        """A log, and what is missing from it; None where there is none.

        Raises:
            ArtifactUnreadable: it is larger than what the service keeps.
        """
        category = Category.GAME_LOG if seat is None else Category.PLAYER_LOG
        data = self._artifact(category, seat, logs.LARGEST)
        return None if data is None else logs.read_log(data, "log")

    def telemetry(self, seat: int) -> Telemetry | None:
        """What a policy's adviser did, by its own telemetry; None where it left none. Errors as `read_telemetry`."""
        data = self._artifact(Category.PLAYER_ARTIFACT, seat, archives.LARGEST)
        return None if data is None else read_telemetry(data)

    def telemetry_lines(self, seat: int, name: str = TELEMETRY_FILE) -> Iterator[Mapping[str, Any]]:
        """The objects of a file of JSON lines in a seat's archive, one after the other, never unpacked to disk.

        Lines that are no object are left out, as is half a line at the end. Nothing where there is no such file.

        Raises:
            ArtifactUnreadable: the archive must not be opened, is damaged, or unpacks to more than 64 MiB.
        """
        data = self._artifact(Category.PLAYER_ARTIFACT, seat, archives.LARGEST)
        if data is None:
            return
        with archives.opened(data, TELEMETRY) as archive:
            member = archive.named(name)
            content = b"" if member is None else archive.read(member)
        for line in content.splitlines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, Mapping):
                yield row

    def _there(self, category: Category, seat: int | None) -> Path | None:
        for one in self.entry.of(Artifact(category, seat)):
            if (
                one.state is State.OK
                and size_on_disk(self._root, f"{self.entry.folder}/{one.path}") is not None
            ):
                return self.path / one.path
        return None

    def _artifact(self, category: Category, seat: int | None, most: int) -> bytes | None:
        path = self._there(category, seat)
        return None if path is None else self._bytes(str(path.relative_to(self.path)), most)

    def _bytes(self, relative: str, most: int) -> bytes:
        if size_on_disk(self._root, f"{self.entry.folder}/{relative}") is None:
            raise FileNotFoundError(relative)
        with _opened(self.path / relative) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise unreadable(relative, f"it has more than {most} bytes")
        return data


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        yield file


@dataclass(frozen=True)
class DownloadFolder:
    """A folder that episodes were downloaded into.

    Attributes:
        root: the folder.
        index: its index.
    """

    root: Path
    index: Index

    @property
    def episodes(self) -> tuple[EpisodeFolder, ...]:
        """Its episodes, the oldest first."""
        found = sorted(self.index.entries.values(), key=lambda one: one.folder)
        return tuple(EpisodeFolder(self.root, one) for one in found)

    def episode(self, name: str) -> EpisodeFolder:
        """The episode of an id or a folder, or of the beginning or a part of one that only one has.

        Raises:
            UsageError: none has it, or several have.
        """
        all_of_them = self.episodes
        exact = [one for one in all_of_them if name in {one.id, one.entry.folder, str(one.path)}]
        near = exact or [one for one in all_of_them if name and (name in one.entry.folder or name in one.id)]
        if len(near) == 1:
            return near[0]
        what = "several episodes have" if near else "no episode has"
        raise UsageError(
            f"{what} {printable(name, 80)} in id or folder",
            not_done="nothing was shown",
            next_step=f"evalharness episodes show {printable(self.root)}   (lists them)",
        )


def open_folder(root: Path | str) -> DownloadFolder:
    """A folder that `evalharness episodes` has filled.

    Raises:
        UsageError: it has no index, or one that cannot be read.
    """
    path = Path(root)
    index = read_index(path)
    if not (path / "index.json").is_file():
        raise UsageError(
            f"{printable(path)} holds no downloaded episodes: it has no index.json",
            not_done="nothing was read",
            next_step="evalharness episodes --out DIR …   (downloads some)",
        )
    return DownloadFolder(path, index)


@dataclass(frozen=True)
class Fault:
    """A file that is not as the index says."""

    path: str
    why: str


def verify(folder: DownloadFolder) -> Iterator[Fault]:
    """Every file that is missing, or whose size or SHA-256 is not that of the index."""
    for episode in folder.episodes:
        for one in episode.entry.files.values():
            if one.state is not State.OK:
                continue
            shown = f"{episode.entry.folder}/{one.path}"
            size = size_on_disk(folder.root, shown)
            if size is None:
                yield Fault(shown, "it is not there")
            elif size != one.size:
                yield Fault(shown, f"it has {size} bytes, and had {one.size}")
            elif _sha256(episode.path / one.path) != one.sha256:
                yield Fault(shown, "its content has changed")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with _opened(path) as file:
        while chunk := file.read(_STEP):
            digest.update(chunk)
    return digest.hexdigest()
