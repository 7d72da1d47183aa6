"""Who is to blame for an episode that was not played to its end, as far as the service tells. Pure.

What is read today: the episode's status, its error type, the seat that an error names, and the timeouts in its results. A
player's status (exit code and reason of its process) would turn some unknown causes into known ones, and is read nowhere yet:
whoever reads it keeps it in the record, and judges it here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalharness.verdict.words import Attribution

if TYPE_CHECKING:
    from pytest_evalharness.league.records import EpisodeRecord

COMPLETED = "completed"
BLAMES_A_PLAYER = frozenset({"player_error", "players_missing"})
"""Error types of a player's failure; which seat it was is told beside them, or not."""
_NO_PLAYERS_FAULT = frozenset({
    "platform_error", "episode_inconclusive", "player_never_started", "worker_error", "worker_oom", "config_error",
    "player_file_unavailable", "player_file_mismatch", "node_disruption", "dispatch_failed", "round_failed", "cancelled",
    # The game's own failures: not the infrastructure's in the narrow sense, and not the tested policy's either.
    "game_unhealthy", "game_contract_violation", "results_missing", "results_malformed", "replay_missing",
    "replay_unloadable", "oom", "game_error", "crash", "episode_timeout",
})  # fmt: skip
"""Error types that blame no player. A word that is in neither list is an unknown cause."""


def attribution(episode: EpisodeRecord, seat: int) -> Attribution | None:
    """Who is to blame for an episode, seen from the tested seat; None if it was played to its end.

    In words: the tested seat's own failure is its policy's, whatever fails without it is the infrastructure's, which
    includes the game and the other seats, and what nobody explains is unknown.

    Args:
        episode: what the service reported.
        seat: the tested seat.
    """
    if episode.status == COMPLETED:
        return _of_completed(episode, seat)
    if episode.error_type in BLAMES_A_PLAYER and episode.failed_seat is not None:
        return Attribution.POLICY if episode.failed_seat == seat else Attribution.INFRASTRUCTURE
    if episode.error_type in _NO_PLAYERS_FAULT or episode.status == "cancelled":
        return Attribution.INFRASTRUCTURE
    return Attribution.UNKNOWN


def _of_completed(episode: EpisodeRecord, seat: int) -> Attribution | None:
    """A connection timeout ends a game as a draw that nobody played for, and with a false `win` for every seat."""
    wins = (episode.results or {}).get("win")
    if not isinstance(wins, list) or seat >= len(wins):
        return Attribution.UNKNOWN  # it has an end, and nothing tells which
    if any(wins) or not episode.anyone_dropped:
        return None
    return Attribution.POLICY if episode.dropped(seat) else Attribution.INFRASTRUCTURE
