"""Per-seat logs: what a policy would print about its own play, one line an input."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from pytest_evalharness.arena.game.record import Event, Input
from pytest_evalharness.arena.game.simulation import Simulation
from pytest_evalharness.arena.game.station import ROOMS

_OF_ROOM = ("move", "vent")
_OF_SEAT = ("stalk", "kill", "report")


def seat_logs(
    match: Simulation, events: Sequence[Event], inputs: Sequence[Input]
) -> tuple[tuple[str, ...], ...]:
    """The log of every seat: its role, its inputs and what it was told, in the order of ticks."""
    lines: list[list[tuple[int, str]]] = [
        [(0, f"connected as slot {seat}"), (match.config.start_wait_ticks, f"role: {_role(match, seat)}")]
        for seat in range(match.players)
    ]
    for row in inputs:
        lines[row.seat].append((row.tick, _describe(row)))
    for event in events:
        if event.key == "phase":
            for log in lines:
                log.append((event.ts, f"phase: {event.value['phase']}"))
        elif event.key in ("died", "completed_task"):
            lines[event.player].append((event.ts, event.key.replace("_", " ")))
    return tuple(
        tuple(f"[{tick:>6}] {text}" for tick, text in sorted(log, key=itemgetter(0))) for log in lines
    )


def _role(match: Simulation, seat: int) -> str:
    fellows = match.seen[seat].fellows
    if not match.seen[seat].imposter:
        return "crew"
    return "imposter" + "".join(f", with slot {fellow}" for fellow in fellows)


def _describe(row: Input) -> str:
    if row.action in _OF_ROOM:
        return f"{row.action} to {ROOMS[row.argument]} ({row.ticks} ticks)"
    if row.action in _OF_SEAT:
        return f"{row.action} slot {row.argument}"
    if row.action == "vote":
        return "voting to skip" if row.argument < 0 else f"voting for slot {row.argument}"
    if row.action == "say":
        return f"saying: was in {ROOMS[row.ticks % len(ROOMS)]}, accusing {row.argument if row.argument >= 0 else 'nobody'}"
    return f"{row.action} ({row.ticks} ticks)"
