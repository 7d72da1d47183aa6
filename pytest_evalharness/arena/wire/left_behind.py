"""What an episode leaves beside its results: what became of the players' processes, and what they uploaded."""

from __future__ import annotations

from typing import Any

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Recorded
from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.arena.wire.seen import Seen
from pytest_evalharness.base.clock import iso

_ENDED = {"state": "exited", "exit_code": 0, "reason": "Completed"}
_BROKE = {"state": "exited", "exit_code": 1, "reason": "Error"}
_NEVER = {"state": "not_started", "exit_code": None, "reason": None}
_UNKNOWN = {"state": "unavailable", "exit_code": None, "reason": None}


def player_status(seen: Seen) -> dict[str, Any]:
    """The `player-status` artifact.

    A process ends with its game, unless it failed: then as long before the end as the game went on without it, at the pace
    of hosted games. Of an episode that failed only the process that is to blame is known.

    Raises:
        HTTPException: 404 while the episode has not ended.
    """
    if not seen.state.terminal:
        raise not_found("Artifact")
    return {
        "schema_version": "1",
        "players": [{"slot": slot, **_process(seen, slot)} for slot in range(len(seen.seats))],
    }


def _process(seen: Seen, slot: int) -> dict[str, Any]:
    if seen.state is not State.COMPLETED:
        blamed = (seen.error or {}).get("failed_policy_index") == slot
        return {
            **(_BROKE if blamed else _UNKNOWN),
            "finished_at": _instant(seen.ended_at if blamed else None),
        }
    mishap = dict(seen.order.mishaps).get(slot)
    if mishap == "connect":
        return {**_NEVER, "finished_at": None}
    if mishap is None or seen.ended_at is None:
        return {**_ENDED, "finished_at": _instant(seen.ended_at)}
    game = GAMES[seen.order.game]
    without = game.seconds(seen.row["game_config"] or {}, max(0, (seen.ticks or 0) - game.gone_at))
    return {**_BROKE, "finished_at": _instant(seen.ended_at - without)}


def _instant(at: float | None) -> str | None:
    return None if at is None else iso(at)


def uploads(seen: Seen, slot: int) -> bool:
    """Whether the policy in a seat uploads telemetry: all do that lived to see their game's end."""
    return seen.state is State.COMPLETED and slot not in dict(seen.order.mishaps)


def upload(seen: Seen, slot: int, recorded: Recorded) -> bytes:
    """What the policy in a seat uploaded."""
    silent = seen.seats[slot].label in seen.silent
    return (recorded.silent_uploads if silent else recorded.uploads)[slot]
