"""Routes of single episodes and what they left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from pytest_evalharness.arena.league.dispatch import order_of
from pytest_evalharness.arena.league.records import Episode, State
from pytest_evalharness.arena.league.referee import VARIANTS as GAME_VARIANTS
from pytest_evalharness.arena.league.referee import Order, Recorded
from pytest_evalharness.arena.league.world import Game, Round, Version
from pytest_evalharness.arena.wire import paging, shapes
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.parameters import (
    BareId,
    CoworldIdPath,
    Cursor,
    EpisodeId,
    Limit100,
    Position,
    RoundId,
    bad_cursor,
)
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.base.clock import iso


@dataclass(frozen=True)
class _Seen:
    """An episode as these routes see it, whether a request or a round asked for it."""

    row: shapes.EpisodeShape
    summary: shapes.SummaryShape
    seats: tuple[Version, ...]
    state: State
    ticks: int | None
    order: Order
    results: Callable[[], dict[str, Any] | None]
    ended_at: float | None
    error: dict[str, Any] | None


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _rows(api, house)
    _lists(api, house)
    _artifacts(api, house)
    _logs(api, house)


def _of_request(house: House, each: Episode) -> _Seen:
    error: dict[str, Any] | None = None
    if each.state is State.FAILED:
        error = {"error_type": each.error_type, "message": each.error}
        if each.blamed_seat is not None:
            error["failed_policy_index"] = each.blamed_seat
    return _Seen(
        row=render.episode(each, house.world.me),
        summary=render.summary(each),
        seats=each.seats,
        state=each.state,
        ticks=each.ticks,
        order=order_of(each),
        results=lambda: house.desk.results(each),
        ended_at=each.completed_at,
        error=error,
    )


def _of_round(house: House, round_: Round, game: Game) -> _Seen:
    variant = round_.division.league.variant or ""
    seats = [(version.player.key, version.build) for version in game.seats]
    return _Seen(
        row=render.round_episode(round_, game, house.world.machine),
        summary=render.round_summary(round_, game),
        seats=game.seats,
        state=State.COMPLETED,
        ticks=game.ticks,
        order=Order(GAME_VARIANTS[variant], seats, game.seed),
        results=lambda: game.results,
        ended_at=round_.completed_at,
        error=None,
    )


def _find(house: House, episode_id: str) -> _Seen:
    episode = house.desk.episode(episode_id)
    if episode is not None:
        return _of_request(house, episode)
    played = house.world.game_by_id.get(episode_id)
    if played is None:
        raise not_found("Episode request")
    return _of_round(house, *played)


def _results(seen: _Seen) -> dict[str, Any]:
    results = seen.results() if seen.state is State.COMPLETED else None
    if results is None:
        raise not_found("Artifact")
    return results


def _rows(api: APIRouter, house: House) -> None:
    @api.get("/v2/episode-requests/{episode_id}", response_model=shapes.EpisodeShape)
    async def row(episode_id: EpisodeId) -> Response:
        return JSONResponse(_find(house, episode_id).row)

    @api.get("/v2/episode-requests/{episode_id}/episode-stats", response_model=shapes.EpisodeStats)
    async def stats(episode_id: EpisodeId) -> Response:
        seen = _find(house, episode_id)
        return JSONResponse(render.episode_stats(seen.seats, _results(seen), seen.ticks or 0))


def _lists(api: APIRouter, house: House) -> None:
    world = house.world

    def everything() -> list[_Seen]:
        own = [_of_request(house, each) for request in house.desk.requests() for each in request.episodes]
        return own + [_of_round(house, *played) for played in world.game_by_id.values()]

    def page(rows: list[_Seen], limit: int, cursor: str | None) -> Response:
        try:
            shown, following = paging.page(rows, lambda each: each.row["id"], limit, cursor)
        except paging.BadCursorError as error:
            raise bad_cursor(error) from error
        return JSONResponse({"entries": [each.summary for each in shown], "next_cursor": following})

    @api.get("/v2/rounds/{round_id}/episode-requests", response_model=shapes.SummaryPage)
    async def of_round(round_id: RoundId, limit: Limit100 = 50, cursor: Cursor = None) -> Response:
        found = next((each for each in world.rounds if each.id == round_id), None)
        if found is None:
            raise not_found("Round")
        return page([_of_round(house, found, game) for game in found.games], limit, cursor)

    @api.get("/v2/policy-versions/{version_id}/episode-requests", response_model=shapes.SummaryPage)
    async def of_version(version_id: BareId, limit: Limit100 = 50, cursor: Cursor = None) -> Response:
        if version_id not in world.version_by_id:
            raise not_found("Policy version")
        rows = [each for each in everything() if any(seat.id == version_id for seat in each.seats)]
        return page(rows, limit, cursor)

    @api.get("/v2/coworlds/{coworld_id}/episode-requests", response_model=shapes.SummaryPage)
    async def of_coworld(
        coworld_id: CoworldIdPath, source: str | None = None, limit: Limit100 = 50, cursor: Cursor = None
    ) -> Response:
        rows = [each for each in everything() if each.row["coworld_id"] == coworld_id]
        if source is not None:
            rows = [
                each for each in rows if (each.row["round_id"] is None) == (source == "experience_request")
            ]
        return page(rows, limit, cursor)


def _artifacts(api: APIRouter, house: House) -> None:
    path = "/v2/episode-requests/{episode_id}/artifacts"

    @api.get(path + "/results")
    async def results(episode_id: EpisodeId) -> Response:
        return JSONResponse(_results(_find(house, episode_id)))

    @api.get(path + "/error-info")
    async def error_info(episode_id: EpisodeId) -> Response:
        seen = _find(house, episode_id)
        if seen.error is None:
            raise not_found("Artifact")
        return JSONResponse(seen.error)

    @api.get(path + "/game-config")
    async def game_config(episode_id: EpisodeId) -> Response:
        return JSONResponse(_find(house, episode_id).row["game_config"])

    @api.get(path + "/spec")
    async def spec(episode_id: EpisodeId) -> Response:
        row = _find(house, episode_id).row
        policies = [each["policy_version_id"] for each in row["participants"]]
        content = {"coworld_id": row["coworld_id"], "seed": row["seed"], "policies": policies}
        return JSONResponse({**content, "game_config": row["game_config"]})

    @api.get(path + "/player-status")
    async def player_status(episode_id: EpisodeId) -> Response:
        seen = _find(house, episode_id)
        if not seen.state.terminal:
            raise not_found("Artifact")
        played = seen.state is State.COMPLETED
        players = [
            {
                "slot": slot,
                "state": "exited" if played else "unavailable",
                "exit_code": 0 if played else None,
                "reason": "Completed" if played else None,
                "finished_at": iso(seen.ended_at) if played and seen.ended_at is not None else None,
            }
            for slot in range(len(seen.seats))
        ]
        return JSONResponse({"schema_version": "1", "players": players})


async def _record(house: House, seen: _Seen) -> Recorded:
    """Play the episode again: logs are not kept, the same seed writes the same ones."""
    if seen.state is not State.COMPLETED:
        raise not_found("Artifact")
    return await house.workers.record(seen.order)


def _seat(house: House, episode_id: str, version_id: str, position: int) -> _Seen:
    """An episode of which the user may read this seat.

    Raises:
        HTTPException: 404 if this version does not sit there, 403 if it is somebody else's.
    """
    seen = _find(house, episode_id)
    if position >= len(seen.seats) or seen.seats[position].id != version_id:
        raise not_found("Seat")
    if not house.world.owned(seen.seats[position]):
        raise HTTPException(403, "You can only read the logs of your own policies")
    return seen


def _logs(api: APIRouter, house: House) -> None:
    @api.get("/v2/episode-requests/{episode_id}/artifacts/logs")
    async def game_log(episode_id: EpisodeId) -> Response:
        return PlainTextResponse((await _record(house, _find(house, episode_id))).game_log)

    @api.get("/v2/episode-requests/{episode_id}/artifacts/{kind}", include_in_schema=False)
    async def unknown(episode_id: EpisodeId, kind: str) -> Response:
        _find(house, episode_id)
        if kind in {"replay", "debug", "events"}:
            raise not_found("Artifact")
        raise HTTPException(400, "Unknown artifact type")

    @api.get("/v2/episode-requests/{episode_id}/policy-artifacts", response_model=list[shapes.PolicyArtifact])
    async def policy_artifacts(episode_id: EpisodeId) -> Response:
        seen = _find(house, episode_id)
        rows: list[shapes.PolicyArtifact] = [
            {
                "position": position,
                "policy_version_id": version.id,
                "policy_name": version.policy_name,
                "has_log": seen.state is State.COMPLETED,
                "has_artifact": False,
            }
            for position, version in enumerate(seen.seats)
            if house.world.owned(version)
        ]
        return JSONResponse(rows)

    @api.get("/v2/episode-requests/{episode_id}/{version_id}/policy-logs/{position}")
    async def policy_log(episode_id: EpisodeId, version_id: BareId, position: Position) -> Response:
        recorded = await _record(house, _seat(house, episode_id, version_id, position))
        return PlainTextResponse(recorded.seat_logs[position])

    @api.get("/v2/episode-requests/{episode_id}/{version_id}/policy-artifact/{position}")
    async def policy_artifact(episode_id: EpisodeId, version_id: BareId, position: Position) -> Response:
        _seat(house, episode_id, version_id, position)
        raise not_found("Artifact")
