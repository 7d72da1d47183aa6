"""Replays as they are served: raw, zlib or gzip, told by their first bytes and never by a name; unpacked within a bound."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum

from pytest_evalharness.episodes.untrusted import unreadable

_STEP = 256 * 1024
_MOST_LAYERS = 3
"""A storage may pack again what a game had packed."""


class Encoding(StrEnum):
    """How bytes are packed."""

    RAW = "raw"
    ZLIB = "zlib"
    GZIP = "gzip"


def sniff(head: bytes) -> Encoding:
    """The encoding that some first bytes tell."""
    if head[:2] == b"\x1f\x8b":
        return Encoding.GZIP
    if len(head) > 1 and head[0] == 0x78 and head[1] in {0x01, 0x5E, 0x9C, 0xDA}:  # noqa: PLR2004 - RFC 1950
        return Encoding.ZLIB
    return Encoding.RAW


def unpacked(chunks: Iterable[bytes], most: int, kind: str = "replay") -> Iterator[bytes]:
    """What was packed, in pieces of at most a quarter MiB.

    Args:
        chunks: the bytes as they were served; nothing else of them is kept in memory.
        most: bytes that may come out.
        kind: what it is, for messages.

    Raises:
        ArtifactUnreadable: it is damaged or cut off, packed more than three times, or unpacks to more than `most` bytes.
    """
    size = 0
    for part in _layers(iter(chunks), kind, _MOST_LAYERS):
        size += len(part)
        if size > most:
            raise unreadable(kind, f"it unpacks to more than {most} bytes")
        yield part


def _layers(chunks: Iterator[bytes], kind: str, left: int) -> Iterator[bytes]:
    head, rest = _headed(chunks)
    encoding = sniff(head)
    if encoding is Encoding.RAW:
        yield from rest
        return
    if left == 0:
        raise unreadable(kind, f"it is packed more than {_MOST_LAYERS} times")
    yield from _layers(inflated(rest, encoding, kind), kind, left - 1)


def _headed(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first two bytes, and everything."""
    head: list[bytes] = []
    while sum(map(len, head)) < 2:  # noqa: PLR2004 - what `sniff` needs
        part = next(chunks, None)
        if part is None:
            break
        head.append(part)

    def everything() -> Iterator[bytes]:
        yield from head
        yield from chunks

    return b"".join(head), everything()


def inflated(chunks: Iterator[bytes], encoding: Encoding, kind: str) -> Iterator[bytes]:
    """One layer unpacked, in pieces of at most a quarter MiB.

    Raises:
        ArtifactUnreadable: it is damaged or cut off.
    """

    def inflater() -> zlib._Decompress:
        return zlib.decompressobj(31 if encoding is Encoding.GZIP else 15)

    unpacker, began = inflater(), False
    try:
        for chunk in chunks:
            data = chunk
            while data:
                if unpacker.eof:
                    if encoding is Encoding.ZLIB or not data.strip(b"\0"):
                        data = b""  # what follows the end is padding
                        continue
                    unpacker = inflater()  # gzip may have several members
                began = True
                part = unpacker.decompress(data, _STEP)
                data = unpacker.unconsumed_tail or unpacker.unused_data
                if part:
                    yield part
    except zlib.error as problem:
        raise unreadable(kind, f"it is damaged {encoding.value}: {problem}") from None
    if began and not unpacker.eof:
        raise unreadable(kind, f"its {encoding.value} is cut off")
