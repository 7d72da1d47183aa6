"""Engines that learn from preferences: in a state, one move is better than another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from pytest_evalharness.engines.catalogue.contract import PREFERENCES, decision_engine
from pytest_evalharness.engines.catalogue.deciding import Flags, Floats, Ints
from pytest_evalharness.engines.catalogue.knobs import Param
from pytest_evalharness.engines.catalogue.log import Log
from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.engines.evidence.document import Evidence
from pytest_evalharness.errors import NotEnoughEvidence

_STEEPEST = 0.5
"""The largest curvature of a state's mean logistic loss in its scores: 2 x 1/4."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Preferences between moves that were tried.

    Attributes:
        better: the cell, state x M + move, of the preferred move (P).
        worse: the cell of the other one (P).
        weight: adds up to 1 in each state, so that a state's table does not hang on how often others were visited (P).
    """

    better: Ints
    worse: Ints
    weight: Floats

    @classmethod
    def of(cls, evidence: Evidence, log: Log) -> Pairs:
        """The evidence's pairs; one that names a move that was not tried in its state is left out.

        Raises:
            NotEnoughEvidence: none is left.
        """
        states = {state: at for at, state in enumerate(log.states)}
        moves = {move: at for at, move in enumerate(log.moves)}
        width, tried = len(moves), log.visits > 0
        kept = []
        for state, better, worse, weight in evidence.named_pairs():
            at, good, bad = states.get(state), moves.get(better), moves.get(worse)
            if at is None or good is None or bad is None or not (tried[at, good] and tried[at, bad]):
                continue
            kept.append((at, at * width + good, at * width + bad, weight))
        if not kept:
            raise NotEnoughEvidence(
                "none of the evidence's preference pairs names two moves that its calls tried in that state",
                not_done="nothing was fitted",
                next_step="build the set again, so that its pairs are of its own calls",
            )
        state_of, good_cell, bad_cell, count = np.array(kept, np.int64).reshape(-1, 4).T
        total = np.bincount(state_of, count, minlength=len(states))
        return cls(good_cell, bad_cell, count / total[state_of])

    def pull(self, score: Floats, beta: float) -> Floats:
        """The gradient of the mean of -log sigma(beta x margin) in the scores (S x M)."""
        margin = beta * (score[self.better] - score[self.worse])
        push = beta * self.weight * expit(-margin)
        down = np.bincount(self.worse, push, minlength=len(score))
        return (down - np.bincount(self.better, push, minlength=len(score))).astype(np.float64)

    def among(self, shape: tuple[int, int]) -> Flags:
        """The moves that are in some pair of their state (S, M)."""
        inside = np.zeros(shape[0] * shape[1], bool)
        inside[self.better] = inside[self.worse] = True
        return inside.reshape(shape)

    def won(self, score: Floats) -> float:
        """The weighted share of pairs whose preferred move scores higher."""
        right = score[self.better] > score[self.worse]
        return float(self.weight[right].sum() / self.weight.sum())


@decision_engine(
    "dpo",
    label="Direct preference optimisation",
    family="Preference, from pairs",
    learns_from=PREFERENCES,
    about="Moves today's own shares of the moves towards those that earned more, and no further than the preferences ask.",
    params=[
        Param(
            "beta",
            "Closeness to today",
            "number",
            0.1,
            1e-4,
            100,
            help="Higher stays closer to what today's agent does.",
        ),
        Param("lr", "Step", "number", 0.5, 1e-6, 100, help="How far one epoch goes."),
        Param("epochs", "Epochs", "int", 200, 1, 100_000, help="How many steps are taken."),
        Param("l2", "Shrinkage", "number", 1e-3, 0, 100, help="Higher pulls logits back to today's."),
    ],
    equation=r"\min_\theta\;-\sum_{(s,w,l)}\log\sigma\!\Big(\beta\Big[\log\frac{\pi_\theta(w|s)}{\pi_{0}(w|s)}-\log\frac{\pi_\theta(l|s)}{\pi_{0}(l|s)}\Big]\Big)+\tfrac{\lambda}{2}\lVert\theta-\theta_0\rVert^2",
    symbols="w is preferred to l in state s; pi_0 are the log's shares of the moves, theta_0 their logs, sigma the logistic function.",
)
def dpo(evidence: Evidence, params: dict[str, Any]) -> Result:
    """Gradient steps on the logits' distance from the reference; the softmax's normaliser cancels in every margin."""
    log = Log.of(evidence)
    pairs = Pairs.of(evidence, log)
    away = np.zeros(log.size)
    for _ in range(params["epochs"]):
        away -= params["lr"] * (pairs.pull(away, params["beta"]) + params["l2"] * away)
    tried = log.visits > 0
    share = np.where(tried, log.visits / log.visits.sum(axis=1, keepdims=True), 1.0)
    logits = np.log(share) + away.reshape(log.shape)
    paired = pairs.among(log.shape).any(axis=1, keepdims=True)
    told = {"pairs": len(pairs.weight), "pairs_won": pairs.won(np.log(share).reshape(-1) + away)}
    return log.greedy(logits, tried & paired, told) | {"value": {}}


@decision_engine(
    "reward-model",
    label="Reward model (Bradley-Terry)",
    family="Preference, from pairs",
    learns_from=PREFERENCES,
    about="Gives each move of a state a score that explains which moves were preferred, and takes the highest.",
    params=[
        Param(
            "l2",
            "Shrinkage",
            "number",
            1e-2,
            1e-9,
            100,
            help="Higher pulls scores to 0; some is needed where one move always wins.",
        ),
        Param("iters", "Steps", "int", 200, 1, 100_000, help="How many steps are taken."),
    ],
    equation=r"\max_r\;\sum_{(s,w,l)}\log\sigma\big(r(s,w)-r(s,l)\big)-\tfrac{\lambda}{2}\lVert r\rVert^2,\qquad \pi(s)=\arg\max_a r(s,a)",
    symbols="w is preferred to l in state s, r is a move's score, sigma the logistic function.",
)
def reward_model(evidence: Evidence, params: dict[str, Any]) -> Result:
    """Nesterov's accelerated gradient with the problem's own constants: its error falls as (1 - sqrt(l2 / L))^steps."""
    log = Log.of(evidence)
    pairs = Pairs.of(evidence, log)
    steepest = _STEEPEST + params["l2"]
    ratio = np.sqrt(params["l2"] / steepest)
    carry = (1.0 - ratio) / (1.0 + ratio)
    score = ahead = np.zeros(log.size)
    for _ in range(params["iters"]):
        new = ahead - (pairs.pull(ahead, 1.0) + params["l2"] * ahead) / steepest
        score, ahead = new, new + carry * (new - score)
    told = {"pairs": len(pairs.weight), "pairs_won": pairs.won(score)}
    return log.greedy(score.reshape(log.shape), pairs.among(log.shape), told) | {"value": {}}
