"""A knob of an engine: what a form shows of it, and how a submitted value becomes a usable one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Param:
    """One knob, described so that a form can be drawn from it.

    Attributes:
        name: the key in `params`.
        label: for a person.
        kind: "int", "number" or "choice".
        default: its value where none is given, or none that can be read.
        min: values below are raised to it.
        max: values above are lowered to it.
        choices: of a choice.
        help: what changes when it is turned.

    Raises:
        ValueError: another kind, or a default that is none of the choices.
    """

    name: str
    label: str
    kind: str = "number"
    default: Any = None
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    help: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("int", "number", "choice"):
            raise ValueError(f"the kind of knob {self.name!r} is int, number or choice, not {self.kind!r}")
        if self.kind == "choice" and self.default not in self.choices:
            raise ValueError(
                f"the default of knob {self.name!r} is {self.default!r}, none of {list(self.choices)}"
            )

    def clean(self, raw: Any) -> Any:
        """A submitted value as one that the engine can use; nothing is refused.

        Out of range goes to the edge, what cannot be read to the default, NaN to the minimum. For an int, 4.7 is 4 and the
        text "4.7" cannot be read.
        """
        if self.kind == "choice":
            return raw if raw in self.choices else self.default
        try:
            value = int(raw) if self.kind == "int" and not _infinite(raw) else float(raw)
        except (TypeError, ValueError):
            return self.default
        if math.isnan(value):
            return self.default if self.min is None else self._typed(self.min)
        if self.min is not None:
            value = max(value, self.min)
        if self.max is not None:
            value = min(value, self.max)
        return self.default if self.kind == "int" and math.isinf(value) else self._typed(value)

    def takes(self, raw: Any) -> bool:
        """Whether a value counts as what it says; options say numbers as text."""
        if self.kind == "choice":
            return raw in self.choices
        try:
            return bool(float(raw) == self.clean(raw))
        except (TypeError, ValueError):
            return False

    def _typed(self, value: float) -> float:
        return int(value) if self.kind == "int" else float(value)

    def as_dict(self) -> dict[str, Any]:
        """The knob as plain JSON values."""
        return asdict(self) | {"choices": list(self.choices)}


def _infinite(raw: Any) -> bool:
    return isinstance(raw, float) and not math.isfinite(raw)
