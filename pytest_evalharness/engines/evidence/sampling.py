"""A uniform sample of calls in one pass: texts wait on disk, so that memory stays flat whatever the export's size.

Every call has a random number that follows from its id and the seed alone, and the n smallest are kept: a reservoir that
needs no generator, does not depend on the order of the file, and meets a call that the file has twice as one and the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.engines.evidence.calls import Utterance
from pytest_evalharness.engines.evidence.outcomes import Meaning

_T = TypeVar("_T")
_MOST_WAITING = 4096
_SPOOL, _SAMPLE = "spool.jsonl", "sample.json"


class ScrubbedCall(msgspec.Struct, array_like=True, gc=False):
    """What is left of a call, and all that taggers ever see.

    Attributes:
        name: the keyed hash of its id.
        meaning: of its outcome.
        turns: who said what, up to the last kept agent turn.
    """

    name: str
    meaning: Meaning
    turns: list[Utterance]


class Sample(msgspec.Struct, kw_only=True):
    """A sample that is complete.

    Attributes:
        entries: the place and length of each call in the spool, in the order of the export.
        skipped: rows that are no usable call, by reason.
        labels: calls by the platform's label, usable or not, as documents show it.
        meanings: what each of these labels was taken for.
        rows: lines of the export.
        usable: calls that could have been sampled.
        export_hash: of the export's bytes.
    """

    entries: list[tuple[int, int]]
    skipped: dict[str, int]
    labels: dict[str, int]
    meanings: dict[str, str]
    rows: int
    usable: int
    export_hash: str


class Reservoir(Generic[_T]):
    """Keeps the n calls with the smallest numbers.

    Args:
        size: n.
        spool: where the kept calls' content is written; that of calls which are pushed out again stays there as waste.
        content: what is written of a call. Asked for late: many a call is pushed out before.
    """

    def __init__(self, size: int, spool: BinaryIO, content: Callable[[_T], bytes]) -> None:
        self._size, self._spool, self._content = size, spool, content
        self._heap: list[tuple[int, int]] = []
        self._waiting: dict[int, _T] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._end = 0

    def wants(self, number: int) -> bool:
        """Whether a call of this random number is kept, as far as is known now."""
        return len(self._heap) < self._size or -number > self._heap[0][0]

    def keep(self, number: int, line: int, call: _T) -> None:
        """Keep a call that is wanted, in place of the one with the largest number if there are n.

        Args:
            number: its random number.
            line: its place in the export.
            call: what its content is made from.
        """
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, (-number, line))
        else:
            _, out = heapq.heapreplace(self._heap, (-number, line))
            self._waiting.pop(out, None)
            self._places.pop(out, None)
        self._waiting[line] = call
        if len(self._waiting) >= _MOST_WAITING:
            self._write()

    def _write(self) -> None:
        for line, call in self._waiting.items():
            data = self._content(call)
            self._spool.write(data)
            self._places[line] = (self._end, len(data))
            self._end += len(data)
        self._waiting.clear()

    def entries(self) -> list[tuple[int, int]]:
        """Place and length of the kept calls, in the order of the export."""
        self._write()
        return [self._places[line] for _, line in sorted(self._heap, key=lambda one: one[1])]


class Spool:
    """The folder in which a build keeps its sample, so that an interrupted one need not read the export again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def writer(self) -> BinaryIO:
        """A new, empty spool."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.folder / _SAMPLE).unlink(missing_ok=True)
        return (self.folder / _SPOOL).open("wb")

    def finish(self, sample: Sample) -> None:
        """The spool is whole: from now on it can be resumed from."""
        write_atomic(self.folder / _SAMPLE, msgspec.json.encode(sample), mode=0o600)

    def sample(self) -> Sample | None:
        """The sample of an interrupted build, None if there is none that is whole."""
        try:
            return msgspec.json.decode((self.folder / _SAMPLE).read_bytes(), type=Sample)
        except (OSError, msgspec.DecodeError):
            return None

    def calls(self, sample: Sample) -> Iterator[ScrubbedCall]:
        """The sampled calls, in the order of the export."""
        decoder = msgspec.json.Decoder(ScrubbedCall)
        with (self.folder / _SPOOL).open("rb") as file:
            for at, length in sample.entries:
                if file.tell() != at:
                    file.seek(at)
                yield decoder.decode(file.read(length))

    def remove(self) -> None:
        """Nothing of what was said stays when the set is written."""
        for name in (_SPOOL, _SAMPLE):
            (self.folder / name).unlink(missing_ok=True)
