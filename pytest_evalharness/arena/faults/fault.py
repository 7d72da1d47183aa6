"""One kind of fault, and the values that several kinds have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ALWAYS = "always"

_MOST_SECONDS = 86_400.0
MOST_TIMES = 1_000_000


class FaultSpecError(ValueError):
    """A spec that names no fault, or gives it a value it cannot have."""


def seconds(text: str) -> float:
    """So many seconds, a day at most."""
    value = float(text)
    if not 0 <= value <= _MOST_SECONDS:
        raise ValueError(text)
    return value


def times(text: str) -> int:
    """So many times, at least once."""
    value = int(text)
    if not 1 <= value <= MOST_TIMES:
        raise ValueError(text)
    return value


@dataclass(frozen=True)
class Fault:
    """A kind of fault. `parse` reads its value; `bare` is what it means without one (None: it needs one)."""

    name: str
    value: str
    help: str
    parse: Callable[[str], Any]
    bare: Any = None
    several: bool = False
