"""What can go wrong between two machines. Internal: callers turn these into errors a user can act on.

NetError
├── NotSent            provably nothing reached the server: safe to repeat, even a POST
│   └── ConnectFailed  no connection
├── AnswerLost         the request went out, no whole answer came back: a POST may have been accepted
├── DeadlineExceeded   a GET's time is over
├── HttpStatus         the server answered with 4xx or 5xx
├── Redirected         the server answered with 3xx; redirects are not followed
├── NotJson            the server answered with something that is no JSON
└── TooLarge           the server answered with more than we are willing to read
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pytest_evalharness.base.text import printable, redact

_LONGEST = 400


def harmless(text: object, limit: int = _LONGEST) -> str:
    """Text from outside, without secrets and as one printable line.

    Secrets go first: a cut in the middle of one would leave a half that nobody recognises.
    """
    return printable(redact(str(text)), limit)


class NetError(Exception):
    """The root. `attempts` and `seconds` say how often and how long the call was tried.

    Args:
        text: what happened; made harmless here.
        request: the method and address, without query.
    """

    sent: ClassVar[bool] = True

    def __init__(self, text: str, *, request: str = "") -> None:
        self.text = harmless(text)
        self.request = harmless(request)
        self.attempts = 1
        self.seconds = 0.0
        super().__init__(self.text)

    def __str__(self) -> str:
        """One printable line."""
        return f"{self.request}: {self.text}" if self.request else self.text


class NotSent(NetError):
    """Provably nothing of the request reached the server."""

    sent = False


class ConnectFailed(NotSent):
    """No connection: refused, no such host, no route, no answer in time, no TLS."""


class AnswerLost(NetError):
    """The request, or a part of it, went out and no whole answer came back."""


class DeadlineExceeded(NetError):
    """The time for a GET is over."""


class HttpStatus(NetError):
    """The server answered with an error status.

    Args:
        status: 400 to 599.
        detail: the body's `detail` if it is JSON, else the beginning of the body. Untrusted.
        headers: the answer's headers, names in lower case. Untrusted.
        request: the method and address.
    """

    def __init__(self, status: int, detail: Any, headers: Mapping[str, str], *, request: str = "") -> None:
        self.status = status
        self.detail = detail
        self.request_id = harmless(headers.get("x-request-id", ""), 80)
        self.headers = {
            name: headers[name]
            for name in ("retry-after", "x-ratelimit-outcome", "content-type")
            if name in headers
        }
        shown = f" (request {self.request_id})" if self.request_id else ""
        super().__init__(f"HTTP {status}{shown}: {harmless(detail, 200)}", request=request)

    @property
    def refused_before_execution(self) -> bool:
        """Whether the server says that its rate limit stopped the request before anything ran."""
        outcome = self.headers.get("x-ratelimit-outcome", "")
        return self.status == 429 and outcome.strip().lower() == "rejected"  # noqa: PLR2004


class Redirected(NetError):
    """The server answered with a redirect. They are not followed: a token goes to its own host only."""

    def __init__(self, status: int, location: str, *, request: str = "") -> None:
        self.status = status
        self.location = harmless(location, 200)
        super().__init__(f"HTTP {status}, a redirect to {self.location or 'nowhere'}", request=request)


class NotJson(NetError):
    """The server answered with something that is no JSON."""

    def __init__(self, content_type: str, excerpt: str, why: str, *, request: str = "") -> None:
        self.content_type = harmless(content_type or "no content type", 80)
        self.excerpt = harmless(excerpt, 120)
        super().__init__(
            f"the answer is no JSON ({why}); {self.content_type}: {self.excerpt or '(empty)'}",
            request=request,
        )


class TooLarge(NetError):
    """The answer is larger than the limit; the rest was not read."""
