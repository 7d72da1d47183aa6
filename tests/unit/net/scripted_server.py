"""A loopback server that answers by a script, and clocks that wait without waiting."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query)

    def json(self) -> Any:
        return json.loads(self.body)


Step = Callable[[socket.socket, Request], None]
Answer = bytes | Step
Script = Callable[[Request], Answer]


def reply(
    body: Any = None,
    status: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    *,
    content_type: str = "application/json",
) -> bytes:
    """A whole answer; anything but bytes and text is sent as JSON."""
    if isinstance(body, bytes):
        content = body
    elif isinstance(body, str):
        content = body.encode()
    else:
        content = json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} Whatever",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(content)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def reset(connection: socket.socket, _request: Request) -> None:
    """Close with RST, as a crashed process does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def reset_after(data: bytes) -> Step:
    """Send a part of an answer, then RST."""

    def step(connection: socket.socket, request: Request) -> None:
        connection.sendall(data)
        reset(connection, request)

    return step


def hang_up_after(data: bytes) -> Step:
    """Send a part of an answer, then close politely."""

    def step(connection: socket.socket, _request: Request) -> None:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)

    return step


def silent(connection: socket.socket, _request: Request) -> None:
    """Say nothing until the client goes."""
    connection.settimeout(300)
    with contextlib.suppress(OSError):
        connection.recv(1)


def drip(data: bytes, every: float = 0.02) -> Step:
    """Send a byte now and then until the client goes."""

    def step(connection: socket.socket, _request: Request) -> None:
        with contextlib.suppress(OSError):
            for byte in data:
                connection.sendall(bytes([byte]))
                time.sleep(every)

    return step


class ScriptedServer:
    """Answers with the script's answers in turn, the last one for ever; or as a function of the request."""

    def __init__(self, *answers: Answer, script: Script | None = None) -> None:
        self._answers = list(answers)
        self._script = script
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                request = _read(connection)
                if request is None:
                    break
                with self._lock:
                    self.requests.append(request)
                    answer = self._next(request)
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                else:
                    answer(connection, request)
                    break
        connection.close()

    def _next(self, request: Request) -> Answer:
        if self._script is not None:
            return self._script(request)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def _read(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        part = connection.recv(65536)
        if not part:
            return None  # it was killed in the middle of its request
        body += part
    return Request(method, target, headers, body)


class Nobody:
    """An address at which nobody listens. It stays taken, so that nobody else can come to listen there meanwhile."""

    def __init__(self) -> None:
        self._held = socket.socket()
        self._held.bind(("127.0.0.1", 0))
        self.port = self._held.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._held.close()


class SkippingClock:
    """Real time plus all the waits that nobody waited for; they are in `waits`."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self._skipped = 0.0
        self._start = time.monotonic()
        self._now = now
        self.waits: list[float] = []

    def now(self) -> float:
        return self._now + self.monotonic()

    def monotonic(self) -> float:
        return time.monotonic() - self._start + self._skipped

    def wait(self, seconds: float, stop: threading.Event | None = None) -> bool:
        if stop is not None and stop.is_set():
            return True
        self.waits.append(seconds)
        self._skipped += seconds
        return False


class StandingClock(SkippingClock):
    """The waits alone: however long the machine takes for what is between them, no time passes."""

    def monotonic(self) -> float:
        return self._skipped
