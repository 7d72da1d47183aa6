"""The evidence document: read, checked, split and written."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.engines.evidence.checking import why_not
from pytest_evalharness.engines.evidence.rows import Part, Row, by_call, labelled
from pytest_evalharness.engines.evidence.splitting import HELD_OUT_SHARE, Pair, preferences, side
from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.errors import EvidenceUnreadable

LearnsFrom = Literal["episodes", "preferences", "simulator"]


class Split(msgspec.Struct, kw_only=True):
    """How calls were put on their sides."""

    seed: int = 0
    held_out_share: float = HELD_OUT_SHARE
    fit_calls: int | None = None
    held_out_calls: int | None = None


class Document(msgspec.Struct, kw_only=True):
    """An evidence document's fields; `levers9` reads the same ones.

    Attributes:
        kind: "real" when it was built from logged calls.
        env: the world.
        pack: its culture pack, shown in words.
        mdp: the decision process; `discount` is gamma.
        moves: of the world, in its order.
        states: those that occur; those of the fit calls first.
        transitions: a row a turn.
        pairs: preferred moves of the fit calls, as positions in `states` and `moves`; None to derive them.
        named_pairs: the same by names, which a shortened list of states cannot shift.
        simulator: whether there is a live one.
        words: how the world says its ids.
        split: how calls were put on their sides.
        tagger: who read the moves and states.
        propensity_source: "empirical", "logged" or "mixed".
        outcome_map: what each label of the platform was taken for.
        counts: what was read, kept and left out.
        manifest: how the document was made, and its content hash.
        synthetic: what made it up, where it was not a real log.
    """

    kind: str = "simulated"
    id: str | None = None
    env: str = ""
    created_at: str | None = None
    pack: str = ""
    mdp: dict[str, Any] = {}
    moves: list[str] = []
    states: list[str] = []
    transitions: list[Row] = []
    pairs: list[tuple[int, int, int]] | None = None
    named_pairs: list[tuple[str, str, str]] | None = None
    simulator: Any = False
    words: Words = msgspec.field(default_factory=Words)
    split: Split = msgspec.field(default_factory=Split)
    tagger: dict[str, Any] | None = None
    propensity_source: str | None = None
    outcome_map: dict[str, str] = {}
    counts: dict[str, Any] = {}
    manifest: dict[str, Any] = {}
    synthetic: str | None = None


class Evidence:
    """What engines learn from and are scored on.

    The names are those of the `levers9` SDK's class of that name, so an engine written for one reads the other.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    # ------------------------------------------------------------ reading

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """An evidence file, JSON or gzip of it.

        Raises:
            EvidenceUnreadable: no file, not JSON, a value of the wrong type or one that cannot be, or no evidence at all.
        """
        try:
            raw = Path(path).read_bytes()
        except OSError as problem:
            raise _unreadable(path, problem.strerror or str(problem)) from None
        if raw[:2] == b"\x1f\x8b":
            try:
                raw = gzip.decompress(raw)
            except (OSError, EOFError, zlib.error) as problem:
                raise _unreadable(path, f"a spoilt gzip file: {problem}") from None
        if not raw.strip():
            raise _unreadable(path, "the file is empty")
        try:
            document = msgspec.json.decode(raw, type=Document)
        except msgspec.DecodeError as problem:
            raise _unreadable(path, str(problem)) from None
        return cls(_checked(document, path))

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """A document that is already in memory.

        Raises:
            EvidenceUnreadable: a value of the wrong type, or no evidence at all.
        """
        try:
            return cls(_checked(msgspec.convert(told, Document), "the document"))
        except msgspec.ValidationError as problem:
            raise _unreadable("the document", str(problem)) from None

    def save(self, path: str | Path) -> Path:
        """Write the document, whole or not at all; a name that ends in .gz is compressed."""
        target = Path(path)
        raw = msgspec.json.encode(self.document)
        write_atomic(target, gzip.compress(raw, mtime=0) if target.suffix == ".gz" else raw)
        return target

    def to_dict(self) -> dict[str, Any]:
        """The document as plain JSON values."""
        plain: dict[str, Any] = msgspec.to_builtins(self.document)
        return plain

    # ---------------------------------------------------------- what it holds

    @property
    def kind(self) -> str:
        """Real for a set of logged calls, else simulated."""
        return self.document.kind

    @property
    def pack(self) -> str:
        """The world's culture pack."""
        return self.document.pack

    @property
    def mdp(self) -> dict[str, Any]:
        """The decision process."""
        return self.document.mdp

    @property
    def gamma(self) -> float:
        """The discount of one turn. A 0 is a 0 here; the SDK reads it as 1."""
        return float(self.document.mdp.get("discount", 1.0))

    @cached_property
    def moves(self) -> list[str]:
        """The world's moves, in its order; those that occur where the document lists none."""
        told = self.document.moves
        return told or list(dict.fromkeys(row.move for row in self.document.transitions))

    @cached_property
    def states(self) -> list[str]:
        """The states that occur; those that the document lists first."""
        occurring = dict.fromkeys(row.state for row in self.transitions())
        return list(dict.fromkeys([*self.document.states, *occurring]))

    @cached_property
    def state_index(self) -> dict[str, int]:
        """Each state's position."""
        return {state: at for at, state in enumerate(self.states)}

    @cached_property
    def move_index(self) -> dict[str, int]:
        """Each move's position."""
        return {move: at for at, move in enumerate(self.moves)}

    @property
    def vocabulary(self) -> Words:
        """How the world says its ids."""
        return self.document.words

    @cached_property
    def _labelled(self) -> list[list[Row]]:
        moves = frozenset(self.moves)
        kept = (labelled(call, moves) for call in by_call(self.document.transitions))
        return [call for call in kept if call]

    def by_episode(self) -> list[list[Row]]:
        """The labelled rows of each call, in the order of their turns; what unlabelled turns earned is folded in."""
        return self._labelled

    def transitions(self, include_unlabelled: bool = False) -> list[Row]:  # noqa: FBT001, FBT002 - as in the SDK
        """The labelled rows, call by call; with `include_unlabelled` all of them, as they stand in the document."""
        if include_unlabelled:
            return list(self.document.transitions)
        return [row for call in self._labelled for row in call]

    def has_propensity(self) -> bool:
        """Whether every labelled row tells how likely its move was."""
        rows = self.transitions()
        return bool(rows) and all(row.propensity is not None for row in rows)

    @property
    def has_simulator(self) -> bool:
        """Whether the document says that its world has a live simulator."""
        return bool(self.document.simulator)

    def has(self, learns_from: str) -> bool:
        """Whether an engine that learns from this kind of input can learn here."""
        if learns_from == "episodes":
            return bool(self._labelled)
        if learns_from == "preferences":
            return bool(self.named_pairs())
        return learns_from == "simulator" and self.has_simulator

    def named_pairs(self) -> list[Pair]:
        """The preference pairs by name: the document's own, or derived from the mean returns of its rows."""
        return self._pairs

    @cached_property
    def _pairs(self) -> list[Pair]:
        told = self.document
        if told.named_pairs is not None:
            return [Pair(*pair, 1) for pair in told.named_pairs]
        if told.pairs is not None:
            size, width = len(told.states), len(told.moves)
            if any(not (0 <= s < size and 0 <= a < width and 0 <= b < width) for s, a, b in told.pairs):
                raise EvidenceUnreadable(
                    "the evidence's pairs name positions that its lists of states and moves do not have",
                    not_done="nothing was fitted",
                    next_step="build the set again, or remove its pairs so that they are derived",
                )
            return [Pair(told.states[s], told.moves[a], told.moves[b], 1) for s, a, b in told.pairs]
        return preferences(self.transitions())

    def pairs(self) -> list[tuple[int, int, int]]:
        """The preference pairs as positions in `states` and `moves`."""
        states, moves = self.state_index, self.move_index
        return [
            (states[one.state], moves[one.better], moves[one.worse])
            for one in self.named_pairs()
            if one.state in states
        ]

    # ------------------------------------------------------------ splitting

    def part(self, name: Part, seed: int | None = None) -> Evidence:
        """The fit or the held-out side, as evidence of its own.

        Raises:
            ValueError: another name.
        """
        if name not in ("fit", "held_out"):
            raise ValueError(f'a part is "fit" or "held_out", not {name!r}')
        told = self.document
        split_seed = told.split.seed if seed is None else seed
        share = told.split.held_out_share
        rows = [
            row
            for row in told.transitions
            if (row.split or side(row.episode_id, seed=split_seed, share=share)) == name
        ]
        occurring = {row.state for row in rows}
        keeps = name == "fit" and told.kind == "real" and (told.pairs or told.named_pairs) is not None
        return Evidence(
            msgspec.structs.replace(
                told,
                transitions=rows,
                states=[state for state in told.states if state in occurring],
                pairs=None,
                named_pairs=[one[:3] for one in self.named_pairs()] if keeps else None,
            )
        )

    def summary(self) -> dict[str, Any]:
        """What there is, in counts."""
        rows, told = self.transitions(), self.document
        found: dict[str, Any] = {
            "pack": told.pack,
            "episodes": len({row.episode_id for row in told.transitions}),
            "transitions": len(rows),
            "unlabelled": len(told.transitions) - len(rows),
            "states": len(self.states),
            "moves": len(self.moves),
            "pairs": len(self.named_pairs()),
            "propensity": self.has_propensity(),
            "simulator": self.has_simulator,
        }
        if told.kind == "real":
            found |= {
                "kind": "real",
                "tagger": (told.tagger or {}).get("kind"),
                "propensity_source": told.propensity_source,
                "fit_calls": told.split.fit_calls,
                "held_out_calls": told.split.held_out_calls,
            }
        return found

    # ---------------------------------------------------------------- hash

    def content_hash(self) -> str:
        """SHA-256 of everything but the manifest and the names given to the file: formatting does not change it, an edit does."""
        bare = msgspec.structs.replace(self.document, manifest={}, id=None, created_at=None)
        return "sha256:" + hashlib.sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()

    @property
    def edited(self) -> bool:
        """Whether the document is another one than its manifest says was built."""
        told = self.document.manifest.get("content_hash")
        return told is not None and told != self.content_hash()


def _checked(document: Document, where: str | Path) -> Document:
    problem = why_not(document)
    if problem is not None:
        raise _unreadable(where, problem)
    return document


def _unreadable(where: str | Path, why: str) -> EvidenceUnreadable:
    return EvidenceUnreadable(
        f"{where} is no evidence that can be read: {why}",
        not_done="nothing was fitted or scored",
        next_step="evalharness engine evidence-build makes an evidence file",
    )
