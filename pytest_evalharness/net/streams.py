"""Bodies of any size, as streams: from one API with its token, and from whatever hosts it points to without it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urljoin

import httpcore
import httpx

from pytest_evalharness.base.closing import Closing
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net.answer import EXCERPT
from pytest_evalharness.net.downloads import DownloadPool
from pytest_evalharness.net.errors import HttpStatus, NetError, NotSent, Redirected, harmless
from pytest_evalharness.net.failures import net_error
from pytest_evalharness.net.pool import HELD, MakeCarrier
from pytest_evalharness.net.proxies import is_loopback
from pytest_evalharness.net.quiet import QuietHeaders, user_agent
from pytest_evalharness.net.sockets import Patience

_ERRORS_FROM = 400
_REDIRECTS_FROM = 300
_MOST_REDIRECTS = 3
_MOST_HOSTS = 64


@dataclass(frozen=True)
class Streamed:
    """A successful answer whose body is read while it comes.

    Attributes:
        status: 200, or 206 for a part.
        headers: names in lower case.
        chunks: the body's bytes as they were sent, compressed ones not unpacked. Raises `NetError`.
    """

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes] = field(repr=False)


class Streams(Closing):
    """GETs whose bodies are streamed, each asked for once. Safe to use from several threads; close it at the end.

    A path is asked for at the API with its headers. An absolute address, and whatever a redirect leads to outside of the
    API, gets no header of the API's: its token goes to its own host only. No address may lead from a hosted API to this
    machine, nor from https to http.

    Args:
        base_url: the API's address, which paths are appended to; checked already.
        headers: sent to the API only.
        environ: where proxies are looked up; the process's environment by default.
        connect: seconds to open a connection.
        read: seconds without a single byte.
        stop: once set, nothing more is read.
        carrier: makes what carries the requests to each origin.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        environ: Mapping[str, str] | None = None,
        connect: float = 5.0,
        read: float = 20.0,
        stop: threading.Event | None = None,
        carrier: MakeCarrier = DownloadPool,
    ) -> None:
        self._base = httpx.URL(base_url.rstrip("/"))
        self._secret = QuietHeaders(headers)
        self._usual = {"User-Agent": user_agent(), "Accept": "*/*", "Accept-Encoding": "identity"}
        self._environ = os.environ if environ is None else environ
        self._connect = connect
        self._read = read
        self._stop = stop
        self._make = carrier
        self._patience = Patience()
        self._carriers: dict[tuple[str, str, int | None], httpx.BaseTransport] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """The address, never a header."""
        return f"Streams({harmless(self._base)})"

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            carriers = list(self._carriers.values())
            self._carriers.clear()
        for each in carriers:
            each.close()

    @contextmanager
    def open(
        self, address: str, *, deadline: Deadline, headers: Mapping[str, str] | None = None
    ) -> Iterator[Streamed]:
        """The answer to one GET.

        Args:
            address: a path of the API, its segments quoted, or an absolute http(s) address.
            deadline: when the whole body must have come.
            headers: further ones, such as `Range`; they hold no secret.

        Raises:
            HttpStatus: the server answered with an error.
            NetError: the other outcomes of `net.errors`; also while the chunks are read.
        """
        url, own = self._first(address), address.startswith("/")
        for _ in range(_MOST_REDIRECTS + 1):
            shown = f"GET {harmless(_bare(url))}"
            request = self._request(url, headers or {}, deadline, own=own)
            with self._patience.until(deadline, self._stop):
                response = _translated(lambda: self._carrier(url).handle_request(request), shown)  # noqa: B023
                try:
                    if not _REDIRECTS_FROM <= response.status_code < _ERRORS_FROM:
                        yield self._streamed(response, shown)
                        return
                    url = self._next(url, response, shown)
                    own = own and self._is_own(url)
                finally:
                    response.close()
        raise Redirected(302, "one more address: there is no end of them", request=shown)

    def _first(self, address: str) -> httpx.URL:
        if address.startswith("/"):
            return _parsed(f"{self._base}{address}")
        url = _parsed(address)
        self._require_open(url, self._base)
        return url

    def _next(self, url: httpx.URL, response: httpx.Response, shown: str) -> httpx.URL:
        location = response.headers.get("location", "")
        if not location:
            raise Redirected(response.status_code, "", request=shown)
        following = _parsed(urljoin(str(url), location))
        self._require_open(following, url)
        return following

    def _require_open(self, url: httpx.URL, source: httpx.URL) -> None:
        """Refuse an address that a stranger could use to reach what only this machine reaches."""
        why = ""
        if url.scheme not in {"http", "https"} or not url.host:
            why = "no http(s) address"
        elif url.scheme == "http" and source.scheme == "https":
            why = "an unprotected address"
        elif is_loopback(url.host) and not is_loopback(self._base.host):
            why = "an address on this machine"
        if why:
            raise NotSent(
                f"the server points to {why}; it was not asked", request=f"GET {harmless(url.host)}"
            )

    def _request(
        self, url: httpx.URL, headers: Mapping[str, str], deadline: Deadline, *, own: bool
    ) -> httpx.Request:
        left = max(0.001, deadline.remaining)
        timeout = httpx.Timeout(
            connect=min(self._connect, left), read=min(self._read, left), write=left, pool=left
        )
        sent = QuietHeaders({**self._usual, **headers})
        if own:  # an address that the API gives away carries its own right, if it needs one
            sent.update(self._secret)
        return httpx.Request("GET", url, headers=sent, extensions={"timeout": timeout.as_dict(), HELD: False})

    def _is_own(self, url: httpx.URL) -> bool:
        """Whether an address is one of the API's: its origin, and below its path."""
        return _origin(url) == _origin(self._base) and url.path.startswith(f"{self._base.path.rstrip('/')}/")

    def _carrier(self, url: httpx.URL) -> httpx.BaseTransport:
        key = _origin(url)
        with self._lock:
            if key not in self._carriers:
                if len(self._carriers) >= _MOST_HOSTS:
                    raise NotSent(
                        "the server points to more hosts than any service has",
                        request=f"GET {harmless(url.host)}",
                    )
                self._carriers[key] = self._make(url, self._environ, self._patience)
            return self._carriers[key]

    def _streamed(self, response: httpx.Response, shown: str) -> Streamed:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status_code >= _ERRORS_FROM:
            raise HttpStatus(response.status_code, _excerpt(response), headers, request=shown)
        return Streamed(response.status_code, headers, _chunks(response, shown))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _parsed(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
        # Most have neither, and to parse a signed address again takes as long as asking for it.
        return url.copy_with(userinfo=b"", fragment=None) if url.userinfo or url.fragment else url
    except (httpx.InvalidURL, ValueError, TypeError):
        raise NotSent("the server points to what is no address", request="GET") from None


def _bare(url: httpx.URL) -> str:
    """An address without its query, in which a signature may stand."""
    return f"{url.scheme}://{url.netloc.decode()}{url.raw_path.partition(b'?')[0].decode()}"


def _translated(call: Callable[[], httpx.Response], shown: str) -> httpx.Response:
    try:
        return call()
    except NetError:
        raise
    except Exception as problem:
        found = net_error(problem, "GET", shown)
        if found is None:
            raise
    # Not raised inside the handler: tools that print the chain would show the request's headers.
    raise found


def _chunks(response: httpx.Response, shown: str) -> Iterator[bytes]:
    parts = iter(response.stream)  # type: ignore[arg-type]  # a synchronous stream: the carriers make no other
    while True:
        try:
            part = next(parts)
        except StopIteration:
            return
        except Exception as problem:
            found = net_error(problem, "GET", shown)
            if found is None:
                raise
        else:
            yield part
            continue
        raise found


def _excerpt(response: httpx.Response) -> str:
    """The beginning of an error's body. The status counts even if the rest never comes."""
    found = b""
    try:
        for part in response.iter_bytes():
            found += part
            if len(found) >= EXCERPT:
                break
    except (httpx.HTTPError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
        return "(the rest of the answer was lost)"
    return harmless(found[:EXCERPT].decode("utf-8", "replace"))
