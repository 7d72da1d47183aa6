"""The end of a log: what a program said last, made harmless. Reads only."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_evalharness.base.text import printable, redact

_BYTES = 4_000


def last_words(log: Path, lines: int) -> str:
    """The last lines of a log, as one.

    Args:
        log: the file.
        lines: at most so many.
    """
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _BYTES))
            told = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return "its log cannot be read"
    return printable(redact(" / ".join(line.strip() for line in told[-lines:])), 1000) or "nothing"
