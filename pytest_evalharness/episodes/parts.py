"""A file that is still coming: kept beside its place, so that whoever comes next goes on where it stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.episodes.layout import open_new

_STEP = 1024 * 1024
_LARGEST_NOTE = 4096
_WORTH_KEEPING = 1024 * 1024
"""Bytes from which on a part is kept for the next process; less is fetched again sooner than it is noted."""


class Part:
    """The bytes of a file that have come so far. Only bytes of one version, told by its ETag, are ever put together.

    Args:
        place: where the whole file will be.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self._path = place.with_name(f".{place.name}.part")
        self._note = place.with_name(f".{place.name}.part.json")
        self._file = -1
        self.etag = ""
        self.size = 0
        self._digest = hashlib.sha256()
        self._kept = False
        self._has_note = False

    def __enter__(self) -> Self:
        """Take up what an earlier process left, if it is known which version it is of.

        Raises:
            OSError: nothing can be written there, or something that is no file stands in its place.
        """
        with contextlib.suppress(FileNotFoundError):
            found = self._path.lstat()
            # A second name would be written through as well: a copy of the folder may be made of such.
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                self._path.unlink()
        self.etag = self._noted()
        self._kept = bool(self.etag)
        self._file = open_new(self._path, keep=bool(self.etag))
        if self.etag:
            try:
                self._take_up()
            except BaseException:
                os.close(self._file)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
        if not self._kept:
            self.drop()

    def _noted(self) -> str:
        try:
            found = self._note.lstat()
            self._has_note = True
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_NOTE:
                return ""
            told = json.loads(self._note.read_bytes())
            return str(told["etag"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _take_up(self) -> None:
        while chunk := os.read(self._file, _STEP):
            self._digest.update(chunk)
            self.size += len(chunk)

    @property
    def sha256(self) -> str:
        """Of what has come so far, in hex."""
        return self._digest.hexdigest()

    def begin(self, etag: str) -> None:
        """Forget what has come; what comes now is of this version, or of an unknown one if it is empty."""
        self._forget_note()
        if self.size:
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self.size, self._digest = 0, hashlib.sha256()
        self.etag = etag
        self._kept = False

    def write(self, chunk: bytes) -> None:
        """Add what has come."""
        view = memoryview(chunk)
        while view:
            view = view[os.write(self._file, view) :]
        self._digest.update(chunk)
        self.size += len(chunk)
        if self.etag and not self._kept and self.size >= _WORTH_KEEPING:
            write_atomic(self._note, json.dumps({"etag": self.etag}))
            self._kept = self._has_note = True

    def head(self, count: int) -> bytes:
        """The first bytes."""
        return os.pread(self._file, count, 0)

    def finish(self) -> None:
        """Put the whole file into its place, in one step; `sync_folder` makes that survive a power cut."""
        os.fsync(self._file)
        os.replace(self._path, self.place)  # noqa: PTH105 - as base.files does it
        self._kept = True
        self._forget_note()

    def _forget_note(self) -> None:
        if self._has_note:
            with contextlib.suppress(FileNotFoundError):
                self._note.unlink()
            self._has_note = False

    def drop(self) -> None:
        """Forget everything, also on disk."""
        for path in (self._path, self._note):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
