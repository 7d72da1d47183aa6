"""The policies that are scored: a decision table, today's agent, a uniform one, or a blend with today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from pytest_evalharness.engines.ope.calls import NONE, Calls, Floats, Ints


@dataclass(frozen=True, eq=False)
class Target:
    """Who decides, state by state.

    Attributes:
        choice: the move decided in each state of the log, `NONE` where today's agent goes on deciding (S).
        uniform: every move is as likely as any other, in every state; `choice` is then not read.
        lean: with which probability the table is followed where it decides; otherwise today's agent is.
    """

    choice: Ints
    uniform: bool = False
    lean: float = 1.0

    @classmethod
    def today(cls, calls: Calls) -> Self:
        """The agent that made the calls: a table that decides nothing."""
        return cls(np.full(len(calls.states), NONE, np.int64))

    @classmethod
    def random(cls, calls: Calls) -> Self:
        """Every move as likely as any other, whatever the state."""
        return cls(np.full(len(calls.states), NONE, np.int64), uniform=True)

    @classmethod
    def table(cls, calls: Calls, policy: Mapping[str, str], *, lean: float = 1.0) -> Self:
        """A decision table; a state that it does not know is left to today's agent, which is what serving does.

        Raises:
            ValueError: a move that the world does not have, or a lean outside [0, 1].
        """
        if not 0.0 <= lean <= 1.0:
            raise ValueError(f"a lean is between 0 and 1, not {lean!r}")
        moves = {move: at for at, move in enumerate(calls.moves)}
        unknown = sorted({str(move) for move in policy.values() if move not in moves})
        if unknown:
            raise ValueError(f"{unknown[0]!r} is none of the world's moves")
        chosen = [moves[policy[state]] if state in policy else NONE for state in calls.states]
        return cls(np.array(chosen, np.int64), lean=lean)

    def told(self) -> dict[str, object]:
        """The policy in plain values, for the log whose states it was made for."""
        return {"choice": self.choice.tolist(), "uniform": self.uniform, "lean": self.lean}

    def ratios(self, calls: Calls) -> Floats:
        """How much likelier each logged move is under the policy than it was (R).

        Exactly 1 where the policy leaves the state to today's agent, never an estimated share over a recorded one.
        """
        if self.uniform:
            return 1.0 / (len(calls.moves) * calls.propensity)
        chosen = self.choice[calls.state]
        followed = np.where(chosen == calls.move, 1.0 / calls.propensity, 0.0)
        return np.where(chosen == NONE, 1.0, 1.0 - self.lean + self.lean * followed)

    def weights(self, calls: Calls) -> Floats:
        """W_it, the product of a call's ratios up to step t (n, H).

        A finished call keeps its last weight: it stays where it is under any policy, so its further ratios are 1.
        Dropping it from the denominators, as several libraries do, scores an agent far above every outcome.
        """
        return np.cumprod(calls.padded(self.ratios(calls), 1.0), axis=1, dtype=np.float64)
