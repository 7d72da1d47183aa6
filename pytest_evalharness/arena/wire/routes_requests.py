"""Routes of experience requests: create, read, list, cancel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.league.desk import AlreadyOverError, KeyConflictError
from pytest_evalharness.arena.league.records import Request as GameRequest
from pytest_evalharness.arena.league.roster import UnresolvableError
from pytest_evalharness.arena.wire import paging, shapes
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire.bodies import CreateExperienceRequest
from pytest_evalharness.arena.wire.connection import reset
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.parameters import Cursor, Limit50, Limit200, RequestId, bad_cursor
from pytest_evalharness.arena.wire.refusals import invalid, not_found

KEY = "idempotency_key"
_PATH = "/v2/experience-requests"


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _create(api, house)
    _read(api, house)
    _cancel(api, house)


def visible(house: House, request_id: str) -> GameRequest:
    """The request, if it can be read by now.

    Raises:
        HTTPException: 404.
    """
    found = house.desk.request(request_id)
    if found is None:
        raise not_found("Experience request")
    return found


def _shown(house: House, told: Mapping[str, Any]) -> dict[str, Any]:
    """A request as it is told at the moment."""
    if house.faults.value("hidden-notes") is None:
        return dict(told)
    return {key: value for key, value in told.items() if key not in {"notes", "requested"}}


def _refuse(house: House, body: CreateExperienceRequest) -> None:
    """What the schema allows, but this server or this user is not given."""
    status = house.faults.value("reject-body")
    if status == 422:  # noqa: PLR2004 - the status the fault names
        raise invalid(["body", "roster"], "Field required", "missing")
    if status is not None:
        raise HTTPException(status, "game_config_overrides: slots: this variant does not take forced roles")
    if body.llm_routing_override is not None or body.reporters:
        raise HTTPException(403, "llm_routing_override and reporters are for team members")
    if body.execution_backend == "antfarm":
        raise HTTPException(400, "execution_backend antfarm is not enabled")
    if body.game_config_overlay_secret is not None or body.state is not None:
        raise HTTPException(400, "this coworld has neither overlay secrets nor states")


def _create(api: APIRouter, house: House) -> None:
    @api.post(_PATH, response_model=shapes.Created)
    async def create(request: Request, body: CreateExperienceRequest) -> Response:
        _refuse(house, body)
        wanted = body.model_dump(exclude_none=True)
        if house.faults.value("ignored-key") is not None:
            wanted.pop(KEY, None)
        try:
            made, new = await house.desk.create(wanted, house.marks(wanted))
        except UnresolvableError as error:
            raise HTTPException(400, str(error)) from error
        except KeyConflictError as error:
            raise HTTPException(409, f"{KEY} was already used with a different body") from error
        if new:
            house.dispatcher.accept(made)
        elif house.faults.value("refused-duplicates") is not None:
            raise HTTPException(409, f"{KEY} was already used")
        answer = _shown(house, render.created(made, house.world.me))
        if house.faults.take("reset-after-post"):
            await reset(request.scope, request.receive)
            return Response(status_code=503)  # nobody is there to read it
        return JSONResponse(answer)


def _read(api: APIRouter, house: House) -> None:
    me = house.world.me

    @api.get(_PATH, response_model=shapes.RequestPage)
    async def listing(
        *,
        mine: bool = False,
        limit: Limit50 = 50,
        cursor: Cursor = None,
    ) -> Response:
        del mine  # nobody else asks for anything here
        try:
            shown, following = paging.page(house.desk.requests(), lambda each: each.id, limit, cursor)
        except paging.BadCursorError as error:
            raise bad_cursor(error) from error
        entries = [_shown(house, render.request_row(each, me)) for each in shown]
        return JSONResponse({"entries": entries, "next_cursor": following})

    @api.get(_PATH + "/{request_id}", response_model=shapes.RequestDetail)
    async def detail(request_id: RequestId) -> Response:
        return JSONResponse(_shown(house, render.request_detail(visible(house, request_id), me)))

    @api.get(_PATH + "/{request_id}/episodes", response_model=list[shapes.EpisodeShape])
    async def episodes(request_id: RequestId) -> Response:
        return JSONResponse([render.episode(each, me) for each in visible(house, request_id).episodes])

    @api.get(_PATH + "/{request_id}/episode-requests", response_model=shapes.SummaryPage)
    async def summaries(request_id: RequestId, limit: Limit200 = 50, cursor: Cursor = None) -> Response:
        rows = visible(house, request_id).episodes
        try:
            shown, following = paging.page(rows, lambda each: each.id, limit, cursor)
        except paging.BadCursorError as error:
            raise bad_cursor(error) from error
        return JSONResponse({"entries": [render.summary(each) for each in shown], "next_cursor": following})


def _cancel(api: APIRouter, house: House) -> None:
    @api.post(_PATH + "/{request_id}/cancel", response_model=shapes.RequestDetail)
    async def cancel(request_id: RequestId) -> Response:
        found = visible(house, request_id)
        try:
            house.desk.cancel(found)
        except AlreadyOverError as error:
            raise HTTPException(409, f"Experience request is already {error}") from error
        return JSONResponse(_shown(house, render.request_detail(found, house.world.me)))
