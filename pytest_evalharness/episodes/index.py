"""`index.json`: what is in a folder of episodes, what is missing and why. Written whole, read without trust, one writer at a time."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock, iso
from pytest_evalharness.base.files import readable_json, write_atomic
from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.artifacts import Artifact, Category, Outcome, State
from pytest_evalharness.episodes.layout import (
    EPISODE,
    INDEX,
    LOCK,
    folder_name,
    open_new,
    read_within,
    size_on_disk,
)
from pytest_evalharness.errors import UsageError

FORMAT = 1
_LARGEST = 512 * 1024 * 1024
_LARGEST_ROW = 64 * 1024 * 1024
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_PAUSE = 0.2


@dataclass
class Entry:
    """An episode in the index.

    Attributes:
        id: the episode's id; untrusted.
        folder: where its files are, below the index.
        created_at: in ISO 8601; empty if nobody tells.
        status: how it stood.
        error_type: why it failed; empty if it did not, or nobody tells.
        request: its experience request; empty if it has none.
        over: whether its status will not change any more.
        asked: the categories that were asked for.
        files: path below the folder → what became of it.
    """

    id: str
    folder: str
    created_at: str = ""
    status: str = ""
    error_type: str = ""
    request: str = ""
    over: bool = False
    asked: set[Category] = field(default_factory=set)
    files: dict[str, Outcome] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be done about it."""
        return self.over and bool(self.asked) and all(one.state.settled for one in self.files.values())

    def of(self, artifact: Artifact) -> list[Outcome]:
        """The files of an artifact."""
        return [one for one in self.files.values() if one.artifact == artifact]

    def lost(self, root: Path) -> list[Outcome]:
        """The files that are said to be there and are not, or have another size."""
        return [
            one
            for one in self.files.values()
            if one.state is State.OK and size_on_disk(root, f"{self.folder}/{one.path}") != one.size
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "folder": self.folder,
            "created_at": self.created_at,
            "status": self.status,
            "error_type": self.error_type,
            "request": self.request,
            "over": self.over,
            "complete": self.settled,
            "asked": sorted(self.asked),
            "artifacts": [self.files[path].to_json() for path in sorted(self.files)],
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Entry:
        """The same from plain data.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        if _FOLDER.fullmatch(told["folder"]) is None:
            raise ValueError("a folder's name that no index of ours has")
        files = [Outcome.from_json(one) for one in told["artifacts"]]
        if any(part in {"", ".", ".."} for one in files for part in one.path.split("/")):
            raise ValueError("a file that would leave its folder")
        words = {key: str(told.get(key, "")) for key in ("created_at", "status", "error_type", "request")}
        return cls(
            id=str(told["id"]),
            folder=told["folder"],
            over=told.get("over") is True,
            asked={Category(one) for one in told.get("asked", ())},
            files={one.path: one for one in files},
            **words,
        )


@dataclass
class Index:
    """All episodes of a folder.

    Attributes:
        root: the folder.
        server: whose episodes they are.
        selection: what the last run asked for.
        more: whether there were more episodes than it took; empty if not.
        entries: by the episode's id.
    """

    root: Path
    server: str = ""
    selection: dict[str, Any] = field(default_factory=dict)
    more: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    _taken: dict[str, str] | None = field(default=None, repr=False)

    def entry(self, episode_id: str, created_at: float | None) -> Entry:
        """An episode's entry, made where there is none; its folder is nobody else's, here or on disk."""
        found = self.entries.get(episode_id)
        if found is None:
            if self._taken is None:
                known = {one.folder.lower(): one.id for one in self.entries.values()}
                self._taken = self._strangers(known) | known
            name = folder_name(episode_id, created_at, self._taken)
            self._taken[name.lower()] = episode_id
            found = Entry(episode_id, name, iso(created_at) if created_at is not None else "")
            self.entries[episode_id] = found
        return found

    def _strangers(self, known: Collection[str]) -> dict[str, str]:
        """Folders on disk that no entry names, with the episode that each is of; none for one that tells nothing."""
        found = {}
        with contextlib.suppress(OSError):
            for each in os.scandir(self.root):
                if each.name.lower() not in known and not each.name.startswith("."):
                    found[each.name.lower()] = _id_in(Path(each.path))
        return found

    def write(self, now: float) -> None:
        """Put it on disk, in one step.

        Raises:
            OSError: the folder cannot be written to.
        """
        head = {
            "format": FORMAT,
            "server": self.server,
            "selection": self.selection,
            "downloaded": iso(now),
            "more": self.more,
        }
        # A line an episode, written by the fast encoder: of a thousand episodes this is megabytes, again and again.
        lines = [
            json.dumps(one.to_json(), sort_keys=True)
            for one in sorted(self.entries.values(), key=lambda one: one.folder)
        ]
        top = readable_json(head).removesuffix("\n}\n")
        write_atomic(self.root / INDEX, f'{top},\n  "episodes": [\n' + ",\n".join(lines) + "\n  ]\n}\n")


def _id_in(folder: Path) -> str:
    try:
        if folder.is_symlink():
            return ""
        return str(json.loads(read_within(folder / EPISODE, _LARGEST_ROW))["id"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def read_index(root: Path) -> Index:
    """The index of a folder; an empty one where there is none.

    Raises:
        UsageError: it is no index of ours, or damaged.
    """
    path = root / INDEX
    try:
        return _read(root, path)
    except FileNotFoundError:
        return Index(root)
    except OSError as problem:
        why = problem.strerror or str(problem)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        why = f"{type(problem).__name__}: {problem}"
    raise UsageError(
        f"{printable(path)} cannot be read: {printable(why)}",
        not_done="nothing was downloaded and nothing was changed",
        next_step="move the file away; the same command finds what is there again, or name another folder with --out",
    )


def _read(root: Path, path: Path) -> Index:
    told = json.loads(read_within(path, _LARGEST))
    if told["format"] != FORMAT:
        raise ValueError(f"its format is {printable(told['format'], 40)}, and {FORMAT} is known")
    entries = [Entry.from_json(one) for one in told["episodes"]]
    selection = told.get("selection")
    return Index(
        root,
        str(told["server"]),
        selection if isinstance(selection, dict) else {},
        str(told.get("more", "")),
        {one.id: one for one in entries},
    )


@contextmanager
def locked(root: Path, *, clock: Clock, on_wait: Callable[[], None]) -> Iterator[None]:
    """One writer of a folder at a time; others wait for its end. A dead one holds nothing.

    Args:
        root: the folder, made where it is missing.
        clock: waits.
        on_wait: told once, when the wait begins.

    Raises:
        OSError: the folder cannot be written to.
    """
    import fcntl

    root.mkdir(parents=True, exist_ok=True)
    handle = open_new(root / LOCK, keep=True)
    try:
        waited = False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    on_wait()
                    waited = True
                clock.wait(_PAUSE)
        yield
    finally:
        os.close(handle)


def counts(entries: Sequence[Entry]) -> dict[State, int]:
    """How many files stand how."""
    found = dict.fromkeys(State, 0)
    for entry in entries:
        for one in entry.files.values():
            found[one.state] += 1
    return found
