"""The journal's file: opened with care, and every trouble with it told in words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_evalharness.base.database import Database, NoWalError, Run, SchemaTooNewError
from pytest_evalharness.errors import JournalUnavailable
from pytest_evalharness.ledger.filesystem import network_kind
from pytest_evalharness.ledger.schema import MIGRATIONS

NAME = "ledger.sqlite"
BUSY_SECONDS = 30.0
_PADDING = 8192  # two pages: a disk with less room than that is full
_ELSEWHERE = "use another folder: --eval-home DIR (evalharness: --home DIR), or EVALHARNESS_HOME"
_LOCAL = "put it on a local disk: --eval-home DIR (evalharness: --home DIR), or EVALHARNESS_HOME"
_AGAIN = "run the same command again; another home knows nothing of what was posted, and would post it again"
_Steps = tuple[str, str]
"""What to do about a ledger that has just been made, and about one that may hold what was paid for."""
_MEND: _Steps = (_ELSEWHERE, f"mend that and {_AGAIN}")
_ROOM: _Steps = (f"make room there, or {_ELSEWHERE}", f"make room there and {_AGAIN}")


class Storage:
    """One ledger file, proven to be writable.

    Args:
        home: the folder; made if missing.
        now: seconds since 1970, for the write probe.
        busy: seconds to wait for another process's lock.

    Raises:
        JournalUnavailable: the folder or the file is of no use; nothing was posted.
    """

    def __init__(self, home: Path, now: float, *, busy: float = BUSY_SECONDS) -> None:
        self.path = home / NAME
        self._busy = busy
        self._begun = _has_content(self.path)
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(f"cannot make the folder {home}: {_reason(error)}", _ELSEWHERE) from error
        kind = network_kind(home)
        if kind is not None:
            raise self._unusable(
                f"{home} is on a network file system ({kind}), where two machines could corrupt the ledger",
                _LOCAL,
            )
        self._database = self._open()
        try:
            self._probe(now)
        except BaseException:
            self.close()
            raise

    def _open(self) -> Database:
        with self._told():
            try:
                return Database(self.path, MIGRATIONS, busy=self._busy)
            except SchemaTooNewError as error:
                raise self._unusable(
                    f"{self.path} was written by a newer version (its schema is {error.have}, "
                    f"this version knows {error.know})",
                    "upgrade pytest-evalharness; another home knows nothing of what was posted",
                ) from error
            except NoWalError as error:
                raise self._unusable(str(error), _LOCAL) from error

    def _probe(self, now: float) -> None:
        """Really write, now: a disk that is full is better found before a request than after it."""
        with self.transaction() as run:
            run("INSERT OR REPLACE INTO probe VALUES (1, ?, zeroblob(?))", now, _PADDING)
        self._begun = True

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """A write transaction: all of it or nothing.

        Raises:
            JournalUnavailable: the file cannot be written.
        """
        with self._told(), self._database.transaction() as run:
            yield run

    def read(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        """Rows of a statement that only reads.

        Raises:
            JournalUnavailable: the file cannot be read.
        """
        with self._told():
            return self._database.read(sql, *args)

    def close(self) -> None:
        """Close every connection. Whoever uses it afterwards opens it again."""
        with suppress(sqlite3.Error):
            self._database.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what is wrong with the file in words; defects in our own SQL pass as they are."""
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise
        except sqlite3.Error as error:
            what, step = self._diagnosis(error)
            raise self._unusable(what, step) from error
        except OSError as error:
            raise self._unusable(f"cannot use {self.path}: {_reason(error)}", _MEND[self._begun]) from error

    def _diagnosis(self, error: sqlite3.Error) -> tuple[str, str]:
        name = getattr(error, "sqlite_errorname", "") or ""
        for prefix, what, steps in _DIAGNOSES:
            if name.startswith(prefix):
                why = _why_not_written(self.path)
                told = what.format(path=self.path, busy=self._busy, name=name, why=why)
                return told, steps[self._begun]
        return f"cannot use {self.path}: {error} ({name or 'sqlite'})", _MEND[self._begun]

    def _unusable(self, what: str, step: str) -> JournalUnavailable:
        return JournalUnavailable(
            f"ledger: {what}",
            not_done="nothing more is submitted without a ledger; requests already accepted go on at the server",
            next_step=step,
        )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _why_not_written(path: Path) -> str:
    """What is in the way of a file that cannot be opened for writing, as far as anybody can tell."""
    if path.is_dir():
        return "a folder is in its place"
    try:
        if os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return "a read-only file system"
    except OSError as error:
        return _reason(error)
    closed = [one for one in (path.parent, path) if one.exists() and not os.access(one, os.W_OK)]
    return f"no permission to write {closed[0]}" if closed else "permissions, or too many open files"


_ASIDE = (
    "move the file (and its -wal and -shm) aside and start again; look on the server for requests that "
    "were submitted before"
)
_HELD = "end the program that holds it open (`fuser -v` on the file names it), then run again"
_DIAGNOSES: tuple[tuple[str, str, _Steps], ...] = (
    ("SQLITE_FULL", "the disk of {path} is full", _ROOM),
    ("SQLITE_READONLY", "{path} cannot be written ({why})", _MEND),
    ("SQLITE_PERM", "{path} cannot be written (permission denied)", _MEND),
    ("SQLITE_CANTOPEN", "{path} cannot be opened or made ({why})", _MEND),
    (
        "SQLITE_BUSY",
        "{path} stayed locked by another process for {busy:g} s",
        (_HELD, _HELD),
    ),
    ("SQLITE_NOTADB", "{path} is not a ledger (no sqlite file)", (_ASIDE, _ASIDE)),
    ("SQLITE_CORRUPT", "{path} is damaged", (_ASIDE, _ASIDE)),
    # The memory that processes share is a file too; it could not grow.
    ("SQLITE_IOERR_SHMSIZE", "the disk of {path} is full ({name})", _ROOM),
    (
        "SQLITE_IOERR_SHM",
        "{path} is on a file system that cannot share memory between processes ({name})",
        (_LOCAL, _LOCAL),
    ),
    (
        "SQLITE_IOERR_LOCK",
        "{path} is on a file system without working locks ({name})",
        (_LOCAL, _LOCAL),
    ),
    (
        "SQLITE_IOERR",
        "reading or writing {path} failed ({name}): a full disk, a quota, or a failing one",
        _ROOM,
    ),
)
