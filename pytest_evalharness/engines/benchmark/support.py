"""What supports a table's score: where its overlap with the log goes, and how many more calls it would take. Pure."""

from __future__ import annotations

import math

import numpy as np

from pytest_evalharness.engines.benchmark.report import StateSupport
from pytest_evalharness.engines.benchmark.verdicts import FEWEST_EFFECTIVE, FEWEST_SHARE
from pytest_evalharness.engines.evidence.words import Words
from pytest_evalharness.engines.ope.calls import NONE, Calls
from pytest_evalharness.engines.ope.target import Target

_MOST_STATES = 5


def states(calls: Calls, target: Target, words: Words) -> list[StateSupport]:
    """The states in which the most calls first contradict the table, worst first."""
    chosen = target.choice[calls.state]
    agrees = (chosen == NONE) | (chosen == calls.move)
    first = np.full(len(calls), calls.rows, np.int64)
    against = np.flatnonzero(~agrees)[::-1]
    first[calls.call[against]] = against  # the last one written is the first of the call
    lost = np.bincount(calls.state[first[first < calls.rows]], minlength=len(calls.states))
    visits = np.bincount(calls.state, minlength=len(calls.states))
    tried = np.bincount(calls.state[(chosen == calls.move)], minlength=len(calls.states))
    worst = [at for at in np.argsort(-lost, kind="stable")[:_MOST_STATES] if lost[at]]
    found = []
    for at in worst:
        state, move = calls.states[at], calls.moves[target.choice[at]]
        said = (
            f"in “{words.state(state)}” the table says “{words.move(move)}”, which the agent did in {tried[at]:,} of "
            f"{visits[at]:,} turns; {lost[at]:,} calls part from the table here"
        )
        found.append(
            StateSupport(
                state=state,
                move=move,
                visits=int(visits[at]),
                tried=int(tried[at]),
                lost_calls=int(lost[at]),
                words=said,
            )
        )
    return found


def more_calls(calls: int, ess: float) -> int | None:
    """Held-out calls that would bring enough effective ones at this overlap, which grows with their number.

    None where there are enough, where there is no overlap at all, and where under 1 % of the calls are effective, which no
    number of calls changes.
    """
    if ess >= FEWEST_EFFECTIVE or ess <= 0.0 or ess < FEWEST_SHARE * calls:
        return None
    return math.ceil(calls * FEWEST_EFFECTIVE / ess)
