"""Logged calls as arrays: what every estimator reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NONE = -1
"""In an array of positions: there is none (no next state, no move decided)."""


class Turn(Protocol):
    """A labelled turn of a call, as an evidence document's rows are."""

    episode_id: str
    t: int
    state: str
    move: str
    reward: float
    penalty: float
    terminal: float
    propensity: float | None


class TerminalDiscount(StrEnum):
    """Where a call's outcome stands in time.

    `ARRIVAL`: one step after the last turn, as in the world's own return, sum of gamma^t r_t + gamma^T terminal.
    `LAST_TURN`: on the last turn itself. The same at gamma = 1.
    """

    ARRIVAL = "arrival"
    LAST_TURN = "last_turn"


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls i = 0 … n-1 of T_i decisions each; their rows stand call by call, in the order of their turns.

    Attributes:
        ids: the calls, in the order of their first row (n).
        states: the state keys that occur (S).
        moves: the moves of the world, in its order (M).
        call: each row's call (R).
        step: each row's decision number within its call, from 0 without gaps (R).
        state: each row's state, a position in `states` (R).
        move: each row's move, a position in `moves` (R).
        reward: what the row earned in the end, reward - penalty + terminal, discounted to its own turn (R).
        propensity: how likely the acting agent was to make the move, in (0, 1] (R).
        gamma: the discount of one turn, in [0, 1].
    """

    ids: tuple[str, ...]
    states: tuple[str, ...]
    moves: tuple[str, ...]
    call: Ints
    step: Ints
    state: Ints
    move: Ints
    reward: Floats
    propensity: Floats
    gamma: float = 1.0

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Turn],
        moves: Sequence[str],
        *,
        gamma: float = 1.0,
        terminal_discount: TerminalDiscount = TerminalDiscount.ARRIVAL,
        weighable: bool = True,
    ) -> Self:
        """Calls from the transition rows of an evidence document.

        Rows of one call may stand anywhere; they are sorted by `t` and numbered anew, because turns that nobody
        could label leave gaps.

        Args:
            rows: of labelled turns.
            moves: the moves of the world, in its order.
            gamma: the discount of one turn, in [0, 1].
            terminal_discount: where a call's outcome stands in time.
            weighable: whether propensities are read and must be there; without them only models can be fitted.

        Raises:
            ValueError: no row, a move that the world does not have, a propensity outside (0, 1], or a number that is none.
        """
        if not 0.0 <= gamma <= 1.0:
            raise ValueError(f"a discount is between 0 and 1, not {gamma!r}")
        if not rows:
            raise ValueError("there is no call")
        known = {move: at for at, move in enumerate(moves)}
        call, ids = _coded(row.episode_id for row in rows)
        state, states = _coded(row.state for row in rows)
        move = np.array([known.get(row.move, NONE) for row in rows], np.int64)
        propensity = np.array([row.propensity for row in rows], np.float64)  # None becomes nan
        arrival = gamma if terminal_discount is TerminalDiscount.ARRIVAL else 1.0
        paid = np.array([row.reward - row.penalty + arrival * row.terminal for row in rows], np.float64)
        _refuse(rows, move == NONE, lambda row: f"{row.move!r} is none of the world's moves")
        unlikely = ~((propensity > 0.0) & (propensity <= 1.0))
        _refuse(
            rows,
            unlikely & weighable,
            lambda row: f"a propensity is above 0 and at most 1, not {row.propensity!r}",
        )
        _refuse(rows, ~np.isfinite(paid), lambda _: "a reward that is no number")
        order = np.lexsort((np.array([row.t for row in rows]), call))
        call = call[order]
        return cls(
            ids,
            states,
            tuple(moves),
            call,
            _steps(call),
            state[order],
            move[order],
            paid[order],
            propensity[order],
            gamma,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def rows(self) -> int:
        """How many decisions there are."""
        return len(self.call)

    @cached_property
    def horizon(self) -> int:
        """Decisions of the longest call."""
        return int(self.step.max()) + 1

    @cached_property
    def first_row(self) -> Ints:
        """Each call's first row (n)."""
        return np.flatnonzero(self.step == 0)

    @cached_property
    def next_state(self) -> Ints:
        """The state of the next kept row of the same call, `NONE` on the last (R).

        Never a row's own `next_state` field: that may name a turn that was dropped.
        """
        following = np.full(self.rows, NONE, np.int64)
        same = self.call[1:] == self.call[:-1]
        following[:-1][same] = self.state[1:][same]
        return following

    @cached_property
    def return_to_go(self) -> Floats:
        """What each row's call earned from the row on, discounted to the row (R)."""
        padded = self.padded(self.reward, 0.0)
        for step in range(self.horizon - 2, -1, -1):
            padded[:, step] += self.gamma * padded[:, step + 1]
        return padded[self.call, self.step]

    @cached_property
    def returns(self) -> Floats:
        """What each call earned (n)."""
        return self.return_to_go[self.first_row]

    @cached_property
    def discounts(self) -> Floats:
        """gamma^t of each step (H)."""
        return np.power(self.gamma, np.arange(self.horizon))

    def padded(self, values: Floats, filler: float) -> Floats:
        """One value a row as a matrix of calls by steps (n, H); steps after a call's end hold `filler`."""
        matrix = np.full((len(self), self.horizon), filler)
        matrix[self.call, self.step] = values
        return matrix


def _steps(call: Ints) -> Ints:
    """The decision number within each call, of rows that stand call by call."""
    starts = np.flatnonzero(np.r_[True, call[1:] != call[:-1]])
    lengths = np.diff(np.r_[starts, len(call)])
    return np.arange(len(call)) - np.repeat(starts, lengths)


def _coded(names: Iterable[str]) -> tuple[Ints, tuple[str, ...]]:
    """Names as positions in the order of their first appearance, and the names."""
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(name, len(known)) for name in names], np.int64)
    return codes, tuple(known)


def _refuse(rows: Sequence[Turn], wrong: NDArray[np.bool_], why: Callable[[Turn], str]) -> None:
    if wrong.any():
        row = rows[int(wrong.argmax())]
        raise ValueError(f"call {row.episode_id!r}, turn {row.t!r}: {why(row)}")
