"""The dialects that the embedded league speaks: today's, and that of the middle of June 2026.

The second is the service as the runbook of 2026-06-15 knows it: creation by `roster` only, no cancel, no bulk reads, no change
feed and no manifest; lists cut by offsets or silently; artifacts from the job routes; reward points for scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import TypedDict

from pytest_evalharness.arena.wire import (
    routes_account,
    routes_bulk,
    routes_bundle,
    routes_episodes,
    routes_jobs,
    routes_june,
    routes_league,
    routes_manifest,
    routes_requests,
    shapes,
)
from pytest_evalharness.arena.wire.dialect import Dialect, Name, Said
from pytest_evalharness.arena.wire.listing import CursorEnvelope, CursorList, CutList, OffsetEnvelope


class LeaderboardObjectRow(TypedDict):
    """A row of a leaderboard in mid 2026."""

    rank: int
    player: shapes.PlayerShape
    mean_round_score: float
    rounds_played: int
    recent_rounds: list[shapes.RecentRoundShape]


class LeaderboardObject(TypedDict):
    """A leaderboard in mid 2026: an object."""

    entries: list[LeaderboardObjectRow]


_LATER_RESULTS = ("any_seat_voted_or_no_meeting", "mean_kills_per_imposter_seat", "mean_tasks_per_seat")
"""Scalars of results.json that came at the end of July 2026."""


def _without(said: Said, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in said.items() if key not in keys}


def _old_episode(said: Said) -> Said:
    """Participants had no `kind`."""
    return {**said, "participants": [_without(seat, "kind") for seat in said["participants"]]}


def _old_leaderboard(rows: Sequence[Said]) -> Said:
    return {
        "entries": [
            {
                **_without(row, "player_id", "player_name", "score"),
                "player": {"id": row["player_id"], "name": row["player_name"]},
                "mean_round_score": row["score"],
            }
            for row in rows
        ]
    }


def _old_results(said: Said) -> Said:
    return _without(said, *_LATER_RESULTS)


def _old_description(said: dict[str, Any]) -> dict[str, Any]:
    """The description of today's shapes, with what `_old_episode` leaves out left out."""
    components = said["components"]["schemas"]
    seat: Mapping[str, Any] = components["ParticipantShape"]
    old = {
        **seat,
        "properties": _without(seat["properties"], "kind"),
        "required": [name for name in seat["required"] if name != "kind"],
    }
    schemas = {**components, "ParticipantShape": old}
    return {**said, "components": {**said["components"], "schemas": schemas}}


CURRENT: Final = Dialect(
    name=Name.CURRENT,
    version="2026.9",
    routes=(
        routes_requests.add,
        routes_requests.add_cancel,
        routes_manifest.add,
        routes_bulk.add,  # before `{episode_id}`, which would take their names for ids
        routes_bundle.add,
        routes_episodes.add,
        routes_league.add,
        routes_account.add,
        routes_account.add_credits,
        routes_jobs.add_closed,
    ),
    pages=CursorEnvelope(),
    lists=CursorList(),
    versions=CursorEnvelope(),
    leaderboard_shape=list[shapes.LeaderboardShape],
    security={"bearer": {"type": "http", "scheme": "bearer"}},
)

JUNE_2026: Final = Dialect(
    name=Name.JUNE_2026,
    version="2026.6",
    routes=(
        routes_requests.add,
        routes_june.add,
        routes_episodes.add_rows,
        routes_league.add,
        routes_account.add,
        routes_jobs.add,
    ),
    pages=OffsetEnvelope(),
    lists=CutList(),
    versions=CutList(),
    leaderboard_shape=LeaderboardObject,
    # Both headers were taken; this is the one that tools of that time sent.
    security={"token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}},
    episode=_old_episode,
    results=_old_results,
    leaderboard=_old_leaderboard,
    describe=_old_description,
    packs_replays=True,
)

DIALECTS: Final = {dialect.name: dialect for dialect in (CURRENT, JUNE_2026)}
