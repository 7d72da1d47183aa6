"""Calls of a world: played all at once, turn by turn, as arrays, as evidence, and one call at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_evalharness.engines.evidence.document import Document, Evidence, Split
from pytest_evalharness.engines.evidence.rows import Row
from pytest_evalharness.engines.ope.calls import Calls
from pytest_evalharness.engines.worlds.world import Floats, Ints, World

_ENDED = -1
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Played:
    """Turns of n calls, call by call, in the order of their turns.

    Attributes:
        world: where they were played.
        size: n.
        call: each row's call (R).
        step: each row's turn, from 0 (R).
        state: each row's state, a position in the world's (R).
        move: each row's move, a position in the world's (R).
        propensity: how likely the move was (R).
        outcome: the ending that a row led to, a position among the world's outcomes; -1 where the call went on (R).
    """

    world: World
    size: int
    call: Ints
    step: Ints
    state: Ints
    move: Ints
    propensity: Floats
    outcome: Ints

    @property
    def last(self) -> Ints:
        """Each call's last row (n)."""
        return np.flatnonzero(self.outcome != _ENDED)

    @property
    def terminal(self) -> Floats:
        """What each row's ending is worth, 0 where the call went on (R)."""
        return np.where(self.outcome == _ENDED, 0.0, self.world.pays[self.outcome])

    @property
    def next_state(self) -> Ints:
        """The state of the call's next row, -1 on its last (R)."""
        following = np.full(len(self.call), _ENDED, np.int64)
        following[:-1] = np.where(self.outcome[:-1] == _ENDED, self.state[1:], _ENDED)
        return following

    @property
    def returns(self) -> Floats:
        """What each row's call earned from the row on, discounted to the row (R)."""
        length = self.step[self.last] + 1
        turns = length[self.call] - self.step
        return np.asarray(np.power(self.world.gamma, turns) * self.terminal[self.last][self.call])

    def calls(self, *, empirical: bool = False) -> Calls:
        """The calls as estimators read them.

        Args:
            empirical: propensities are counted over the rows, as where no log recorded them.
        """
        world = self.world
        width = len(world.moves)
        propensity = self.propensity
        if empirical:
            cell = self.state * width + self.move
            made = np.bincount(cell, minlength=len(world.states) * width)
            propensity = made[cell] / made.reshape(-1, width).sum(axis=1)[self.state]
        paid = world.gamma * self.terminal
        ids = tuple(map(str, range(self.size)))
        return Calls(
            ids, world.states, world.moves, self.call, self.step, self.state, self.move, paid, propensity, world.gamma
        )  # fmt: skip


def play(world: World, policy: Floats, n: int, rng: np.random.Generator) -> Played:
    """Play n calls.

    Args:
        world: where.
        policy: probabilities of moves (S, M).
        n: calls.
        rng: of the customers and the moves.
    """
    dice = _Dice.of(world)
    chooses = np.cumsum(policy, axis=1)
    alive = np.arange(n)
    state = _drawn(np.cumsum(world.start)[None, :], np.zeros(n, np.int64), rng)
    parts: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
    turn = 0
    while len(alive):
        move = _drawn(chooses, state, rng)
        led = dice.lead(state, move, rng)
        ended = led < len(world.pays)
        parts.append((alive, np.full(len(alive), turn), state, move, np.where(ended, led, _ENDED)))
        alive, state = alive[~ended], led[~ended] - len(world.pays)
        turn += 1
    call, step, state, move, outcome = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((step, call))
    chance = policy[state, move]
    return Played(
        world, n, call[order], step[order], state[order], move[order], chance[order], outcome[order]
    )


def simulate(world: World, n: int, seed: int, *, policy: Floats | None = None) -> Evidence:
    """Evidence of n simulated calls, with the propensities that were played.

    Args:
        world: where.
        n: calls.
        seed: of the customers, the moves, and the split by call.
        policy: probabilities of moves (S, M); today's agent where none is given, `world.uniform` for chance.
    """
    acting = world.today if policy is None else policy
    played = play(world, acting, n, np.random.default_rng(seed))
    occurring = dict.fromkeys(world.states[at] for at in played.state.tolist())
    return Evidence(
        Document(
            kind="simulated",
            env=world.name,
            pack="synthetic",
            mdp={"discount": world.gamma, "terminal": dict(world.outcomes), "violation_penalty": 0.0},
            moves=list(world.moves),
            states=list(occurring),
            transitions=list(_rows(played, seed)),
            simulator=world.name,
            words=world.words,
            split=Split(seed=seed),
            propensity_source="logged",
            synthetic=f"simulated customers of the world {world.name}, seed {seed}",
        )
    )


