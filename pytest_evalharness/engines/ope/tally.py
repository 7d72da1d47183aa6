"""What a log, or a resample of its calls, counted: the sufficient statistics of every fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pytest_evalharness.engines.ope.calls import NONE, Calls, Floats, Ints

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cells:
    """The pairs of state and move that a log tried, and where they led.

    Attributes:
        calls: the log.
        state: each cell's state, ascending (K).
        of_row: each row's cell (R).
        at: the cell of a state and a move, `NONE` where the log never tried it (S, M).
        source: each distinct transition's cell, ascending (L); ends are no transitions.
        target: each distinct transition's next state (L).
        transition_of_row: each row's transition, `NONE` on a call's last row (R).
    """

    calls: Calls
    state: Ints
    of_row: Ints
    at: Ints
    source: Ints
    target: Ints
    transition_of_row: Ints

    @classmethod
    def of(cls, calls: Calls) -> Cells:
        """The cells of a log."""
        width, states = len(calls.moves), len(calls.states)
        keys, of_row = np.unique(calls.state * width + calls.move, return_inverse=True)
        at = np.full((states, width), NONE, np.int64)
        at[keys // width, keys % width] = np.arange(len(keys))
        goes_on = calls.next_state != NONE
        steps, which = np.unique(of_row[goes_on] * states + calls.next_state[goes_on], return_inverse=True)
        transition_of_row = np.full(calls.rows, NONE, np.int64)
        transition_of_row[goes_on] = which
        return cls(calls, keys // width, of_row, at, steps // states, steps % states, transition_of_row)

    def __len__(self) -> int:
        return len(self.state)

    @cached_property
    def in_state(self) -> Any:
        """Sums cells into their states: a sparse (S, K) of ones."""
        return indicator(self.state, len(self.calls.states))

    @cached_property
    def from_cell(self) -> Any:
        """Sums transitions into their cells: a sparse (K, L) of ones."""
        return indicator(self.source, len(self))

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Any]:
        """The distinct steps from state to state, whatever the move: their sources (E), targets (E), and a sparse (E, L) sum."""
        states = len(self.calls.states)
        keys, of_transition = np.unique(self.state[self.source] * states + self.target, return_inverse=True)
        return keys // states, keys % states, indicator(of_transition, len(keys))

    @cached_property
    def cyclic(self) -> bool:
        """Whether some state can come again within a call, going by the log: then a table may never end one."""
        size = len(self.calls.states)
        source, target, _ = self.pairs
        if np.any(source == target):
            return True
        graph = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(size, size))
        strong, _ = sparse.csgraph.connected_components(graph, directed=True, connection="strong")
        return bool(strong < size)

    @cached_property
    def _incidence(self) -> Any:
        """How much each call adds to each count, one row a count: a sparse (2K + L + 2S, n)."""
        calls, (goes_on,) = self.calls, np.nonzero(self.transition_of_row != NONE)
        first = calls.first_row
        size, states = len(self), len(calls.states)
        parts = (
            (self.of_row, calls.call, np.ones(calls.rows), size),
            (self.of_row, calls.call, calls.reward, size),
            (self.transition_of_row[goes_on], calls.call[goes_on], np.ones(len(goes_on)), len(self.source)),
            (calls.state, calls.call, calls.return_to_go, states),
            (calls.state[first], calls.call[first], np.ones(len(first)), states),
        )
        return sparse.vstack([gathering(*part, len(calls)) for part in parts], format="csr")

    def tally(self, counts: Floats) -> Tally:
        """Count resamples.

        Args:
            counts: how often each call counts in each resample (n, b).
        """
        size, states = len(self), len(self.calls.states)
        visits, paid, went, to_go, first = np.split(
            self._incidence @ counts, np.cumsum([size, size, len(self.source), states])
        )
        drawn = counts.sum(axis=0)
        return Tally(self, visits, paid, went, to_go, first / drawn, self.calls.returns @ counts / drawn)


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of b resamples at once.

    Attributes:
        cells: the log's cells.
        visits: how often each cell was visited (K, b).
        paid: the rewards of its visits, summed (K, b).
        went: how often each transition was taken (L, b).
        to_go: the returns from the visits of a state on, summed (S, b).
        first: the share of calls that begin in a state (S, b).
        mean_return: the mean return of a call (b).
    """

    cells: Cells
    visits: Floats
    paid: Floats
    went: Floats
    to_go: Floats
    first: Floats
    mean_return: Floats

    @cached_property
    def in_state(self) -> Floats:
        """How often each state was visited (S, b)."""
        visited: Floats = self.cells.in_state @ self.visits
        return visited

    @cached_property
    def paid_in_state(self) -> Floats:
        """The rewards of a state's visits, summed (S, b)."""
        paid: Floats = self.cells.in_state @ self.paid
        return paid

    @cached_property
    def between(self) -> Floats:
        """How often each step from state to state was taken, whatever the move (E, b)."""
        taken: Floats = self.cells.pairs[2] @ self.went
        return taken

    @cached_property
    def ends(self) -> Floats:
        """How often a call ended with a visit of the cell (K, b)."""
        ended: Floats = self.visits - self.cells.from_cell @ self.went
        return ended

    @cached_property
    def per_visit(self) -> Floats:
        """One over the visits of a cell, 0 where there were none (K, b)."""
        return over(1.0, self.visits)

    @cached_property
    def guess(self) -> Floats:
        """What a move that was never tried in a state is taken to be worth (S, b).

        The mean return from the state on; where the state was not visited either, the mean return of a call. Starting such
        pairs at 0 and leaving them there, as some libraries do, is optimism or pessimism by the sign of the outcomes.
        """
        return np.where(self.in_state > 0, self.to_go * over(1.0, self.in_state), self.mean_return)


def over(above: float | Floats, below: Floats) -> Floats:
    """A quotient that is 0 where its denominator is."""
    return np.divide(above, below, out=np.zeros_like(below), where=below != 0)


def indicator(row: Ints, height: int) -> Any:
    """A sparse (height, len(row)) with a one in each column, in the row that is told: it sums by group."""
    width = len(row)
    return sparse.csr_array((np.ones(width), (row, np.arange(width))), shape=(height, width))


def gathering(row: Ints, call: Ints, value: Floats, height: int, calls: int) -> Any:
    """What each call adds to each row: a sparse (height, calls) without its zeros, which most rows of a table's weights are."""
    some = value != 0
    return sparse.csr_array((value[some], (row[some], call[some])), shape=(height, calls))
