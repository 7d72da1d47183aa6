"""Engines that learn step by step from a log: Q-learning, SARSA and TD(lambda), row after row in document order."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_evalharness.engines.catalogue.contract import decision_engine
from pytest_evalharness.engines.catalogue.counting import MIN_VISITS
from pytest_evalharness.engines.catalogue.knobs import Param
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.replay import replay
from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.engines.evidence.document import Evidence

ALPHA = Param(
    "alpha",
    "Step",
    "number",
    0.1,
    1e-6,
    1.0,
    help="How far a value moves towards each new call; small is slow and steady.",
)
EPOCHS = Param("epochs", "Epochs", "int", 50, 1, 10_000, help="How often the log is gone through.")
_LAMBDA = Param(
    "lambda", "Trace", "number", 0.8, 0.0, 1.0, help="0 learns from the next turn alone, as SARSA does; 1 from the whole rest of the call."
)  # fmt: skip


@decision_engine(
    "q-learning",
    label="Q-learning",
    family="Value, from calls",
    about="Goes through the log again and again and moves each value towards what the turn earned plus the best that the next state offers.",
    params=[ALPHA, EPOCHS, MIN_VISITS],
    equation=r"Q(s_t,a_t)\leftarrow Q(s_t,a_t)+\alpha\Big[x_t+\gamma\max_{a'}Q(s_{t+1},a')-Q(s_t,a_t)\Big]",
    symbols="x is what a turn earned, gamma the discount, alpha the step; a' runs over the moves that may be chosen in the next state.",
)
def q_learning(evidence: Evidence, params: dict[str, Any]) -> Result:
    """Off-policy: the limit for a small step is value iteration."""
    return _learned("q-learning", evidence, params)


@decision_engine(
    "sarsa",
    label="SARSA",
    family="Value, from calls",
    about="As Q-learning, but looks ahead to the move that today's agent made next: what a move is worth if the rest goes on as today.",
    params=[ALPHA, EPOCHS, MIN_VISITS],
    equation=r"Q(s_t,a_t)\leftarrow Q(s_t,a_t)+\alpha\big[x_t+\gamma\,Q(s_{t+1},a_{t+1})-Q(s_t,a_t)\big]",
    symbols="x is what a turn earned, gamma the discount, alpha the step.",
)
def sarsa(evidence: Evidence, params: dict[str, Any]) -> Result:
    """On-policy, then one greedy step; the limit for a small step is fitted-Q evaluation of today's agent."""
    return _learned("sarsa", evidence, params)


@decision_engine(
    "td-lambda",
    label="TD(lambda)",
    family="Value, from calls",
    about="Between SARSA and Monte Carlo: what a turn brought reaches the turns before it through fading traces.",
    params=[ALPHA, EPOCHS, MIN_VISITS, _LAMBDA],
    equation=r"\delta_t=x_t+\gamma Q(s_{t+1},a_{t+1})-Q(s_t,a_t),\qquad e\leftarrow\gamma\lambda e+\mathbf 1_{(s_t,a_t)},\qquad Q\leftarrow Q+\alpha\,\delta_t\,e",
    symbols="e are accumulating traces that begin anew with each call, x is what a turn earned, gamma the discount, alpha the step.",
)
def td_lambda(evidence: Evidence, params: dict[str, Any]) -> Result:
    """Accumulating traces within a call."""
    return _learned("td-lambda", evidence, params, params["lambda"])


def _learned(rule: str, evidence: Evidence, params: dict[str, Any], trace: float = 0.0) -> Result:
    log, least = Log.of(evidence), params["min_visits"]
    q = replay(log, rule, alpha=params["alpha"], epochs=params["epochs"], min_visits=least, trace=trace)
    return log.greedy(q, log.eligible(least), {"largest_value": float(np.abs(q).max())})
