"""Going through a log row by row, again and again: the definition of the step-by-step engines."""

from __future__ import annotations

import numpy as np

from pytest_evalharness.engines.catalogue.deciding import Floats
from pytest_evalharness.engines.catalogue.log import Log


def replay(log: Log, rule: str, *, alpha: float, epochs: int, min_visits: int, trace: float) -> Floats:
    """The values after `epochs` passes over the log, from 0.

    Args:
        log: the fit calls.
        rule: "q-learning", "sarsa" or "td-lambda".
        alpha: the step.
        epochs: passes.
        min_visits: the fewest visits of a move that may be chosen; q-learning's maximum runs over those.
        trace: lambda.

    Returns:
        Q (S, M), 0 where a move was never tried.
    """
    if rule == "q-learning":
        q = _q_learning(log, alpha, epochs, min_visits)
    else:
        q = _with_traces(log, alpha, epochs, trace if rule == "td-lambda" else 0.0)
    return np.array(q).reshape(log.shape)


def _q_learning(log: Log, alpha: float, epochs: int, min_visits: int) -> list[float]:
    states, width = log.shape
    may = log.eligible(min_visits)
    mixture = log.mixture(min_visits)
    rest = {
        at: [(at * width + int(m), float(mixture[at, m])) for m in np.flatnonzero(mixture[at])]
        for at in np.flatnonzero(~may.any(axis=1))
    }
    choices = [[at * width + int(m) for m in np.flatnonzero(may[at])] for at in range(states)]
    allowed = may.reshape(-1).tolist()
    q = [0.0] * log.size
    worth = [0.0] * (states + 1)  # the last stands for the end of a call
    rows = list(
        zip(log.cell.tolist(), log.state.tolist(), log.next_state.tolist(), log.paid.tolist(), strict=True)
    )
    gamma = log.gamma
    for _ in range(epochs):
        for cell, state, following, paid in rows:
            old = q[cell]
            q[cell] = new = old + alpha * (paid + gamma * worth[following] - old)
            if allowed[cell]:
                if new >= worth[state]:
                    worth[state] = new
                elif old == worth[state]:
                    worth[state] = max([q[one] for one in choices[state]])
            elif state in rest:
                worth[state] = sum(share * q[one] for one, share in rest[state])
    return q


def _with_traces(log: Log, alpha: float, epochs: int, trace: float) -> list[float]:
    q = [0.0] * (log.size + 1)  # the last stands for the end of a call
    cells, paid, gamma, fading = log.cell.tolist(), log.paid.tolist(), log.gamma, log.gamma * trace
    starts = np.flatnonzero(np.r_[True, ~log.goes_on[:-1]]).tolist()
    calls = [
        (cells[begin:end], [*cells[begin + 1 : end], -1], paid[begin:end])
        for begin, end in zip(starts, [*starts[1:], len(cells)], strict=True)
    ]
    for _ in range(epochs):
        for here, following, earned in calls:
            traces: dict[int, float] = {}
            for cell, after, x in zip(here, following, earned, strict=True):
                delta = alpha * (x + gamma * q[after] - q[cell])
                if not fading:
                    q[cell] += delta
                    continue
                for one in traces:
                    traces[one] *= fading
                traces[cell] = traces.get(cell, 0.0) + 1.0
                for one, weight in traces.items():
                    q[one] += delta * weight
    return q[:-1]
