"""The routes of the store. They are no part of the API: who has an address needs no token, and should send none."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from pytest_evalharness.arena.wire import inventory, replays
from pytest_evalharness.arena.wire.delivery import Delivery
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.inventory import Category, Piece
from pytest_evalharness.arena.wire.parameters import EpisodeId
from pytest_evalharness.arena.wire.seen import Seen, find
from pytest_evalharness.arena.wire.storage import USUAL_LIFETIME
from pytest_evalharness.base.clock import iso

_Name = Annotated[str, Path(max_length=100)]
_REPLAY = re.compile(r"(?P<job>[0-9a-f-]{36})\.(?P<form>z|replay)")
_NO_SEAT = "-"


def path_of(episode: Seen, piece: Piece) -> str:
    """Where a piece is kept, below the store's own path."""
    seat = _NO_SEAT if piece.position is None else piece.position
    return f"/episodes/{episode.row['id']}/{piece.category}/{seat}/{piece.filename}"


def url_of(house: House, episode: Seen, piece: Piece) -> tuple[str, str]:
    """A signed URL of a piece, and when it expires."""
    lifetime = house.faults.value("url-lifetime")
    expires = house.clock.now() + (USUAL_LIFETIME if lifetime is None else lifetime)
    return house.storage.signed(path_of(episode, piece), expires, house.faults), iso(int(expires))


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""

    @api.get("/episodes/{episode_id}/{category}/{seat}/{name}")
    async def signed(
        *,
        request: Request,
        episode_id: EpisodeId,
        category: Category,
        seat: _Name,
        name: _Name,
        expires: Annotated[int, Query(ge=0, le=2**53)],
        signature: Annotated[str, Query(max_length=200)],
    ) -> Response:
        house.storage.note(authorized=_carries_a_token(request))
        path = f"/episodes/{episode_id}/{category}/{seat}/{name}"
        if not house.storage.lets_in(path, expires, signature, house.clock.now()) or house.faults.take(
            "expired-urls"
        ):
            house.storage.visits["status_403"] += 1
            return _refusal(403, "AccessDenied", "Request has expired")
        episode = find(house, episode_id)
        piece = Piece(category, None if seat == _NO_SEAT else int(seat))
        if house.faults.take("changed-artifacts"):
            house.storage.generations[piece.key(episode)] += 1
        return Delivery(house, await inventory.content(house, episode, piece), request)

    @api.get("/replays/{name}")
    async def public(request: Request, name: _Name) -> Response:
        house.storage.note(authorized=_carries_a_token(request))
        found = _REPLAY.fullmatch(name)
        episode = None if found is None else replays.by_job(house, found["job"])
        if episode is None or found is None:
            return _refusal(404, "NoSuchKey", "The specified key does not exist.")
        return Delivery(house, await replays.content(house, episode, packed=found["form"] == "z"), request)


def _carries_a_token(request: Request) -> bool:
    return "authorization" in request.headers or "x-auth-token" in request.headers


def _refusal(status: int, code: str, words: str) -> Response:
    """An error as stores say it, in XML."""
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{words}</Message></Error>'
    return Response(body, status, media_type="application/xml")
