"""Engines that learn by acting, from what each move led to: REINFORCE, PPO, and Q-learning and SARSA on line."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from pytest_evalharness.engines.catalogue.contract import SIMULATOR, decision_engine
from pytest_evalharness.engines.catalogue.deciding import Flags, Floats, Ints, decide
from pytest_evalharness.engines.catalogue.knobs import Param
from pytest_evalharness.engines.catalogue.results import Result
from pytest_evalharness.engines.worlds.playing import Played, Simulator

_NONE = -1
_EXPONENT = 0.8
"""Of the falling step n^-0.8: slow enough to get away from early values, fast enough to settle."""


def episodes(default: int) -> Param:
    """The knob of how many calls an engine plays while it learns."""
    return Param("episodes", "Calls played", "int", default, 1, 10_000_000, help="More calls, a surer table.")


_BATCH = Param(
    "batch", "Calls a step", "int", 250, 1, 1_000_000, help="Calls played between two changes of the policy."
)
_FAST = "How far one step goes; large is fast and rash."
_GREED = Param(
    "epsilon",
    "Chance moves",
    "number",
    0.05,
    0.0,
    1.0,
    help="The share of moves by chance at the end; it falls from 1.",
)
_ALPHA = Param(
    "alpha",
    "Smallest step",
    "number",
    0.005,
    0.0,
    1.0,
    help="Steps fall with the visits of a state and move, down to this.",
)


class _Logits:
    """A softmax policy, improved state by state."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.shape = (len(simulator.world.states), len(simulator.world.moves))
        self.logits = np.zeros(self.shape)
        self.visits = np.zeros(self.shape, np.int64)
        self.values = np.zeros(self.shape[0])

    @property
    def policy(self) -> Floats:
        return np.asarray(softmax(self.logits, axis=1))

    def play(self, n: int) -> Played:
        played = self.simulator.batch(self.policy, n)
        self.visits += self.summed(played, np.ones(len(played.call))).astype(np.int64)
        return played

    def summed(self, played: Played, values: Floats) -> Floats:
        """A value a row, added up by state and move (S, M)."""
        cell = played.state * self.shape[1] + played.move
        return np.bincount(cell, values, minlength=self.logits.size).reshape(self.shape).astype(np.float64)

    def climb(self, played: Played, weight: Floats, rate: float) -> None:
        """One step along the mean over a state's rows of weight x grad log pi; rare states learn as fast as common ones."""
        push = self.summed(played, weight)
        seen = self.summed(played, np.ones(len(weight))).sum(axis=1, keepdims=True)
        gradient = push - self.policy * push.sum(axis=1, keepdims=True)
        self.logits += rate * gradient / np.maximum(seen, 1.0)

    def judge(self, played: Played, target: Floats) -> None:
        """Move each state's value half of the way to the mean of its rows' targets; all of it the first time."""
        seen = np.bincount(played.state, minlength=self.shape[0])
        mean = np.bincount(played.state, target, minlength=self.shape[0]) / np.maximum(seen, 1)
        first = self.visits.sum(axis=1) == seen
        self.values += np.where(seen > 0, np.where(first, 1.0, 0.5) * (mean - self.values), 0.0)

    def decided(self, **told: Any) -> Result:
        return _table(self.simulator, self.policy, self.visits > 0, told) | {"value": {}}


@decision_engine(
    "reinforce",
    label="REINFORCE",
    family="Policy gradient, by acting",
    learns_from=SIMULATOR,
    about="Plays calls by a policy of chance and makes the moves likelier whose calls earned more than usual from that state.",
    params=[episodes(20_000), _BATCH, Param("lr", "Step", "number", 2.0, 1e-6, 1e3, help=_FAST)],
    equation=r"\theta\leftarrow\theta+\eta\;\mathbb E\big[(G_t-b(s_t))\,\nabla_\theta\log\pi_\theta(a_t|s_t)\big]",
    symbols="G is the return from a turn on, b the state's usual return, eta the step; returns are scaled to unit variance in a batch.",
)
def reinforce(simulator: Simulator, params: dict[str, Any]) -> Result:
    """Monte-Carlo policy gradient with a baseline by state."""
    learner = _Logits(simulator)
    for size in _batches(params):
        played = learner.play(size)
        returns = played.returns
        learner.judge(played, returns)
        learner.climb(played, _scaled(returns - learner.values[played.state]), params["lr"])
    return learner.decided(calls=simulator.calls)


