"""What a seat can know: the only thing a policy ever sees.

The match writes into a seat's observation what that seat perceives, and nothing else. It holds no reference to the
match, to other seats' observations or to any random stream. A policy reads it and changes nothing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_evalharness.arena.game.actions import NOBODY

LONG_AGO = -1_000_000


class Statement(NamedTuple):
    """Something said in a meeting: where the speaker claims to have been, and whom it accuses on what ground."""

    speaker: int
    room: int
    accused: int
    ground: int


class Ballot(NamedTuple):
    """A vote that was cast, revealed when the meeting ends; ``target`` -1 is a skip."""

    voter: int
    target: int


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the match that every seat knows."""

    players: int
    imposters: int
    task_ticks: int
    kill_cooldown: int
    kill_range: int
    report_range: int
    vent_range: int


class Observation:
    """One seat's knowledge.

    Attributes:
        rules: the public rules of the match.
        seat: own seat. ``imposter``: own role. ``fellows``: the other imposters, empty for crew.
        tick: now. ``room``: own room. ``alive``: whether oneself still lives.
        present: living seats in the room now, oneself included; empty for a ghost.
        bodies: seats whose bodies one noticed in this room.
        living: per seat, whether it is alive as far as one knows.
        seen_tick, seen_room: per seat, when and where one last saw it.
        witnessed: seats one saw kill or vent, with the ground.
        liars: seats that accused somebody who turned out innocent.
        tasks: rooms of one's own unfinished tasks.
        ready_at: tick from which one's kill cooldown is over (imposters).
        in_reach: the seat one has walked up to, or -1.
        buttons: emergency calls one has left.
        body: the seat and room of the body the current meeting is about, or None.
        statements: what was said in the current meeting, in order. ``ballots``: votes of the last meeting.
    """

    __slots__ = (
        "alive",
        "ballots",
        "bodies",
        "body",
        "buttons",
        "fellows",
        "imposter",
        "in_reach",
        "liars",
        "living",
        "present",
        "ready_at",
        "room",
        "rules",
        "seat",
        "seen_room",
        "seen_tick",
        "statements",
        "tasks",
        "tick",
        "witnessed",
    )

    def __init__(
        self,
        rules: Rules,
        seat: int,
        *,
        room: int,
        tasks: Sequence[int],
        buttons: int,
        fellows: Sequence[int] | None,
    ) -> None:
        self.rules = rules
        self.seat = seat
        self.imposter = fellows is not None
        self.fellows: tuple[int, ...] = tuple(fellows or ())
        self.tick = 0
        self.room = room
        self.alive = True
        self.present: tuple[int, ...] = ()
        self.bodies: list[int] = []
        self.living = [True] * rules.players
        self.seen_tick = [LONG_AGO] * rules.players
        self.seen_room = [room] * rules.players
        self.witnessed: dict[int, int] = {}
        self.liars: set[int] = set()
        self.tasks = list(tasks)
        self.ready_at = 0
        self.in_reach = NOBODY
        self.buttons = buttons
        self.body: tuple[int, int] | None = None
        self.statements: list[Statement] = []
        self.ballots: tuple[Ballot, ...] = ()
