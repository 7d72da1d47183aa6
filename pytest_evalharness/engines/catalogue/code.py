"""Which code an engine is: results are kept under it, and an edit must not find them."""

from __future__ import annotations

import hashlib
from pathlib import Path


def release() -> str:
    """This package's version."""
    from importlib.metadata import version

    return f"evalharness {version('pytest-evalharness')}"


def code_beside(file: str | Path) -> str:
    """A hash of a Python file and the Python files beside it; of one that cannot be read, its name."""
    path = Path(file)
    digest = hashlib.sha256(release().encode())
    try:
        for one in sorted({path, *path.parent.glob("*.py")}):
            digest.update(one.name.encode() + b"\0" + hashlib.sha256(one.read_bytes()).digest())
    except OSError:
        return f"unread {file}"
    return f"sha256:{digest.hexdigest()}"
