"""sqlite as we use it: WAL, a busy timeout, one connection a thread, transactions that are all or nothing."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

_BUSY_SECONDS = 30.0
_SWITCH_PAUSE = 0.01


class Database:
    """One sqlite file. Safe to share between threads and processes on one machine, but not across a fork.

    Args:
        path: the file; its folder must exist.
        migrations: steps, oldest first; the file remembers how many it has had (`PRAGMA user_version`). Those that it
            has not had are taken in one transaction, all or none.
        busy: seconds to wait for somebody else's lock.

    Raises:
        SchemaTooNewError: a newer version of the program has written the file.
        NoWalError: the file system cannot share memory between processes, which WAL needs.
        sqlite3.Error, OSError: the file cannot be opened or written.
    """

    def __init__(self, path: Path, migrations: Sequence[Migration], *, busy: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._busy = busy
        self._local = threading.local()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._lock = threading.Lock()
        try:
            self._migrate(migrations)
        except BaseException:
            self.close()  # nobody else could: there is no object yet
            raise

    def _connection(self) -> sqlite3.Connection:
        existing: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if existing is not None:
            return existing
        # Closed from whichever thread ends the program, used from its own only.
        connection = sqlite3.connect(
            self.path, timeout=self._busy, isolation_level=None, check_same_thread=False
        )
        try:
            connection.row_factory = sqlite3.Row
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")  # a journal that loses its last page is none
            connection.execute("PRAGMA foreign_keys=ON")
        except BaseException:
            connection.close()
            raise
        self._local.connection = connection
        self._keep(connection)
        return connection

    def _keep(self, connection: sqlite3.Connection) -> None:
        """Remember this thread's connection, and close those of threads that have ended: many short ones may use a file."""
        with self._lock:
            ended = [one for one in self._opened if not one[0].is_alive()]
            self._opened = [one for one in self._opened if one not in ended]
            self._opened.append((threading.current_thread(), connection))
        for _, old in ended:
            old.close()

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch the file to WAL, once in its life; sqlite does not ask its busy handler for this one step."""
        give_up = time.monotonic() + self._busy
        while True:
            try:
                mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() >= give_up:
                    raise
                time.sleep(_SWITCH_PAUSE)
                continue
            if mode != "wal":
                raise NoWalError(self.path, mode)
            return

    def _migrate(self, migrations: Sequence[Migration]) -> None:
        with self.transaction() as run:
            have = int(run("PRAGMA user_version")[0][0])
            if have > len(migrations):
                raise SchemaTooNewError(self.path, have, len(migrations))
            for step in migrations[have:]:
                _take(run, step)
            if have < len(migrations):
                run(f"PRAGMA user_version={len(migrations)}")

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """A write transaction: committed at the end, rolled back by any exception."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield Run(connection)
            connection.execute("COMMIT")
        except BaseException:
            # A full disk rolls back by itself; a second rollback would hide the first error. A commit that
            # failed leaves its transaction open, and the connection would be of no use any more.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def read(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        """Rows of one statement that only reads."""
        return self._connection().execute(sql, args).fetchall()

    def close(self) -> None:
        """Close every thread's connection."""
        with self._lock:
            opened, self._opened = self._opened, []
        for _, connection in opened:
            connection.close()
        self._local = threading.local()


class Run:
    """Executes statements inside a transaction; call it with SQL and its arguments."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        """The rows of a statement."""
        return self._connection.execute(sql, args).fetchall()

    def changed(self, sql: str, *args: Any) -> int:
        """How many rows a statement changed."""
        return self._connection.execute(sql, args).rowcount


Migration: TypeAlias = "str | Callable[[Run], None]"
"""A step of a schema: a script without semicolons in its texts, or what works on the rows."""


def _take(run: Run, step: Migration) -> None:
    if not isinstance(step, str):
        step(run)
        return
    for statement in step.split(";"):
        if statement.strip():
            run(statement)


class SchemaTooNewError(Exception):
    """The file was written by a newer version of the program."""

    def __init__(self, path: Path, have: int, know: int) -> None:
        super().__init__(f"{path} has schema version {have}; this program knows {know}")
        self.path = path
        self.have = have
        self.know = know


class NoWalError(Exception):
    """The file system cannot do what WAL needs."""

    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(f"{path} cannot use a write-ahead log here (sqlite fell back to {mode!r})")
        self.path = path
        self.mode = mode
