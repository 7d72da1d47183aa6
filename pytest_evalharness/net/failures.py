"""Which branch of our error tree a failure of the HTTP library belongs to."""

from __future__ import annotations

import httpcore
import httpx

from pytest_evalharness.net.errors import (
    AnswerLost,
    ConnectFailed,
    DeadlineExceeded,
    NetError,
    NotJson,
    NotSent,
)

_NO_CONNECTION = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError)
_UNSENDABLE = (httpcore.PoolTimeout, httpcore.LocalProtocolError, httpcore.UnsupportedProtocol)
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpx.HTTPError, OSError)


def net_error(problem: Exception, method: str, request: str) -> NetError | None:
    """Our error for a failed exchange; None if the exception is no failure of the network's.

    What counts as "not sent" decides what may be repeated, so it holds only what happens before the first
    byte of the request: even a failed write may have delivered all of it.
    """
    why = str(problem) or type(problem).__name__
    if isinstance(problem, _NO_CONNECTION):
        return ConnectFailed(f"no connection: {why}", request=request)
    if isinstance(problem, _UNSENDABLE):
        # Only the kind: the text may quote the header that cannot be written.
        return NotSent(f"the request could not be sent ({type(problem).__name__})", request=request)
    if isinstance(problem, httpx.DecodingError):
        return NotJson("", "", f"it cannot be decompressed: {why}", request=request)
    if isinstance(problem, httpcore.TimeoutException):
        kind: type[NetError] = DeadlineExceeded if method == "GET" else AnswerLost
        return kind(f"no whole answer in time ({why})", request=request)
    if isinstance(problem, _BROKEN):
        return AnswerLost(f"the connection broke: {why}", request=request)
    return None
