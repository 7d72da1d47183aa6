"""The rules: who stands where, who carries which flag, and how a tick changes both."""

from __future__ import annotations

from typing import Final

INTERLEAVED: Final = "interleaved"
BLOCKS: Final = "blocks"
SEATS: Final = 4
SIDES: Final = 2

Place = tuple[int, int]
"""Column and row."""


def side_of(seat: int, layout: str) -> int:
    """Whose side a seat is on: its parity, or in blocks the half that it is in."""
    return seat % SIDES if layout == INTERLEAVED else seat // (SEATS // SIDES)


class Field:
    """A grid with a base and a flag at the middle of either end.

    Whoever stands on the other side's base while its flag is there takes it; whoever is home with it has captured it. In the
    half of the other side a seat can be tagged by an opponent that stands on its tile or on the next one: it goes home,
    and what it carried goes back.
    """

    __slots__ = ("captures", "carriers", "height", "opponents", "places", "sides", "width")

    def __init__(self, width: int, height: int, layout: str) -> None:
        self.width = width
        self.height = height
        self.sides = tuple(side_of(seat, layout) for seat in range(SEATS))
        self.opponents = tuple(
            tuple(other for other, theirs in enumerate(self.sides) if theirs != side) for side in self.sides
        )
        """The seats of the other side, for each seat."""
        self.places: list[Place] = [self.base(side) for side in self.sides]
        self.carriers: list[int | None] = [None] * SIDES
        """The seat that has each side's flag; None while it is at its base."""
        self.captures = [0] * SIDES

    def base(self, side: int) -> Place:
        """Where a side's flag belongs."""
        return (self.width - 1 if side else 0), self.height // 2

    def intrudes(self, seat: int) -> bool:
        """Whether a seat is in the other side's half; the middle column is nobody's."""
        column, middle = self.places[seat][0], (self.width - 1) / 2
        return column < middle if self.sides[seat] else column > middle

    def distance(self, one: Place, other: Place) -> int:
        """Steps from a tile to another."""
        return abs(one[0] - other[0]) + abs(one[1] - other[1])

    def carries(self, seat: int) -> bool:
        """Whether a seat has the other side's flag."""
        return self.carriers[1 - self.sides[seat]] == seat

    def move(self, seat: int, place: Place) -> None:
        """Put a seat on a tile of the grid, and let it take or bring home a flag there."""
        self.places[seat] = place
        side = self.sides[seat]
        if self.carries(seat) and place == self.base(side):
            self.captures[side] += 1
            self.carriers[1 - side] = None
        elif self.carriers[1 - side] is None and place == self.base(1 - side):
            self.carriers[1 - side] = seat

    def tagged(self, seat: int) -> None:
        """Send a seat home, without what it carried."""
        if self.carries(seat):
            self.carriers[1 - self.sides[seat]] = None
        self.places[seat] = self.base(self.sides[seat])
