"""What every policy has: its skills, its own random stream, and the decisions the match asks it for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from pytest_evalharness.arena.game.actions import MOVE, Action
from pytest_evalharness.arena.game.policies.observation import Observation, Statement
from pytest_evalharness.arena.game.policies.skill import Skill
from pytest_evalharness.arena.game.station import CORRIDORS, NEXT_ROOM


class Policy(ABC):
    """Plays one seat for one match. It decides from the seat's `Observation` and from nothing else."""

    __slots__ = ("_chance", "skill")

    def __init__(self, skill: Skill, rng: Random) -> None:
        self.skill = skill
        self._chance = rng.random

    @abstractmethod
    def decide(self, seen: Observation) -> Action:
        """The next action, when the last one is over or something happened."""

    @abstractmethod
    def speak(self, seen: Observation) -> Statement:
        """What to say in a meeting, knowing what was said before."""

    @abstractmethod
    def vote(self, seen: Observation) -> int:
        """Whom to vote for after all statements; -1 skips."""

    def notices(self) -> bool:
        """Whether this seat notices a body it comes upon, or a deed done before its eyes."""
        return self._chance() < self.skill.attention

    def votes_at_all(self) -> bool:
        """Whether this seat casts a vote in this meeting, or lets the timer run out."""
        return self._chance() < self.skill.attentiveness

    def delay(self, mean: float) -> int:
        """A waiting time in whole ticks, even between half the mean and one and a half of it."""
        return int(mean * (0.5 + self._chance()))

    def walk(self, room: int, target: int) -> Action:
        """One corridor towards a room."""
        step = NEXT_ROOM[room][target]
        return MOVE, step, int(CORRIDORS[room][step] / self.skill.steering)
