"""Which seats hang, from games in which some seats keep their policy and known-good ones take the others. Pure.

A game hangs if any policy in it does, and nothing else tells which: group testing with few defectives, here by repeated binary
splitting (Hwang 1972). A test that finishes clears all policies that it kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

Kept = frozenset[int]
"""The seats that keep their policy in a test."""


class Outcome(StrEnum):
    """What a search came to."""

    NAMED = "named"
    """Every policy that hangs is named."""
    NOT_AGAIN = "did not hang again"
    """The very roster that hung finishes now."""
    NO_POLICY = "no policy of the roster"
    """Games hang with known-good policies in every seat: the seat, the game or the service does."""
    OUT_OF_BUDGET = "out of budget"
    """The budget was spent before everything was told."""


class BudgetSpent(Exception):
    """Raised by a test that may not be made any more."""


@dataclass(frozen=True)
class Found:
    """What is known after a search.

    Attributes:
        outcome: how it ended.
        wedged: the seats whose policy hangs, in the order in which they were found.
        cleared: the seats whose policy has finished a game in this search.
        among: where the budget ran out in the middle of a split: the seats among which at least one more hangs.
    """

    outcome: Outcome
    wedged: tuple[int, ...] = ()
    cleared: tuple[int, ...] = ()
    among: tuple[int, ...] = ()


def most_tests(seats: int, wedged: int, *, prime: int = 0) -> int:
    """How many tests a search needs at most.

    Args:
        seats: how many seats are suspected.
        wedged: how many of them hang.
        prime: how many are suspected first.
    """
    splits = math.ceil(math.log2(seats)) if seats > 1 else 0
    extra = 1 if 0 < prime < seats else 0
    # Known-good policies alone, the whole roster; for each that hangs its splits, and what is left of the roster.
    return 2 + wedged * (splits + 1 + extra)


def search(seats: Sequence[int], hangs: Callable[[Kept], bool], *, prime: Collection[int] = ()) -> Found:
    """Name every seat whose policy hangs.

    Args:
        seats: the seats whose policies are suspected, in the order in which they are split.
        hangs: plays a game in which only these seats keep their policy, and tells whether it hangs; raises `BudgetSpent`.
        prime: the seats that are suspected first; the first split separates them from the others.
    """
    state = _Search(hangs, frozenset(prime))
    return state.run(list(seats))


class _Search:
    def __init__(self, hangs: Callable[[Kept], bool], prime: Kept) -> None:
        self._hangs = hangs
        self._prime = prime
        self._hung: set[Kept] = set()
        self._wedged: list[int] = []
        self._cleared: set[int] = set()
        self._among: list[int] = []

    def run(self, seats: list[int]) -> Found:
        try:
            if self._ask([]):
                return self._found(Outcome.NO_POLICY)
            left = seats
            while left and self._ask(left):
                self._wedged.append(self._one_of(left))
                left = [seat for seat in left if seat not in self._cleared and seat not in self._wedged]
        except BudgetSpent:
            return self._found(Outcome.OUT_OF_BUDGET)
        return self._found(Outcome.NAMED if self._wedged else Outcome.NOT_AGAIN)

    def _one_of(self, seats: list[int]) -> int:
        """One of some seats that hang together."""
        self._among = seats
        while len(self._among) > 1:
            first, second = self._split(self._among)
            self._among = first if self._ask(first) else second
        (seat,) = self._among
        self._among = []
        return seat

    def _split(self, seats: list[int]) -> tuple[list[int], list[int]]:
        prime = [seat for seat in seats if seat in self._prime]
        if 0 < len(prime) < len(seats):
            return prime, [seat for seat in seats if seat not in self._prime]
        half = len(seats) // 2
        return seats[:half], seats[half:]

    def _ask(self, seats: Collection[int]) -> bool:
        """Whether a game hangs in which these seats keep their policy; what is known by now is not played."""
        kept = frozenset(seats)
        if kept and kept <= self._cleared:
            return False
        if any(hung <= kept for hung in self._hung):
            return True
        if self._hangs(kept):
            self._hung.add(kept)
            return True
        self._cleared |= kept
        return False

    def _found(self, outcome: Outcome) -> Found:
        return Found(outcome, tuple(self._wedged), tuple(sorted(self._cleared)), tuple(self._among))
