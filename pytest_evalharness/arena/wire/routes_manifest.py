"""The download manifest: where everything is that some episodes left."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Annotated, get_args

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.faults import payloads
from pytest_evalharness.arena.wire import inventory, paging, routes_storage, seen, shapes
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.inventory import INLINE, Category, Piece
from pytest_evalharness.arena.wire.parameters import Cursor, Limit200, SelectedIds, bad_cursor, one_kind
from pytest_evalharness.arena.wire.seen import Choice, Seen

_SHORT = 7
"""By so many bytes a wrong size is too small."""

_Agents = Annotated[list[Annotated[int, Query(ge=0, le=63)]] | None, Query(max_length=64)]


def add(api: APIRouter, house: House) -> None:
    """Add the route."""

    @api.get("/v2/episode-requests/download-manifest", response_model=shapes.DownloadPage)
    async def manifest(
        ids: SelectedIds,
        include: Annotated[list[Category], Query(min_length=1, max_length=len(get_args(Category)))],
        agent: _Agents = None,
        limit: Limit200 = 200,
        cursor: Cursor = None,
    ) -> Response:
        one_kind(ids)
        choices, missing = seen.select(house, ids)
        start, skipped = _place(cursor, choices)
        every = _pieces(house, choices[start:], list(dict.fromkeys(include)), agent)
        shown = list(itertools.islice(every, skipped, skipped + limit + 1))
        following = None
        if len(shown) > limit:
            last = shown[limit][0].row["id"]
            before = sum(episode.row["id"] == last for episode, _ in shown[:limit])
            before += skipped if last == choices[start].id else 0
            following = paging.pack({"episode": last, "skip": before})
        entries = [await _entry(house, *each, place=place) for place, each in enumerate(shown[:limit])]
        return JSONResponse({"entries": entries, "unavailable_ids": missing, "next_cursor": following})


def _place(cursor: str | None, choices: Sequence[Choice]) -> tuple[int, int]:
    """Where a page begins: at which episode, and how many of its pieces were shown.

    Raises:
        HTTPException: 422 for a cursor that is none, or whose episode is gone.
    """
    if cursor is None:
        return 0, 0
    try:
        told = paging.unpack(cursor)
    except paging.BadCursorError as error:
        raise bad_cursor(error) from error
    start = next((at for at, each in enumerate(choices) if each.id == told.get("episode")), None)
    skipped = told.get("skip")
    if start is None or not isinstance(skipped, int) or skipped < 0:
        raise bad_cursor(paging.BadCursorError("this cursor has expired"))
    return start, skipped


def _pieces(
    house: House, choices: Sequence[Choice], include: Sequence[Category], agents: Sequence[int] | None
) -> Iterator[tuple[Seen, Piece]]:
    for choice in choices:
        episode = choice.seen(house)
        for piece in inventory.pieces(house, episode, include, agents):
            yield episode, piece


async def _entry(house: House, episode: Seen, piece: Piece, *, place: int) -> shapes.DownloadEntry:
    told: shapes.DownloadEntry = {
        "episode_request_id": episode.row["id"],
        "category": piece.category,
        "position": piece.position,
        "artifact_id": piece.key(episode),
        "version": None,
        "filename": piece.filename,
        "state": inventory.stand(house, episode, piece),
        "media_type": piece.media_type.partition(";")[0],
        "encoding": "identity",
        "size": None,
        "etag": None,
        "url": None,
        "expires_at": None,
        "inline_json": None,
    }
    if house.faults.value("hostile-files") is not None:
        told["filename"] = payloads.file_name(place)
    if told["state"] != "ready":
        return told
    told["version"] = f"v{house.storage.generations[piece.key(episode)] + 1}"
    if piece.category in INLINE:
        told["inline_json"] = inventory.inline(house, episode, piece)
        return told
    content = await inventory.content(house, episode, piece)
    told["size"] = max(0, content.size - _SHORT) if house.faults.take("wrong-sizes") else content.size
    told["etag"] = content.etag
    told["url"], told["expires_at"] = routes_storage.url_of(house, episode, piece)
    return told
