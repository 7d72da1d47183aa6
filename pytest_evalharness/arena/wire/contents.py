"""The bytes of an artifact, whole or made while they are sent, and what identifies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

PART: Final = 256 * 1024
"""So many bytes are sent at a time."""

_LINE: Final = b"[     0] the same line again and again, as a player that logs far too much writes\n"
_BLOCK: Final = _LINE * 1024


@dataclass(frozen=True)
class Content:
    """An artifact's bytes.

    Attributes:
        size: how many there are.
        etag: identifies them, in quotes as the header has it.
        media_type: of what kind they are.
        parts: those from a first to before a last one, in parts.
    """

    size: int
    etag: str
    media_type: str
    parts: Callable[[int, int], Iterator[bytes]]

    def whole(self) -> bytes:
        """All of them at once."""
        return b"".join(self.parts(0, self.size))


def of_bytes(data: bytes, media_type: str) -> Content:
    """Bytes that are there."""

    def parts(start: int, stop: int) -> Iterator[bytes]:
        view = memoryview(data)
        for at in range(start, stop, PART):
            yield bytes(view[at : min(stop, at + PART)])

    return Content(len(data), f'"{sha256(data).hexdigest()[:32]}"', media_type, parts)


def of_lines(size: int, media_type: str) -> Content:
    """So many bytes of one line again and again, which are never all in memory."""

    def parts(start: int, stop: int) -> Iterator[bytes]:
        at = start
        while at < stop:
            within = at % len(_LINE)
            part = _BLOCK[within : within + min(PART, stop - at)]
            at += len(part)
            yield part

    return Content(size, f'"{size:032x}"', media_type, parts)
