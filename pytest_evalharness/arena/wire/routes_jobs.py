"""The job routes: how artifacts were read until mid 2026. Today they are there for the service's own team only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.faults import payloads
from pytest_evalharness.arena.wire import inventory, replays, seen, shapes
from pytest_evalharness.arena.wire.delivery import Delivery
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.inventory import Category, Piece
from pytest_evalharness.arena.wire.parameters import BareId, EpisodeId
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.arena.wire.routes_episodes import piece_of, stats_of
from pytest_evalharness.arena.wire.seen import Seen

_Kind = Annotated[str, Path(max_length=100)]
_Index = Annotated[int, Path(ge=0, le=63)]
_JOB = "/jobs/{job_id}"


def add_closed(api: APIRouter, house: House) -> None:
    """Turn everybody away: nobody here is in the team."""
    del house

    @api.api_route("/jobs/{path:path}", methods=["GET", "POST"], include_in_schema=False)
    async def jobs(path: str) -> Response:
        del path
        raise HTTPException(403, "Not a team member")


def add(api: APIRouter, house: House) -> None:
    """Add the routes, open to everybody who may see the episode, with the logs of all seats."""
    _artifacts(api, house)
    _logs(api, house)
    _few_kinds(api, house)


def _artifacts(api: APIRouter, house: House) -> None:
    @api.get(_JOB + "/artifacts/{artifact_type}")
    async def artifact(request: Request, job_id: BareId, artifact_type: _Kind) -> Response:
        return await _artifact(house, request, _by_job(house, job_id), artifact_type)

    @api.get(_JOB + "/episode-stats", response_model=shapes.EpisodeStats)
    async def stats(job_id: BareId) -> Response:
        return JSONResponse(stats_of(house, _by_job(house, job_id)))


async def _artifact(house: House, request: Request, episode: Seen, kind: str) -> Response:
    """One artifact. Its kinds are spelt with underscores here."""
    if kind == "results":
        return JSONResponse(seen.results_of(house, episode))
    if kind == "error_info":
        return JSONResponse(seen.error_of(house, episode))
    if kind == "logs":
        return await piece_of(house, request, episode, Piece("game_logs"))
    if kind == "replay":
        return Delivery(house, await replays.content(house, episode, packed=True), request)
    raise HTTPException(400, "Unknown artifact type")


def _logs(api: APIRouter, house: House) -> None:
    @api.get(_JOB + "/policy-logs", response_model=list[str])
    async def policy_logs(job_id: BareId) -> Response:
        return JSONResponse(_names(house, _by_job(house, job_id), "player_logs"))

    @api.get(_JOB + "/policy-logs/{index}")
    async def policy_log(request: Request, job_id: BareId, index: _Index) -> Response:
        episode = _by_job(house, job_id)
        if index >= len(episode.seats):
            raise not_found("Log")
        return await piece_of(house, request, episode, Piece("player_logs", index))

    @api.get(_JOB + "/policy-artifact", response_model=list[str])
    async def policy_artifacts(job_id: BareId) -> Response:
        return JSONResponse(_names(house, _by_job(house, job_id), "player_artifact"))

    @api.get(_JOB + "/policy-artifact/{index}")
    async def policy_artifact(request: Request, job_id: BareId, index: _Index) -> Response:
        episode = _by_job(house, job_id)
        if index >= len(episode.seats) or not house.world.owned(episode.seats[index]):
            raise not_found("Artifact")
        return await piece_of(house, request, episode, Piece("player_artifact", index))


def _names(house: House, episode: Seen, category: Category) -> list[str]:
    """The names of what the seats left: the logs of all of them, the uploads of the user's own policies."""
    every = [
        Piece(category, seat)
        for seat, version in enumerate(episode.seats)
        if category == "player_logs" or house.world.owned(version)
    ]
    there = [piece for piece in every if inventory.stand(house, episode, piece) in ("ready", "unavailable")]
    if house.faults.value("hostile-files") is not None:
        return [payloads.file_name(place) for place, _ in enumerate(there)]
    return [piece.filename for piece in there]


def _few_kinds(api: APIRouter, house: House) -> None:
    """Episodes had a route for artifacts too, which knew hardly any: what a game leaves was to be had of its job only."""

    @api.get("/v2/episode-requests/{episode_id}/artifacts/{artifact_type}")
    async def artifact(episode_id: EpisodeId, artifact_type: _Kind) -> Response:
        row = seen.find(house, episode_id).row
        if artifact_type == "game-config":
            return JSONResponse(row["game_config"])
        raise HTTPException(400, "Unknown artifact type")


def _by_job(house: House, job_id: str) -> Seen:
    """The episode that a job played.

    Raises:
        HTTPException: 404.
    """
    found = replays.by_job(house, job_id)
    if found is not None:
        return found
    raise not_found("Job")
