"""The faults that are switched on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pytest_evalharness.arena.faults.registry import ALWAYS, FAULTS, parse


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

    def doom(self, seated: Collection[str], games: int) -> tuple[tuple[str, str], ...]:
        """How the first of some new games are to fail, each once: (policy, error type).

        Args:
            seated: the policies that sit in these games.
            games: how many games there are.
        """
        doomed: list[tuple[str, str]] = []
        left = []
        for count, policy, error in self.all("fail-games"):
            struck = min(count, games - len(doomed)) if policy in seated else 0
            doomed += [(policy, error)] * struck
            if count > struck:
                left.append((count - struck, policy, error))
        if left:
            self._on["fail-games"] = left
        else:
            self.clear("fail-games")
        return tuple(doomed)
