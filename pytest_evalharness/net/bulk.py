"""A plain connection from which large bodies come with few calls of the system.

A socket with Python's own timeout does not block: each read is three calls (set the timeout, wait, read), which bring what
the kernel happens to hold, and each of them gives up the interpreter's lock and waits for it again. With eight threads that
took longer than hashing what came. Here the kernel keeps the time, and fills a whole buffer before it comes back.
"""

from __future__ import annotations

import socket
import struct
import sys

import httpcore

from pytest_evalharness.net.sockets import GLANCE, Patience, Stream

_PIECE = 1024 * 1024
_TURN = struct.pack("@ll", 0, round(GLANCE * 1_000_000))
"""A `struct timeval`."""


def bulk(stream: Stream, patience: Patience) -> Stream:
    """The same connection, reading in bulk where the platform can; a connection that is encrypted cannot."""
    found = stream.get_extra_info("socket")
    return BulkStream(stream, found, patience) if sys.platform == "linux" and _keeps_time(found) else stream


def _keeps_time(found: socket.socket) -> bool:
    """Whether the kernel keeps the time of a socket from now on; not every one that calls itself Linux does."""
    try:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            found.setsockopt(socket.SOL_SOCKET, option, _TURN)
            if not any(found.getsockopt(socket.SOL_SOCKET, option, len(_TURN))):
                return False
    except OSError:
        return False
    return True


class BulkStream(Stream):
    """A stream whose socket blocks, for no longer than a glance at a time.

    Args:
        stream: the connection.
        found: its socket.
        patience: the deadlines.
    """

    def __init__(self, stream: httpcore.NetworkStream, found: socket.socket, patience: Patience) -> None:
        super().__init__(stream, patience)
        found.settimeout(None)
        self._socket = found
        self._buffer = memoryview(b"")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes next; empty at the end."""
        buffer = memoryview(bytearray(max_bytes))
        return bytes(buffer[: self._into(buffer, 0, timeout)])

    def piece(self, most: int, timeout: float | None) -> bytes | memoryview:
        """What comes next of a body, empty at the end; it counts until the next one is asked for."""
        size = min(most, _PIECE)
        if len(self._buffer) < size:
            self._buffer = memoryview(bytearray(size))
        view = self._buffer[:size]
        return view[: self._into(view, socket.MSG_WAITALL, timeout)]

    def _into(self, view: memoryview, flags: int, timeout: float | None) -> int:
        """Bytes that came into a buffer; all of it is filled if the flags say so and nobody pauses for a glance."""
        left = self._patience.cut(timeout)
        while not self._patience.over:  # a byte in every turn would never let a turn pass
            try:
                return self._socket.recv_into(view, 0, flags)
            except BlockingIOError:
                left = _less(left)
                if left <= 0.0:
                    break
            except OSError as problem:
                raise httpcore.ReadError(str(problem)) from problem
        raise httpcore.ReadTimeout("the server sent nothing, or too little")

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        left = self._patience.cut(timeout)
        view = memoryview(buffer)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                left = _less(left)
                if left <= 0.0:
                    raise httpcore.WriteTimeout("the server took nothing") from None
            except OSError as problem:
                raise httpcore.WriteError(str(problem)) from problem


def _less(left: float | None) -> float:
    """What is left of a wait after a turn."""
    return float("inf") if left is None else left - GLANCE
