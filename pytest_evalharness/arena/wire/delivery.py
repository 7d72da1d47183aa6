"""How an artifact's bytes are sent: whole or in part, under conditions, and with what faults make of it on the way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from pytest_evalharness.arena.wire.connection import hang_up, hung_up, reset
from pytest_evalharness.arena.wire.contents import Content
from pytest_evalharness.arena.wire.house import House

_RANGE: Final = re.compile(r"bytes=(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})")
_PAGE: Final = b"<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in to continue</h1></body></html>"
_TICK: Final = 0.05
"""Slow bodies are sent in so many seconds' worth of bytes."""


@dataclass(frozen=True)
class Answer:
    """A status, the bytes from a first to before a last one, and what is said of them."""

    status: int
    first: int
    last: int
    headers: Mapping[str, str]


def answer_to(asked: Mapping[str, str], content: Content, *, ranges: bool) -> Answer:
    """What a request for a content is answered.

    Args:
        asked: the request's headers.
        content: what is asked for.
        ranges: whether parts can be had.
    """
    told = {"etag": content.etag, "content-type": content.media_type}
    if ranges:
        told["accept-ranges"] = "bytes"
    if not _matches(asked.get("if-match"), content.etag):
        return Answer(412, 0, 0, told)
    whole = Answer(200, 0, content.size, told)
    condition = asked.get("if-range")
    found = _RANGE.fullmatch(asked.get("range", "").replace(" ", ""))
    if not ranges or found is None or (condition is not None and condition != content.etag):
        return whole
    if not found["first"] and not found["last"]:
        return whole
    if found["first"]:
        first = int(found["first"])
        last = min(int(found["last"]) + 1, content.size) if found["last"] else content.size
    else:
        first, last = max(0, content.size - int(found["last"])), content.size
    if found["first"] and found["last"] and int(found["last"]) < first:
        return whole
    if first >= content.size:
        return Answer(416, 0, 0, {**told, "content-range": f"bytes */{content.size}"})
    part = {**told, "content-range": f"bytes {first}-{last - 1}/{content.size}"}
    return Answer(206, first, last, part)


def _matches(condition: str | None, etag: str) -> bool:
    """Whether an If-Match holds."""
    return (
        condition is None or condition.strip() == "*" or etag in [one.strip() for one in condition.split(",")]
    )


class Delivery(Response):
    """An artifact on its way.

    Args:
        house: knows what goes wrong.
        content: what is sent.
        request: what was asked.
    """

    def __init__(self, house: House, content: Content, request: Request) -> None:
        super().__init__()
        self._house = house
        self._content = content
        self._answer = answer_to(request.headers, content, ranges=house.faults.value("no-ranges") is None)
        self.status_code = self._answer.status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        faults, answer = self._house.faults, self._answer
        self._house.storage.visits[f"status_{answer.status}"] += 1
        if answer.status >= 400:  # noqa: PLR2004 - the errors
            await self._send(scope, send, _bytes(b""), 0)
        elif faults.take("html-bodies"):
            await Response(_PAGE, media_type="text/html")(scope, receive, send)
        elif faults.take("reset-bodies"):
            await self._send(scope, send, self._parts(self._middle()), answer.last - answer.first, more=True)
            await asyncio.sleep(_TICK)  # what was sent should arrive: a reset takes back what has not
            await reset(scope, receive)
        elif faults.take("cut-bodies"):
            await hang_up(scope, receive, self._raw(answer.last - answer.first, self._middle()))
        elif faults.take("overlong-bodies"):
            await hang_up(scope, receive, self._raw(self._middle() - answer.first, answer.last))
        else:
            await self._send(scope, send, self._parts(answer.last), answer.last - answer.first)

    def _middle(self) -> int:
        return self._answer.first + (self._answer.last - self._answer.first) // 2

    async def _send(
        self, scope: Scope, send: Send, parts: AsyncIterator[bytes], length: int, *, more: bool = False
    ) -> None:
        headers = {**self._answer.headers, "content-length": str(length)}
        start = [(key.encode(), value.encode()) for key, value in headers.items()]
        await send({"type": "http.response.start", "status": self._answer.status, "headers": start})
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await asyncio.sleep(0)  # whoever reads fast is not the only reader
            if hung_up(scope):  # the rest would be made for nobody
                return
        if not more:
            await send({"type": "http.response.body", "body": b""})

    async def _raw(self, length: int, last: int) -> AsyncIterator[bytes]:
        """An answer with a length that is not its own, as it goes over the wire."""
        headers = {**self._answer.headers, "content-length": str(length), "connection": "close"}
        head = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        yield f"HTTP/1.1 {self._answer.status} OK\r\n{head}\r\n".encode()
        async for part in self._parts(last):
            yield part

    async def _parts(self, last: int) -> AsyncIterator[bytes]:
        """The bytes up to there, at the speed of the moment."""
        # The smallest body takes one tick, and parts of less than one are slept for together.
        owed, least = 0.0, _TICK
        for part in self._content.parts(self._answer.first, last):
            speed = self._house.faults.value("slow-bodies")
            if speed is None:
                yield part
                continue
            for piece in _pieces(part, max(1, round(speed * _TICK))):
                owed = max(least, owed + len(piece) / speed)
                if owed >= _TICK / 2:
                    await asyncio.sleep(owed)
                    owed, least = 0.0, 0.0
                yield piece


def _pieces(part: bytes, size: int) -> Iterator[bytes]:
    return (part[at : at + size] for at in range(0, len(part), size))


async def _bytes(data: bytes) -> AsyncIterator[bytes]:
    yield data
