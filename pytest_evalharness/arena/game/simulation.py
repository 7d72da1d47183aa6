"""The rules of play as a discrete-event simulation: one pending decision per seat, in a heap of integer ticks.

Between two decisions of a seat nothing about it changes, so the match jumps from one to the next. A seat's
observation is updated at the moments when it can perceive something: it or somebody else enters or leaves its
room, they pass in a corridor, or somebody is killed before its eyes.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from pytest_evalharness.arena.game import meeting, station
from pytest_evalharness.arena.game.actions import (
    BUTTON,
    KILL,
    MOVE,
    NOBODY,
    REPORT,
    STALK,
    TASK,
    VENT,
    WAIT,
    WATCH,
    Action,
)
from pytest_evalharness.arena.game.config import GameConfig, check_players
from pytest_evalharness.arena.game.deal import deal
from pytest_evalharness.arena.game.ending import Ending
from pytest_evalharness.arena.game.policies import CrewPolicy, ImposterPolicy, Skill
from pytest_evalharness.arena.game.policies.suspicion import KILLED, VENTED
from pytest_evalharness.arena.game.record import Recorder
from pytest_evalharness.arena.game.roles import draw_imposters
from pytest_evalharness.arena.game.streams import stream

NEVER: Final = 10**12
UNLIMITED: Final = 1_000_000  # half a day: where a match without a limit ends all the same
_IDLE: Final[Action] = (WAIT, 0, 0)
_ROOMS: Final = range(len(station.ROOMS))
_EDGE: Final = len(station.ROOMS)


class Simulation:
    """One match in progress. `run` plays it to its end; the counters are the raw material of the results.

    Args:
        config: the rules.
        skills: one per seat.
        seed: of all random streams.
        recorder: takes inputs always, events when it wants them.
        absent: seats whose player never connects.
        drops: per seat, the tick from which its player is gone, or `NEVER`.
        crashes: likewise, of a player that is gone while its connection seems to stand: the match goes on without it.
    """

    def __init__(
        self,
        config: GameConfig,
        skills: Sequence[Skill],
        seed: int,
        recorder: Recorder,
        *,
        absent: Sequence[int] = (),
        drops: Sequence[int] | None = None,
        crashes: Sequence[int] | None = None,
    ) -> None:
        players = len(skills)
        check_players(config, players)
        self.config = config
        self.recorder = recorder
        self.players = players
        self.absent = tuple(absent)
        nobody = (NEVER,) * players
        self._noticed = tuple(drops) if drops is not None else nobody
        self.drops = tuple(map(min, self._noticed, tuple(crashes) if crashes is not None else nobody))
        self.chance = stream(seed, "match")
        self.imposters = draw_imposters(config, players, self.chance)
        self.tick = 0
        self.ending: Ending | None = None
        self.alive = [True] * players
        self.kills = [0] * players
        self.tasks_done = [0] * players
        self.vote_players = [0] * players
        self.vote_skip = [0] * players
        self.vote_timeout = [0] * players
        self.meetings = 0
        self.occupants: list[list[int]] = [[] for _ in _ROOMS]
        self._passing: list[list[int]] = [[] for _ in range(_EDGE * _EDGE)]
        self.bodies: list[list[int]] = [[] for _ in _ROOMS]
        self.doing: list[Action] = [_IDLE] * players
        self._serial = [0] * players
        self._heap: list[tuple[int, int, int]] = []
        self.policies = [
            (ImposterPolicy if seat in self.imposters else CrewPolicy)(skill, stream(seed, f"seat {seat}"))
            for seat, skill in enumerate(skills)
        ]
        self.seen = deal(config, players, self.imposters, self.chance)
        self._tasks_left = sum(len(seen.tasks) for seen in self.seen)
        self.deadline, self._deadline_ending = self._deadline()

    def _deadline(self) -> tuple[int, Ending]:
        config = self.config
        limit = config.max_ticks or UNLIMITED
        if self.absent:
            return min(limit, config.connect_timeout_ticks), Ending.CONNECT_TIMEOUT
        void = min(self._noticed) + config.disconnect_timeout_ticks
        return (void, Ending.DISCONNECT_TIMEOUT) if void <= limit else (limit, Ending.TIME_LIMIT)

    # ------------------------------------------------------------------ the clock

    def run(self) -> Ending:
        """Play to the end and say why it ended."""
        self._open()
        heap, serial = self._heap, self._serial
        while self.ending is None:
            if not heap or heap[0][0] >= self.deadline:
                self.expire()
                break
            tick, seat, number = heappop(heap)
            if number == serial[seat]:
                self.tick = tick
                self._complete(seat)
                if self.ending is None and number == serial[seat]:
                    self._decide(seat)
        return self.ending or self._deadline_ending

    def expire(self) -> None:
        """End the match at its deadline."""
        self.finish(self._deadline_ending, self.deadline)

    def finish(self, ending: Ending, tick: int) -> None:
        """End the match; the first ending counts."""
        if self.ending is None:
            self.ending = ending
            self.tick = tick

    def _open(self) -> None:
        config, recorder = self.config, self.recorder
        recorder.event(0, NOBODY, "phase", "phase", "lobby")
        for seat in range(self.players):
            if seat not in self.absent:
                recorder.event(0, seat, "player_joined", "slot", seat)
        if self._deadline_ending is Ending.CONNECT_TIMEOUT:
            return
        start = config.start_wait_ticks + config.role_reveal_ticks
        recorder.event(config.start_wait_ticks, NOBODY, "phase", "phase", "role_reveal")
        self.tick = start
        for seat in self.imposters:
            self.seen[seat].ready_at = start + config.kill_cooldown_ticks
        if start < self.deadline and self.is_parity():
            self.finish(Ending.PARITY, start)
            return
        self.resume(start, 0)

    def resume(self, tick: int, pause: int) -> None:
        """Play (again) from this tick: the living gather at the hub, ghosts go on after a pause of that length."""
        self.recorder.event(tick, NOBODY, "phase", "phase", "play")
        going_on = [
            (due + pause, seat, number)
            for due, seat, number in self._heap
            if number == self._serial[seat] and not self.alive[seat]
        ]
        self._heap[:] = going_on
        heapify(self._heap)
        for edge in self._passing:
            edge.clear()
        living = [seat for seat in range(self.players) if self.alive[seat]]
        for room in _ROOMS:
            self.occupants[room] = living.copy() if room == station.HUB else []
            self.bodies[room].clear()
        for seat in living:
            seen = self.seen[seat]
            seen.room = station.HUB
            seen.in_reach = NOBODY
            seen.bodies.clear()
            for other in living:
                seen.seen_tick[other] = tick
                seen.seen_room[other] = station.HUB
            self.reschedule(seat, tick)

    def reschedule(self, seat: int, tick: int) -> None:
        """Drop what a seat is doing; it decides anew at this tick."""
        self.doing[seat] = _IDLE
        self._serial[seat] += 1
        heappush(self._heap, (tick, seat, self._serial[seat]))

    def cancel(self, seat: int) -> None:
        """Drop what a seat is doing, for good."""
        self.doing[seat] = _IDLE
        self._serial[seat] += 1

    def dropped(self) -> list[int]:
        """Seats whose player was gone when the match ended."""
        return [seat for seat, tick in enumerate(self._noticed) if tick < self.tick]

    # ------------------------------------------------------------------ decisions

    def _decide(self, seat: int) -> None:
        tick, seen = self.tick, self.seen[seat]
        if tick >= self.drops[seat]:
            return
        seen.tick = tick
        if seen.alive:
            seen.present = tuple(self.occupants[seen.room])
        action = self.policies[seat].decide(seen)
        kind, argument, ticks = action
        previous = self.doing[seat][0]
        if kind > WATCH or previous > WATCH:
            self.recorder.inputs += (tick, seat, kind, argument, ticks)
        if kind == MOVE:
            ticks = self._set_out(seat, argument, ticks)
        elif kind == TASK:
            self.recorder.event(tick + argument, seat, "started_task", "room", station.ROOMS[seen.room])
            ticks += argument
        elif kind == KILL:
            self._kill(seat, argument)
            if self.ending is not None:
                return
        elif kind > KILL or kind == STALK:
            ticks = max(ticks, self._approach(kind, seen.room))
        self.doing[seat] = action
        heappush(self._heap, (tick + max(ticks, 1), seat, self._serial[seat]))

    def _approach(self, kind: int, room: int) -> int:
        """The fewest ticks it takes to walk up to a victim, a body, the button or a vent in this room."""
        config = self.config
        if kind == STALK:
            return station.reach_ticks(room, config.kill_range)
        if kind == VENT:
            return station.VENT_TICKS + station.reach_ticks(room, config.vent_range)
        return station.reach_ticks(room, config.report_range)

    def _complete(self, seat: int) -> None:
        kind, argument, ticks = self.doing[seat]
        if kind == MOVE:
            if self.alive[seat]:
                self._passing[self.seen[seat].room * _EDGE + argument].remove(seat)
                self._enter(seat, argument)
            else:
                self.seen[seat].room = argument
        elif kind == TASK:
            if ticks >= self.config.task_complete_ticks:
                self._task_done(seat)
        elif kind > WATCH:
            self._carry_out(seat, kind, argument)

    def _carry_out(self, seat: int, kind: int, argument: int) -> None:
        if kind == STALK:
            seen = self.seen[seat]
            seen.in_reach = argument if argument in self.occupants[seen.room] else NOBODY
        elif kind == REPORT:
            room = self.seen[seat].room
            if argument in self.bodies[room]:
                meeting.hold(self, seat, (argument, room))
        elif kind == BUTTON:
            seen = self.seen[seat]
            if seen.room == station.HUB and seen.buttons > 0:
                seen.buttons -= 1
                meeting.hold(self, seat, None)
        elif kind == VENT:
            self._climb(seat, argument)

    def _task_done(self, seat: int) -> None:
        seen = self.seen[seat]
        if seen.room not in seen.tasks:
            return
        seen.tasks.remove(seen.room)
        self.tasks_done[seat] += 1
        self._tasks_left -= 1
        self.recorder.event(self.tick, seat, "completed_task", "room", station.ROOMS[seen.room])
        if self._tasks_left == 0:
            self.finish(Ending.TASKS, self.tick)

    # ------------------------------------------------------------------ movement and sight

    def _set_out(self, seat: int, room: int, ticks: int) -> int:
        """Leave for a room and return the ticks until arrival, never fewer than the way takes."""
        here = self.seen[seat].room
        if not self.alive[seat]:
            return max(ticks, int(station.DISTANCE[here][room] * station.GHOST_PACE))
        self._leave(seat)
        for other in self._passing[room * _EDGE + here]:
            self._sight(seat, other, here)
            self._sight(other, seat, room)
        self._passing[here * _EDGE + room].append(seat)
        return max(ticks, station.CORRIDORS[here][room])

    def _sight(self, viewer: int, other: int, room: int) -> None:
        seen = self.seen[viewer]
        seen.seen_tick[other] = self.tick
        seen.seen_room[other] = room

    def _leave(self, seat: int) -> None:
        seen = self.seen[seat]
        room, tick = seen.room, self.tick
        company = self.occupants[room]
        company.remove(seat)
        self._meet(seat, room, company)
        seen.bodies.clear()
        seen.in_reach = NOBODY
        self.recorder.event(tick, seat, "left_room", "room", station.ROOMS[room])

    def _enter(self, seat: int, room: int) -> None:
        company = self.occupants[room]
        self._meet(seat, room, company)
        company.append(seat)
        self.seen[seat].room = room
        if self.bodies[room]:
            self.seen[seat].bodies = [victim for victim in self.bodies[room] if self.policies[seat].notices()]
        self.recorder.event(self.tick, seat, "entered_room", "room", station.ROOMS[room])

    def _meet(self, seat: int, room: int, company: list[int]) -> None:
        """A seat and the company of a room see each other; whoever watches decides anew."""
        tick, observations, doing = self.tick, self.seen, self.doing
        ticks, rooms = observations[seat].seen_tick, observations[seat].seen_room
        for other in company:
            seen = observations[other]
            seen.seen_tick[seat] = ticks[other] = tick
            seen.seen_room[seat] = rooms[other] = room
            if doing[other][0] == WATCH:
                self.reschedule(other, tick + 1)

    def look_around(self) -> None:
        """Everybody sees who is in the same room at this moment."""
        for room, company in enumerate(self.occupants):
            for viewer in company:
                for other in company:
                    self._sight(viewer, other, room)

    def _climb(self, seat: int, room: int) -> None:
        here = self.seen[seat].room
        if seat not in self.imposters or room not in station.VENTS[here]:
            return
        self._leave(seat)
        self._witness(seat, self.occupants[here], VENTED)
        self._witness(seat, self.occupants[room], VENTED)
        self._enter(seat, room)

    # ------------------------------------------------------------------ kills

    def _kill(self, seat: int, victim: int) -> None:
        killer, room = self.seen[seat], self.seen[seat].room
        company = self.occupants[room]
        if (
            seat not in self.imposters
            or killer.in_reach != victim
            or victim not in company
            or victim in self.imposters
            or self.tick < killer.ready_at
        ):
            return
        self.kills[seat] += 1
        killer.ready_at = self.tick + self.config.kill_cooldown_ticks
        killer.in_reach = NOBODY
        company.remove(victim)
        self.bodies[room].append(victim)
        self.recorder.event(self.tick, seat, "kill", "victim_slot", victim)
        self.recorder.event(self.tick, victim, "died", "by_slot", seat)
        self.recorder.event(self.tick, victim, "body", "room", station.ROOMS[room])
        self.dies(victim, self.tick + 1)
        killer.bodies.append(victim)
        killer.living[victim] = False
        for other in self._witness(seat, company, KILLED):
            self.seen[other].bodies.append(victim)
            self.seen[other].living[victim] = False
        if self.is_parity():
            self.finish(Ending.PARITY, self.tick)

    def _witness(self, culprit: int, company: list[int], ground: int) -> list[int]:
        """Crew in the company who notice the deed; they decide anew."""
        witnesses = [
            other for other in company if other not in self.imposters and self.policies[other].notices()
        ]
        for other in witnesses:
            self.seen[other].witnessed[culprit] = ground
            if self.doing[other][0] > WATCH:
                self.recorder.inputs += (self.tick, other, *_IDLE)
            self.reschedule(other, self.tick + 1)
        return witnesses

    def dies(self, seat: int, tick: int) -> None:
        """A seat leaves the living; crew with open tasks go on as a ghost from this tick."""
        self.alive[seat] = False
        seen = self.seen[seat]
        seen.alive = False
        seen.present = ()
        seen.bodies = []
        seen.living[seat] = False
        self.cancel(seat)
        if seen.tasks:
            self.reschedule(seat, tick)

    def check_ejection(self, ejected: int) -> None:
        """End the match if this ejection decided it."""
        if not self.imposters or ejected == NOBODY:
            return
        if not any(self.alive[seat] for seat in self.imposters):
            self.finish(Ending.EJECTED, self.tick)
        elif self.is_parity():
            self.finish(Ending.PARITY, self.tick)

    def is_parity(self) -> bool:
        """Whether the living imposters are at least as many as the living crew (and there is one)."""
        imposters = sum(self.alive[seat] for seat in self.imposters)
        return imposters > 0 and imposters * 2 >= sum(self.alive)
