"""Routes of experience requests: create, read, list, cancel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.league.desk import AlreadyOverError, KeyConflictError
from pytest_evalharness.arena.league.records import Request as GameRequest
from pytest_evalharness.arena.league.roster import UnresolvableError
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire import replays, shapes
from pytest_evalharness.arena.wire.bodies import CreateExperienceRequest
from pytest_evalharness.arena.wire.connection import reset
from pytest_evalharness.arena.wire.dialect import Said
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.listing import Asked
from pytest_evalharness.arena.wire.parameters import RequestId
from pytest_evalharness.arena.wire.refusals import invalid, not_found

KEY = "idempotency_key"
_PATH = "/v2/experience-requests"


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _create(api, house)
    _read(api, house)


def visible(house: House, request_id: str) -> GameRequest:
    """The request, if it can be read by now.

    Raises:
        HTTPException: 404.
    """
    found = house.desk.request(request_id)
    if found is None:
        raise not_found("Experience request")
    return found


def _whole(house: House, told: Mapping[str, Any]) -> Said:
    """A request with its episodes, as it is told at the moment."""
    episodes = [replays.episode(house, each) for each in told["episodes"]]
    return {**_shown(house, told), "episodes": episodes}


def _shown(house: House, told: Mapping[str, Any]) -> dict[str, Any]:
    """A request as it is told at the moment, its episodes aside."""
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
        house.receive(wanted)
        try:
            made, new = await house.desk.create(wanted, house.marks(wanted), house.now)
        except UnresolvableError as error:
            raise HTTPException(400, str(error)) from error
        except KeyConflictError as error:
            raise HTTPException(409, f"{KEY} was already used with a different body") from error
        if new:
            house.dispatcher.accept(made)
        elif house.faults.value("refused-duplicates") is not None:
            raise HTTPException(409, f"{KEY} was already used")
        answer = _whole(house, render.created(made, house.world.me))
        if house.faults.take("reset-after-post"):
            await reset(request.scope, request.receive)
            return Response(status_code=503)  # nobody is there to read it
        return JSONResponse(answer)


def _read(api: APIRouter, house: House) -> None:
    me, pages = house.world.me, house.dialect.pages
    rows: Any = pages.asked(50, 1000)
    summaries_wanted: Any = pages.asked(50, 200)

    @api.get(_PATH, response_model=pages.shape(shapes.RequestRow))
    async def listing(*, mine: bool = False, asked: Asked = rows) -> Response:
        del mine  # nobody else asks for anything here
        found = house.desk.requests()
        return pages.answer(
            found, lambda each: each.id, asked, lambda each: _shown(house, render.request_row(each, me))
        )

    @api.get(_PATH + "/{request_id}", response_model=shapes.RequestDetail)
    async def detail(request_id: RequestId) -> Response:
        return JSONResponse(_whole(house, render.request_detail(visible(house, request_id), me)))

    @api.get(_PATH + "/{request_id}/episodes", response_model=list[shapes.EpisodeShape])
    async def episodes(request_id: RequestId) -> Response:
        found = visible(house, request_id).episodes
        return JSONResponse([replays.episode(house, render.episode(each, me)) for each in found])

    @api.get(_PATH + "/{request_id}/episode-requests", response_model=pages.shape(shapes.SummaryShape))
    async def summaries(request_id: RequestId, asked: Asked = summaries_wanted) -> Response:
        found = visible(house, request_id).episodes
        return pages.answer(
            found, lambda each: each.id, asked, lambda each: replays.told(house, render.summary(each))
        )


def add_cancel(api: APIRouter, house: House) -> None:
    """Add the route that stops a request."""

    @api.post(_PATH + "/{request_id}/cancel", response_model=shapes.RequestDetail)
    async def cancel(request_id: RequestId) -> Response:
        found = visible(house, request_id)
        try:
            house.desk.cancel(found)
        except AlreadyOverError as error:
            raise HTTPException(409, f"Experience request is already {error}") from error
        return JSONResponse(_whole(house, render.request_detail(found, house.world.me)))