@decision_engine(
    "ppo",
    label="PPO",
    family="Policy gradient, by acting",
    learns_from=SIMULATOR,
    about="As REINFORCE with a critic, but each batch is used several times, and no move's chance changes by more than a fifth in it.",
    params=[
        episodes(20_000),
        _BATCH,
        Param("lr", "Step", "number", 0.3, 1e-6, 1e3, help=_FAST),
        Param("clip", "Clip", "number", 0.2, 0.01, 10.0, help="How far a move's chance may change in one batch."),
        Param("epochs", "Epochs", "int", 4, 1, 1000, help="How often a batch is used."),
        Param("lambda", "Trace", "number", 0.95, 0.0, 1.0, help="0 trusts the critic after one turn; 1 the whole rest of the call."),
    ],
    equation=r"\max_\theta\;\mathbb E\Big[\min\big(\rho_t A_t,\ \mathrm{clip}(\rho_t,1-\epsilon,1+\epsilon)A_t\big)\Big],\qquad \rho_t=\frac{\pi_\theta(a_t|s_t)}{\pi_{old}(a_t|s_t)}",
    symbols="A is the generalised advantage over the critic's values, epsilon the clip.",
)  # fmt: skip
def ppo(simulator: Simulator, params: dict[str, Any]) -> Result:
    """Proximal policy optimisation with generalised advantages (Schulman et al. 2017)."""
    learner = _Logits(simulator)
    for size in _batches(params):
        played = learner.play(size)
        reach = _advantages(played, learner.values, params["lambda"])
        learner.judge(played, reach + learner.values[played.state])
        advantage = _scaled(reach)
        for _ in range(params["epochs"]):
            ratio = learner.policy[played.state, played.move] / played.propensity
            free = np.where(advantage > 0, ratio < 1 + params["clip"], ratio > 1 - params["clip"])
            learner.climb(played, np.where(free, ratio * advantage, 0.0), params["lr"])
    return learner.decided(calls=simulator.calls)


@decision_engine(
    "q-learning-online",
    label="Q-learning, online",
    family="Value, by acting",
    learns_from=SIMULATOR,
    about="Plays calls, at first by chance and then more and more by its own values, and learns what the best rest of the call is worth.",
    params=[episodes(20_000), _ALPHA, _GREED],
    equation=r"Q(s,a)\leftarrow Q(s,a)+\alpha_n\Big[x+\gamma\max_{a'}Q(s',a')-Q(s,a)\Big]",
    symbols="alpha_n = max(alpha, n^-0.8) with n the visits of the state and move; moves are by chance with a share that falls to epsilon.",
)
def q_learning_online(simulator: Simulator, params: dict[str, Any]) -> Result:
    """Off-policy control."""
    return _online(simulator, params, on_policy=False)


@decision_engine(
    "sarsa-online",
    label="SARSA, online",
    family="Value, by acting",
    learns_from=SIMULATOR,
    about="As Q-learning online, but learns what the rest of the call is worth as it is itself played, chance moves included.",
    params=[episodes(30_000), _ALPHA, _GREED],
    equation=r"Q(s,a)\leftarrow Q(s,a)+\alpha_n\big[x+\gamma\,Q(s',a')-Q(s,a)\big]",
    symbols="a' is the move made next; alpha_n = max(alpha, n^-0.8) with n the visits of the state and move.",
)
def sarsa_online(simulator: Simulator, params: dict[str, Any]) -> Result:
    """On-policy control, greedy in the limit."""
    return _online(simulator, params, on_policy=True)


def _online(simulator: Simulator, params: dict[str, Any], *, on_policy: bool) -> Result:
    world, rng = simulator.world, simulator.rng
    width = len(world.moves)
    q = [[0.0] * width for _ in world.states]
    n = [[0] * width for _ in world.states]
    total, floor, gamma = params["episodes"], params["alpha"], world.gamma

    def choose(state: int, chance: float) -> int:
        if rng.random() < chance:
            return int(rng.integers(width))
        values = q[state]
        return values.index(max(values))

    for played in range(total):
        chance = max(params["epsilon"], 1.0 - 1.5 * played / total)
        state = simulator.begin()
        move = choose(state, chance)
        while state != _NONE:
            earned, following = simulator.act(state, move)
            after, ahead = 0, 0.0
            if following != _NONE:
                after = choose(following, chance)
                ahead = q[following][after] if on_policy else max(q[following])
            n[state][move] += 1
            step = max(floor, n[state][move] ** -_EXPONENT)
            q[state][move] += step * (earned + gamma * ahead - q[state][move])
            state, move = following, after
    return _table(simulator, np.array(q), np.array(n) > 0, {"calls": simulator.calls})


def _table(simulator: Simulator, score: Floats, tried: Flags, told: dict[str, Any]) -> Result:
    return decide(simulator.world.states, simulator.world.moves, score, tried, told)


def _batches(params: dict[str, Any]) -> list[int]:
    whole, rest = divmod(params["episodes"], params["batch"])
    return [params["batch"]] * whole + [rest] * bool(rest)


def _scaled(values: Floats) -> Floats:
    return np.asarray(values / max(float(values.std()), 1e-9))


def _advantages(played: Played, values: Floats, trace: float) -> Floats:
    """Generalised advantages: sums of (gamma lambda)^k delta_{t+k} (R)."""
    gamma = played.world.gamma
    following: Ints = played.next_state
    ahead = np.where(following == _NONE, 0.0, values[following])
    found = np.asarray(gamma * played.terminal + gamma * ahead - values[played.state])
    for turn in range(int(played.step.max()) - 1, -1, -1):
        at = np.flatnonzero((played.step == turn) & (following != _NONE))
        found[at] += gamma * trace * found[at + 1]
    return found
