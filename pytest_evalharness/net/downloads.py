"""Connections for large answers: h11 reads the head of each, and the body comes straight off the socket.

What httpcore does for every 64 KiB of a body, through h11's buffer and three copies, takes longer than to hash and to write
them. A body whose length the head tells needs nothing of it: so many bytes are read, and the connection is free again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import h11
import httpcore
import httpx

from pytest_evalharness.net.bulk import bulk
from pytest_evalharness.net.pool import CONNECTIONS, KEPT_SECONDS, Pool
from pytest_evalharness.net.proxies import proxy_for
from pytest_evalharness.net.sockets import Backend, Patience, Stream

_HEAD_PIECE = 64 * 1024
_LARGEST_HEAD = 100 * 1024
_WITH_BODY = frozenset({200, 206})
_PORTS = {"http": 80, "https": 443}


class DownloadPool(httpx.BaseTransport):
    """Carries GETs to one origin over kept-alive connections; through a proxy, `Pool` does it. Safe to use from several threads.

    Raises httpcore's exceptions, as `Pool` lets them through.

    Args:
        base_url: where all requests go; decides proxy and TLS.
        environ: the environment, for proxies.
        patience: the deadlines.

    Raises:
        ValueError: the proxy's URL cannot be used.
    """

    def __init__(self, base_url: httpx.URL, environ: Mapping[str, str], patience: Patience) -> None:
        proxied = proxy_for(base_url.scheme, base_url.host, base_url.port, environ) is not None
        self._proxied = Pool(base_url, environ, patience) if proxied else None
        self._context = None
        if base_url.scheme == "https" and not proxied:
            self._context = httpx.create_ssl_context()
            self._context.set_alpn_protocols(["http/1.1"])
        self._backend = Backend(patience)
        self._patience = patience
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        self._lock = threading.Lock()
        self._idle: list[tuple[Stream, float]] = []
        self._closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one GET; the body of the response is read by the caller, who closes it."""
        if self._proxied is not None:
            return self._proxied.handle_request(request)
        timeouts: Mapping[str, float | None] = request.extensions["timeout"]
        if not self._places.acquire(timeout=timeouts["pool"]):
            raise httpcore.PoolTimeout("all connections are busy")
        try:
            exchange = _Exchange(self, self._kept() or self._connected(request.url, timeouts["connect"]))
        except BaseException:
            self._places.release()
            raise
        try:
            head = exchange.head(request, timeouts["write"], timeouts["read"])
        except BaseException:
            exchange.close()
            raise
        return httpx.Response(head.status_code, headers=head.headers.raw_items(), stream=exchange)

    def close(self) -> None:
        """Close every connection that nobody uses at the moment; the others close when their answers are read."""
        if self._proxied is not None:
            self._proxied.close()
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for stream, _ in idle:
            stream.close()

    def _kept(self) -> Stream | None:
        """A connection of an earlier answer that the server has not closed since."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                stream, expires = self._idle.pop()
            # What can be read before anything was asked is the end, or nothing that we could understand.
            if time.monotonic() < expires and not stream.get_extra_info("is_readable"):
                return stream
            stream.close()

    def _connected(self, url: httpx.URL, timeout: float | None) -> Stream:
        host = url.raw_host.decode("ascii")
        stream = self._backend.connect_tcp(host, url.port or _PORTS[url.scheme], timeout)
        if self._context is None:
            return bulk(stream, self._patience)
        return stream.start_tls(self._context, host, timeout)

    def back(self, stream: Stream, *, reusable: bool) -> None:
        """Take back a connection."""
        with self._lock:
            kept = reusable and not self._closed
            if kept:
                self._idle.append((stream, time.monotonic() + KEPT_SECONDS))
        if not kept:
            stream.close()
        self._places.release()


class _Exchange(httpx.SyncByteStream):
    """One request and its answer on one connection; iterating reads the body."""

    def __init__(self, pool: DownloadPool, stream: Stream) -> None:
        self._pool = pool
        self._stream: Stream | None = stream
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self._timeout: float | None = None
        self._length: int | None = None
        self._whole = False

    def head(self, request: httpx.Request, write: float | None, read: float | None) -> h11.Response:
        """Ask, and read the answer up to its body.

        Args:
            request: a GET.
            write: seconds in which nothing of it can be sent.
            read: seconds without a single byte of the answer.
        """
        self._timeout = read
        try:
            asked = h11.Request(method="GET", target=request.url.raw_path, headers=request.headers.raw)
            told = (self._wire.send(asked) or b"") + (self._wire.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as problem:
            raise httpcore.LocalProtocolError(str(problem)) from problem
        # A server may close its ear before it has heard all, and say why.
        with contextlib.suppress(httpcore.WriteError):
            self._connection.write(told, write)
        while not isinstance(event := self._event(), h11.Response):
            pass
        if event.status_code in _WITH_BODY:
            names = dict(event.headers)
            if b"transfer-encoding" not in names and b"content-length" in names:
                self._length = int(names[b"content-length"])  # h11 has seen that it is one number
        return event

    def __iter__(self) -> Iterator[bytes]:
        """The body, in pieces of any size, each of which counts until the next is asked for. An answer is read once."""
        return self._framed() if self._length is None else self._straight(self._length)

    def close(self) -> None:
        """Give the connection back; whoever leaves early closes it."""
        stream, self._stream = self._stream, None
        if stream is not None:
            # After a whole request h11 is done, unless the answer's head has ended the connection.
            self._pool.back(stream, reusable=self._whole and self._wire.our_state is h11.DONE)

    @property
    def _connection(self) -> Stream:
        if self._stream is None:
            raise httpcore.ReadError("the answer is closed")
        return self._stream

    def _straight(self, length: int) -> Iterator[bytes]:
        """So many bytes: those that came with the head, and then straight from the socket."""
        begun, _ = self._wire.trailing_data
        if begun:
            yield begun[:length]
        left = length - len(begun)
        while left > 0:
            piece = self._connection.piece(left, self._timeout)
            if not piece:
                raise httpcore.RemoteProtocolError(
                    f"the server closed the connection after {length - left} of {length} bytes"
                )
            left -= len(piece)
            self._whole = left == 0
            yield piece  # type: ignore[misc]  # a view where the stream reads in bulk: httpx knows only bytes
        self._whole = left == 0

    def _framed(self) -> Iterator[bytes]:
        """What h11 finds in chunks, or up to the end of the connection."""
        while not isinstance(event := self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)
        self._whole = self._wire.their_state is h11.DONE and not self._wire.trailing_data[0]

    def _event(self) -> Any:
        """What comes next of the answer, one of h11's events."""
        while True:
            try:
                event = self._wire.next_event()
            except h11.RemoteProtocolError as problem:
                raise httpcore.RemoteProtocolError(str(problem)) from problem
            if event is not h11.NEED_DATA:
                return event
            came = self._connection.read(_HEAD_PIECE, self._timeout)
            if not came and self._wire.their_state is h11.SEND_RESPONSE:
                raise httpcore.RemoteProtocolError("the server closed the connection without an answer")
            self._wire.receive_data(came)
