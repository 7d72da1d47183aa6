"""Crew: does tasks, reports bodies, calls a meeting when it has caught somebody, votes on suspicion."""

from __future__ import annotations

from random import Random

from pytest_evalharness.arena.game.actions import BUTTON, MOVE, REPORT, TASK, WAIT, Action
from pytest_evalharness.arena.game.policies import suspicion
from pytest_evalharness.arena.game.policies.base import Policy
from pytest_evalharness.arena.game.policies.observation import Observation, Statement
from pytest_evalharness.arena.game.policies.skill import Skill
from pytest_evalharness.arena.game.station import DISTANCE, GHOST_PACE, HUB, NEIGHBOURS, reach_ticks

_ROUND_TRIP = (0, 2, 4, 6, 5, 7, 8, 9, 10, 11, 1, 3)  # rooms in the order of a sweep through the station
_PLACE = tuple(_ROUND_TRIP.index(room) for room in range(len(_ROUND_TRIP)))
_NONE = -1
_PATROL_TICKS = 180.0


class CrewPolicy(Policy):
    """A crew member, and after its death the ghost that finishes its tasks."""

    __slots__ = ("_alarmed", "_ignored", "_target")

    def __init__(self, skill: Skill, rng: Random) -> None:
        super().__init__(skill, rng)
        self._target = _NONE
        self._ignored: set[int] = set()
        self._alarmed: dict[int, bool] = {}

    def decide(self, seen: Observation) -> Action:
        """Bodies first, then an alarm worth a meeting, then tasks; a patrol when they are done."""
        if seen.alive:
            urgent = self._urgent(seen)
            if urgent is not None:
                return urgent
        if not seen.tasks:
            return self._patrol(seen)
        target = self._target
        if target == _NONE or target not in seen.tasks:
            target = self._target = self._next_task(seen)
        if target == seen.room:
            return self._attempt(seen.rules.task_ticks)
        if seen.alive:
            return self.walk(seen.room, target)
        return MOVE, target, int(DISTANCE[seen.room][target] * GHOST_PACE / self.skill.steering)

    def _urgent(self, seen: Observation) -> Action | None:
        for victim in seen.bodies:
            if victim in self._ignored:
                continue
            if self._chance() < self.skill.report_diligence:
                return REPORT, victim, reach_ticks(seen.room, seen.rules.report_range)
            self._ignored.add(victim)
        if seen.witnessed and seen.buttons and self._wants_meeting(seen):
            if seen.room == HUB:
                return BUTTON, 0, reach_ticks(HUB, seen.rules.report_range)
            return self.walk(seen.room, HUB)
        return None

    def _wants_meeting(self, seen: Observation) -> bool:
        for culprit in seen.witnessed:
            if culprit not in self._alarmed:
                self._alarmed[culprit] = self._chance() < self.skill.button
            if self._alarmed[culprit] and seen.living[culprit]:
                return True
        return False

    def _next_task(self, seen: Observation) -> int:
        tasks, room = seen.tasks, seen.room
        if self._chance() >= self.skill.routing:
            return tasks[int(self._chance() * len(tasks))]
        if self.skill.sweep:
            here = _PLACE[room]
            return min(tasks, key=lambda task: (_PLACE[task] - here) % len(_PLACE))
        return min(tasks, key=DISTANCE[room].__getitem__)

    def _attempt(self, needed: int) -> Action:
        skill = self.skill
        start = self.delay(skill.hesitation)
        if skill.fumble and self._chance() < skill.fumble:
            return TASK, start, int(self._chance() * needed)
        return TASK, start, needed

    def _patrol(self, seen: Observation) -> Action:
        if not seen.alive or self._chance() < 0.5:  # noqa: PLR2004 - walk or look around
            return WAIT, 0, 24 + self.delay(_PATROL_TICKS)
        ways = NEIGHBOURS[seen.room]
        return self.walk(seen.room, ways[int(self._chance() * len(ways))])

    def speak(self, seen: Observation) -> Statement:
        """The truth: where it is, and whom it saw do what."""
        return suspicion.honest_statement(seen, self.skill)

    def vote(self, seen: Observation) -> int:
        """The most suspicious seat, if suspicious enough."""
        return suspicion.verdict(seen, self.skill, self._chance)
