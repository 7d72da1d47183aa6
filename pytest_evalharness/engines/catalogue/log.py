"""Fit calls as arrays and counts: what the engines that learn from a log read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from pytest_evalharness.engines.catalogue.deciding import Flags, Floats, Ints, decide
from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.errors import NotEnoughEvidence

NONE = -1


_READ: WeakKeyDictionary[Evidence, Log] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Log:
    """Rows in document order: call by call, in the order of each call's first row, then of its turns.

    Attributes:
        states: that occur, in the order of their first row (S).
        moves: of the world, in its order (M).
        call: each row's call (R).
        state: each row's state, a position in `states` (R).
        move: each row's move, a position in `moves` (R).
        paid: reward - penalty + gamma x terminal: an outcome arrives one step after the last turn, as in the world's own
            return (R).
        gamma: the discount of one turn.
    """

    states: tuple[str, ...]
    moves: tuple[str, ...]
    call: Ints
    state: Ints
    move: Ints
    paid: Floats
    gamma: float

    @classmethod
    def of(cls, evidence: Evidence) -> Log:
        """The labelled rows of evidence; read once, however many engines are fitted on it.

        Raises:
            NotEnoughEvidence: a reward, penalty or terminal that is no number.
        """
        log = _READ.get(evidence)
        if log is None:
            _READ[evidence] = log = cls._of(evidence)
        return log

    @classmethod
    def _of(cls, evidence: Evidence) -> Log:
        rows, gamma = evidence.transitions(), evidence.gamma
        calls: dict[str, int] = {}
        states: dict[str, int] = {}
        moves = evidence.move_index
        paid = np.array([row.reward - row.penalty + gamma * row.terminal for row in rows], np.float64)
        if not np.isfinite(paid).all():
            row = rows[int((~np.isfinite(paid)).argmax())]
            raise NotEnoughEvidence(
                f"call {row.episode_id!r}, turn {row.t}: a reward, penalty or terminal that is no number",
                not_done="nothing was fitted",
                next_step="build the set again",
            )
        return cls(
            call=np.array([calls.setdefault(row.episode_id, len(calls)) for row in rows], np.int64),
            state=np.array([states.setdefault(row.state, len(states)) for row in rows], np.int64),
            move=np.array([moves[row.move] for row in rows], np.int64),
            paid=paid,
            states=tuple(states),
            moves=tuple(moves),
            gamma=gamma,
        )

    def __len__(self) -> int:
        return len(self.call)

    @cached_property
    def goes_on(self) -> Flags:
        """Whether a row is followed by another of its call (R)."""
        more = np.zeros(len(self), bool)
        more[:-1] = self.call[1:] == self.call[:-1]
        return more

    @cached_property
    def next_state(self) -> Ints:
        """The state of the call's next row, `NONE` on its last (R)."""
        following = np.full(len(self), NONE, np.int64)
        following[:-1] = np.where(self.goes_on[:-1], self.state[1:], NONE)
        return following

    @cached_property
    def cell(self) -> Ints:
        """Each row's state and move as one number, state x M + move (R)."""
        return self.state * len(self.moves) + self.move

    @cached_property
    def visits(self) -> Ints:
        """How often each move was tried in each state (S, M)."""
        return np.bincount(self.cell, minlength=self.size).reshape(self.shape)

    @cached_property
    def returns(self) -> Floats:
        """What each row's call earned from the row on, discounted to the row (R)."""
        found = self.paid.copy()
        if self.gamma == 0.0:
            return found
        begins = np.r_[True, ~self.goes_on[:-1]]
        starts = np.flatnonzero(begins)
        step = np.arange(len(self)) - starts[self.call]
        for turn in range(int(step.max()) - 1, -1, -1):
            at = np.flatnonzero((step == turn) & self.goes_on)
            found[at] += self.gamma * found[at + 1]
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """States by moves."""
        return len(self.states), len(self.moves)

    @property
    def size(self) -> int:
        """States times moves."""
        return len(self.states) * len(self.moves)

    def mean(self, values: Floats) -> Floats:
        """The mean of a value a row in each state and move, 0 where the move was never tried (S, M)."""
        total = np.bincount(self.cell, values, minlength=self.size).reshape(self.shape)
        return np.divide(total, self.visits, out=np.zeros(self.shape), where=self.visits > 0)

    @cached_property
    def leads(self) -> Any:
        """The share of a cell's visits that led to each state; what is missing to 1 ended the call: sparse (S x M, S)."""
        at = np.flatnonzero(self.goes_on)
        share = 1.0 / self.visits.reshape(-1)[self.cell[at]]
        where = (self.cell[at], self.next_state[at])
        return sparse.coo_array((share, where), shape=(self.size, len(self.states))).tocsr()

    def eligible(self, min_visits: int) -> Flags:
        """The moves that may be chosen: tried in the state, and often enough (S, M)."""
        may: Flags = self.visits >= max(1, min_visits)
        return may

    def mixture(self, min_visits: int) -> Floats:
        """What becomes of a state that no table will know: today's shares of the moves, 0 in all others (S, M)."""
        left = ~self.eligible(min_visits).any(axis=1, keepdims=True)
        return np.where(left, self.visits / self.visits.sum(axis=1, keepdims=True), 0.0)

    def worth(self, q: Floats, min_visits: int) -> Floats:
        """What each state is worth under the table to come: its best eligible move, or what today's agent does (S)."""
        may = self.eligible(min_visits)
        best = np.where(may, q, -np.inf).max(axis=1)
        worth: Floats = np.where(may.any(axis=1), best, (self.mixture(min_visits) * q).sum(axis=1))
        return worth

    def greedy(self, score: Floats, may: Flags, diagnostics: Mapping[str, Any] | None = None) -> Result:
        """A result that decides the move of the highest score among those that may be chosen.

        Raises:
            NotEnoughEvidence: no move may be chosen in any state.
        """
        told = {"untried_pairs": int((self.visits == 0).sum()), **(diagnostics or {})}
        return decide(self.states, self.moves, score, may, told)