class Simulator:
    """A world to act in, and a count of what acting cost: what an engine that learns from a simulator is given.

    One call at a time: `state = simulator.reset()`, then `earned, state = simulator.step(move)` until `state` is None. What is
    earned counts discounted to the turn, so returns are sums of gamma^t x earned.

    Attributes:
        world: whose truth an engine must not look at: its exact values are what it is judged by.
        rng: the source of all chance.
        calls: how many calls were begun.
        turns: how many moves were made.
    """

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.rng = np.random.default_rng(seed)
        self.calls = 0
        self.turns = 0
        self._at: int | None = None
        self._dice = _Dice.of(world)
        self._first = np.cumsum(world.start).tolist()
        self._moves = {move: at for at, move in enumerate(world.moves)}
        self._uniforms = self._fresh()

    @property
    def moves(self) -> list[str]:
        """The world's moves."""
        return list(self.world.moves)

    @property
    def gamma(self) -> float:
        """The discount of one turn."""
        return self.world.gamma

    def reset(self) -> str:
        """Begin a call; its first state."""
        self._at = self.begin()
        return self.world.states[self._at]

    def step(self, move: str) -> tuple[float, str | None]:
        """Make a move: what it earned, and the next state or None where the call ended.

        Raises:
            ValueError: no call was begun, or a move that the world does not have.
        """
        if self._at is None:
            raise ValueError("no call was begun: call reset() first")
        if move not in self._moves:
            raise ValueError(f"{move!r} is none of the world's moves")
        earned, following = self.act(self._at, self._moves[move])
        self._at = None if following == _ENDED else following
        return earned, None if following == _ENDED else self.world.states[following]

    def begin(self) -> int:
        """Begin a call; the position of its first state."""
        self.calls += 1
        return min(bisect_right(self._first, next(self._uniforms)), len(self._first) - 1)

    def act(self, state: int, move: int) -> tuple[float, int]:
        """Make a move by positions: what it earned, and the next state's position or -1."""
        self.turns += 1
        led = self._dice.lead_one(state, move, next(self._uniforms))
        outcomes = len(self.world.pays)
        return (self.gamma * float(self.world.pays[led]), _ENDED) if led < outcomes else (0.0, led - outcomes)

    def batch(self, policy: Floats, n: int) -> Played:
        """Play n calls at once by probabilities of moves (S, M)."""
        played = play(self.world, policy, n, self.rng)
        self.calls += n
        self.turns += len(played.call)
        return played

    def _fresh(self) -> Iterator[float]:
        while True:
            yield from self.rng.random(_BLOCK).tolist()


@dataclass(frozen=True, eq=False)
class _Dice:
    """Where moves lead, without what cannot happen.

    Attributes:
        reach: what a move can lead to: outcomes first, then states after them (S x M, W).
        below: its cumulated chances, 1 from the last on (S x M, W).
        width: how many moves there are.
    """

    reach: Ints
    below: Floats
    width: int

    @classmethod
    def of(cls, world: World) -> _Dice:
        chances = np.concatenate([world.ends, world.goes], axis=2).reshape(
            -1, len(world.pays) + len(world.states)
        )
        most = int((chances > 0).sum(axis=1).max())
        reach = np.argsort(chances == 0, axis=1, kind="stable")[:, :most]
        below = np.cumsum(np.take_along_axis(chances, reach, axis=1), axis=1)
        below[below > 1.0 - 1e-12] = 1.0
        return cls(reach, below, len(world.moves))

    def lead(self, state: Ints, move: Ints, rng: np.random.Generator) -> Ints:
        cell = state * self.width + move
        return np.asarray(self.reach[cell, _drawn(self.below, cell, rng)])

    def lead_one(self, state: int, move: int, uniform: float) -> int:
        cell = state * self.width + move
        return int(self.reach[cell, bisect_right(self.below[cell], uniform)])


def _drawn(below: Floats, row: Ints, rng: np.random.Generator) -> Ints:
    """One draw for each row from the cumulated chances of its kind."""
    found = (rng.random(len(row))[:, None] >= below[row]).sum(axis=1)
    return np.asarray(np.minimum(found, below.shape[1] - 1))


def _rows(played: Played, seed: int) -> Iterator[Row]:
    world = played.world
    columns = (
        played.call, played.step, played.state, played.move, played.propensity,
        played.outcome, played.next_state, played.terminal, played.returns,
    )  # fmt: skip
    for call, step, state, move, chance, outcome, following, terminal, ret in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        yield Row(
            episode_id=f"{world.name}-{seed}-{call:06d}",
            t=step,
            state=world.states[state],
            move=world.moves[move],
            next_state=None if following == _ENDED else world.states[following],
            terminal=terminal,
            done=outcome != _ENDED,
            ret=ret,
            propensity=chance,
        )
