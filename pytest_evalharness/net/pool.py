"""Connections: a kept-alive pool for reading, another for long polls, and a fresh connection for everything that acts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

import httpcore
import httpx

from pytest_evalharness.net.proxies import proxy_for
from pytest_evalharness.net.sockets import Backend, Patience

MakeCarrier = Callable[[httpx.URL, Mapping[str, str], Patience], httpx.BaseTransport]
"""Makes what carries single requests to an address: `Pool`, or something around it. Arguments as `Pool` has them."""

CONNECTIONS = 16
HELD = "held"
"""The extension of a request whose answer the server may keep back."""
KEPT_SECONDS = 15.0


class Pool(httpx.BaseTransport):
    """Carries httpx's requests over sockets that obey the call's deadline.

    Lets httpcore's exceptions through: they tell what was sent, which decides what may be repeated.

    Args:
        base_url: where all requests go; decides proxy and TLS.
        environ: the environment, for proxies.
        patience: the deadlines.

    Raises:
        ValueError: the proxy's URL cannot be used.
    """

    def __init__(self, base_url: httpx.URL, environ: Mapping[str, str], patience: Patience) -> None:
        proxy = proxy_for(base_url.scheme, base_url.host, base_url.port, environ)
        secured = base_url.scheme == "https" or (proxy or "").startswith("https:")
        # Reading the system's certificates takes tens of milliseconds; plain loopback needs none.
        context = httpx.create_ssl_context() if secured else None
        backend = Backend(patience)

        def make(kept: int) -> httpcore.ConnectionPool:
            return httpcore.ConnectionPool(
                ssl_context=context,
                proxy=_proxy(proxy) if proxy else None,
                max_connections=CONNECTIONS,
                max_keepalive_connections=kept,
                keepalive_expiry=KEPT_SECONDS,
                network_backend=backend,
            )

        self._reading = make(CONNECTIONS)
        # Sixteen long polls may be under way at one time, and nobody else should wait for their ends.
        self._held = make(CONNECTIONS)
        # A kept-alive connection may be closed by the server in the moment we write to it, and then nobody
        # can tell whether the request was read. For a POST that would be a lost answer without need.
        self._acting = make(0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the body of the response is read by the caller, who closes it."""
        pool = self._reading if request.method == "GET" else self._acting
        if request.extensions.get(HELD):
            pool = self._held
        url = request.url
        answer = pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        """Close every connection."""
        self._reading.close()
        self._held.close()
        self._acting.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


def _proxy(url: str) -> httpcore.Proxy:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("only http:// and https:// proxies can be used")
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    bare = urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, "/", "", ""))
    return httpcore.Proxy(url=bare, auth=auth)
