"""What a match is worth: the league has counted in two ways, and with them changed who wins at the time limit."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from pytest_evalharness.arena.game.ending import CREW_WINS, IMPOSTER_WINS, Ending

if TYPE_CHECKING:
    from pytest_evalharness.arena.game.simulation import Simulation

IMPOSTER_WIN: Final = 3
CREW_WIN: Final = 1

_WIN, _KILL, _TASK, _VOTE_TIMEOUT, _NO_SHOW = 100, 10, 1, -10, -100


class Scoring(StrEnum):
    """How a seat's score comes about, and which sides an ending lets win.

    `OUTCOME`: an imposter's win scores 3, a crew member's 1, all else 0; at the time limit the crew wins.
    `REWARD`: points add up (a win 100, a kill 10, a task 1, a vote that ran out of time -10, never connecting -100); at
    the time limit nobody wins. The service also took a point for standing still, which no match here counts.
    """

    OUTCOME = "outcome"
    REWARD = "reward"

    def wins(self, match: Simulation) -> list[bool]:
        """Who has won a finished match, per seat. A connect or disconnect timeout leaves it without winners."""
        ending = match.ending
        crew = ending in CREW_WINS and not (self is Scoring.REWARD and ending is Ending.TIME_LIMIT)
        return [ending in IMPOSTER_WINS if seat in match.imposters else crew for seat in range(match.players)]

    def scores(self, match: Simulation) -> list[int]:
        """Each seat's score in a finished match."""
        seats = range(match.players)
        absent = match.absent if match.ending is Ending.CONNECT_TIMEOUT else ()
        return self.points(
            {
                "win": self.wins(match),
                "imposter": [seat in match.imposters for seat in seats],
                "kills": match.kills,
                "tasks": match.tasks_done,
                "vote_timeout": match.vote_timeout,
                "connect_timeout": [seat in absent for seat in seats],
            }
        )

    def points(self, results: Mapping[str, Any]) -> list[int]:
        """Each seat's score, from the other lists of a results.json."""
        lists = (
            results[key] for key in ("win", "imposter", "kills", "tasks", "vote_timeout", "connect_timeout")
        )
        seats = zip(*lists, strict=True)
        if self is Scoring.OUTCOME:
            return [(IMPOSTER_WIN if imposter else CREW_WIN) if win else 0 for win, imposter, *_ in seats]
        return [
            _WIN * win + _KILL * kills + _TASK * tasks + _VOTE_TIMEOUT * late + _NO_SHOW * absent
            for win, _, kills, tasks, late, absent in seats
        ]
