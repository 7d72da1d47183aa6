"""The gate every request passes: who may come in, how much it may carry, and what faults do to it on the way."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pytest_evalharness.arena.wire.connection import stay_silent
from pytest_evalharness.arena.wire.house import BASE, House

MOST_BYTES = 256 * 1024
"""The largest body that is read."""

_HOSTS = {"127.0.0.1", "localhost", "[::1]"}
_CLOSED = {f"{BASE}/openapi.json", f"{BASE}/docs"}
_LIMITED = {"detail": {"type": "api_rate_limit_exceeded", "retry_after_seconds": 1}}
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in to continue</h1></body></html>"


class Gate:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or turn it away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        send = _with_id(send)
        api = scope["path"].startswith(BASE)
        if api:
            self._house.requests_total += 1
        if _host(headers) not in _HOSTS:  # a web page that resolves its own name to 127.0.0.1 gets nothing
            await _answer(send, 421, {"detail": "this server answers for 127.0.0.1 only"})
        elif api and self._house.faults.take("html"):
            await _send(send, 200, b"text/html; charset=utf-8", _PAGE)
        elif api and self._house.faults.take("overloaded"):
            await _answer(send, 503, {"detail": "Service Unavailable"})
        elif api and self._house.faults.take("rate-limited"):
            await _answer(
                send, 429, _LIMITED, [(b"retry-after", b"1"), (b"x-ratelimit-outcome", b"rejected")]
            )
        elif api and scope["method"] == "GET" and self._house.faults.take("silent-get"):
            await stay_silent(scope, receive)
        elif api and not (self._known(headers) and self._shown(scope["path"])):
            await self._turn_away(scope, send)
        elif api and (status := self._house.faults.broken()) is not None:
            await self._let_in(scope, receive, _unheard)
            await _answer(send, status, {"detail": HTTPStatus(status).phrase})
        else:
            await self._let_in(scope, receive, send)

    def _known(self, headers: Mapping[str, str]) -> bool:
        """Whether the request carries the token, in today's header or in the one of old."""
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        given = bearer.strip() if kind.lower() == "bearer" else headers.get("x-auth-token", "")
        return secrets.compare_digest(given.encode(), self._house.token.encode())

    def _shown(self, path: str) -> bool:
        """Whether a path is shown to whoever has the token."""
        return path not in _CLOSED or self._house.faults.value("hidden-description") is None

    async def _turn_away(self, scope: Scope, send: Send) -> None:
        if scope["path"] in _CLOSED:
            await _answer(send, 403, {"detail": "Forbidden"})
        else:
            await _answer(send, 401, {"detail": "Not authenticated"}, [(b"www-authenticate", b"Bearer")])

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in {"POST", "PUT", "PATCH"}:
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        if body is None:
            await _answer(send, 413, {"detail": f"request body is larger than {MOST_BYTES} bytes"})
            return
        problem = _problem(body)
        if problem is not None:
            detail = [{"loc": ["body"], "msg": problem, "type": "json_invalid"}]
            await _answer(send, 422, {"detail": detail})
            return
        await self._app(scope, _again(body, receive), send)


def _host(headers: Mapping[str, str]) -> str:
    host = headers.get("host", "")
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0].lower()


async def _read(receive: Receive) -> bytes | None:
    """A whole body, None if it is too large."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return body


def _problem(body: bytes) -> str | None:
    """Why a body is no JSON that could be kept and sent back; None if it is."""
    if not body:
        return None
    try:
        json.dumps(json.loads(body), allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        return "JSON is nested too deeply"
    except ValueError:
        return "JSON decode error"
    return None


def _again(body: bytes, receive: Receive) -> Receive:
    """A receive that gives a body that was read already, then whatever comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _unheard(_: Message) -> None:
    """What was to be answered, and is not."""


def _with_id(send: Send) -> Send:
    async def with_id(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", []), (b"x-request-id", uuid.uuid4().hex.encode())]
            message = {**message, "headers": headers}
        await send(message)

    return with_id


async def _answer(
    send: Send, status: int, content: Any, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    await _send(send, status, b"application/json", json.dumps(content).encode(), headers)


async def _send(
    send: Send, status: int, kind: bytes, body: bytes, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    length = str(len(body)).encode()
    start = [(b"content-type", kind), (b"content-length", length), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
