"""Where somebody's own code broke, in a sentence."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_evalharness.errors import EngineFailed


def place(problem: BaseException, file: str | Path) -> str:
    """The file and line where an error arose: the deepest line of one's own file, else the deepest of all."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}, line {problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if _same(frame.filename, file)]
    if not frames:
        return str(file)
    frame = (own or list(frames))[-1]
    return f"{frame.filename}, line {frame.lineno}"


def said(problem: BaseException) -> str:
    """An error in one line: its kind and what it says."""
    words = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    return f"{type(problem).__name__}: {words}" if words else type(problem).__name__


def broken(problem: BaseException, name: str, fn: Callable[..., Any]) -> EngineFailed:
    """The error of an engine whose function raised one."""
    file = getattr(getattr(fn, "__code__", None), "co_filename", "")
    return EngineFailed(
        f"engine {name!r} failed: {said(problem)} ({place(problem, file)})",
        not_done=f"{name} has no table",
        next_step="mend the engine and fit it again",
    )


def _same(one: str, other: str | Path) -> bool:
    return bool(other) and Path(one).resolve() == Path(other).resolve()
