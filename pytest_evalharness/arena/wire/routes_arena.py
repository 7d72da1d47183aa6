"""Routes beside the API, for whoever runs the arena: counters, faults, health."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from pytest_evalharness.arena.faults.fault import FaultSpecError
from pytest_evalharness.arena.faults.registry import FAULTS
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.refusals import invalid


class FaultSpec(BaseModel):
    """The body of `POST /_arena/faults`."""

    model_config = ConfigDict(extra="forbid")

    spec: Annotated[str, Field(min_length=1, max_length=200)]


def add(api: APIRouter, house: House) -> None:
    """Add the routes."""

    @api.get("/counters")
    async def counters() -> Response:
        """What was posted and created since this home exists, and all API requests since the server started."""
        return JSONResponse({**house.desk.counters(), "requests_total": house.requests_total})

    @api.get("/storage")
    async def storage() -> Response:
        """How many came to the store of artifacts since the server started, with a token or not, and what they got."""
        empty = {"requests": 0, "with_a_token": 0}
        return JSONResponse({**empty, **dict(sorted(house.storage.visits.items()))})

    @api.get("/health")
    async def health() -> Response:
        """Whether the server is up, and what it has to do."""
        return JSONResponse({"status": "ok", "unfinished_requests": len(house.desk.unfinished())})

    @api.get("/faults")
    async def faults() -> Response:
        """Faults that are on, and all there are."""
        return JSONResponse({"active": house.faults.active(), "known": house.faults.table()})

    @api.post("/faults")
    async def add_fault(body: FaultSpec) -> Response:
        """Switch a fault on."""
        try:
            house.faults.add(body.spec)
        except FaultSpecError as error:
            raise invalid(["body", "spec"], str(error)) from error
        return JSONResponse({"active": house.faults.active()})

    @api.delete("/faults")
    async def clear_faults(name: Annotated[str | None, Query(max_length=100)] = None) -> Response:
        """Switch one fault off, or all of them."""
        if name is not None and name not in FAULTS:
            raise HTTPException(404, f"no fault is called {name[:100]!r}")
        house.faults.clear(name)
        return JSONResponse({"active": house.faults.active()})
