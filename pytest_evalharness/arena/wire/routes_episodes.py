"""Routes of single episodes and what they left behind."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire import inventory, left_behind, replays, seen, shapes
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire.delivery import Delivery
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.inventory import Piece
from pytest_evalharness.arena.wire.listing import Asked
from pytest_evalharness.arena.wire.parameters import (
    BareId,
    CoworldIdPath,
    EpisodeId,
    Position,
    RoundId,
)
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.arena.wire.seen import Choice, Seen


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    add_rows(api, house)
    _stats(api, house)
    _lists(api, house)
    _artifacts(api, house)
    _logs(api, house)


def add_rows(api: APIRouter, house: House) -> None:
    """Add the route of an episode's row."""

    @api.get("/v2/episode-requests/{episode_id}", response_model=shapes.EpisodeShape)
    async def row(episode_id: EpisodeId) -> Response:
        return JSONResponse(replays.episode(house, seen.find(house, episode_id).row))


def _stats(api: APIRouter, house: House) -> None:
    @api.get("/v2/episode-requests/{episode_id}/episode-stats", response_model=shapes.EpisodeStats)
    async def stats(episode_id: EpisodeId) -> Response:
        return JSONResponse(stats_of(house, seen.find(house, episode_id)))


def stats_of(house: House, episode: Seen) -> shapes.EpisodeStats:
    """An episode's numbers.

    Raises:
        HTTPException: 404 if it has none.
    """
    return render.episode_stats(episode.seats, seen.results_of(house, episode), episode.ticks or 0)


def _lists(api: APIRouter, house: House) -> None:
    world, pages = house.world, house.dialect.pages
    wanted: Any = pages.asked(50, 100)
    shape = pages.shape(shapes.SummaryShape)

    def answer(rows: list[Choice], asked: Asked) -> Response:
        return pages.answer(rows, lambda each: each.id, asked, lambda each: replays.told(house, each.summary))

    @api.get("/v2/rounds/{round_id}/episode-requests", response_model=shape)
    async def of_round(round_id: RoundId, asked: Asked = wanted) -> Response:
        found = next((each for each in world.rounds if each.id == round_id), None)
        if found is None:
            raise not_found("Round")
        return answer([Choice(game.id, State.COMPLETED, (found, game)) for game in found.games], asked)

    @api.get("/v2/policy-versions/{version_id}/episode-requests", response_model=shape)
    async def of_version(version_id: BareId, asked: Asked = wanted) -> Response:
        if version_id not in world.version_by_id:
            raise not_found("Policy version")
        rows = seen.everything(house)
        return answer([each for each in rows if any(seat.id == version_id for seat in each.seats)], asked)

    @api.get("/v2/coworlds/{coworld_id}/episode-requests", response_model=shape)
    async def of_coworld(
        coworld_id: CoworldIdPath, source: str | None = None, asked: Asked = wanted
    ) -> Response:
        rows = [each for each in seen.everything(house) if each.coworld.id == coworld_id]
        if source is not None:
            rows = [each for each in rows if each.of_round == (source != "experience_request")]
        return answer(rows, asked)


def _artifacts(api: APIRouter, house: House) -> None:
    path = "/v2/episode-requests/{episode_id}/artifacts"

    @api.get(path + "/results")
    async def results(episode_id: EpisodeId) -> Response:
        return JSONResponse(seen.results_of(house, seen.find(house, episode_id)))

    @api.get(path + "/error-info")
    async def error_info(episode_id: EpisodeId) -> Response:
        return JSONResponse(seen.error_of(house, seen.find(house, episode_id)))

    @api.get(path + "/game-config")
    async def game_config(episode_id: EpisodeId) -> Response:
        return JSONResponse(seen.find(house, episode_id).row["game_config"])

    @api.get(path + "/spec")
    async def spec(episode_id: EpisodeId) -> Response:
        row = seen.find(house, episode_id).row
        policies = [each["policy_version_id"] for each in row["participants"]]
        content = {"coworld_id": row["coworld_id"], "seed": row["seed"], "policies": policies}
        return JSONResponse({**content, "game_config": row["game_config"]})

    @api.get(path + "/player-status")
    async def player_status(episode_id: EpisodeId) -> Response:
        return JSONResponse(left_behind.player_status(seen.find(house, episode_id)))


def _logs(api: APIRouter, house: House) -> None:
    @api.get("/v2/episode-requests/{episode_id}/artifacts/logs")
    async def game_log(request: Request, episode_id: EpisodeId) -> Response:
        return await piece_of(house, request, seen.find(house, episode_id), Piece("game_logs"))

    @api.get("/v2/episode-requests/{episode_id}/artifacts/replay")
    async def replay(request: Request, episode_id: EpisodeId) -> Response:
        return await piece_of(house, request, seen.find(house, episode_id), Piece("replay"))

    @api.get("/v2/episode-requests/{episode_id}/artifacts/{kind}", include_in_schema=False)
    async def unknown(episode_id: EpisodeId, kind: str) -> Response:
        seen.find(house, episode_id)
        if kind in {"debug", "events"}:
            raise not_found("Artifact")
        raise HTTPException(400, "Unknown artifact type")

    @api.get("/v2/episode-requests/{episode_id}/policy-artifacts", response_model=list[shapes.PolicyArtifact])
    async def policy_artifacts(episode_id: EpisodeId) -> Response:
        episode = seen.find(house, episode_id)
        rows: list[shapes.PolicyArtifact] = [
            {
                "position": position,
                "policy_version_id": version.id,
                "policy_name": version.policy_name,
                "has_log": inventory.left(episode, Piece("player_logs", position)),
                "has_artifact": inventory.left(episode, Piece("player_artifact", position)),
            }
            for position, version in enumerate(episode.seats)
            if house.world.owned(version)
        ]
        return JSONResponse(rows)

    @api.get("/v2/episode-requests/{episode_id}/{version_id}/policy-logs/{position}")
    async def policy_log(
        request: Request, episode_id: EpisodeId, version_id: BareId, position: Position
    ) -> Response:
        episode = seen.seat(house, episode_id, version_id, position)
        return await piece_of(house, request, episode, Piece("player_logs", position))

    @api.get("/v2/episode-requests/{episode_id}/{version_id}/policy-artifact/{position}")
    async def policy_artifact(
        request: Request, episode_id: EpisodeId, version_id: BareId, position: Position
    ) -> Response:
        episode = seen.seat(house, episode_id, version_id, position)
        return await piece_of(house, request, episode, Piece("player_artifact", position))


async def piece_of(house: House, request: Request, episode: Seen, piece: Piece) -> Response:
    """A piece of what an episode left.

    Raises:
        HTTPException: 404 if it is not there, 403 if it is refused.
    """
    return Delivery(house, await inventory.content(house, episode, piece), request)
