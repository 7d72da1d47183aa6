"""Who is to blame for an episode that was not played to its end, as far as the service tells. Pure.

Read are the episode's status, its error type, the seat that an error names, the timeouts in its results, and what became of the
players' processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalharness.episodes.error_info import Blame, blame_of
from pytest_evalharness.episodes.player_status import PlayerState
from pytest_evalharness.verdict.words import Attribution

if TYPE_CHECKING:
    from pytest_evalharness.league.records import EpisodeRecord

COMPLETED = "completed"


def attribution(episode: EpisodeRecord, seat: int) -> Attribution | None:
    """Who is to blame for an episode, seen from the tested seat; None if it was played to its end.

    In words: the tested seat's own failure is its policy's, whatever fails without it is the infrastructure's, which
    includes the game and the other seats, and what nobody explains is unknown.

    Args:
        episode: what the service reported.
        seat: the tested seat; where it is one of a side's, the side is meant: it has won or lost as a whole.
    """
    if episode.status == COMPLETED:
        return _of_completed(episode, seat)
    blame = blame_of(episode.error_type)
    if blame is Blame.PLAYER:
        return _of_a_player(episode, seat)
    if blame is not Blame.UNKNOWN or episode.status == "cancelled":
        return Attribution.INFRASTRUCTURE
    return Attribution.UNKNOWN


def _of_completed(episode: EpisodeRecord, seat: int) -> Attribution | None:
    """A game that has an end may hide a seat that never played it, or that broke on the way.

    A connection timeout ends a game as a draw that nobody played for: the timeouts tell it, whatever the scores say.
    """
    results, side = episode.told, episode.side_of(seat)
    if episode.won(seat) is None:
        return Attribution.UNKNOWN  # it has an end, and nothing tells which
    if results.timed_out:
        return Attribution.INFRASTRUCTURE if set(side).isdisjoint(results.timed_out) else Attribution.POLICY
    if episode.crashed(seat):
        return Attribution.POLICY
    status = episode.status_of_players
    ends = [] if status is None else [status.of(one) for one in side]
    if any(end is not None and end.state is PlayerState.NOT_STARTED for end in ends):
        return Attribution.UNKNOWN  # whoever played there, it was not this process
    return None


def _of_a_player(episode: EpisodeRecord, seat: int) -> Attribution:
    """An error that blames a player: the one it names, else the only one whose process failed."""
    side = episode.side_of(seat)
    if episode.failed_seat is not None:
        return Attribution.POLICY if episode.failed_seat in side else Attribution.INFRASTRUCTURE
    status = episode.status_of_players
    failed = [] if status is None else [player.slot for player in status.players if player.failed]
    if not failed or (len(failed) > 1 and not set(failed) <= set(side)):
        return Attribution.UNKNOWN
    return Attribution.POLICY if failed[0] in side else Attribution.INFRASTRUCTURE
