"""What judges and models said, kept on disk by what they were asked: nothing is paid for twice. No text is kept."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.base.database import Database, NoWalError, SchemaTooNewError
from pytest_evalharness.errors import JournalUnavailable

_SCHEMA = ["CREATE TABLE answer (key BLOB PRIMARY KEY, told BLOB NOT NULL) WITHOUT ROWID"]


class AnswerCache:
    """Answers by question.

    Args:
        path: of the file.
        scope: everything beside the question that an answer depends on: model, instructions, the world.

    Raises:
        JournalUnavailable: the file cannot be read or written, here and in every method.
    """

    def __init__(self, path: Path, scope: str) -> None:
        self._path = path
        with self._usable():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = Database(path, _SCHEMA)
        self._scope = hashlib.sha256(scope.encode("utf-8", "surrogatepass")).digest()

    def get(self, question: Any) -> Any:
        """The answer to a question, None if it was never given."""
        with self._usable():
            found = self._database.read("SELECT told FROM answer WHERE key = ?", self._key(question))
        return msgspec.json.decode(found[0]["told"]) if found else None

    def put(self, question: Any, answer: Any) -> None:
        """Keep an answer."""
        with self._usable(), self._database.transaction() as run:
            run(
                "INSERT OR REPLACE INTO answer VALUES (?, ?)",
                self._key(question),
                msgspec.json.encode(answer),
            )

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """An answer that cannot be kept would be paid for again, so nothing is asked then."""
        try:
            yield
        except (sqlite3.Error, OSError, NoWalError, SchemaTooNewError) as problem:
            raise JournalUnavailable(
                f"answers cannot be kept in {self._path}: {problem}",
                not_done="no set was written; nothing more is asked",
                next_step="repair the cause, or name another folder with --data; the same command goes on",
            ) from None

    def _key(self, question: Any) -> bytes:
        return hashlib.sha256(self._scope + msgspec.json.encode(question)).digest()

    def close(self) -> None:
        """Close the file."""
        self._database.close()
