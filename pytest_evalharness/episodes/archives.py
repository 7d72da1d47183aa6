"""Zip archives that strangers made: looked into, never unpacked, with every size bounded before it is used. Pure."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from pytest_evalharness.episodes.untrusted import MIB, require_size, unreadable

LARGEST = 200 * MIB
"""What the service keeps of a player at most."""
MOST_MEMBERS = 1000
MOST_UNPACKED = 64 * MIB
"""Of one member, whatever its archive says of its size."""
_LARGEST_DIRECTORY = 512 * 1024
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_SIZE, _END_64_SIZE = 22, 20
_LONGEST_COMMENT = 65_535
_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_STEP = 64 * 1024
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, LookupError, RuntimeError, OverflowError,
)  # fmt: skip
"""What a malformed archive makes the standard library raise; NotImplementedError is a RuntimeError."""


class Archive:
    """An archive whose members have been checked: plain files with names that cannot leave a folder."""

    def __init__(self, kind: str, archive: zipfile.ZipFile) -> None:
        self._kind = kind
        self._archive = archive
        self.names = tuple(info.filename for info in archive.infolist() if not info.is_dir())

    def named(self, name: str) -> str | None:
        """The member with this file name that is nearest to the root; None where there is none."""
        found = [one for one in self.names if PurePosixPath(one).name == name]
        return min(found, key=lambda one: (one.count("/"), one), default=None)

    def read(self, name: str, most: int = MOST_UNPACKED) -> bytes:
        """A member's content.

        Raises:
            ArtifactUnreadable: there is no such member, it is damaged, or unpacks to more than `most` bytes.
        """
        parts, size = [], 0
        try:
            with self._archive.open(name) as file:
                while part := file.read(_STEP):
                    size += len(part)
                    if size > most:
                        raise unreadable(self._kind, f"{name} unpacks to more than {most} bytes")
                    parts.append(part)
        except _BROKEN as problem:
            raise unreadable(self._kind, f"{name}: {type(problem).__name__}: {problem}") from None
        return b"".join(parts)


@contextmanager
def opened(data: bytes, kind: str) -> Iterator[Archive]:
    """An archive from its bytes.

    Args:
        data: the archive.
        kind: what it is, for messages.

    Raises:
        ArtifactUnreadable: it is too large or no zip; it has too many members, or one that is encrypted, a link, packed by
            an unusual method, or named so that it would leave its folder.
    """
    require_size(data, kind, LARGEST)
    _require_small_directory(data, kind)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        infos = archive.infolist()
    except _BROKEN as problem:
        raise unreadable(kind, f"it is no zip: {type(problem).__name__}: {problem}") from None
    with archive:
        if len(infos) > MOST_MEMBERS:
            raise unreadable(kind, f"it has {len(infos)} members, and at most {MOST_MEMBERS} are read")
        for info in infos:
            why = _objection(info)
            if why:
                raise unreadable(kind, f"its member {info.filename!r} {why}")
        yield Archive(kind, archive)


def _require_small_directory(data: bytes, kind: str) -> None:
    """Bound the table of contents before anybody builds it: a million empty members fit into a small archive."""
    at = data.rfind(_END, max(0, len(data) - _END_SIZE - _LONGEST_COMMENT))
    if at < 0 or len(data) - at < _END_SIZE:
        raise unreadable(kind, "it is no zip")
    (size,) = struct.unpack_from("<I", data, at + 12)
    large = data[max(0, at - _END_64_SIZE) : at].startswith(_END_64)
    if large or size > _LARGEST_DIRECTORY:
        raise unreadable(kind, "its table of contents is larger than any archive of a player's needs")


def _objection(info: zipfile.ZipInfo) -> str:
    name = info.filename
    parts = PurePosixPath(name).parts
    if not name.strip() or "\\" in name or ":" in name or name.startswith("/") or ".." in parts:
        return "would leave its folder"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in _METHODS:
        return "is packed by an unusual method"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "is a link"
    return ""
