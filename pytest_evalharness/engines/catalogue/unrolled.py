"""Going through a log row by row, for all rows of a stage at once.

The rule of every step-by-step engine is Q <- (1 - alpha) Q + alpha z, with a target z that reads the values of the next state
as they are when the row's turn comes. Where no state can come again within a call, states stand in levels: the targets of one
level need the values of lower levels alone. So the whole course of a lower level's values through an epoch is computed first,
each row reads from it what held at its own place in the document, and with the targets known a level's values are one
recursion for each state and move: a bidiagonal system. The results are those of the row-by-row loop, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dtbtrs

from pytest_evalharness.engines.catalogue.deciding import Floats, Ints
from pytest_evalharness.engines.catalogue.log import Log


def levels(log: Log) -> Ints | None:
    """How many further states can follow each state within a call, at most (S); None where a state can come again."""
    at = np.flatnonzero(log.goes_on)
    size = len(log.states)
    steps = np.unique(log.state[at] * size + log.next_state[at])
    source, target = steps // size, steps % size
    graph = sparse.csr_array((np.ones(len(steps)), (source, target)), shape=(size, size))
    groups, _ = sparse.csgraph.connected_components(graph, directed=True, connection="strong")
    if groups < size or np.any(source == target):
        return None
    level = np.zeros(size, np.int64)
    while True:
        new = level.copy()
        np.maximum.at(new, source, level[target] + 1)
        if np.array_equal(new, level):
            return level
        level = new


@dataclass(frozen=True, eq=False)
class _Level:
    """The rows of one level.

    Attributes:
        rows: their places; the same by move and by state, as levels stand one after another in both orders.
        band: the bidiagonal system's matrix, as LAPACK stores it (2, r).
        first: which of its rows are the first of their state and move.
        cell: the state and move of those.
    """

    rows: slice
    band: Floats
    first: Ints
    cell: Ints


class Unrolled:
    """A log whose states stand in levels, ready to be gone through.

    States are numbered anew, lower levels first, and rows have two orders: by state and move, and by state; in document order
    within. The course of values is an array with a value for each row, right after it, in the first order; then each state and
    move's value at the epoch's start; then 0 for the end of a call, and minus infinity for moves that may not be chosen.
    """

    def __init__(self, log: Log, level: Ints, *, alpha: float, min_visits: int, greedy: bool) -> None:
        self._log, self._alpha, self._min_visits = log, alpha, min_visits
        self._states = np.argsort(level, kind="stable")
        renamed = np.argsort(self._states)
        self._state, self._width = renamed[log.state], len(log.moves)
        self._cell = self._state * self._width + log.move
        self._by_cell = np.argsort(self._cell, kind="stable")
        self._seen, self._begin = np.unique(self._cell[self._by_cell], return_index=True)
        size, rows = log.size, len(log)
        self._zero, self._never = rows + size, rows + size + 1
        self._course = np.zeros(rows + size + 2)
        self._course[self._never] = -np.inf
        self._paid = log.paid[self._by_cell]
        self._levels = self._split(level[self._states])
        if greedy:
            self._by_state = np.argsort(self._state, kind="stable")
            self._worth = np.zeros(rows + len(log.states) + 1)
            self._ahead = self._reading(self._state, self._by_state)
            self._options = self._open_to_each()
        else:
            self._ahead = self._reading(self._cell, self._by_cell)
        self._greedy = greedy

    def run(self, epochs: int, *, trace: float = 0.0) -> Floats:
        """The values after so many epochs, from 0 (S, M).

        Args:
            epochs: passes over the log.
            trace: lambda; 0 for the rules without one.
        """
        log, course, rows = self._log, self._course, len(self._log)
        last = np.r_[self._begin[1:], rows] - 1
        learn = self._learner(log.gamma * trace)
        source = self._worth if self._greedy else course
        for _ in range(epochs):
            if self._greedy:
                self._worth[rows:-1] = log.worth(self._values(), self._min_visits)[self._states]
            for level in self._levels:
                at = level.rows
                target = self._paid[at] + log.gamma * source.take(self._ahead[at])
                course[at] = learn(level, target)
                if self._greedy:
                    self._worth[at] = self._best(at)
            course[rows + self._seen] = course[last]
        return self._values()

    def _values(self) -> Floats:
        """The values at the epoch's start, states as the log numbers them (S, M)."""
        found = np.empty(self._log.shape)
        found[self._states] = self._course[len(self._log) : self._zero].reshape(self._log.shape)
        return found

    def _learner(self, fading: float) -> Callable[[_Level, Floats], Floats]:
        """What turns a level's targets into the course of its values; with traces, what later turns brought is added first."""
        if not fading:
            return self._recur
        place = np.empty(len(self._log) + 1, np.int64)
        place[self._by_cell] = np.arange(len(self._log))
        place[-1] = len(self._log)
        following = place[np.where(self._log.goes_on, np.arange(1, len(place)), -1)][self._by_cell]
        gain = np.zeros(
            len(place)
        )  # what a row's target was above its old value; the last stands for the end of a call

        def learn(level: _Level, target: Floats) -> Floats:
            target += fading * gain.take(following[level.rows])
            values = self._recur(level, target)
            before = np.empty_like(values)
            before[1:] = values[:-1]
            before[level.first] = self._course[len(self._log) + level.cell]
            gain[level.rows] = target - before
            return values

        return learn

    def _recur(self, level: _Level, target: Floats) -> Floats:
        """Q_k = (1 - alpha) Q_{k-1} + alpha z_k for each state and move of a level."""
        push = self._alpha * target
        push[level.first] += (1.0 - self._alpha) * self._course[len(self._log) + level.cell]
        solved, _ = dtbtrs(level.band, push, uplo="L", diag="U", overwrite_b=True)
        return np.asarray(solved.reshape(-1))

    def _best(self, at: slice) -> Floats:
        """What a row's state is worth right after the row (r)."""
        best = self._course.take(self._options[0, at])
        for option in self._options[1:, at]:
            np.maximum(best, self._course.take(option), out=best)
        left = np.flatnonzero(self._left[at])
        if len(left):
            share = self._share[self._state[self._by_state[at][left]]]
            best[left] = (share.T * self._course[self._options[:, at][:, left]]).sum(axis=0)
        return np.asarray(best)

    def _split(self, level: Ints) -> list[_Level]:
        of_row = level[self._state[self._by_cell]]
        cell = self._cell[self._by_cell]
        found = []
        for begin, end in pairwise(np.searchsorted(of_row, np.arange(of_row[-1] + 2)).tolist()):
            here = cell[begin:end]
            new = np.r_[True, here[1:] != here[:-1]]
            band = np.ones((2, end - begin), order="F")
            band[1, :-1] = np.where(new[1:], 0.0, self._alpha - 1.0)
            found.append(_Level(slice(begin, end), band, np.flatnonzero(new), here[new]))
        return found

    def _reading(self, group: Ints, order: Ints) -> Ints:
        """Where each row, by state and move, finds what holds of the next row's group when its own turn comes (R).

        The group is what the next row's value is kept by: its state and move, or its state. With none of its rows before, the
        epoch's start holds.
        """
        rows = len(group)
        at = np.flatnonzero(self._log.goes_on)
        wanted = group[at + 1]
        keys = group[order] * rows + order
        begin = np.searchsorted(keys, wanted * rows)
        place = np.searchsorted(keys, wanted * rows + at)
        ends = self._zero if order is self._by_cell else rows + len(self._log.states)
        found = np.full(rows, ends, np.int64)
        found[at] = np.where(place > begin, place - 1, rows + wanted)
        return found[self._by_cell]

    def _open_to_each(self) -> Ints:
        """Where the value of each move of a row's state stands right after the row, by state (M, R)."""
        log, rows = self._log, len(self._log)
        may = log.eligible(self._min_visits)[self._states]
        self._share = log.mixture(self._min_visits)[self._states]
        state, move = self._state[self._by_state], log.move[self._by_state]
        known = np.asarray(may.any(axis=1))
        self._left = ~known[state]
        begins = np.searchsorted(state, np.arange(len(log.states)))
        first = np.zeros(log.size, np.int64)
        first[self._seen] = self._begin
        found = np.empty((self._width, rows), np.int64)
        for one in range(self._width):
            cell = state * self._width + one
            made = np.r_[0, np.cumsum(move == one)]
            count = made[1:] - made[begins][state]
            slot = np.where(count > 0, first[cell] + count - 1, rows + cell)
            usable = np.where(known, may[:, one], self._share[:, one] > 0)
            found[one] = np.where(usable[state], slot, np.where(known[state], self._never, self._zero))
        return found
