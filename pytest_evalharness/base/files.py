"""Files that are whole or absent, and names that cannot leave their folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_LOG_COMMAND = "##["
_UNUSUAL = re.compile(r"[^ -~\n]|##\[")


def write_atomic(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part.

    Raises:
        OSError: the folder cannot be written to; the old file is still there.
    """
    # Half a character that came out of somebody's JSON goes back as the escape it came as.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # noqa: PTH101 - mkstemp speaks in names
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut, where the platform lets us."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def canonical_json(value: Any) -> str:
    """JSON with one spelling only: keys sorted, no spaces, no NaN. For digests.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not made of JSON's types.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def readable_json(value: Any) -> str:
    """JSON for people and for diffs: keys sorted, indented, ends with a newline.

    Letters of all scripts stand as they are; what could steer a terminal or the log of a CI job is spelt as an escape.
    """
    plain = json.dumps(value, sort_keys=True, indent=2, allow_nan=False, ensure_ascii=False)
    return _UNUSUAL.sub(_spelt, plain) + "\n"


def _spelt(found: re.Match[str]) -> str:
    text = found.group()
    if text == _LOG_COMMAND:
        return "#\\u0023["
    return text if text.isprintable() else json.dumps(text)[1:-1]


def safe_component(name: str) -> str:
    """One harmless path component made from any text.

    Separators, control characters and leading dots go; an empty rest becomes `_`.
    """
    cleaned = _UNSAFE.sub("_", name).strip("._")[:_LONGEST]
    return cleaned or "_"
