"""What a call was worth: the platform's label, folded into four meanings, each with its value."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pytest_evalharness.engines.evidence.checking import LARGEST
from pytest_evalharness.errors import UsageError

Meaning = Literal["won", "follow_up", "lost", "ignore"]

ENDINGS: Mapping[str, str] = {"won": "viewing_booked", "follow_up": "follow_up", "lost": "dropped"}
"""A meaning's name among the endings of a decision process."""


@dataclass(frozen=True)
class Outcomes:
    """A tenant's outcome map.

    Attributes:
        meanings: by label as `folded` spells it.
        values: the terminal value of each meaning that has one: won, follow_up, lost.
    """

    meanings: Mapping[str, Meaning]
    values: Mapping[str, float]

    def meaning(self, label: str) -> Meaning | None:
        """What a label means; None for one that is not in the map."""
        return self.meanings.get(folded(label))

    @classmethod
    def of(cls, told: Mapping[str, Any], values: Mapping[str, Any], where: str) -> Self:
        """A map as a TOML file tells it.

        Raises:
            UsageError: a meaning or a value that is none.
        """
        for label, meaning in told.items():
            if meaning not in get_args(Meaning):
                raise _wrong(
                    where,
                    f"{label!r} is taken for {meaning!r}; a label is won, follow_up, lost or ignore",
                )
        for name, value in values.items():
            if name not in ENDINGS:
                raise _wrong(where, f"[values] names {name!r}; a value belongs to won, follow_up or lost")
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
                raise _wrong(where, f"the value of {name} is a number up to {LARGEST:g}, not {value!r}")
        return cls(
            {folded(label): meaning for label, meaning in told.items()},
            {name: float(value) for name, value in values.items()},
        )

    def overridden(self, path: Path) -> Outcomes:
        """This map with what a file says instead.

        The file holds `"Label" = "won"` lines, at its top or in a table `[outcomes]`, and `[values]` where a meaning is worth
        something else.

        Raises:
            UsageError: the file cannot be read.
        """
        told = read_toml(path)
        values, listed = told.pop("values", {}), told.pop("outcomes", {})
        if not isinstance(values, dict) or not isinstance(listed, dict):
            raise _wrong(str(path), "[outcomes] and [values] are tables")
        more = Outcomes.of({**told, **listed}, values, str(path))
        return replace(
            self, meanings={**self.meanings, **more.meanings}, values={**self.values, **more.values}
        )


def folded(label: str) -> str:
    """A label without what spellings differ in: case, underscores, dashes, spaces."""
    return " ".join(label.replace("_", " ").replace("-", " ").casefold().split())


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file that a user wrote.

    Raises:
        UsageError: there is none, or it is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        why = problem.strerror or str(problem)
    except ValueError as problem:  # TOMLDecodeError, UnicodeDecodeError
        why = str(problem)
    raise _wrong(str(path), f"it cannot be read: {why}")


def _wrong(where: str, why: str) -> UsageError:
    return UsageError(
        f"{where}: {why}",
        not_done="no evidence was built",
        next_step="correct the file; docs/reference/engine.md shows one",
    )
