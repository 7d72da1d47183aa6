"""A file of events: any number of processes append lines, one reader follows them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class EventLog:
    """Appends one JSON object a line. Lines under 4 KiB never interleave (one write, O_APPEND)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, kind: str, **fields: Any) -> None:
        """Write an event. The folder must exist; an event that cannot be written is worth no crash."""
        plain = json.dumps({"kind": kind, **fields}, sort_keys=True, ensure_ascii=True)
        line = (
            plain.replace("##[", "#\\u0023[") + "\n"
        )  # who prints the file in a CI job gives it no commands
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError:
            return
        try:
            os.write(handle, line.encode())
        except OSError:
            return
        finally:
            os.close(handle)


class EventReader:
    """Reads what was appended since the last call; a half-written last line waits for the next one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> Iterator[dict[str, Any]]:
        """The events since the last call, oldest first. No file yet, or none that can be read, means no events."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return
        whole, newline, _ = data.rpartition(b"\n")
        if not newline:
            return
        for line in whole.split(b"\n"):
            self._offset += len(line) + 1
            try:
                event = json.loads(line)
            except ValueError:
                continue  # a torn line after a crash: skip it, the journal has the facts
            if isinstance(event, dict):
                yield event
