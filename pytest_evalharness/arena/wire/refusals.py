"""Refusals, in the words and shapes of the hosted service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse


def not_found(what: str) -> HTTPException:
    """It is absent, private, or not visible yet: the service does not tell which."""
    return HTTPException(404, f"{what} not found")


def invalid(loc: Sequence[str | int], message: str, kind: str = "value_error") -> HTTPException:
    """A 422 for one place of the request."""
    return HTTPException(422, [{"loc": list(loc), "msg": message, "type": kind}])


async def _schema_violation(_: Request, error: Exception) -> JSONResponse:
    """A 422 with where, what and which kind; never the input itself, which may be large or secret."""
    assert isinstance(error, RequestValidationError)
    detail: list[dict[str, Any]] = [
        {"loc": list(each["loc"]), "msg": each["msg"], "type": each["type"]} for each in error.errors()
    ]
    return JSONResponse({"detail": detail}, 422)


async def _own_fault(_: Request, error: Exception) -> JSONResponse:
    """A 500 that says nothing of the server's inside."""
    del error
    return JSONResponse({"detail": "Internal Server Error"}, 500)


def install(app: FastAPI) -> None:
    """Make an application refuse in these shapes."""
    app.add_exception_handler(RequestValidationError, _schema_violation)
    app.add_exception_handler(Exception, _own_fault)
