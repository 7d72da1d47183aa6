"""A tabular world of customers: what each move leads to, and what each table is exactly worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_evalharness.engines.evidence.words import Words

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Unknown = Literal["today", "uniform"]
"""Who decides in a state that a table does not know: today's agent, as in serving and in the benchmark; or chance."""

_SURE = 1e-9


@dataclass(frozen=True, eq=False)
class World:
    """Customers who end a call or go on, by state and move alone.

    Attributes:
        name: of the world.
        states: the keys, stage:trust:objection (S).
        moves: in the world's order (M).
        outcomes: what each ending is worth (K).
        start: how likely a call begins in each state (S).
        today: how likely today's agent makes each move (S, M).
        ends: how likely a move ends the call with each outcome (S, M, K).
        goes: how likely a move leads to each next state (S, M, S).
        gamma: the discount of one turn; an outcome arrives one step after the last turn.
        words: how the world says its ids.

    Raises:
        ValueError: probabilities that do not add up to 1.
    """

    name: str
    states: tuple[str, ...]
    moves: tuple[str, ...]
    outcomes: Mapping[str, float]
    start: Floats
    today: Floats
    ends: Floats
    goes: Floats
    gamma: float = 1.0
    words: Words = field(default_factory=Words)

    def __post_init__(self) -> None:
        sums = (self.start.sum(), self.today.sum(axis=1), self.ends.sum(axis=2) + self.goes.sum(axis=2))
        if any(np.abs(np.asarray(one) - 1.0).max() > _SURE for one in sums):
            raise ValueError(f"the probabilities of world {self.name!r} do not add up to 1")

    @cached_property
    def pays(self) -> Floats:
        """What each outcome is worth (K)."""
        return np.array(list(self.outcomes.values()), np.float64)

    @cached_property
    def paid(self) -> Floats:
        """What a move is expected to earn at once (S, M)."""
        return np.asarray(self.gamma * (self.ends @ self.pays))

    @property
    def uniform(self) -> Floats:
        """Every move as likely as any other (S, M)."""
        return np.full(self.today.shape, 1.0 / len(self.moves))

    def policy(self, table: Mapping[str, str], unknown: Unknown = "today") -> Floats:
        """A table as probabilities of moves (S, M).

        Raises:
            KeyError: a move that the world does not have.
        """
        moves = {move: at for at, move in enumerate(self.moves)}
        chances = (self.today if unknown == "today" else self.uniform).copy()
        for at, state in enumerate(self.states):
            if state in table:
                chances[at] = 0.0
                chances[at, moves[table[state]]] = 1.0
        return chances

    def values(self, policy: Floats) -> Floats:
        """What a call is worth from each state on (S): the solution of V = x_pi + gamma P_pi V.

        Args:
            policy: probabilities of moves (S, M).
        """
        steps = np.einsum("sm,smt->st", policy, self.goes)
        paid = (policy * self.paid).sum(axis=1)
        return np.linalg.solve(np.eye(len(self.states)) - self.gamma * steps, paid)

    def ahead(self, values: Floats) -> Floats:
        """What each move is worth where the rest of the call is worth `values` (S, M)."""
        return np.asarray(self.paid + self.gamma * (self.goes @ values))

    def worth(self, policy: Floats) -> float:
        """The exact mean return of a call (outcomes' units).

        Args:
            policy: probabilities of moves (S, M).
        """
        return float(self.start @ self.values(policy))

    def worth_of(
        self, table: Mapping[str, str], unknown: Unknown = "today", *, turns: int | None = None
    ) -> float:
        """The exact mean return of a call that a table decides.

        Args:
            table: state to move.
            unknown: who decides in states that it does not know.
            turns: it decides only so many turns, then today's agent does: what a log of as many kept turns can estimate.
        """
        policy = self.policy(table, unknown)
        if turns is None:
            return self.worth(policy)
        values = self.values(self.today)
        for _ in range(turns):
            values = (policy * self.ahead(values)).sum(axis=1)
        return float(self.start @ values)

    @cached_property
    def best(self) -> dict[str, str]:
        """The optimal table, by policy iteration with exact values; ties go to the first move."""
        chosen = self._improved(self.today, sign=1.0)
        return self._table(chosen)

    @cached_property
    def worst(self) -> dict[str, str]:
        """The table that earns least."""
        return self._table(self._improved(self.today, sign=-1.0))

    @cached_property
    def truth(self) -> dict[str, float]:
        """The exact values of today's agent, of chance, and of the best and the worst table."""
        return {
            "today": self.worth(self.today),
            "random": self.worth(self.uniform),
            "optimum": self.worth_of(self.best),
            "worst": self.worth_of(self.worst),
        }

    def _improved(self, policy: Floats, sign: float) -> Floats:
        while True:
            ahead = sign * self.ahead(self.values(policy))
            best = ahead.max(axis=1, keepdims=True)
            stays = (policy.max(axis=1) == 1.0) & ((policy * ahead).sum(axis=1) >= best[:, 0] - _SURE)
            first = (ahead >= best - _SURE).argmax(axis=1)
            greedy = np.eye(len(self.moves))[first]
            new = np.where(np.expand_dims(stays, 1), policy, greedy)
            if np.array_equal(new, policy):
                return new
            policy = new

    def _table(self, policy: Floats) -> dict[str, str]:
        return {state: self.moves[int(policy[at].argmax())] for at, state in enumerate(self.states)}
