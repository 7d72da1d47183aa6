"""Opaque cursors."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")
_LONGEST = 2000


class BadCursorError(ValueError):
    """A cursor that this server did not make."""


def pack(content: dict[str, Any]) -> str:
    """A cursor that holds this."""
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode().rstrip("=")


def unpack(cursor: str) -> dict[str, Any]:
    """What a cursor holds.

    Raises:
        BadCursorError: it is none of ours.
    """
    try:
        if len(cursor) > _LONGEST:
            raise ValueError  # noqa: TRY301 - one answer to every bad cursor
        content = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise BadCursorError("not a cursor of this server") from error
    if not isinstance(content, dict):
        raise BadCursorError("not a cursor of this server")
    return content


def page(
    rows: Sequence[_T],
    key: Callable[[_T], str],
    limit: int,
    cursor: str | None,
    keep: Callable[[_T], bool] = lambda _: True,
) -> tuple[Sequence[_T], str | None]:
    """A page of the rows to keep, and the cursor of the next one.

    The cursor names the last row shown, so rows that come in at the head do not shift the pages, and a row that is
    no longer kept still marks its place.

    Raises:
        BadCursorError: the cursor is none of ours, or its row is gone.
    """
    start = 0
    if cursor is not None:
        last = unpack(cursor).get("after")
        start = next((at + 1 for at, row in enumerate(rows) if key(row) == last), 0)
        if start == 0:
            raise BadCursorError("this cursor has expired")
    left = [row for row in rows[start:] if keep(row)]
    shown = left[:limit]
    return shown, pack({"after": key(shown[-1])}) if len(left) > limit else None
