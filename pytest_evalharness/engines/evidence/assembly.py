"""From readings to the document: rows, propensities, sides and pairs, held in a few bytes a turn and written as a stream."""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pytest_evalharness.engines.evidence.document import Document, Split
from pytest_evalharness.engines.evidence.outcomes import Meaning
from pytest_evalharness.engines.evidence.rows import UNLABELLED, Part, Row
from pytest_evalharness.engines.evidence.splitting import HELD_OUT_SHARE, preferences, side
from pytest_evalharness.engines.evidence.taggers.reading import Reading

PAIR_RULE = {"compare": "mean return", "min_visits": 1}
_LUMP = 4096


class Rows:
    """The turns of a set, call by call.

    Args:
        moves: of the world; a reading with another one is not labelled.
        values: of each meaning.
        seed: of the split.
        share: held out.
    """

    def __init__(
        self, moves: Sequence[str], values: Mapping[str, float], *, seed: int, share: float = HELD_OUT_SHARE
    ) -> None:
        self.moves = list(moves)
        self._move_at = {move: at for at, move in enumerate(moves)}
        self._unlabelled = len(moves)
        self._values = values
        self._seed, self._share = seed, share
        self._state_at: dict[str, int] = {}
        self._names: list[str] = []
        self._worths = array("d")
        self._held_out = bytearray()
        self._ends = array("Q")
        self._states, self._taken = array("I"), array("B")
        self.unlabelled_turns = self.unlabelled_calls = 0

    def add(self, name: str, meaning: Meaning, readings: Sequence[Reading]) -> None:
        """One call. One without any labelled turn is left out and counted: nobody could learn anything from it."""
        taken = [self._move_at.get(one.move, self._unlabelled) for one in readings]
        if all(move == self._unlabelled for move in taken):
            self.unlabelled_calls += 1
            return
        self.unlabelled_turns += taken.count(self._unlabelled)
        self._names.append(name)
        self._worths.append(self._values[meaning])
        self._held_out.append(side(name, seed=self._seed, share=self._share) == "held_out")
        self._taken.extend(taken)
        self._states.extend([self._state_at.setdefault(one.state, len(self._state_at)) for one in readings])
        self._ends.append(len(self._taken))

    @property
    def calls(self) -> int:
        """Calls in the set."""
        return len(self._names)

    @property
    def turns(self) -> int:
        """Agent turns in the set, the unlabelled ones included."""
        return len(self._taken)

    @property
    def held_out(self) -> int:
        """Held-out calls."""
        return sum(self._held_out)

    @property
    def worths(self) -> set[float]:
        """The values that occur."""
        return set(self._worths)

    def states(self) -> list[str]:
        """The states that occur, those of the fit calls first: a part that keeps only these keeps their positions."""
        if not self._names:
            return []
        held_out = np.frombuffer(self._held_out, dtype=np.uint8).astype(bool)
        ends = np.frombuffer(self._ends, dtype=np.uint64).astype(np.int64)
        fit_rows = np.repeat(~held_out, np.diff(ends, prepend=0))
        states = np.frombuffer(self._states, dtype=np.uint32)
        fit = np.zeros(len(self._state_at), dtype=bool)
        fit[states[fit_rows]] = True
        names = list(self._state_at)
        return [name for name, in_fit in zip(names, fit, strict=True) if in_fit] + [
            name for name, in_fit in zip(names, fit, strict=True) if not in_fit
        ]

    def propensities(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """The share of each move among the labelled turns in a state, over all rows: states in order of appearance x moves.

        Both sides are counted: a held-out turn that the fit side never saw would else have had no chance to happen. No
        outcome is used, so nothing of the target leaks.
        """
        width = self._unlabelled + 1
        cells = np.frombuffer(self._states, dtype=np.uint32).astype(np.int64) * width
        cells += np.frombuffer(self._taken, dtype=np.uint8)
        counts = np.bincount(cells, minlength=len(self._state_at) * width).reshape(-1, width)[:, :-1]
        totals = counts.sum(axis=1, keepdims=True)
        shares: np.ndarray[tuple[int, int], np.dtype[np.float64]] = counts / np.maximum(totals, 1)
        return shares

    def transitions(self, only: Part | None = None) -> Iterator[Row]:
        """The rows, made as they are asked for.

        The last labelled turn of a call carries its end and its value: readers that drop unlabelled turns lose neither.
        """
        names = list(self._state_at)
        shares = self.propensities().tolist()
        moves = [*self.moves, UNLABELLED]
        start = 0
        for at, end in enumerate(self._ends):
            part: Part = "held_out" if self._held_out[at] else "fit"
            first, start = start, end
            if only is not None and part != only:
                continue
            call, worth = self._names[at], self._worths[at]
            states, taken = self._states[first:end], self._taken[first:end]
            following, last = self._following(taken)
            for turn, (state, move, then) in enumerate(zip(states, taken, following, strict=True)):
                yield Row(
                    episode_id=call,
                    t=turn,
                    state=names[state],
                    move=moves[move],
                    next_state=None if then is None else names[states[then]],
                    terminal=worth if turn == last else 0.0,
                    done=turn == last,
                    ret=worth if turn <= last else 0.0,
                    propensity=None if move == self._unlabelled else shares[state][move],
                    split=part,
                )

    def _following(self, taken: Sequence[int]) -> tuple[list[int | None], int]:
        """For each turn the next labelled one, and the last labelled turn."""
        following: list[int | None] = [None] * len(taken)
        then: int | None = None
        last = -1
        for turn in range(len(taken) - 1, -1, -1):
            following[turn] = then
            if taken[turn] != self._unlabelled:
                then, last = turn, max(last, turn)
        return following, last


def completed(told: Document, rows: Rows) -> Document:
    """The document with everything that follows from its rows, except these themselves."""
    states = rows.states()
    labelled = (row for row in rows.transitions("fit") if row.move != UNLABELLED)
    named = [one[:3] for one in preferences(labelled, min_visits=1)]
    state_at = {state: at for at, state in enumerate(states)}
    move_at = {move: at for at, move in enumerate(rows.moves)}
    return msgspec.structs.replace(
        told,
        moves=rows.moves,
        states=states,
        named_pairs=named,
        pairs=[(state_at[state], move_at[better], move_at[worse]) for state, better, worse in named],
        propensity_source="empirical",
        split=Split(
            seed=told.split.seed,
            held_out_share=told.split.held_out_share,
            fit_calls=rows.calls - rows.held_out,
            held_out_calls=rows.held_out,
        ),
    )


def write_document(path: Path, told: Document, rows: Rows, manifest: dict[str, Any]) -> tuple[str, str]:
    """Write a document whose rows are never all in memory, whole or not at all; returns its content hash and its id.

    The hash is that of `Evidence.content_hash`: of the document with sorted keys, without manifest and names.

    Raises:
        OSError: the folder cannot be written to.
    """
    bare = msgspec.structs.replace(told, transitions=[], manifest={}, id=None, created_at=None)
    hashed = msgspec.json.encode(bare, order="sorted")
    before, mark, after = hashed.partition(b'"transitions":[]')
    if not mark or b'"transitions":[]' in after:
        raise AssertionError("a document has one list of transitions")
    digest = hashlib.sha256(before + b'"transitions":[')
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b'{"transitions":[')
            for lump in _lumps(rows.transitions()):
                digest.update(lump)
                file.write(lump)
            digest.update(b"]" + after)
            content_hash = f"sha256:{digest.hexdigest()}"
            set_id = "es-" + hashlib.sha256(f"{content_hash} {told.created_at}".encode()).hexdigest()[:10]
            rest = msgspec.to_builtins(msgspec.structs.replace(told, id=set_id, transitions=[]))
            del rest["transitions"]
            rest["manifest"] = {**manifest, "content_hash": content_hash}
            file.write(b"]," + msgspec.json.encode(rest)[1:])
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # noqa: PTH101 - mkstemp speaks in names
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise
    return content_hash, set_id


def _lumps(rows: Iterator[Row]) -> Iterator[bytes]:
    """The rows as JSON with commas between them, some thousand at a time."""
    encode = msgspec.json.Encoder(order="sorted").encode
    lump: list[bytes] = []
    first = True
    for row in rows:
        lump.append(encode(row))
        if len(lump) == _LUMP:
            yield (b"" if first else b",") + b",".join(lump)
            lump, first = [], False
    if lump:
        yield (b"" if first else b",") + b",".join(lump)
