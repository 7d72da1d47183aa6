"""The connection under a request: for faults that no HTTP answer can express."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

_KEY = "arena.transport"
_MOST_SILENCE = 300.0

Receive = Any
"""An ASGI receive callable, whichever library's type it has."""


class _Carrying:
    """An application that is told which connection a request came over."""

    def __init__(self, app: ASGI3Application, transport: asyncio.Transport) -> None:
        self._app = app
        self._transport = transport

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        carrying: Any = {**scope, _KEY: self._transport}
        await self._app(carrying, receive, send)


class Protocol(H11Protocol):
    """HTTP/1.1 whose requests know their connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base class
        """A client is there."""
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        if (
            sock is not None
        ):  # asyncio does this only for sockets made with a protocol number; 40 ms an answer
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.app = _Carrying(self.app, transport)


def hung_up(scope: Any) -> bool:
    """Whether nobody is there any more to whom an answer could be sent."""
    transport = scope.get(_KEY)
    return transport is not None and transport.is_closing()


async def reset(scope: Any, receive: Receive) -> None:
    """Reset the connection: the client sees a TCP reset in place of an answer."""
    transport = scope.get(_KEY)
    if transport is not None:
        sock = transport.get_extra_info("socket")
        if sock is not None:  # closing with a linger time of zero sends RST
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    await _gone(receive)


async def hang_up(scope: Any, receive: Receive, parts: AsyncIterator[bytes]) -> None:
    """Write bytes as they are, an answer's head among them, and close the connection: for answers that HTTP forbids."""
    transport = scope.get(_KEY)
    if transport is not None:
        async for part in parts:
            if transport.is_closing():
                break
            transport.write(part)
            await asyncio.sleep(0)  # the client may leave in between
        transport.close()
    await _gone(receive)


async def stay_silent(scope: Any, receive: Receive) -> None:
    """Never answer: until the client gives up, or five minutes are over."""
    try:
        async with asyncio.timeout(_MOST_SILENCE):
            await _gone(receive)
    except TimeoutError:
        await reset(scope, receive)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
