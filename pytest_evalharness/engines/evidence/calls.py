"""The call export: one JSON object a line, gzip or not, read once and never whole."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase, RawIOBase
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from pytest_evalharness.errors import EvidenceUnreadable

_PIECE = 1 << 20
_LONGEST_LINE = 16 << 20
_MARK = b"\xef\xbb\xbf"
"""What some exporters begin a file with."""
_SPEAKERS = {"agent": True, "assistant": True, "customer": False, "user": False}


class Utterance(NamedTuple):
    """What one side said.

    Attributes:
        agent: whether it was the agent.
        text: the words.
    """

    agent: bool
    text: str


class _Turn(msgspec.Struct, gc=False):
    role: str = ""
    text: str | None = None
    content: str | None = None


class ExportRow(msgspec.Struct):
    """One row, in any of the known shapes; columns that are not named here are not even kept in memory."""

    call_id: str | int | None = None
    id: str | int | None = None
    outcome: str | None = None
    metadata: Any = None
    turns: list[_Turn] | None = None
    transcript: str | list[_Turn] | None = None

    @property
    def name(self) -> str | None:
        """The call's id, None if it has none."""
        told = self.call_id if self.call_id is not None else self.id
        return None if told is None or told == "" else str(told)

    @property
    def label(self) -> str:
        """The platform's label, empty if there is none."""
        told = self.outcome
        if told is None and isinstance(self.metadata, dict):
            told = self.metadata.get("label")
        return told.strip() if isinstance(told, str) else ""

    @property
    def has_agent(self) -> bool:
        """Whether the agent says anything."""
        told = self.turns if self.turns is not None else self.transcript
        if isinstance(told, str):
            return any(one.agent for one in _lines(told))
        return any(_side(turn) and _said(turn) for turn in told or ())

    def utterances(self, max_turns: int) -> list[Utterance]:
        """Who said what, in order, up to the last kept agent turn.

        Empty turns and other speakers (a system, a tool) are left out.
        """
        told = self.turns if self.turns is not None else self.transcript
        found: list[Utterance] = []
        end = agent_turns = 0
        for agent, text in _lines(told) if isinstance(told, str) else _turns(told):
            found.append(Utterance(agent, text))
            if agent:
                agent_turns, end = agent_turns + 1, len(found)
                if agent_turns == max_turns:
                    break
        return found[:end]


def _turns(told: list[_Turn] | None) -> Iterator[tuple[bool, str]]:
    for turn in told or ():
        agent, text = _side(turn), _said(turn)
        if agent is not None and text:
            yield agent, text


def _side(turn: _Turn) -> bool | None:
    """Whether the agent speaks; None for a system, a tool, or nobody known."""
    agent = _SPEAKERS.get(turn.role)
    return _SPEAKERS.get(turn.role.strip().lower()) if agent is None else agent


def _said(turn: _Turn) -> str:
    """The words, empty if there are none."""
    text = turn.text if turn.text is not None else turn.content
    return "" if text is None or text.isspace() else text


def _lines(transcript: str) -> list[Utterance]:
    """A transcript of `Assistant: …` and `User: …` lines; a line without a speaker goes on with the one before."""
    found: list[tuple[bool, list[str]]] = []
    open_turn = False
    for line in transcript.splitlines():
        speaker, colon, rest = line.partition(":")
        name = speaker.strip().lower()
        if colon and name in _SPEAKERS:
            found.append((_SPEAKERS[name], [rest.strip()]))
            open_turn = True
        elif colon and name in ("system", "tool"):
            open_turn = False
        elif open_turn and line.strip():
            found[-1][1].append(line.strip())
    return [Utterance(agent, " ".join(filter(None, said))) for agent, said in found if any(said)]


class Hashing(RawIOBase):
    """A file that is hashed as it is read, and tells how far it has been.

    Attributes:
        position: bytes read.
        size: bytes there are.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._hash = file, hashlib.sha256()
        self.position, self.size = 0, size

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As of any raw file."""
        data = self._file.read(len(buffer))
        self._hash.update(data)
        self.position += len(data)
        buffer[: len(data)] = data
        return len(data)

    def digest(self) -> str:
        """The hash of what was read, as `sha256:…`."""
        return f"sha256:{self._hash.hexdigest()}"


def rows(
    path: Path, skipped: Counter[str], on_progress: Callable[[float], None] = lambda _: None
) -> Iterator[tuple[int, ExportRow] | str]:
    """Each readable row with its line number (from 1), and at the very end the file's digest.

    Args:
        path: the export.
        skipped: counts lines by why they are no row: `bad_json`, `wrong_types`, `too_long`.
        on_progress: told the share of the file that was read.

    Raises:
        EvidenceUnreadable: no file, an empty one, or a compressed one that ends too early or is damaged.
    """
    decoder = msgspec.json.Decoder(ExportRow)
    seen = False
    with _readable(path), path.open("rb") as file:
        source = Hashing(file, max(1, path.stat().st_size))
        for number, line in enumerate(_split(_opened(path, source), source, on_progress), 1):
            if line is None:
                seen = True
                skipped["too_long"] += 1
                continue
            if not line or line.isspace():
                continue
            seen = True
            try:
                row = decoder.decode(line.removeprefix(_MARK) if number == 1 else line)
            except msgspec.ValidationError:
                skipped["wrong_types"] += 1
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                skipped["bad_json"] += 1
            else:
                yield number, row
        if not seen:
            raise unreadable(path, "the file is empty")
        yield source.digest()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What goes wrong with a file, as a refusal of the export that messages call so."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        why = f"it is damaged or was cut ({problem}); a sample of a part would not be uniform"
    except BrokenPipeError:
        raise  # whoever was told of the progress has gone; no file breaks so
    except OSError as problem:
        why = problem.strerror or str(problem)
    else:
        return
    raise unreadable(path, why)


def _opened(path: Path, source: Hashing) -> Any:
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.GzipFile(fileobj=_Peekless(source)) if compressed else source


class _Peekless(BufferedIOBase):
    """What `GzipFile` reads from: it asks for pieces of any size and no more of a file than `read`."""

    def __init__(self, source: Hashing) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        return self._source.read(-1 if size is None else size) or b""


def _split(stream: Any, source: Hashing, on_progress: Callable[[float], None]) -> Iterator[bytes | None]:
    """The lines of a stream; None for one that is too long to be held."""
    rest, dropping = b"", False
    while piece := stream.read(_PIECE):
        lines = piece.split(b"\n")
        if len(lines) == 1:
            if not dropping:
                rest += piece
            if len(rest) > _LONGEST_LINE:
                rest, dropping = b"", True
            continue
        yield None if dropping else rest + lines[0]
        dropping = False
        rest = lines.pop()
        yield from lines[1:]
        on_progress(source.position / source.size)
    if dropping:
        yield None
    elif rest:
        yield rest


def require_whole(path: Path, told: Path) -> None:
    """Read a gzip file to its end.

    Args:
        path: the file.
        told: how messages call it.

    Raises:
        EvidenceUnreadable: it is damaged, was cut, or is empty.
    """
    with _readable(told), gzip.open(path) as file:
        if not file.read(1):
            raise unreadable(told, "the file is empty")
        while file.read(_PIECE):
            pass


def unreadable(path: Path, why: str) -> EvidenceUnreadable:
    """The refusal of an export."""
    return EvidenceUnreadable(
        f"{path} is no call export that can be read: {why}",
        not_done="no evidence was built",
        next_step="export the calls again: gzip, one JSON object a line",
    )
