"""Imposter: fakes tasks, hunts for lone crew, kills, gets away, and talks its way out of meetings."""

from __future__ import annotations

from random import Random

from pytest_evalharness.arena.game.actions import KILL, NOBODY, REPORT, STALK, VENT, WATCH, Action
from pytest_evalharness.arena.game.policies.base import Policy
from pytest_evalharness.arena.game.policies.observation import Observation, Statement
from pytest_evalharness.arena.game.policies.skill import Skill
from pytest_evalharness.arena.game.policies.suspicion import KILLED, NEAR, NO_GROUND, VENTED
from pytest_evalharness.arena.game.station import DISTANCE, NEIGHBOURS, ROOMS, VENT_TICKS, VENTS, reach_ticks

_NONE = -1
_LOOK_TICKS = 30  # between two looks at the same company
_TRAIL_TICKS = 400  # a sighting older than this is no trail
_ALONE = 0.25  # of its lull, an imposter takes once it is the last
_SCENE = 60  # ticks of walk: closer to the body than this, an alibi is needed


class ImposterPolicy(Policy):
    """An imposter. It knows the other imposters from the start."""

    __slots__ = ("_hunt_from", "_known_ready", "_target")

    def __init__(self, skill: Skill, rng: Random) -> None:
        super().__init__(skill, rng)
        self._target = _NONE
        self._known_ready = -1
        self._hunt_from = 0

    def decide(self, seen: Observation) -> Action:
        """Leave a body, else strike when the company allows it, else blend in or hunt."""
        if seen.bodies:
            return self._leave_body(seen)
        if seen.ready_at != self._known_ready:
            self._known_ready = seen.ready_at
            self._hunt_from = seen.ready_at + self._lull(seen)
        if seen.tick >= self._hunt_from:
            strike = self._strike(seen)
            if strike is not None:
                return strike
        return self._roam(seen)

    def _lull(self, seen: Observation) -> int:
        """How long to lie low after the cooldown; the last imposter has no time for it."""
        lull = self.delay(self.skill.lull)
        return lull if any(seen.living[fellow] for fellow in seen.fellows) else int(lull * _ALONE)

    def _strike(self, seen: Observation) -> Action | None:
        prey = [other for other in seen.present if other != seen.seat and other not in seen.fellows]
        if not prey:
            return None
        tempted = self.skill.boldness if len(prey) == 1 else self.skill.recklessness
        if seen.in_reach in prey:
            if len(prey) == 1 or self._chance() < self.skill.recklessness:
                return KILL, seen.in_reach, 0
            return WATCH, 0, _LOOK_TICKS
        if self._chance() < tempted:
            return STALK, prey[0], reach_ticks(seen.room, seen.rules.kill_range)
        return (WATCH, 0, _LOOK_TICKS) if len(prey) == 1 else None

    def _leave_body(self, seen: Observation) -> Action:
        company = any(other != seen.seat and other not in seen.fellows for other in seen.present)
        if company and self._chance() < self.skill.self_report:
            return REPORT, seen.bodies[0], reach_ticks(seen.room, seen.rules.report_range)
        self._target = _NONE
        vents = VENTS[seen.room]
        if vents and not company and self._chance() < self.skill.venting:
            exit_room = vents[int(self._chance() * len(vents))]
            return VENT, exit_room, VENT_TICKS + reach_ticks(seen.room, seen.rules.vent_range)
        ways = NEIGHBOURS[seen.room]
        return self.walk(seen.room, ways[int(self._chance() * len(ways))])

    def _roam(self, seen: Observation) -> Action:
        if self._target == seen.room:
            self._target = _NONE
            if seen.tick < self._hunt_from or len(seen.present) > 1:
                return WATCH, 0, 12 + seen.rules.task_ticks
        if self._target == _NONE:
            self._target = self._next_room(seen)
            if self._target == seen.room:
                return WATCH, 0, _LOOK_TICKS
        return self.walk(seen.room, self._target)

    def _next_room(self, seen: Observation) -> int:
        if seen.tick >= self._hunt_from and self._chance() < self.skill.stalking:
            trail = self._trail(seen)
            if trail != _NONE:
                return trail
        return int(self._chance() * len(ROOMS))

    def _trail(self, seen: Observation) -> int:
        """The room where a lone crew member was seen last, the fewer ticks away in space and time the better."""
        best, least = _NONE, _TRAIL_TICKS
        for other, living in enumerate(seen.living):
            if not living or other == seen.seat or other in seen.fellows:
                continue
            room = seen.seen_room[other]
            cost = seen.tick - seen.seen_tick[other] + DISTANCE[seen.room][room]
            if cost < least and room != seen.room:
                best, least = room, cost
        return best

    def speak(self, seen: Observation) -> Statement:
        """An alibi, and perhaps somebody to blame."""
        accused, ground = self._blame(seen)
        return Statement(seen.seat, self._alibi(seen), accused, ground)

    def _alibi(self, seen: Observation) -> int:
        if seen.body is None or DISTANCE[seen.room][seen.body[1]] > _SCENE:
            return seen.room
        if self._chance() < self.skill.deceit:
            return seen.room if seen.room != seen.body[1] else NEIGHBOURS[seen.room][0]
        return int(self._chance() * len(ROOMS))

    def _blame(self, seen: Observation) -> tuple[int, int]:
        for said in seen.statements:
            innocent = said.accused != seen.seat and said.accused not in seen.fellows
            if said.accused == NOBODY or said.speaker in seen.fellows:
                continue
            if innocent:
                return said.accused, NEAR  # join a mistake
            if said.accused == seen.seat and said.ground in (VENTED, KILLED):
                return said.speaker, KILLED if self._chance() < self.skill.deceit else NO_GROUND
        if self._chance() < self.skill.framing:
            return self._scapegoat(seen), NEAR
        return NOBODY, NO_GROUND

    def _scapegoat(self, seen: Observation) -> int:
        """The crew member seen nearest to the body, or whoever was seen last."""
        scene = seen.body[1] if seen.body else seen.room
        best, least = NOBODY, 10**9
        for other, living in enumerate(seen.living):
            if not living or other == seen.seat or other in seen.fellows:
                continue
            cost = DISTANCE[seen.seen_room[other]][scene] + seen.tick - seen.seen_tick[other]
            if cost < least:
                best, least = other, cost
        return best

    def vote(self, seen: Observation) -> int:
        """For the innocent seat most others accuse; skip when nobody innocent is accused."""
        counts = [0] * seen.rules.players
        for said in seen.statements:
            if said.accused not in (NOBODY, seen.seat) and said.accused not in seen.fellows:
                counts[said.accused] += said.ground
        most = max(counts)
        return counts.index(most) if most > 0 else NOBODY
