"""How episodes were found in the middle of 2026: league episodes by policy or by pool, those of requests by their request.

Pools held the games of a round, so many each. They were abolished on 2026-06-19.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from pytest_evalharness.arena.league.ids import Ids
from pytest_evalharness.arena.league.world import Game, Round
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire import replays, seen, shapes
from pytest_evalharness.arena.wire.bodies import prefixed
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.listing import Asked
from pytest_evalharness.arena.wire.parameters import BareId, BareIdQuery, DivisionIdQuery, PlayerIdQuery
from pytest_evalharness.arena.wire.refusals import invalid, not_found
from pytest_evalharness.arena.wire.seen import Seen
from pytest_evalharness.base.clock import iso

POOL_GAMES = 12
"""So many games a pool held."""

_PoolId = Annotated[str, Path(pattern=prefixed("pool"))]
_PoolIdQuery = Annotated[str | None, Query(pattern=prefixed("pool"))]
_RoundIdQuery = Annotated[str | None, Query(pattern=prefixed("round"))]


class PoolShape(TypedDict):
    """A pool."""

    id: str
    name: str
    round_id: str
    division_id: str
    status: str
    episode_count: int
    created_at: str


class RecordedPolicy(TypedDict):
    """A policy in a recorded episode."""

    name: str
    version: int


class PolicyResult(TypedDict):
    """A seat of a recorded episode."""

    position: int
    policy: RecordedPolicy


class RecordedEpisode(TypedDict):
    """A league episode as it was recorded."""

    id: str
    created_at: str
    replay_url: str | None
    policy_results: list[PolicyResult]
    game_stats: dict[str, float]
    tags: dict[str, str]


@dataclass(frozen=True)
class Pool:
    """Some games of a round."""

    id: str
    name: str
    round: Round
    games: Sequence[Game]


def pools(house: House) -> Iterator[Pool]:
    """All pools, those of the newest rounds first."""
    ids = Ids(house.desk.seed)
    for round_ in sorted(house.world.rounds, key=lambda each: (-each.created_at, each.id)):
        for number, start in enumerate(range(0, len(round_.games), POOL_GAMES), start=1):
            name = f"Round {round_.number}, pool {number}"
            pool_id = ids.prefixed("pool", round_.id, number)
            yield Pool(pool_id, name, round_, round_.games[start : start + POOL_GAMES])


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _pools(api, house)
    _filtered(api, house)
    _recorded(api, house)


def _pools(api: APIRouter, house: House) -> None:
    pages = house.dialect.pages
    wanted: Any = pages.asked(50, 200)

    def shown(pool: Pool) -> PoolShape:
        return {
            "id": pool.id,
            "name": pool.name,
            "round_id": pool.round.id,
            "division_id": pool.round.division.id,
            "status": pool.round.status,
            "episode_count": len(pool.games),
            "created_at": iso(pool.round.created_at),
        }

    @api.get("/v2/pools", response_model=pages.shape(PoolShape))
    async def listing(
        round_id: _RoundIdQuery = None, division_id: DivisionIdQuery = None, asked: Asked = wanted
    ) -> Response:
        found = [
            each
            for each in pools(house)
            if round_id in {None, each.round.id} and division_id in {None, each.round.division.id}
        ]
        return pages.answer(found, lambda each: each.id, asked, shown)

    @api.get("/v2/pools/{pool_id}", response_model=PoolShape)
    async def pool(pool_id: _PoolId) -> Response:
        found = next((each for each in pools(house) if each.id == pool_id), None)
        if found is None:
            raise not_found("Pool")
        return JSONResponse(shown(found))


def _filtered(api: APIRouter, house: House) -> None:
    pages = house.dialect.pages
    wanted: Any = pages.asked(50, 200)

    def games(pool_id: str | None, round_id: str | None) -> list[tuple[Round, Game]]:
        if pool_id is not None:
            found = next((each for each in pools(house) if each.id == pool_id), None)
            return [] if found is None else [(found.round, game) for game in found.games]
        rounds = sorted(house.world.rounds, key=lambda each: (-each.created_at, each.id))
        return [(each, game) for each in rounds if round_id in {None, each.id} for game in each.games]

    @api.get("/v2/episode-requests", response_model=pages.shape(shapes.EpisodeShape))
    async def filtered(
        pool_id: _PoolIdQuery = None,
        round_id: _RoundIdQuery = None,
        division_id: DivisionIdQuery = None,
        player_id: PlayerIdQuery = None,
        asked: Asked = wanted,
    ) -> Response:
        if pool_id is None and round_id is None and division_id is None and player_id is None:
            raise invalid(["query"], "one of pool_id, round_id, division_id, player_id is needed")
        rows = [
            (round_, game)
            for round_, game in games(pool_id, round_id)
            if round_id in {None, round_.id}
            and division_id in {None, round_.division.id}
            and (player_id is None or any(seat.player.id == player_id for seat in game.seats))
        ]
        return pages.answer(
            rows,
            lambda each: each[1].id,
            asked,
            lambda each: replays.episode(house, seen.of_round(house, *each).row),
        )


def _recorded(api: APIRouter, house: House) -> None:
    pages = house.dialect.pages
    wanted: Any = pages.asked(50, 200)

    @api.get("/episodes", response_model=pages.shape(RecordedEpisode))
    async def listing(policy_version_id: BareIdQuery = None, asked: Asked = wanted) -> Response:
        found = [
            (round_, game)
            for round_, game in reversed(house.world.game_by_id.values())
            if policy_version_id is None or any(seat.id == policy_version_id for seat in game.seats)
        ]
        found.sort(key=lambda each: -each[0].created_at)
        return pages.answer(
            found,
            lambda each: each[1].id,
            asked,
            lambda each: _record_of(house, seen.of_round(house, *each)),
        )

    @api.get("/episodes/{recorded_id}", response_model=RecordedEpisode)
    async def one(recorded_id: BareId) -> Response:
        played = house.world.game_by_id.get(f"ereq_{recorded_id}")
        if played is None:  # those of requests were not recorded as league episodes
            raise not_found("Episode")
        return JSONResponse(_record_of(house, seen.of_round(house, *played)))


def _record_of(house: House, episode: Seen) -> RecordedEpisode:
    row = replays.told(house, episode.row)
    stats = render.episode_stats(episode.seats, episode.results() or {}, episode.ticks or 0)
    return {
        "id": str(row["episode_id"]),
        "created_at": row["created_at"],
        "replay_url": row["replay_url"],
        "policy_results": [
            {"position": seat, "policy": {"name": version.policy_name, "version": version.number}}
            for seat, version in enumerate(episode.seats)
        ],
        "game_stats": stats["game_stats"],
        "tags": {"job_id": str(row["job_id"])},
    }
