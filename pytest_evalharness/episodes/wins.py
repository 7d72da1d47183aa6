"""Who won a game, by the definition that was declared: one win or none for a side, however many seats it has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pytest_evalharness.episodes.results import SeatResults
from pytest_evalharness.verdict import wins


@dataclass(frozen=True)
class Reading:
    """How the results of a game are read.

    Attributes:
        win: when a side has won, as it was declared.
        sides: the side of each seat. The games are read for a side: it is what wins, ties or loses.
        own_scale: whether scores are on a scale of the game's own, about which nothing is known.
        said: episode id → whether the tested side won, where a function says so; None while it was not asked.
    """

    win: str
    sides: tuple[int, ...]
    own_scale: bool
    said: Mapping[str, bool] | None = None

    @cached_property
    def _seats(self) -> Mapping[int, tuple[int, ...]]:
        return {
            side: tuple(seat for seat, one in enumerate(self.sides) if one == side)
            for side in dict.fromkeys(self.sides)
        }

    def with_seat(self, seat: int) -> tuple[int, ...]:
        """The seats of a seat's side, the seat itself included."""
        return self._seats[self.sides[seat]]

    def won(self, episode: str, results: SeatResults, seat: int) -> bool | None:
        """Whether a seat's side won; None where nothing tells it. A tie is no win.

        Args:
            episode: the episode's id.
            results: what it left.
            seat: a seat of the side.
        """
        if self.win == wins.LISTED:
            return self._listed(results, seat)
        own = self.score(results, seat)
        if wins.is_threshold(self.win):
            return None if own is None else wins.reaches(self.win, own)
        if self.win != wins.HIGHEST:
            return bool(self._listed(results, seat)) if self.said is None else self.said.get(episode)
        scores = self._scores(results)
        if own is None or None in scores.values():
            return None
        return all(
            own > other
            for side, other in scores.items()
            if side != self.sides[seat] and other is not None  # there is none
        )

    def tied(self, results: SeatResults, seat: int) -> bool:
        """Whether a seat's side shares the highest score with another; False where that cannot be told."""
        scores = self._scores(results)
        known = [score for score in scores.values() if score is not None]
        return (
            len(known) == len(scores)
            and scores[self.sides[seat]] == max(known)
            and known.count(max(known)) > 1
        )

    def score(self, results: SeatResults, seat: int) -> float | None:
        """The mean score of the seats of a seat's side; None where one of them tells none."""
        told = [results.score(one) for one in self.with_seat(seat)]
        known = [score for score in told if score is not None]
        return sum(known) / len(known) if len(known) == len(told) else None

    def _scores(self, results: SeatResults) -> dict[int, float | None]:
        return {side: self.score(results, seats[0]) for side, seats in self._seats.items()}

    def _listed(self, results: SeatResults, seat: int) -> bool | None:
        """What the list says of all seats of a side; None where it says nothing, or not the same of all of them."""
        told = {results.won(one) for one in self.with_seat(seat)}
        return next(iter(told)) if len(told) == 1 else None
