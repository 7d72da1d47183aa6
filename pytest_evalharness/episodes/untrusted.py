"""Bytes from strangers as plain values: bounded in size, finite in numbers, with one error for everything else. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import ArtifactUnreadable

MIB = 1024 * 1024
MOST_SEATS = 64
"""More seats than any hosted game has."""
_MOST_WHOLE = 2**53
"""Beyond it JSON's numbers are no exact counts."""


def object_of(data: bytes | bytearray | Mapping[str, Any], kind: str, most: int) -> Mapping[str, Any]:
    """A JSON object.

    Args:
        data: its bytes, or what a client has parsed of them already.
        kind: what it is, for messages.
        most: how many bytes are read at most.

    Raises:
        ArtifactUnreadable: it is too large, no JSON, or no object.
    """
    parsed = json_of(data, kind, most) if isinstance(data, bytes | bytearray) else data
    if not isinstance(parsed, Mapping):
        raise unreadable(kind, f"it is a {type(parsed).__name__} and no object")
    return parsed


def json_of(data: bytes | bytearray, kind: str, most: int) -> Any:
    """JSON without NaN and infinities; arguments and errors as `object_of`."""
    require_size(data, kind, most)
    try:
        return json.loads(data, parse_constant=_no_constant)
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as problem:  # no UTF-8, no JSON, a number of thousands of digits
        why = f"it is no JSON: {problem}"
    raise unreadable(kind, why)


def require_size(data: bytes | bytearray, kind: str, most: int) -> None:
    """Check a size.

    Raises:
        ArtifactUnreadable: there are more than `most` bytes.
    """
    if len(data) > most:
        raise unreadable(kind, f"it has {len(data)} bytes, and at most {most} are read")


def number(value: Any) -> float | None:
    """A finite number, or None for anything else; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # a whole number of hundreds of digits is JSON, and no float
        return None
    return found if math.isfinite(found) else None


def whole(value: Any, low: int = -_MOST_WHOLE, high: int = _MOST_WHOLE) -> int | None:
    """A whole number within limits, or None for anything else; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if low <= value <= high else None


def text(value: Any, most: int) -> str | None:
    """A text of at most so many characters, made harmless, or None for anything else."""
    return printable(value, most) if isinstance(value, str) else None


def unreadable(kind: str, why: str) -> ArtifactUnreadable:
    """The error of every reader."""
    return ArtifactUnreadable(
        f"the {kind} cannot be read: {printable(why)}",
        not_done="nothing was taken from it",
        next_step="look at the artifact itself; what it would have told stays unknown",
    )


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")
