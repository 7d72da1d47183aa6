"""The application: every route behind the gate, and the dispatcher that runs as long as it does."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp

from pytest_evalharness.arena.wire import refusals, routes_arena, routes_requests, routes_storage
from pytest_evalharness.arena.wire.gate import Gate
from pytest_evalharness.arena.wire.hostile import Hostile
from pytest_evalharness.arena.wire.house import BASE, House
from pytest_evalharness.arena.wire.storage import PATH


def build(house: House) -> ASGIApp:
    """The application for a house; its dispatcher starts and stops with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        house.dispatcher.start()
        yield
        await house.dispatcher.stop()

    app = FastAPI(
        title="Observatory (embedded)",
        version=house.dialect.version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    refusals.install(app)
    api = APIRouter(prefix=BASE)
    for add in house.dialect.routes:
        add(api, house)
    app.include_router(api)
    _describe(app, house)
    admin = APIRouter(prefix="/_arena", include_in_schema=False)
    routes_arena.add(admin, house)
    app.include_router(admin)
    store = APIRouter(prefix=PATH, include_in_schema=False)
    routes_storage.add(store, house)
    app.include_router(store)
    return Gate(Hostile(app, house), house)


def _describe(app: FastAPI, house: House) -> None:
    schema: dict[str, Any] = {}
    dialect = house.dialect

    @app.get(f"{BASE}/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        if not schema:
            made = get_openapi(title=app.title, version=app.version, routes=app.routes)
            made.setdefault("components", {})["securitySchemes"] = dict(dialect.security)
            # Paths are told relative to the base, as the hosted service does.
            made["paths"] = {path.removeprefix(BASE): item for path, item in made["paths"].items()}
            made["servers"] = [{"url": BASE}]
            made["security"] = [{scheme: []} for scheme in dialect.security]
            schema.update(dialect.describe(made))
        ignored = house.faults.value("ignored-key") is not None
        return JSONResponse(_without_key(schema) if ignored else schema)

    @app.get(f"{BASE}/docs", include_in_schema=False)
    async def docs() -> Response:
        return get_swagger_ui_html(openapi_url=f"{BASE}/openapi.json", title=app.title)


def _without_key(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a server that knows no idempotency keys."""
    told = copy.deepcopy(dict(schema))
    for shape in told["components"]["schemas"].values():
        shape.get("properties", {}).pop(routes_requests.KEY, None)
    return told
