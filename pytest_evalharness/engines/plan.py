"""What an engine case asks for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

ALL = "all"
NO_ENGINES = "none"

MOST_RESAMPLES = 100_000
"""Every policy keeps its score in each of them; more make no interval sharper, and ten million take gigabytes."""


@dataclass(frozen=True)
class EnginePlan:
    """One benchmark, as a case or a command describes it.

    Attributes:
        evidence: a set's id, a file, `vol:PATH` or `sim:WORLD`.
        engines: names of the catalogue's engines; `("all",)` for all of them, none at all for none.
        file: a Python file with engines of one's own; None without.
        own: the only engine of `file` that is fitted; None for all of them.
        tables: decision tables from JSON files, name to path.
        params: knobs of engines, engine to knob to value; under the empty name those of every engine that has them.
        bootstrap: resamples, 100,000 at most.
        seed: of the resamples.
        margin: a lift within ± this is no difference; None claims no equivalence.

    Raises:
        ValueError: a value that cannot be, or nothing to score.
    """

    evidence: str
    engines: tuple[str, ...] = (ALL,)
    file: str | None = None
    own: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bootstrap: int = 200
    seed: int = 0
    margin: float | None = None

    def __post_init__(self) -> None:
        for name in ("bootstrap", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} is a whole number of 0 or more, not {value!r}")
        if self.bootstrap > MOST_RESAMPLES:
            raise ValueError(f"bootstrap is at most {MOST_RESAMPLES:,}, not {self.bootstrap:,}")
        margin = self.margin
        if margin is not None and not (isinstance(margin, int | float) and 0 < margin < math.inf):
            raise ValueError(f"margin is above 0 and finite, not {margin!r}")
        _require_paths({"file": self.file} if self.file is not None else {}, "file is a path")
        _require_paths(self.tables, 'tables are paths by name, {"mine": "table.json"}')
        if not isinstance(self.params, Mapping) or not all(
            isinstance(one, Mapping) for one in self.params.values()
        ):
            raise ValueError(
                f'params are knobs by engine, {{"sarsa": {{"alpha": 0.2}}}}, not {self.params!r}'
            )
        if self.own is not None and self.file is None:
            raise ValueError(f"{self.own!r} would be one engine of a file, and there is no file")
        if not self.engines and self.file is None and not self.tables:
            raise ValueError("there is nothing to score: no engine, no file and no table")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "evidence": self.evidence,
            "engines": list(self.engines),
            "file": self.file,
            "own": self.own,
            "tables": dict(self.tables),
            "params": {name: dict(knobs) for name, knobs in self.params.items()},
            "bootstrap": self.bootstrap,
            "seed": self.seed,
            "margin": self.margin,
        }


def _require_paths(told: Any, what: str) -> None:
    if not isinstance(told, Mapping) or not all(isinstance(one, str | PathLike) for one in told.values()):
        raise ValueError(f"{what}, not {told!r}")


def engines_told(told: Any) -> tuple[str, ...]:
    """The engines that a word or a list names: `"all"`, `"none"`, `"q-learning,dpo"`, or names.

    Raises:
        TypeError: something else.
    """
    if isinstance(told, str):
        return () if told == NO_ENGINES else tuple(name.strip() for name in told.split(","))
    if not isinstance(told, list | tuple) or not all(isinstance(name, str) for name in told):
        raise TypeError(f"engines are 'all', 'none' or a list of names, not {told!r}")
    return tuple(told)
