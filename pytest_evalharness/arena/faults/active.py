"""The faults that are switched on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pytest_evalharness.arena.faults.fault import ALWAYS
from pytest_evalharness.arena.faults.registry import FAULTS, parse


class Faults:
    """What goes wrong at the moment.

    Args:
        specs: faults to begin with.

    Raises:
        FaultSpecError: a spec is wrong.
    """

    def __init__(self, specs: Iterable[str] = ()) -> None:
        self._on: dict[str, list[Any]] = {}
        for spec in specs:
            self.add(spec)

    def add(self, spec: str) -> None:
        """Switch a fault on. A second value replaces the first, except where a fault may be there several times.

        Raises:
            FaultSpecError: the spec is wrong.
        """
        fault, value = parse(spec)
        if fault.several:
            self._on.setdefault(fault.name, []).append(value)
        else:
            self._on[fault.name] = [value]

    def clear(self, name: str | None = None) -> None:
        """Switch one fault off, or all."""
        if name is None:
            self._on.clear()
        else:
            self._on.pop(name, None)

    def active(self) -> list[dict[str, Any]]:
        """The faults that are on, with their values as they are now."""
        return [{"name": name, "value": value} for name, values in self._on.items() for value in values]

    @staticmethod
    def table() -> list[dict[str, str]]:
        """Every fault there is, with its help."""
        return [{"name": each.name, "value": each.value, "help": each.help} for each in FAULTS.values()]

    def all(self, name: str) -> list[Any]:
        """All values of a fault."""
        return list(self._on.get(name, ()))

    def value(self, name: str) -> Any:
        """The value of a fault, None when it is off."""
        values = self._on.get(name)
        return values[0] if values else None

    def take(self, name: str) -> bool:
        """Whether a fault strikes now; one that strikes a number of times has one less to go."""
        left = self.value(name)
        if left is None:
            return False
        if left != ALWAYS:
            self._on[name] = [left - 1]
            if left <= 1:
                self.clear(name)
        return True

    def broken(self) -> int | None:
        """The status with which a call that was done is answered all the same now; None if it is answered as usual."""
        if self.take("throttled"):
            return 429
        told = self.value("server-errors")
        if told is None:
            return None
        left, status = told
        self._on["server-errors"] = [(left - 1, status)]
        if left <= 1:
            self.clear("server-errors")
        return int(status)

    def doom(self, seated: Collection[str], games: int) -> tuple[tuple[str, str], ...]:
        """How the first of some new games are to fail, each once: (policy, error type).

        Args:
            seated: the policies that sit in these games.
            games: how many games there are.
        """
        return self._struck("fail-games", seated, games)

    def mishaps(self, seated: Collection[str], games: int) -> tuple[tuple[str, str], ...]:
        """How players fail in some new games that are played, one in each: (policy, mishap); arguments as for `doom`."""
        return self._struck("fail-players", seated, games)

    def _struck(self, name: str, seated: Collection[str], games: int) -> tuple[tuple[str, str], ...]:
        """What a fault that strikes a number of games of a policy does to some new ones; it has as many less to go."""
        struck: list[tuple[str, str]] = []
        left = []
        for count, policy, how in self.all(name):
            now = min(count, games - len(struck)) if policy in seated else 0
            struck += [(policy, how)] * now
            if count > now:
                left.append((count - now, policy, how))
        if left:
            self._on[name] = left
        else:
            self.clear(name)
        return tuple(struck)

    def replace(self, seated: Collection[str]) -> None:
        """Let the players of some versions move on, if they are about to and these versions are to be seated now."""
        if told := self.all("replaced-version"):
            self._on["replaced-version"] = [(label, done or label in seated) for label, done in told]

    def rolled(self, games: int) -> tuple[int, str] | None:
        """From which of some new games on another version of the game is played, and which; None if none of them is."""
        told = self.value("rolled-version")
        if told is None:
            return None
        left, version = told
        self._on["rolled-version"] = [(max(0, left - games), version)]
        return (left, version) if left < games else None
