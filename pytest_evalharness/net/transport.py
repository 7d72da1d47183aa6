"""HTTP calls that end in time, repeat only what is safe to repeat, and never show a secret."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.closing import Closing
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net.answer import EXCERPT, Answer
from pytest_evalharness.net.errors import HttpStatus, NetError, Redirected, TooLarge, harmless
from pytest_evalharness.net.failures import net_error
from pytest_evalharness.net.pool import HELD, MakeCarrier, Pool
from pytest_evalharness.net.quiet import QuietHeaders, user_agent
from pytest_evalharness.net.retry import may_get_again, may_post_again, not_found, pause
from pytest_evalharness.net.sockets import Patience

_ERRORS_FROM = 400
_REDIRECTS_FROM = 300

Query = Mapping[str, str | int | float | bool | Sequence[str] | None]
_Pairs = tuple[tuple[str, str | int | float | bool | None], ...]
OnRetry = Callable[[str, float], None]


@dataclass(frozen=True)
class Limits:
    """How long and how much, in seconds, tries and bytes.

    Attributes:
        connect: to open a connection.
        read: without a single byte, in a GET.
        total: a GET with all its repetitions, unless the caller brings a deadline.
        submit: a POST with all its repetitions; the service needs long to accept large requests.
        tries: a call without a deadline of the caller's own.
        body: the largest body that is read, after decompression.
    """

    connect: float = 5.0
    read: float = 20.0
    total: float = 60.0
    submit: float = 120.0
    tries: int = 6
    body: int = 64 * 1024 * 1024


@dataclass(frozen=True)
class _Call:
    method: str
    path: str
    read: float
    query: _Pairs = ()
    content: bytes | None = None
    stoppable: bool = False


class Transport(Closing):
    """Calls to one server. Safe to use from several threads; close it at the end.

    A GET is repeated on 408, 425, 429, 500, 502, 503, 504 and on broken connections, with growing, jittered
    pauses, obeying `Retry-After` as long as it fits into the deadline. A POST is repeated only if it
    provably did nothing: no connection, or a 429 that says the request was rejected before it ran.
    Redirects are not followed. Loopback is never reached through a proxy. The name lookup of a host is the
    one wait that the operating system times, not the deadline.

    Args:
        base_url: http(s) address that every path is appended to.
        headers: sent with every request.
        clock: tells the time, and waits between tries.
        rng: draws the jitter.
        limits: how long and how much.
        environ: where proxies are looked up; the process's environment by default.
        on_retry: told the reason and the seconds before each wait.
        stop: once set, no call waits for another try.
        carrier: makes what carries each single request.

    Raises:
        ValueError: an address (the server's or its proxy's) that cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        clock: Clock,
        rng: random.Random,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
        on_retry: OnRetry | None = None,
        stop: threading.Event | None = None,
        carrier: MakeCarrier = Pool,
    ) -> None:
        try:
            self._base = httpx.URL(base_url.rstrip("/"))
        except httpx.InvalidURL as problem:
            raise ValueError(f"not a URL: {problem}") from None
        if self._base.scheme not in {"http", "https"} or not self._base.host:
            raise ValueError("a server's address starts with http:// or https:// and names a host")
        self.limits = limits or Limits()
        self._clock = clock
        self._rng = rng
        self._on_retry = on_retry
        self._stop = stop or threading.Event()
        self._patience = Patience()
        # Not a whole httpx client: it would keep cookies and look into redirects, and we want neither.
        self._carrier = carrier(self._base, os.environ if environ is None else environ, self._patience)
        self._headers = QuietHeaders(
            {
                "User-Agent": user_agent(),
                "Accept": "application/json, */*;q=0.5",
                "Accept-Encoding": "gzip, deflate",
                **headers,
            }
        )

    def __repr__(self) -> str:
        """The address, never a header."""
        return f"Transport({harmless(self._base)})"

    @property
    def host(self) -> str:
        """The server's host and port, for messages."""
        return harmless(self._base.netloc.decode("ascii", "replace"), 120)

    def close(self) -> None:
        """Close every connection."""
        self._carrier.close()

    def get(
        self,
        path: str,
        *,
        params: Query | None = None,
        deadline: Deadline | None = None,
        late_seconds: float = 0.0,
        held_seconds: float = 0.0,
        tries: int | None = None,
    ) -> Answer:
        """The answer to a GET.

        Args:
            path: appended to the base URL; its segments are already quoted.
            params: the query; None values are left out, sequences are repeated, booleans are lower case.
            deadline: how long the call with all its tries may take; `limits.total` and `limits.tries` if None.
            late_seconds: how long a 404 may mean "not yet"; such answers do not count as tries.
            held_seconds: how long the server may keep its answer back until there is news (long poll); such a wait ends
                when `stop` is set.
            tries: at most, in place of what `deadline` says of them.

        Raises:
            NetError: see the tree in `net.errors`.
        """
        started = self._clock.monotonic()
        until = deadline or Deadline.after(self._clock, self.limits.total)

        def not_yet(problem: NetError) -> bool:
            return not_found(problem) and self._clock.monotonic() - started < late_seconds

        return self._repeat(
            _Call(
                "GET", path, self.limits.read + held_seconds, query=_query(params), stoppable=held_seconds > 0
            ),
            may_get_again,
            until,
            tries or (None if deadline else self.limits.tries),
            not_yet,
        )

    def get_json(
        self,
        path: str,
        *,
        params: Query | None = None,
        deadline: Deadline | None = None,
        late_seconds: float = 0.0,
    ) -> Any:
        """As `get`, and the body as JSON."""
        return self.get(path, params=params, deadline=deadline, late_seconds=late_seconds).json()

    def get_bytes(
        self,
        path: str,
        *,
        params: Query | None = None,
        deadline: Deadline | None = None,
        late_seconds: float = 0.0,
    ) -> bytes:
        """As `get`, and the body as it is."""
        return self.get(path, params=params, deadline=deadline, late_seconds=late_seconds).body

    def post_json(
        self, path: str, body: Any = None, *, deadline: Deadline | None = None, stoppable: bool = False
    ) -> Answer:
        """The answer to a POST, which is never sent twice unless the first provably did nothing.

        Args:
            path: appended to the base URL; its segments are already quoted.
            body: JSON; None sends no body.
            deadline: `limits.submit` from now if None.
            stoppable: whether `stop` ends the wait for the answer: of a question that may be asked again.

        Raises:
            NotSent: nothing reached the server.
            AnswerLost: the server may have acted.
            HttpStatus: the server answered with an error, which for 5xx does not prove that it did nothing.
            NetError: the other outcomes of `net.errors`: the server did answer.
            TypeError, ValueError: the body is no JSON.
        """
        content = None if body is None else json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        until = deadline or Deadline.after(self._clock, self.limits.submit)
        return self._repeat(
            _Call("POST", path, until.remaining, content=content, stoppable=stoppable),
            may_post_again,
            until,
            None if deadline else self.limits.tries,
        )

    def _repeat(
        self,
        call: _Call,
        again: Callable[[NetError], bool],
        until: Deadline,
        tries: int | None,
        not_yet: Callable[[NetError], bool] = lambda _: False,
    ) -> Answer:
        started = self._clock.monotonic()
        attempt = counted = 0
        while True:
            attempt += 1
            try:
                return self._once(call, until)
            except NetError as problem:
                problem.attempts = attempt
                problem.seconds = self._clock.monotonic() - started
                early = not_yet(problem)  # a matter of time, not of tries
                counted += not early
                if not (early or again(problem)) or counted == tries or self._stop.is_set():
                    raise
                seconds = pause(problem, attempt, rng=self._rng, now=self._clock.now())
                if seconds >= until.remaining:
                    raise
                reason = str(problem)
                if self._on_retry is not None:
                    self._on_retry(reason, seconds)
                if self._clock.wait(seconds, self._stop):
                    raise

    def _once(self, call: _Call, until: Deadline) -> Answer:
        shown = f"{call.method} {harmless(self._base)}{harmless(call.path)}"
        left = max(0.001, until.remaining)
        headers = QuietHeaders(self._headers)
        if call.content is not None:
            headers["Content-Type"] = "application/json"
        timeout = httpx.Timeout(
            connect=min(self.limits.connect, left), read=min(call.read, left), write=left, pool=left
        )
        request = httpx.Request(
            call.method,
            f"{self._base}{call.path}",
            params=call.query or None,
            headers=headers,
            content=call.content,
            extensions={"timeout": timeout.as_dict(), HELD: call.stoppable},
        )
        try:
            with self._patience.until(until, self._stop if call.stoppable else None):
                return self._exchange(request, shown, until)
        except NetError:
            raise
        except Exception as problem:
            found = net_error(problem, call.method, shown)
            if found is None:
                raise
        # Not raised inside the handler: tools that print the chain would show the request's headers.
        raise found

    def _exchange(self, request: httpx.Request, shown: str, until: Deadline) -> Answer:
        response = self._carrier.handle_request(request)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            status = response.status_code
            if status >= _ERRORS_FROM:
                raise HttpStatus(status, self._detail(response, shown, until), headers, request=shown)
            if status >= _REDIRECTS_FROM:
                raise Redirected(status, headers.get("location", ""), request=shown)
            return Answer(status, headers, self._body(response, shown, until), shown)
        finally:
            response.close()

    def _body(self, response: httpx.Response, shown: str, until: Deadline) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > self.limits.body:
                raise TooLarge(f"the answer is larger than {self.limits.body} bytes", request=shown)
            parts.append(part)
            if until.expired:
                raise httpcore.ReadTimeout("the deadline passed in the middle of the answer")
        return b"".join(parts)

    def _detail(self, response: httpx.Response, shown: str, until: Deadline) -> Any:
        """What an error answer says. The status counts even if the rest of the answer never comes."""
        try:
            body = self._body(response, shown, until)
        except (NetError, httpx.HTTPError, httpcore.NetworkError, httpcore.ProtocolError):
            return "(the rest of the answer was lost)"
        except httpcore.TimeoutException:
            return "(the rest of the answer did not come in time)"
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError):
            return harmless(body[:EXCERPT].decode("utf-8", "replace"))
        return parsed.get("detail", parsed) if isinstance(parsed, dict) else parsed


def _query(params: Query | None) -> _Pairs:
    pairs: list[tuple[str, str | int | float | bool | None]] = []
    for name, value in (params or {}).items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, "true" if value else "false"))
        elif isinstance(value, str | int | float):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, part) for part in value)
    return tuple(pairs)
