"""Artifacts of somebody who wants to harm whoever opens them.

Small files that unpack to huge ones, archives whose members would leave their folder, names of files that are paths or none.
"""

from __future__ import annotations

import gzip
import io
import stat
import zipfile
import zlib
from functools import cache
from typing import Final

FILE_NAMES: Final = (
    "../../escaped.txt",
    "/tmp/escaped.txt",  # noqa: S108 - nothing is written there, which is the point
    "..\\..\\escaped.txt",
    "nul\0byte.txt",
    "long" * 1250,
    "..",
    "",
    "C:\\escaped.txt",
    "line\nbreak\x1b[31m.txt",
)
"""Names of files that are no single component of a path, or no name at all."""

_GIB: Final = 1024**3
_PIECE: Final = 16 * 1024 * 1024
_REPLAY: Final = 4 * _GIB
_UPLOAD: Final = _GIB // 4
_ADLER: Final = 65_521
_DATE: Final = (2026, 1, 1, 0, 0, 0)


def file_name(place: int) -> str:
    """One of the names, in turn."""
    return FILE_NAMES[place % len(FILE_NAMES)]


@cache
def replay_bomb(packing: str) -> bytes:
    """A few megabytes that unpack to four gigabytes of zeros, with `zlib` or `gzip`."""
    if packing == "gzip":
        return gzip.compress(bytes(_PIECE), 9, mtime=0) * (_REPLAY // _PIECE)  # members one after the other
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(_PIECE)) + packer.flush(zlib.Z_FULL_FLUSH)
    # An empty last block, and the checksum of that many zeros: the one sum stays 1, the other counts them.
    checksum = (_REPLAY % _ADLER) << 16 | 1
    return head + piece * (_REPLAY // _PIECE) + b"\x03\x00" + checksum.to_bytes(4, "big")


@cache
def upload(kind: str) -> bytes:
    """A telemetry archive: a `bomb` of 256 MiB, one whose members `slip` out of their folder, or `garbage`."""
    if kind == "garbage":
        return b"PK\x03\x04 this is no archive, whatever it begins with\n" * 20
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        if kind == "bomb":
            huge = zipfile.ZipInfo("telemetry.jsonl", _DATE)
            huge.compress_type = zipfile.ZIP_DEFLATED
            with made.open(huge, "w", force_zip64=True) as member:
                for _ in range(_UPLOAD // _PIECE):
                    member.write(bytes(_PIECE))
        else:
            for name in ("../../escaped.txt", "/tmp/escaped.txt", "..\\escaped.txt"):  # noqa: S108 - as above
                made.writestr(zipfile.ZipInfo(name, _DATE), "escaped\n")
            link = zipfile.ZipInfo("telemetry.jsonl", _DATE)
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            made.writestr(link, "/etc/passwd")
    return out.getvalue()
