"""Fitted-Q evaluation: a policy's value in the model that the log itself counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_evalharness.engines.ope.calls import NONE, Floats, Ints
from pytest_evalharness.engines.ope.tally import Cells, Flags, Tally, indicator, over
from pytest_evalharness.engines.ope.target import Target

TOLERANCE = 1e-12
"""Sweeps end when no value moves by more than this share of the largest."""
MOST_SWEEPS = 1000


@dataclass(frozen=True, eq=False)
class Fitted:
    """A policy's fitted values in b resamples.

    Attributes:
        v: the value of each state (S, b).
        unterminated: the share of calls whose first state can reach no end of a call under the policy (b).
        dm: the direct method, the mean value of the calls' first states; nan where the policy has no value, because such
            calls exist or the sweeps did not settle (b).
    """

    tally: Tally
    v: Floats
    unterminated: Floats
    dm: Floats

    def q(self, cells: Ints) -> Floats:
        """The values of some cells; one that a resample lacks has its guess (k, b)."""
        tally, known = self.tally, self.tally.cells
        wanted = np.full(len(known), NONE, np.int64)
        wanted[cells] = np.arange(len(cells))
        (steps,) = np.nonzero(wanted[known.source] != NONE)
        ahead = tally.went[steps] * self.v[known.target[steps]]
        future = indicator(wanted[known.source[steps]], len(cells)) @ ahead
        worth = (tally.paid[cells] + known.calls.gamma * future) * tally.per_visit[cells]
        return np.where(tally.visits[cells] > 0, worth, tally.guess[known.state[cells]])


@dataclass(frozen=True, eq=False)
class _Chain:
    """The Markov chain that a policy makes of a tallied log.

    Attributes:
        reward: expected at each state, guesses included (S, b).
        source: the states that its steps lead from (E).
        target: the states that they lead to (E).
        chance: of each step, given its source (E, b).
        ends: whether a call can end at the state; a guess counts as an end (S, b).
    """

    reward: Floats
    source: Ints
    target: Ints
    chance: Floats
    ends: Flags


class Evaluation:
    """Fitted-Q evaluation of one policy on one log; what does not depend on a resample is worked out once."""

    def __init__(self, cells: Cells, target: Target) -> None:
        self._cells = cells
        self._target = target
        decides = (target.choice != NONE) & (not target.uniform)
        self._decided: Ints = np.flatnonzero(decides)
        self._chosen: Ints = cells.at[self._decided, target.choice[self._decided]]
        self._today = np.where(decides, 1.0 - target.lean, 1.0)[:, None]

    def fit(self, tally: Tally) -> Fitted:
        """The fixed point of V(s) = sum_a pi(a|s) Q(s,a), Q(s,a) = mean of x + gamma V(next), in each resample.

        Source: Le, Voloshin and Yue (2019), "Batch policy learning under constraints", in its tabular form.
        """
        chain = self._uniform_chain(tally) if self._target.uniform else self._table_chain(tally)
        summing = indicator(chain.source, len(chain.reward))
        gamma, v = self._cells.calls.gamma, np.zeros_like(chain.reward)
        settled = np.zeros(v.shape[1], dtype=bool)
        for _ in range(MOST_SWEEPS):
            fresh = chain.reward + gamma * (summing @ (chain.chance * v[chain.target]))
            moved, most = np.abs(fresh - v).max(axis=0), np.abs(fresh).max(axis=0)
            v, settled = fresh, moved <= TOLERANCE * np.maximum(1.0, most)
            if settled.all():
                break
        unterminated = self._unterminated(chain, tally)
        dm = (tally.first * v).sum(axis=0)
        return Fitted(tally, v, unterminated, np.where(settled & (unterminated == 0.0), dm, np.nan))

    def _table_chain(self, tally: Tally) -> _Chain:
        """Today's agent where the table is silent or not followed, the table's move elsewhere."""
        cells, lean, silent = self._cells, self._target.lean, self._today[:, 0] > 0.0
        source, target, _ = cells.pairs
        (agent,) = np.nonzero(silent[source])
        (steps,) = np.nonzero(np.isin(cells.source, self._chosen))
        unvisited = tally.in_state == 0
        reward = self._today * np.where(
            unvisited, tally.guess, tally.paid_in_state * over(1.0, tally.in_state)
        )
        per_visit = over(1.0, tally.in_state)
        ended = (cells.in_state @ tally.ends > 0) | unvisited
        ends = ended & silent[:, None]
        tried = self._chosen != NONE
        chosen, at = self._chosen[tried], self._decided[tried]
        seen = tally.visits[chosen] > 0
        reward[at] += lean * np.where(seen, tally.paid[chosen] * tally.per_visit[chosen], tally.guess[at])
        reward[self._decided[~tried]] += lean * tally.guess[self._decided[~tried]]
        ends[at] |= (tally.ends[chosen] > 0) | ~seen
        ends[self._decided[~tried]] = True
        return _Chain(
            reward,
            np.concatenate([source[agent], cells.state[cells.source[steps]]]),
            np.concatenate([target[agent], cells.target[steps]]),
            np.concatenate([
                self._today[source[agent]] * tally.between[agent] * per_visit[source[agent]],
                lean * tally.went[steps] * tally.per_visit[cells.source[steps]],
            ]),
            ends,
        )  # fmt: skip

    def _uniform_chain(self, tally: Tally) -> _Chain:
        """Every move as likely as any other; those that the log never tried are guesses."""
        cells, moves = self._cells, len(self._cells.calls.moves)
        source, target, summing = cells.pairs
        seen = tally.visits > 0
        guessed = moves - cells.in_state @ seen.astype(float)
        reward = (cells.in_state @ (tally.paid * tally.per_visit) + guessed * tally.guess) / moves
        chance = summing @ (tally.went * tally.per_visit[cells.source]) / moves
        ends = (guessed > 0) | (cells.in_state @ tally.ends > 0)
        return _Chain(reward, source, target, chance, ends)

    def _unterminated(self, chain: _Chain, tally: Tally) -> Floats:
        """With gamma = 1 and rewards only at the end, a table whose calls never end "converges" to 0, so ask the graph."""
        if not self._cells.cyclic:
            return np.zeros(chain.reward.shape[1])
        summing, taken, reaches = (
            indicator(chain.source, len(chain.reward)),
            chain.chance > 0.0,
            chain.ends,
        )
        while True:
            fresh = chain.ends | (summing @ (taken & reaches[chain.target]).astype(float) > 0.0)
            if (fresh == reaches).all():
                lost: Floats = np.where(fresh, 0.0, tally.first).sum(axis=0)
                return lost
            reaches = fresh
