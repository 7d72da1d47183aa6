"""From scores of moves to a decision table: the one rule of all engines of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.errors import NotEnoughEvidence

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SAME = 1e-9
"""Scores that differ by less, relative to the larger, are a tie: rounding must not decide what an agent does."""


def decide(
    states: Sequence[str],
    moves: Sequence[str],
    score: Floats,
    may: Flags,
    diagnostics: Mapping[str, Any] | None = None,
) -> Result:
    """The move of the highest score in each state, among those that may be chosen; ties go to the first in the world's order.

    Args:
        states: keys (S).
        moves: in the world's order (M).
        score: of each move in each state (S, M).
        may: whether it may be chosen (S, M); a state without such a move is left out of the table.
        diagnostics: what else is told.

    Raises:
        NotEnoughEvidence: no move may be chosen in any state.
    """
    if not may.any():
        raise NotEnoughEvidence(
            "no move was tried often enough in any state to be chosen there",
            not_done="nothing was decided",
            next_step="build a larger set, or lower min_visits",
        )
    best = np.where(may, score, -np.inf).max(axis=1, keepdims=True)
    near = may & (score >= best - _SAME * np.maximum(1.0, np.abs(best)))
    chosen, decided = near.argmax(axis=1), np.flatnonzero(may.any(axis=1)).tolist()
    return {
        "policy": {states[at]: moves[chosen[at]] for at in decided},
        "value": {states[at]: float(score[at, chosen[at]]) for at in decided},
        "diagnostics": {
            "states": len(states),
            "left_to_today": len(states) - len(decided),
            **(diagnostics or {}),
        },
        "artifact": {
            "q": {
                states[at]: {moves[m]: float(score[at, m]) for m in np.flatnonzero(may[at]).tolist()}
                for at in decided
            }
        },
    }
