"""Parameters that several routes share: ids with their patterns, limits, cursors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query

from pytest_evalharness.arena.league.ids import HEX
from pytest_evalharness.arena.wire.bodies import prefixed
from pytest_evalharness.arena.wire.refusals import invalid

RequestId = Annotated[str, Path(pattern=prefixed("xreq"))]
EpisodeId = Annotated[str, Path(pattern=prefixed("ereq"))]
LeagueIdPath = Annotated[str, Path(pattern=prefixed("league"))]
DivisionIdPath = Annotated[str, Path(pattern=prefixed("div"))]
RoundId = Annotated[str, Path(pattern=prefixed("round"))]
CoworldIdPath = Annotated[str, Path(pattern=prefixed("cow"))]
ImageId = Annotated[str, Path(pattern=prefixed("img"))]
BareId = Annotated[str, Path(pattern=f"^{HEX}$")]
Position = Annotated[int, Path(ge=0, le=63)]

LeagueIdQuery = Annotated[str | None, Query(pattern=prefixed("league"))]
DivisionIdQuery = Annotated[str | None, Query(pattern=prefixed("div"))]
PlayerIdQuery = Annotated[str | None, Query(pattern=prefixed("ply"))]
BareIdQuery = Annotated[str | None, Query(pattern=f"^{HEX}$")]
Cursor = Annotated[str | None, Query(max_length=2000)]
Limit200 = Annotated[int, Query(ge=1, le=200)]


SelectedIds = Annotated[
    list[Annotated[str, Query(pattern=f"^(xreq|ereq)_{HEX}$")]], Query(min_length=1, max_length=50)
]


def one_kind(ids: Sequence[str]) -> None:
    """Refuse ids of requests and of episodes in one list.

    Raises:
        HTTPException: 422.
    """
    if len({each.partition("_")[0] for each in ids}) > 1:
        raise invalid(["query", "ids"], "ids must be all xreq_ or all ereq_")


def bad_cursor(error: ValueError) -> Exception:
    """The refusal of a cursor."""
    return invalid(["query", "cursor"], str(error))
