"""Sockets that know when the whole call must be over, and whether anybody still waits for it.

httpx times each read; a server that sends a byte a second never exceeds that. Here every wait on a socket
is cut to what is left of the call's deadline.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore

from pytest_evalharness.base.deadline import Deadline

_NO_WAIT = 1e-3  # a timeout of zero would mean "do not block", which is another thing
_PIECE = 256 * 1024
GLANCE = 0.2
"""Seconds between two looks at the event that ends a long wait."""


class Patience:
    """The deadline of the call that this thread makes, and what ends its waits before that."""

    def __init__(self) -> None:
        self._local = threading.local()

    @contextlib.contextmanager
    def until(self, deadline: Deadline, stop: threading.Event | None = None) -> Iterator[None]:
        """For the length of a block, this thread's sockets wait no longer than to the deadline.

        Args:
            deadline: when the call must be over.
            stop: once set, nothing more is read.
        """
        self._local.deadline, self._local.stop = deadline, stop
        try:
            yield
        finally:
            self._local.deadline = self._local.stop = None

    def cut(self, timeout: float | None) -> float | None:
        """A timeout, or what is left of the deadline if that is less."""
        deadline: Deadline | None = getattr(self._local, "deadline", None)
        if deadline is None:
            return timeout
        left = max(_NO_WAIT, deadline.remaining)
        return left if timeout is None else max(_NO_WAIT, min(timeout, left))

    def read(self, stream: httpcore.NetworkStream, most: int, timeout: float | None) -> bytes:
        """What comes next, waiting in short turns where something may end the wait: a read that times out takes nothing."""
        if self.over:  # what comes bit by bit would never let a wait end
            raise httpcore.ReadTimeout("the server was not through in time")
        left = self.cut(timeout)
        if not self.watched or left is None:
            return stream.read(most, left)
        while not self.over:
            turn = min(left, GLANCE)
            try:
                return stream.read(most, turn)
            except httpcore.ReadTimeout:
                left -= turn
                if left <= 0.0:
                    raise
        raise httpcore.ReadTimeout("nobody waits for it any more")

    @property
    def over(self) -> bool:
        """Whether nobody waits any more for what this thread reads: its deadline passed a moment ago, or it was stopped.

        The moment is for what had come before the deadline and is only read now.
        """
        deadline: Deadline | None = getattr(self._local, "deadline", None)
        return self.ended or (deadline is not None and deadline.clock.monotonic() - deadline.at > GLANCE)

    @property
    def watched(self) -> bool:
        """Whether something may end this thread's waits early."""
        return getattr(self._local, "stop", None) is not None

    @property
    def ended(self) -> bool:
        """Whether this thread's waits are to end."""
        stop: threading.Event | None = getattr(self._local, "stop", None)
        return stop is not None and stop.is_set()


class Stream(httpcore.NetworkStream):
    """A connection whose waits are cut to the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, patience: Patience) -> None:
        self._stream = stream
        self._patience = patience

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes next; empty at the end."""
        return self._patience.read(self._stream, max_bytes, timeout)

    def piece(self, most: int, timeout: float | None) -> bytes | memoryview:
        """What comes next of a body, empty at the end. A view counts until the next one is asked for."""
        return self.read(min(most, _PIECE), timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        self._stream.write(buffer, self._patience.cut(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        """The connection, encrypted from here on."""
        secured = self._stream.start_tls(ssl_context, server_hostname, self._patience.cut(timeout))
        return Stream(secured, self._patience)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks of a stream."""
        return self._stream.get_extra_info(info)


class Backend(httpcore.NetworkBackend):
    """Opens sockets whose waits are cut to the deadline."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> Stream:
        """Connect to the first address of a host that answers.

        Addresses are tried one by one here, because the standard library gives each the whole timeout.
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as problem:
            raise httpcore.ConnectError(f"no such host: {problem}") from problem
        failure: Exception = httpcore.ConnectError("the host has no address")
        for *_, address in found:
            try:
                stream = self._plain.connect_tcp(
                    str(address[0]), port, self._patience.cut(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as problem:
                failure = problem
            else:
                return Stream(stream, self._patience)
        raise failure
