"""Engines that count a log: Monte-Carlo control, planning in the counted model, and the moves that are made most."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_evalharness.engines.catalogue.contract import decision_engine
from pytest_evalharness.engines.catalogue.deciding import Floats
from pytest_evalharness.engines.catalogue.knobs import Param
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.engines.evidence.document import Evidence

MIN_VISITS = Param(
    "min_visits",
    "Fewest visits",
    "int",
    1,
    1,
    1_000_000,
    help="A move that was tried less often in a state cannot be chosen there; where none was tried often enough, today's agent goes on.",
)
_TOLERANCE = Param(
    "tol", "Tolerance", "number", 1e-9, 1e-15, 1e3, help="Sweeps stop when no value moves by more."
)
_SWEEPS = Param("max_iter", "Most sweeps", "int", 1000, 1, 100_000, help="Sweeps stop after so many.")


@decision_engine(
    "monte-carlo",
    label="Monte Carlo control",
    family="Value, from calls",
    about="Averages what calls earned from each state and move on, and takes the best; it trusts today's agent for the rest of the call.",
    params=[MIN_VISITS],
    equation=r"Q(s,a)=\frac{1}{N(s,a)}\sum_{t:\,s_t=s,\,a_t=a} G_t,\qquad \pi(s)=\arg\max_a Q(s,a)",
    symbols="G is the return from a turn on, N the visits of a state and move; every visit counts.",
)
def monte_carlo(evidence: Evidence, params: dict[str, Any]) -> Result:
    """The every-visit mean of the return; greedy."""
    log = Log.of(evidence)
    return log.greedy(log.mean(log.returns), log.eligible(params["min_visits"]))


@decision_engine(
    "value-iteration",
    label="Value iteration",
    family="Planning, from calls",
    about="Counts a model of the customers from the log and plans in it, as if a state told all there is to know.",
    params=[MIN_VISITS, _TOLERANCE, _SWEEPS],
    equation=r"Q(s,a)\leftarrow\frac{1}{N(s,a)}\sum_{t:\,s_t=s,\,a_t=a}\Big[x_t+\gamma\max_{a'} Q(s_{t+1},a')\Big]",
    symbols="x is what a turn earned, gamma the discount; a' runs over the moves that may be chosen in the next state.",
)
def value_iteration(evidence: Evidence, params: dict[str, Any]) -> Result:
    """Sweeps of Bellman's optimality equation over the counted model."""
    log, least = Log.of(evidence), params["min_visits"]
    paid = log.mean(log.paid)
    q, sweeps, change = np.zeros(log.shape), 0, np.inf
    while change > params["tol"] and sweeps < params["max_iter"]:
        new = paid + _ahead(log, log.worth(q, least))
        change, q, sweeps = float(np.abs(new - q).max()), new, sweeps + 1
    told = {"sweeps": sweeps, "converged": change <= params["tol"]}
    return log.greedy(q, log.eligible(least), told)


@decision_engine(
    "policy-iteration",
    label="Policy iteration",
    family="Planning, from calls",
    about="Plans in the same counted model by turns: what a table is worth, then a better table, until none is better.",
    params=[MIN_VISITS, _TOLERANCE, _SWEEPS],
    equation=r"Q^{\pi}(s,a)=\hat x(s,a)+\gamma\sum_{s'}\hat P(s'|s,a)\,Q^{\pi}(s',\pi(s')),\qquad \pi\leftarrow\arg\max_a Q^{\pi}",
    symbols="x-hat and P-hat are the log's means and shares, gamma the discount.",
)
def policy_iteration(evidence: Evidence, params: dict[str, Any]) -> Result:
    """Evaluate and improve, from today's agent, whose calls all ended; a move is given up only for a better one."""
    log, least = Log.of(evidence), params["min_visits"]
    may = log.eligible(least)
    paid = log.mean(log.paid)
    policy = log.visits / log.visits.sum(axis=1, keepdims=True)
    q = np.zeros(log.shape)
    rounds = sweeps = 0
    while sweeps < params["max_iter"]:
        change = np.inf
        while change > params["tol"] and sweeps < params["max_iter"]:
            new = paid + _ahead(log, (policy * q).sum(axis=1))
            change, q, sweeps = float(np.abs(new - q).max()), new, sweeps + 1
        rounds += 1
        better = _improved(log, policy, q, params["tol"], least)
        if np.array_equal(better, policy):
            return log.greedy(q, may, {"rounds": rounds, "sweeps": sweeps, "converged": True})
        policy = better
    return log.greedy(q, may, {"rounds": rounds, "sweeps": sweeps, "converged": False})


@decision_engine(
    "behaviour-clone",
    label="Behaviour clone",
    family="Sanity",
    about="Does what today's agent does most in a state: a table that learned nothing of outcomes, to hold the others against.",
    params=[MIN_VISITS],
    equation=r"\pi(s)=\arg\max_a N(s,a)",
    symbols="N counts how often a move was made in a state.",
)
def behaviour_clone(evidence: Evidence, params: dict[str, Any]) -> Result:
    """The most frequent move."""
    log = Log.of(evidence)
    return log.greedy(log.visits.astype(np.float64), log.eligible(params["min_visits"])) | {"value": {}}


def _ahead(log: Log, value: Floats) -> Floats:
    """What lies ahead of a move, discounted (S, M)."""
    return np.asarray(log.gamma * (log.leads @ value)).reshape(log.shape)


def _improved(log: Log, policy: Floats, q: Floats, tolerance: float, least: int) -> Floats:
    """The greedy table; where the present move is as good as the best, up to the tolerance, it stays (S, M)."""
    may = log.eligible(least)
    now = np.where(may, policy, 0.0)
    decided = (now > 0).sum(axis=1) == 1
    present = (now * q).sum(axis=1)
    best = np.where(may, q, -np.inf).argmax(axis=1)
    stays = decided & (q[np.arange(len(q)), best] <= present + max(tolerance, 1e-9))
    greedy = np.zeros(log.shape)
    greedy[np.arange(len(q)), best] = 1.0
    table = np.where(stays[:, None], policy, greedy)
    return np.where(may.any(axis=1, keepdims=True), table, log.mixture(least))
