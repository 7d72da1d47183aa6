"""Engines that act to learn a model of the world and plan in it: they solve it again and again, so a big world is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_evalharness.engines.catalogue.acting import episodes
from pytest_evalharness.engines.catalogue.contract import SIMULATOR, decision_engine
from pytest_evalharness.engines.catalogue.deciding import Floats, decide
from pytest_evalharness.engines.catalogue.knobs import Param
from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.engines.worlds.playing import Simulator
from pytest_evalharness.errors import TooExpensive

_NONE = -1
_SWEEPS = 1000
_TOLERANCE = 1e-9
_LARGEST = Param(
    "max_states", "Largest world", "int", 100, 1, 100_000, help="A world with more states is refused: solving it costs their square."
)  # fmt: skip


class _Model:
    """Counts of what moves led to, and the plan that follows from them."""

    def __init__(self, simulator: Simulator) -> None:
        world = simulator.world
        self.simulator = simulator
        self.gamma = world.gamma
        self.visits = np.zeros((len(world.states), len(world.moves)), np.int64)
        self.paid = np.zeros(self.visits.shape)
        self.went = np.zeros((*self.visits.shape, len(world.states)), np.int64)
        self.plans = 0

    def saw(self, state: int, move: int, earned: float, following: int) -> None:
        self.visits[state, move] += 1
        self.paid[state, move] += earned
        if following != _NONE:
            self.went[state, move, following] += 1

    def plan(self, *, known: int, otherwise: float) -> Floats:
        """What each move is worth in the counted model (S, M).

        Args:
            known: with fewer visits a move is not judged by its counts,
            otherwise: but taken to be worth this.
        """
        self.plans += 1
        count = np.maximum(self.visits, 1)
        judged = self.visits >= known
        paid = self.paid / count
        leads = self.went / np.expand_dims(count, 2)
        q = np.where(judged, 0.0, otherwise)
        for _ in range(_SWEEPS):
            new = np.where(judged, paid + self.gamma * (leads @ q.max(axis=1)), otherwise)
            change = np.abs(new - q).max()
            q = new
            if change <= _TOLERANCE:
                break
        return np.asarray(q)

    def decided(self, known: int) -> Result:
        """The greedy table among moves that were tried, those of few visits included only where no other was."""
        simulator = self.simulator
        tried = self.visits > 0
        sure = self.visits >= known
        may = np.where(sure.any(axis=1, keepdims=True), sure, tried)
        score = self.plan(known=1, otherwise=0.0)
        told = {"calls": simulator.calls, "plans": self.plans, "unsure_pairs": int((~sure).sum())}
        return decide(simulator.world.states, simulator.world.moves, score, may, told)


@decision_engine(
    "mdp-model",
    label="Model-based learning",
    family="Planning, by acting",
    learns_from=SIMULATOR,
    about="Plays calls, counts where each move leads, plans in that model, plays by the plan with some chance moves, and so on.",
    params=[
        episodes(10_000),
        Param("batch", "Calls a plan", "int", 250, 1, 1_000_000, help="Calls played between two plans."),
        Param(
            "epsilon",
            "Chance moves",
            "number",
            0.3,
            0.0,
            1.0,
            help="The share of moves made by chance while playing.",
        ),
        Param(
            "known",
            "Sure after",
            "int",
            20,
            1,
            1_000_000,
            help="Where some move was tried so often, rarer ones are not chosen.",
        ),
        _LARGEST,
    ],
    equation=r"\hat P(s'|s,a)=\frac{N(s,a,s')}{N(s,a)},\qquad Q=\hat x+\gamma\hat P\max_{a'}Q",
    symbols="N counts what was seen while acting, x-hat is the mean of what a move earned.",
)
def mdp_model(simulator: Simulator, params: dict[str, Any]) -> Result:
    """Certainty equivalence with epsilon-greedy exploration."""
    _refuse_too_big(simulator, "mdp-model", params)
    model = _Model(simulator)
    policy, left = simulator.world.uniform, params["episodes"]
    while left > 0:
        size = min(params["batch"], left)
        played = simulator.batch(policy, size)
        turns = zip(
            played.state, played.move, simulator.gamma * played.terminal, played.next_state, strict=True
        )
        for state, move, earned, following in turns:
            model.saw(int(state), int(move), float(earned), int(following))
        left -= size
        best = model.plan(known=1, otherwise=0.0).argmax(axis=1)
        greedy = np.eye(len(simulator.moves))[best]
        policy = (1.0 - params["epsilon"]) * greedy + params["epsilon"] * simulator.world.uniform
    return model.decided(params["known"])


@decision_engine(
    "rmax",
    label="R-max",
    family="Planning, by acting",
    learns_from=SIMULATOR,
    about="Takes every move that it does not know yet for the best there could be, and so tries them all; then plans in what it saw.",
    params=[
        episodes(12_000),
        Param(
            "known",
            "Known after",
            "int",
            60,
            1,
            1_000_000,
            help="Visits after which a move is judged by what was seen.",
        ),
        _LARGEST,
    ],
    equation=r"Q(s,a)=\begin{cases}\hat x(s,a)+\gamma\sum_{s'}\hat P(s'|s,a)\max_{a'}Q(s',a') & N(s,a)\ge m\\ R_{\max} & \text{otherwise}\end{cases}",
    symbols="m is the number of visits after which a move is known, R-max the worth of the best outcome.",
)
def rmax(simulator: Simulator, params: dict[str, Any]) -> Result:
    """Optimism in the face of the unknown (Brafman and Tennenholtz 2002)."""
    _refuse_too_big(simulator, "rmax", params)
    model, known = _Model(simulator), params["known"]
    hoped = max(simulator.world.outcomes.values())
    q = model.plan(known=known, otherwise=hoped)
    for _ in range(params["episodes"]):
        state = simulator.begin()
        while state != _NONE:
            move = _least_tried(q[state], model.visits[state])
            earned, following = simulator.act(state, move)
            model.saw(state, move, earned, following)
            if model.visits[state, move] == known:
                q = model.plan(known=known, otherwise=hoped)
            state = following
    return model.decided(known)


def _least_tried(values: Floats, visits: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Among the best moves, the one that was tried least."""
    best = values >= values.max() - _TOLERANCE
    return int(np.where(best, visits, np.iinfo(np.int64).max).argmin())


def _refuse_too_big(simulator: Simulator, name: str, params: dict[str, Any]) -> None:
    states, moves = len(simulator.world.states), len(simulator.moves)
    if states > params["max_states"]:
        raise TooExpensive(
            f"{name} solves its model of the world again each time it learns, and {simulator.world.name} has {states} states: "
            f"one sweep is {states**2 * moves:,} steps, and its limit is {params['max_states']} states",
            not_done="nothing was played",
            next_step=f"choose another engine or world, or raise the limit with --param max_states={states}",
        )
