"""What was looked at before the effect was read: each check by name, what became of it, and what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pytest_evalharness.verdict.claim import word


class CheckState(StrEnum):
    """What became of a check.

    `OK`: looked at, and as it should be. `NOTED`: something was found, counted and told, and the verdict takes it into account.
    `UNKNOWN`: nobody could see it. `FAILED`: a finding forbids trust.
    """

    OK = "ok"
    NOTED = "noted"
    UNKNOWN = "unknown"
    FAILED = "failed"


_WORST_FIRST = (CheckState.FAILED, CheckState.UNKNOWN, CheckState.NOTED, CheckState.OK)


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Args:
        name: What was looked at, in a word or two.
        state: What became of it; a `CheckState` or its value.
        seen: What was seen. Untrusted text may be in it.
        counts: The numbers behind it: arm, or configuration and arm, then the name of a count.

    Raises:
        ValueError: There is no such state.
    """

    name: str
    state: CheckState
    seen: str
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", word(CheckState, self.state, "state"))

    def to_json(self) -> dict[str, Any]:
        """Plain values under sorted keys."""
        return {
            "counts": {arm: dict(sorted(counts.items())) for arm, counts in sorted(self.counts.items())},
            "name": self.name,
            "seen": self.seen,
            "state": self.state.value,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Check:
        """The check that `to_json` gave."""
        return cls(**data)


_TELLING = frozenset({"votes"})
"""Checks from whose numbers the effect could be read."""


def shown(checks: Iterable[Check], *, trusted: bool) -> list[Check]:
    """The checks that may be shown: all of them, or of what cannot be believed those that tell nothing of an effect."""
    return [check for check in checks if trusted or check.name not in _TELLING]


def lines(checks: Iterable[Check], *, trusted: bool) -> list[str]:
    """A line a check."""
    return [f"{one.name:<15}: {one.state}, {one.seen}" for one in shown(checks, trusted=trusted)]


def together(parts: Sequence[tuple[str, Iterable[Check]]]) -> tuple[Check, ...]:
    """The checks of several configurations as one list: of each check the worst state counts, and all is told.

    Args:
        parts: name and checks of each configuration.
    """
    by_name: dict[str, list[tuple[str, Check]]] = {}
    for name, checks in parts:
        for check in checks:
            by_name.setdefault(check.name, []).append((name, check))
    return tuple(
        Check(
            name,
            min((check.state for _, check in found), key=_WORST_FIRST.index),
            "; ".join(f"{part}: {check.seen}" for part, check in found),
            {f"{part}: {arm}": counts for part, check in found for arm, counts in check.counts.items()},
        )
        for name, found in by_name.items()
    )
