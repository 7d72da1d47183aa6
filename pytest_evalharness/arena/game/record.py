"""What a match leaves behind while it is played: its inputs, and its events when they are wanted."""

from __future__ import annotations

from operator import itemgetter
from typing import Final, NamedTuple

from pytest_evalharness.arena.game.actions import NAMES, NOBODY

INPUT_WIDTH: Final = 5


class Input(NamedTuple):
    """One seat's input at the tick it changed; see `actions` for what argument and ticks mean."""

    tick: int
    seat: int
    action: str
    argument: int
    ticks: int


class Event(NamedTuple):
    """One row of the expanded event log; player -1 is the match itself."""

    ts: int
    player: int
    key: str
    value: dict[str, object]


class Recorder:
    """Collects inputs as a flat list of integers, five a row, and events only if asked to."""

    __slots__ = ("_events", "inputs", "wants_events")

    def __init__(self, *, wants_events: bool) -> None:
        self.inputs: list[int] = []
        self.wants_events = wants_events
        self._events: list[Event] = []

    def event(self, tick: int, player: int, key: str, name: str, value: object) -> None:
        """Note an event with a single-entry value."""
        if self.wants_events:
            self._events.append(Event(tick, player, key, {name: value}))

    def events(self, end: int, closing: int) -> tuple[Event, ...]:
        """All events in the order of their ticks: play until its end, and the game-over screen after it."""
        rows = sorted((event for event in self._events if event.ts <= end), key=itemgetter(0))
        rows.append(Event(end, NOBODY, "phase", {"phase": "game_over"}))
        rows.append(Event(end + closing, NOBODY, "trace_complete", {"complete": True}))
        return tuple(rows)


def unpack_inputs(flat: list[int]) -> tuple[Input, ...]:
    """The rows of a flat input log."""
    rows = zip(*(flat[column::INPUT_WIDTH] for column in range(INPUT_WIDTH)), strict=True)
    return tuple(
        Input(tick, seat, NAMES[kind], argument, ticks) for tick, seat, kind, argument, ticks in rows
    )
