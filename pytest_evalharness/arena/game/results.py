"""``results.json``: scores, wins, roles and the counters per seat."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_evalharness.arena.game.ending import Ending
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.game.simulation import Simulation


def results_of(match: Simulation, names: Sequence[str], scoring: Scoring) -> dict[str, object]:
    """The result object of a finished match: JSON values, arrays per slot, no other keys."""
    seats = range(match.players)
    imposter = [int(seat in match.imposters) for seat in seats]
    voted = sum(match.vote_players) + sum(match.vote_skip)
    killers = max(1, len(match.imposters))
    return {
        "names": list(names),
        "scores": scoring.scores(match),
        "win": scoring.wins(match),
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
