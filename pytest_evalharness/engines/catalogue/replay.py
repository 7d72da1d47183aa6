"""Going through a log row by row, again and again: the definition of the step-by-step engines."""

from __future__ import annotations

import numpy as np

from pytest_evalharness.engines.catalogue.deciding import Floats
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.unrolled import Unrolled, levels


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
    greedy = rule == "q-learning"
    trace = trace if rule == "td-lambda" else 0.0
    level = levels(log)
    if level is not None:
        unrolled = Unrolled(log, level, alpha=alpha, min_visits=min_visits, greedy=greedy)
        return unrolled.run(epochs, trace=trace)
    return row_by_row(log, rule, alpha=alpha, epochs=epochs, min_visits=min_visits, trace=trace)


def row_by_row(log: Log, rule: str, *, alpha: float, epochs: int, min_visits: int, trace: float) -> Floats:
    """The same by the definition, one row after another: for logs in which a state can come again within a call."""
    if rule == "q-learning":
        q = _q_learning(log, alpha, epochs, min_visits)
    elif rule == "td-lambda" and log.gamma * trace > 0.0:
        q = _with_traces(log, alpha, epochs, log.gamma * trace)
    else:
        q = _sarsa(log, alpha, epochs)
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


def _sarsa(log: Log, alpha: float, epochs: int) -> list[float]:
    q = [0.0] * (log.size + 1)  # the last stands for the end of a call
    after = np.where(log.goes_on, np.roll(log.cell, -1), log.size)
    rows = list(zip(log.cell.tolist(), after.tolist(), log.paid.tolist(), strict=True))
    gamma = log.gamma
    for _ in range(epochs):
        for cell, following, paid in rows:
            old = q[cell]
            q[cell] = old + alpha * (paid + gamma * q[following] - old)
    return q[:-1]


def _with_traces(log: Log, alpha: float, epochs: int, fading: float) -> list[float]:
    q = [0.0] * (log.size + 1)  # the last stands for the end of a call
    cells, paid, gamma = log.cell.tolist(), log.paid.tolist(), log.gamma
    starts = np.flatnonzero(np.r_[True, ~log.goes_on[:-1]]).tolist()
    calls = []
    for begin, end in zip(starts, [*starts[1:], len(cells)], strict=True):
        turns = list(zip(cells[begin:end], [*cells[begin + 1 : end], log.size], paid[begin:end], strict=True))
        calls.append(
            (turns[::-1], False) if len({turn[0] for turn in turns}) == len(turns) else (turns, True)
        )
    for _ in range(epochs):
        for turns, again in calls:
            if again:
                _trace_forwards(q, turns, alpha, gamma, fading)
                continue
            # A call whose pairs all differ reads only values from before it, so what each pair gains can be
            # added up from the call's end back: delta_t + fading x (what the next turn's pair gains).
            gain = ahead = 0.0
            for cell, _after, x in turns:
                old = q[cell]
                gain = x + gamma * ahead - old + fading * gain
                q[cell] = old + alpha * gain
                ahead = old
    return q[:-1]


def _trace_forwards(
    q: list[float], turns: list[tuple[int, int, float]], alpha: float, gamma: float, fading: float
) -> None:
    traces: dict[int, float] = {}
    for cell, after, x in turns:
        push = alpha * (x + gamma * q[after] - q[cell])
        for one in traces:
            traces[one] *= fading
        traces[cell] = traces.get(cell, 0.0) + 1.0
        for one, weight in traces.items():
            q[one] += push * weight
