"""Routes that show many episodes at once: bulk reads and the change feed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import JSONResponse

from pytest_evalharness.arena.league.records import Episode, Request
from pytest_evalharness.arena.wire import paging, replays, seen, shapes
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.parameters import Cursor, Limit200, SelectedIds, bad_cursor, one_kind
from pytest_evalharness.arena.wire.render_requests import View
from pytest_evalharness.arena.wire.seen import Choice
from pytest_evalharness.base.clock import iso

_LONGEST_WAIT = 30.0
_GATHER = 0.05  # after a first change: episodes end in bursts, and one page for a burst is enough
_LIFETIME = 3600.0


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""
    _bulk(api, house)
    _changes(api, house)


def _entry(house: House, each: Episode, view: View) -> shapes.BulkEntry:
    told = render.bulk(each, view, published=house.published(each.completed_at))
    if view == "results":
        told["replay_url"] = replays.address(house, each.id, each.state.value, of_round=False)
    return told


def _bulk_entry(house: House, choice: Choice, view: View) -> shapes.BulkEntry:
    """An episode of a request or of a round."""
    if isinstance(choice.source, Episode):
        return _entry(house, choice.source, view)
    shown = choice.seen(house)
    told = render.round_bulk(shown.row, view, published=house.published(shown.ended_at))
    if view == "results":
        told["replay_url"] = replays.address(house, choice.id, choice.state.value, of_round=True)
    return told


def _bulk(api: APIRouter, house: House) -> None:
    @api.get("/v2/episode-requests", response_model=shapes.BulkPage)
    async def bulk(
        ids: SelectedIds,
        view: View = "progress",
        status: Annotated[list[str] | None, Query(max_length=20)] = None,
        limit: Limit200 = 200,
        cursor: Cursor = None,
    ) -> Response:
        one_kind(ids)
        rows, missing = seen.select(house, ids)

        def wanted(each: Choice) -> bool:
            return not status or each.state.value in status

        try:
            shown, following = paging.page(rows, lambda each: each.id, limit, cursor, wanted)
        except paging.BadCursorError as error:
            raise bad_cursor(error) from error
        return JSONResponse(
            {
                "entries": [_bulk_entry(house, each, view) for each in shown],
                "unavailable_ids": missing,
                "next_cursor": following,
                "observed_at": iso(house.clock.now()),
            }
        )


def _changes(api: APIRouter, house: House) -> None:
    @api.get("/v2/episode-requests/changes", response_model=shapes.ChangePage)
    async def changes(
        ids: SelectedIds,
        view: View = "progress",
        limit: Limit200 = 200,
        cursor: Cursor = None,
        wait_seconds: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False)] = 0.0,
    ) -> Response:
        one_kind(ids)
        requests = [house.desk.request(each) for each in dict.fromkeys(ids)]
        found = [each for each in requests if each is not None]
        if len(found) < len(requests) or not found:
            raise HTTPException(404, "Experience request not found")
        place = _Place.read(cursor, sorted(ids), view)
        if cursor is not None and house.faults.take("lost-cursors"):
            raise HTTPException(410, "the cursor has expired")
        if place.phase == "changes":
            await _wait_for_news(house, found, place.seen, min(wait_seconds, _LONGEST_WAIT))
        return JSONResponse(_change_page(house, found, place, view, limit, waited=wait_seconds > 0))


class _Place:
    """How far a reader of the change feed is.

    `seen` is the revision up to which it has seen everything; in the snapshot, pages go by revision as well, and
    what changes meanwhile moves behind the page and is sent again: duplicates are allowed, gaps are not.
    """

    def __init__(self, phase: Literal["snapshot", "changes"], seen: int, selection: str) -> None:
        self.phase = phase
        self.seen = seen
        self.selection = selection

    @classmethod
    def read(cls, cursor: str | None, ids: Sequence[str], view: str) -> _Place:
        selection = hashlib.sha256(f"{ids}{view}".encode()).hexdigest()[:16]
        if cursor is None:
            return cls("snapshot", -1, selection)
        try:
            content = paging.unpack(cursor)
        except paging.BadCursorError as error:
            raise bad_cursor(error) from error
        phase, seen = content.get("phase"), content.get("seen")
        if phase not in ("snapshot", "changes") or not isinstance(seen, int):
            raise bad_cursor(paging.BadCursorError("not a cursor of this feed"))
        if content.get("selection") != selection:
            raise HTTPException(409, "the cursor belongs to another selection")
        return cls(phase, seen, selection)

    def write(self, phase: str, seen: int) -> str:
        return paging.pack({"phase": phase, "seen": seen, "selection": self.selection})


async def _wait_for_news(house: House, requests: Sequence[Request], seen: int, seconds: float) -> None:
    """Until an episode of these requests has a revision that was not seen, or one of them is over, or time is up."""
    before = [request.state for request in requests]
    until = house.clock.monotonic() + seconds
    while not any(each.revision > seen for request in requests for each in request.episodes):
        left = until - house.clock.monotonic()
        if left <= 0 or before != [request.state for request in requests]:
            return
        if all(request.state.terminal for request in requests) and all(
            each.state.terminal for request in requests for each in request.episodes
        ):
            return  # nothing will come any more: waiting would only keep the reader
        await house.desk.bell.wait(left)
    if seconds > 0:
        await asyncio.sleep(min(_GATHER, max(0.0, until - house.clock.monotonic())))


def _change_page(
    house: House, requests: Sequence[Request], place: _Place, view: View, limit: int, *, waited: bool
) -> shapes.ChangePage:
    fresh = [each for request in requests for each in request.episodes if each.revision > place.seen]
    fresh.sort(key=lambda each: each.revision)
    shown, more = fresh[:limit], len(fresh) > limit
    seen = shown[-1].revision if shown else place.seen
    following = "snapshot" if place.phase == "snapshot" and more else "changes"
    entries: list[shapes.ChangeEntry] = [
        {
            "id": each.id,
            "experience_request_id": each.request.id,
            "revision": each.revision,
            "removed": False,
            "episode": _entry(house, each, view),
        }
        for each in shown
    ]
    return {
        "batches": [
            {"id": each.id, "status": each.state.value, "episode_count": len(each.episodes)}
            for each in requests
        ],
        "phase": place.phase,
        "entries": entries,
        "next_cursor": place.write(following, seen),
        "has_more": more,
        # A reader that waits here is answered at once when there is news; one that does not should take a breath.
        "poll_after_seconds": 0 if more or (waited and shown) else 1,
        "expires_at": iso(house.clock.now() + _LIFETIME),
    }
