"""The rules: who stands where, whose paint is on which tile, and how a tick changes both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

STAY: Final = "stay"
MOVES: Final = {"right": (1, 0), "down": (0, 1), "left": (-1, 0), "up": (0, -1), STAY: (0, 0)}
BARE: Final = -1


class Canvas:
    """A grid of tiles, row by row, each with the seat whose paint is on it, or `BARE`.

    Seats start in opposite corners. Everybody moves at the same time, then paints the tile it stands on; of two on one tile
    the later keeps it, and they take turns at being the later. Nobody leaves the canvas: a step over the edge is none.
    """

    __slots__ = ("height", "owners", "places", "tick", "width")

    def __init__(self, width: int, height: int, seats: int) -> None:
        self.width = width
        self.height = height
        self.owners = [BARE] * (width * height)
        corners = [0, width * height - 1, (height - 1) * width, width - 1]
        self.places = corners[:seats]
        self.tick = 0

    def step(self, moves: Sequence[str]) -> None:
        """One tick: a move for every seat."""
        for seat, move in enumerate(moves):
            self.places[seat] = self._moved(self.places[seat], move)
        order = range(len(self.places)) if self.tick % 2 else reversed(range(len(self.places)))
        for seat in order:
            self.owners[self.places[seat]] = seat
        self.tick += 1

    def _moved(self, place: int, move: str) -> int:
        row, column = divmod(place, self.width)
        across, down = MOVES[move]
        column = min(max(column + across, 0), self.width - 1)
        row = min(max(row + down, 0), self.height - 1)
        return row * self.width + column

    def painted(self) -> list[int]:
        """How many tiles bear each seat's paint."""
        return [self.owners.count(seat) for seat in range(len(self.places))]

    def towards(self, place: int, target: int) -> str:
        """The move that leads from a tile to another: along the longer way first."""
        row, column = divmod(place, self.width)
        to_row, to_column = divmod(target, self.width)
        across, down = to_column - column, to_row - row
        if abs(across) >= abs(down) and across:
            return "right" if across > 0 else "left"
        if down:
            return "down" if down > 0 else "up"
        return STAY


def around(width: int, height: int, place: int, seat: int) -> Iterator[tuple[int, int]]:
    """All other tiles of a canvas as (steps away, tile), the nearest first.

    Of equally near ones, seats in opposite corners take opposite ones first: no corner is the better one.
    """
    row, column = divmod(place, width)
    for steps, down, across in _ways(width, height, -1 if seat % 2 else 1):
        if 0 <= row + down < height and 0 <= column + across < width:
            yield steps, place + down * width + across


@lru_cache(maxsize=16)
def _ways(width: int, height: int, first: int) -> tuple[tuple[int, int, int], ...]:
    """Every way from a tile to another as (steps, rows down, columns across), the shortest first; `first` turns ties round."""
    ways = [
        (abs(down) + abs(across), down, across)
        for down in range(1 - height, height)
        for across in range(1 - width, width)
        if down or across
    ]
    return tuple(sorted(ways, key=lambda way: (way[0], first * (way[1] * width + way[2]))))
