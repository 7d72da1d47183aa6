"""A world as a file tells it: moves, objections, stages, their words and cues, and the meaning of its outcomes."""

from __future__ import annotations

import re
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.engines.evidence.outcomes import Outcomes, read_toml
from pytest_evalharness.engines.evidence.rows import UNLABELLED
from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.errors import UsageError

NO_OBJECTION = "none"
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_FEWEST_MOVES, _MOST_MOVES, _MOST_STAGES = 2, 200, 50


class Named(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One thing of a world.

    Attributes:
        words: how people say it.
        about: when it is the one, for a judge or a model.
        cues: phrases by which the rule tagger knows it.
    """

    words: str = ""
    about: str = ""
    cues: list[str] = []


class World(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, dict=True):
    """What calls are read as.

    Attributes:
        pack: the culture pack's name.
        moves: by id, in their order.
        objections: by id; "none" among them.
        stages: the first is where every call begins.
        trust: words of equal bands of warmth.
        otherwise: the move of a turn without a cue, or "unknown".
        outcomes: what labels of the platform mean.
        values: what the meanings are worth.
    """

    pack: str = ""
    moves: dict[str, Named]
    objections: dict[str, Named]
    stages: list[Named]
    trust: list[str] = msgspec.field(default_factory=lambda: list(Words().trust))
    otherwise: str = UNLABELLED
    outcomes: dict[str, Any] = {}
    values: dict[str, Any] = {}

    @cached_property
    def words(self) -> Words:
        """The vocabulary that documents carry."""
        return Words(
            moves={name: one.words for name, one in self.moves.items() if one.words},
            objections={name: one.words for name, one in self.objections.items() if one.words},
            stages=[one.words for one in self.stages],
            trust=self.trust,
        )

    @property
    def canonical(self) -> str:
        """The whole of it as text that differs where the world does."""
        return canonical_json(msgspec.to_builtins(self))


def load_world(path: Path | None = None) -> World:
    """The world of a file; the shipped one if none is named.

    Raises:
        UsageError: it cannot be read, or describes no world.
    """
    shipped = files("pytest_evalharness.engines.evidence") / "default_world.toml"
    where = Path(str(shipped)) if path is None else path
    try:
        world = msgspec.convert(read_toml(where), World)
    except msgspec.ValidationError as problem:
        raise _wrong(where, str(problem)) from None
    _check(world, where)
    return world


def outcomes_of(world: World, overrides: Path | None = None) -> Outcomes:
    """The world's outcome map, with what a file of the user says instead.

    Raises:
        UsageError: a meaning or a value that is none, or a file that cannot be read.
    """
    values = {"won": 100.0, "follow_up": 40.0, "lost": 0.0, **world.values}
    own = Outcomes.of(world.outcomes, values, "the world's outcomes")
    return own if overrides is None else own.overridden(overrides)


def _check(world: World, where: Path) -> None:
    for name in (*world.moves, *world.objections):
        if not _ID.fullmatch(name) or name == UNLABELLED:
            raise _wrong(where, f"{name!r} is no id: small letters, digits, _ and -, and not {UNLABELLED!r}")
    if not _FEWEST_MOVES <= len(world.moves) <= _MOST_MOVES:
        raise _wrong(where, f"a world has {_FEWEST_MOVES} to {_MOST_MOVES} moves, not {len(world.moves)}")
    if not 1 <= len(world.stages) <= _MOST_STAGES:
        raise _wrong(where, f"a world has 1 to {_MOST_STAGES} stages, not {len(world.stages)}")
    if NO_OBJECTION not in world.objections:
        raise _wrong(
            where, f"[objections.{NO_OBJECTION}] is missing: what stands where nothing is in the way"
        )
    if world.otherwise != UNLABELLED and world.otherwise not in world.moves:
        raise _wrong(where, f"otherwise = {world.otherwise!r} is neither a move nor {UNLABELLED!r}")


def _wrong(where: Path, why: str) -> UsageError:
    return UsageError(
        f"{where} describes no world: {why}",
        not_done="no evidence was built",
        next_step="correct the file; docs/reference/engine.md says what it holds",
    )
