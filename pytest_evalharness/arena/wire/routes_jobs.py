"""The job routes: how artifacts were read until mid 2026. Today they are there for the service's own team only."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire import left_behind, seen, shapes
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.parameters import BareId, EpisodeId
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.arena.wire.routes_episodes import stats_of
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
    async def artifact(job_id: BareId, artifact_type: _Kind) -> Response:
        return await _artifact(house, _by_job(house, job_id), artifact_type)

    @api.get(_JOB + "/episode-stats", response_model=shapes.EpisodeStats)
    async def stats(job_id: BareId) -> Response:
        return JSONResponse(stats_of(house, _by_job(house, job_id)))


async def _artifact(house: House, episode: Seen, kind: str) -> Response:
    """One artifact. Its kinds are spelt with underscores here."""
    if kind == "results":
        return JSONResponse(seen.results_of(house, episode))
    if kind == "error_info":
        return JSONResponse(seen.error_of(house, episode))
    if kind == "logs":
        return PlainTextResponse((await seen.record(house, episode)).game_log)
    if kind == "replay":
        raise not_found("Artifact")
    raise HTTPException(400, "Unknown artifact type")


def _logs(api: APIRouter, house: House) -> None:
    @api.get(_JOB + "/policy-logs", response_model=list[str])
    async def policy_logs(job_id: BareId) -> Response:
        episode = _by_job(house, job_id)
        written = range(len(episode.seats)) if episode.state is State.COMPLETED else ()
        return JSONResponse([f"policy_agent_{seat}.log" for seat in written])

    @api.get(_JOB + "/policy-logs/{index}")
    async def policy_log(job_id: BareId, index: _Index) -> Response:
        recorded = await seen.record(house, _by_job(house, job_id))
        if index >= len(recorded.seat_logs):
            raise not_found("Log")
        return PlainTextResponse(recorded.seat_logs[index])

    @api.get(_JOB + "/policy-artifact", response_model=list[str])
    async def policy_artifacts(job_id: BareId) -> Response:
        uploaded = _uploaded(house, _by_job(house, job_id))
        return JSONResponse([f"policy_artifact_{seat}.zip" for seat in uploaded])

    @api.get(_JOB + "/policy-artifact/{index}")
    async def policy_artifact(job_id: BareId, index: _Index) -> Response:
        episode = _by_job(house, job_id)
        if index not in _uploaded(house, episode):
            raise not_found("Artifact")
        content = left_behind.upload(episode, index, await seen.record(house, episode))
        return Response(content, media_type="application/zip")


def _uploaded(house: House, episode: Seen) -> list[int]:
    """The seats of the user's own policies that uploaded something of their play."""
    return [
        seat
        for seat, version in enumerate(episode.seats)
        if house.world.owned(version) and left_behind.uploads(episode, seat)
    ]


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
    for request in house.desk.requests():
        for each in request.episodes:
            if render.job_id(each.id) == job_id and each.state is not State.PENDING:
                return seen.of_request(house, each)
    for played in house.world.game_by_id.values():
        if render.job_id(played[1].id) == job_id:
            return seen.of_round(house, *played)
    raise not_found("Job")
