"""``results.json``: the current score regime and the counters per seat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_evalharness.arena.game.ending import CREW_WINS, IMPOSTER_WINS, Ending
from pytest_evalharness.arena.game.simulation import Simulation

IMPOSTER_WIN: Final = 3
CREW_WIN: Final = 1


def results_of(match: Simulation, names: Sequence[str]) -> dict[str, object]:
    """The result object of a finished match: JSON values, arrays per slot, no other keys.

    An imposter's win scores 3, a crew member's 1, everything else 0. A connect or disconnect timeout leaves the
    match without winners.
    """
    seats = range(match.players)
    imposter = [int(seat in match.imposters) for seat in seats]
    win = [match.ending in (IMPOSTER_WINS if imposter[seat] else CREW_WINS) for seat in seats]
    voted = sum(match.vote_players) + sum(match.vote_skip)
    killers = max(1, len(match.imposters))
    return {
        "names": list(names),
        "scores": [(IMPOSTER_WIN if imposter[seat] else CREW_WIN) if win[seat] else 0 for seat in seats],
        "win": win,
        "tasks": list(match.tasks_done),
        "kills": list(match.kills),
        "imposter": imposter,
        "crew": [1 - flag for flag in imposter],
        "vote_players": list(match.vote_players),
        "vote_skip": list(match.vote_skip),
        "vote_timeout": list(match.vote_timeout),
        "connect_timeout": _flags(match, Ending.CONNECT_TIMEOUT, match.absent),
        "disconnect_timeout": _flags(match, Ending.DISCONNECT_TIMEOUT, match.dropped()),
        "any_seat_voted_or_no_meeting": match.meetings == 0 or voted > 0,
        "mean_kills_per_imposter_seat": sum(match.kills) / killers,
        "mean_tasks_per_seat": sum(match.tasks_done) / max(1, match.players),
    }


def _flags(match: Simulation, ending: Ending, seats: Sequence[int]) -> list[int]:
    return [int(match.ending is ending and seat in seats) for seat in range(match.players)]
