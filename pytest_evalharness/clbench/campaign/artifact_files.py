"""Writers of the files that a run directory publishes: each puts its content into an open file, a part at a time in memory."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import msgspec

from pytest_evalharness.clbench.artifact import unpacked
from pytest_evalharness.clbench.campaign.python_json import compact

Writer: TypeAlias = Callable[[BinaryIO], None]
_LEVEL = 6
"""Of compression, as the benchmark's own."""


def packed(plain: Writer) -> Writer:
    """What writes the same packed; the same content makes the same bytes."""

    def write(file: BinaryIO) -> None:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as inner:
            plain(cast("BinaryIO", inner))

    return write


def stored(path: Path) -> Writer:
    """What writes an artifact that is stored somewhere, as plain JSON without blanks."""

    def write(file: BinaryIO) -> None:
        file.write(compact(unpacked(path)))

    return write


def copied(source: Path) -> Writer:
    """What copies the benchmark's own artifact: byte for byte where it is packed, else packed."""
    if source.suffix != ".gz":
        return packed(stored(source))

    def write(file: BinaryIO) -> None:
        with source.open("rb") as original:
            shutil.copyfileobj(original, file)

    return write


def together(artifacts: Mapping[str, Writer]) -> Writer:
    """What writes one file of all artifacts by task, packed; each of them writes plain JSON."""

    def write(file: BinaryIO) -> None:
        for at, (task, plain) in enumerate(artifacts.items()):
            file.write(b"," if at else b"{")
            file.write(msgspec.json.encode(task) + b":")
            plain(file)
        file.write(b"}")

    return packed(write)


def readable(value: Any) -> Writer:
    """What writes JSON as the benchmark writes its manifests."""
    raw = json.dumps(value, indent=2).encode() + b"\n"

    def write(file: BinaryIO) -> None:
        file.write(raw)

    return write
