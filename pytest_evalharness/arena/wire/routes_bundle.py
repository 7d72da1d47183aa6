"""Bundles: everything that a user may have of an episode, in one zip made while it is asked for."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Annotated, Any, Final, get_args

from fastapi import APIRouter, Query, Request, Response

from pytest_evalharness.arena.faults import payloads
from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire import contents, inventory, seen
from pytest_evalharness.arena.wire.delivery import Delivery
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.inventory import OF_SEATS, Category, Piece
from pytest_evalharness.arena.wire.parameters import BareId, EpisodeId
from pytest_evalharness.arena.wire.refusals import invalid, not_found
from pytest_evalharness.arena.wire.seen import Seen

_DATE: Final = (2026, 1, 1, 0, 0, 0)
_LARGEST: Final = 256 * 1024 * 1024
_FOLDERS: Final = {"game_logs": "logs/", "player_logs": "logs/", "player_artifact": "artifacts/"}
_Include = Annotated[str | None, Query(max_length=200)]


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""

    @api.get("/v2/episode-requests/{episode_id}/bundle")
    async def bundle(request: Request, episode_id: EpisodeId, include: _Include = None) -> Response:
        episode = seen.find(house, episode_id)
        made = await _made(house, episode, _tokens(include), {"ereq_id": episode_id})
        return Delivery(house, contents.of_bytes(made, "application/zip"), request)

    @api.get("/v2/episodes/{recorded_id}/bundle")
    async def recorded(request: Request, recorded_id: BareId, include: _Include = None) -> Response:
        episode = seen.find(house, f"ereq_{recorded_id}")
        if episode.row["episode_id"] != recorded_id:
            raise not_found("Episode")
        made = await _made(house, episode, _tokens(include), {"episode_id": recorded_id})
        return Delivery(house, contents.of_bytes(made, "application/zip"), request)


def _tokens(include: str | None) -> Sequence[Category]:
    """The categories that are asked for, all if none is named.

    Raises:
        HTTPException: 422 for what is none.
    """
    known = get_args(Category)
    wanted = known if include is None else tuple(dict.fromkeys(include.split(",")))
    if not set(wanted) <= set(known):
        raise invalid(["query", "include"], f"include is a comma list of {', '.join(known)}")
    return tuple(each for each in known if each in wanted)


async def _made(house: House, episode: Seen, include: Sequence[Category], names: dict[str, str]) -> bytes:
    """The zip. What is not there, or not for this user, is left out, and so is its token.

    Raises:
        HTTPException: 404 for an episode that has not ended.
    """
    if not episode.state.terminal:
        raise not_found("Bundle")
    files: dict[str, Any] = {}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for place, piece in enumerate(inventory.pieces(house, episode, include, None)):
            if inventory.stand(house, episode, piece) != "ready":
                continue
            content = await inventory.content(house, episode, piece)
            if content.size > _LARGEST:
                continue
            path = _path(piece)
            if house.faults.value("hostile-files") is not None:
                path = payloads.file_name(place).replace("\0", "") or "."
            made.writestr(zipfile.ZipInfo(path, _DATE), content.whole(), zipfile.ZIP_DEFLATED)
            _note(files, piece, path)
        manifest = {
            **names,
            "status": "success" if episode.state is State.COMPLETED else "failed",
            "include": list(files),
            "files": files,
        }
        made.writestr(zipfile.ZipInfo("manifest.json", _DATE), json.dumps(manifest), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _path(piece: Piece) -> str:
    return "replay" if piece.category == "replay" else _FOLDERS.get(piece.category, "") + piece.filename


def _note(files: dict[str, Any], piece: Piece, path: str) -> None:
    """Tell of a file under its token: one of several has a key too."""
    if piece.category in OF_SEATS:
        files.setdefault(piece.category, {})[str(piece.position)] = path
    else:
        files[piece.category] = {"combined": path} if piece.category == "game_logs" else path
