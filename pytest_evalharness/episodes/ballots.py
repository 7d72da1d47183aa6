"""Votes: whom they were aimed at, and how often that was an imposter. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.episodes.results import SeatResults
from pytest_evalharness.episodes.untrusted import MOST_SEATS, whole

Ballot = int
"""The seat that a vote was aimed at, or one of the two below."""
SKIP: Ballot = -1
NOWHERE: Ballot = -2
"""A vote for something that is no seat."""
PALETTE = ("red", "blue", "green", "pink", "orange", "yellow", "purple", "cyan")
"""Colours of seats in their order, as long as a config gives seats no others."""


def target_of(word: Any) -> Ballot:
    """What a vote says: a colour, a seat's number (also as text), `skip`, or nothing that is known."""
    if isinstance(word, str):
        name = word.strip().lower()
        if name in {"skip", "none", "nobody"}:
            return SKIP
        if name in PALETTE:
            return PALETTE.index(name)
        word = int(name) if name.isascii() and name.isdigit() and len(name) <= len(str(MOST_SEATS)) else None
    seat = whole(word, 0, MOST_SEATS - 1)
    return NOWHERE if seat is None else seat


@dataclass(frozen=True)
class Accuracy:
    """How many votes at players there were, and how many of them were aimed at a true imposter."""

    hits: int
    votes: int

    @property
    def share(self) -> float | None:
        """Hits over votes; None without votes."""
        return self.hits / self.votes if self.votes else None


def accuracy(ballots: Iterable[Ballot], imposters: frozenset[int]) -> Accuracy:
    """The accuracy of some votes of one game; skips and votes for nothing that is known are left out."""
    aimed = [ballot for ballot in ballots if ballot >= 0]
    return Accuracy(sum(ballot in imposters for ballot in aimed), len(aimed))


def agrees(ballots: Sequence[Ballot], results: SeatResults, seat: int) -> bool:
    """Whether the votes that a seat's own records tell are those that the game counted.

    A policy that logs a vote at every tick it holds it, or not at all, tells nothing that could be trusted.
    """
    counted = (results.count("vote_players", seat), results.count("vote_skip", seat))
    return counted == (sum(one != SKIP for one in ballots), sum(one == SKIP for one in ballots))
