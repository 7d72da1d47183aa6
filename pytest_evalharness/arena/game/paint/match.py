"""Playing one match: canvas and painters in, results and, if it is recorded, the moves of every tick out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.arena.game.paint.canvas import STAY, Canvas
from pytest_evalharness.arena.game.paint.painters import SKILLS, Painter
from pytest_evalharness.arena.game.streams import stream


@dataclass(frozen=True, slots=True)
class Match:
    """A finished match: results.json, its length, and of every tick the moves and the painted tiles of each seat."""

    results: dict[str, Any]
    ticks: int
    moves: list[tuple[str, ...]] = field(default_factory=list)
    painted: list[list[int]] = field(default_factory=list)


def play(
    config: Mapping[str, Any],
    builds: Sequence[str],
    seed: int,
    gone: Mapping[int, int],
    *,
    record: bool = False,
) -> Match:
    """Play a match. The same arguments give the same match, in every process and on every platform.

    Args:
        config: the whole configuration.
        builds: the build in each seat.
        seed: of all randomness in the match.
        gone: the tick from which a seat's player makes no move any more, for seats whose player fails.
        record: also keep what happened at every tick.

    Raises:
        KeyError: a build is not in the catalogue.
    """
    canvas = Canvas(config["width"], config["height"], len(builds))
    painters = [
        Painter(SKILLS[build], seat, stream(seed, f"paint/{seat}")) for seat, build in enumerate(builds)
    ]
    match = Match({}, config["max_ticks"])
    for tick in range(match.ticks):
        moves = tuple(
            STAY if tick >= gone.get(seat, match.ticks) else painter.move(canvas)
            for seat, painter in enumerate(painters)
        )
        canvas.step(moves)
        if record:
            match.moves.append(moves)
            match.painted.append(canvas.painted())
    painted = canvas.painted()
    match.results.update(scores=[float(tiles) for tiles in painted], painted_tiles=painted, ticks=match.ticks)
    return match
