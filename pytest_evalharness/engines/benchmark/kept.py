"""What earlier benchmarks of the same evidence worked out: a table that is added refits and rescores nothing else."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from pytest_evalharness.base.files import write_atomic
from pytest_evalharness.engines.ope.scoring import Scores

_SCHEMA = 1
_T = TypeVar("_T")


class _Scored(msgspec.Struct, kw_only=True):
    """`Scores` as JSON: nan is null."""

    values: dict[str, float | None]
    draws: dict[str, list[float | None]]
    ess: float
    matched: int
    mean_weight: float
    guessed: float
    unterminated: float
    model_only: bool


class Kept:
    """A folder of small files, each named by the hash of everything that its content follows from.

    Args:
        folder: where; None keeps nothing.
        evidence: the content hash of the evidence.
    """

    def __init__(self, folder: Path | None, evidence: str) -> None:
        self._folder = folder
        self._evidence = evidence

    def get(self, kind: type[_T], **asked: Any) -> _T | None:
        """What was kept under these words; None where nothing was, or what there is cannot be read."""
        if self._folder is None:
            return None
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(self._path(kind, asked).read_bytes(), type=kind)
        return None

    def put(self, value: Any, **asked: Any) -> None:
        """Keep a value; that it cannot be kept costs time later, and nothing else."""
        if self._folder is None:
            return
        path = self._path(type(value), asked)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, msgspec.json.encode(value))

    def scores(self, **asked: Any) -> Scores | None:
        """The scores of a policy."""
        told = self.get(_Scored, **asked)
        if told is None:
            return None
        draws = {
            name: np.array(values, np.float64) for name, values in told.draws.items()
        }  # null becomes nan
        return Scores(
            told.values,
            draws,
            told.ess,
            told.matched,
            told.mean_weight,
            told.guessed,
            told.unterminated,
            told.model_only,
            fitted=None,
        )

    def keep_scores(self, scores: Scores, **asked: Any) -> None:
        """Keep the scores of a policy."""
        told = _Scored(
            values=dict(scores.values),
            draws={name: values.tolist() for name, values in scores.draws.items()},
            ess=scores.ess,
            matched=scores.matched,
            mean_weight=scores.mean_weight,
            guessed=scores.guessed,
            unterminated=scores.unterminated,
            model_only=scores.model_only,
        )
        self.put(told, **asked)

    def _path(self, kind: type, asked: Mapping[str, Any]) -> Path:
        assert self._folder is not None
        words = {"schema": _SCHEMA, "evidence": self._evidence, "kind": kind.__name__, **asked}
        name = hashlib.sha256(msgspec.json.encode(words, order="sorted")).hexdigest()
        return self._folder / name[:2] / f"{name}.json"


NOTHING = Kept(None, "")
"""Keeps nothing."""
