"""Parameters that several routes share: ids with their patterns, limits, cursors."""

from __future__ import annotations

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
Limit50 = Annotated[int, Query(ge=1, le=1000)]
Limit200 = Annotated[int, Query(ge=1, le=200)]
Limit100 = Annotated[int, Query(ge=1, le=100)]


def bad_cursor(error: ValueError) -> Exception:
    """The refusal of a cursor."""
    return invalid(["query", "cursor"], str(error))
