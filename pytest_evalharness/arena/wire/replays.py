"""Where replays are, in the words of each time: at a public address, compressed or not, or with the service's conductor."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire import contents, inventory, seen
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire.contents import Content
from pytest_evalharness.arena.wire.dialect import Said
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.inventory import Piece
from pytest_evalharness.arena.wire.seen import Seen
from pytest_evalharness.arena.wire.storage import PATH

_MOST_PACKED = 1024 * 1024


def address(house: House, episode_id: str, status: str, *, of_round: bool) -> str | None:
    """Where an episode's replay is; None while there is none. A conductor's address can be fetched by nobody."""
    if status != State.COMPLETED.value:
        return None
    job, store = render.job_id(episode_id), f"{house.storage.address(house.faults)}{PATH}/replays"
    if house.dialect.packs_replays:
        return f"{store}/{job}.z"
    return f"{store}/{job}.replay" if of_round else f"conductor://replays/{job}"


def told(house: House, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row or a summary with the address of its replay."""
    of_round = row.get("round_id") is not None
    return {**row, "replay_url": address(house, row["id"], row["status"], of_round=of_round)}


def episode(house: House, row: Mapping[str, Any]) -> Said:
    """An episode's row in the house's dialect, with the address of its replay."""
    return house.dialect.episode(told(house, row))


async def content(house: House, episode: Seen, *, packed: bool) -> Content:
    """A replay's bytes; compressed with zlib, as all were until mid 2026, if it is `packed`.

    Raises:
        HTTPException: 404.
    """
    made = await inventory.content(house, episode, Piece("replay"))
    if not packed or made.size > _MOST_PACKED:  # a fault's bomb, or its endless bytes
        return made
    return contents.of_bytes(zlib.compress(made.whole()), "application/octet-stream")


def by_job(house: House, job_id: str) -> Seen | None:
    """The episode that a job played; None if it played none."""
    for request in house.desk.requests():
        for each in request.episodes:
            if render.job_id(each.id) == job_id and each.state is not State.PENDING:
                return seen.of_request(house, each)
    for played in house.world.game_by_id.values():
        if render.job_id(played[1].id) == job_id:
            return seen.of_round(house, *played)
    return None
