"""The address of one server, and how it is reached."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.errors import UsageError
from pytest_evalharness.net import DownloadPool, Limits, MakeCarrier, Pool, Streams, Transport
from pytest_evalharness.net.transport import OnRetry
from pytest_evalharness.observatory.calls import named
from pytest_evalharness.observatory.credentials import NOTHING_SUBMITTED, Token
from pytest_evalharness.observatory.dialect import Auth


class Endpoint:
    """Makes transports to one server; arguments as `Observatory` has them.

    Raises:
        UsageError: the root is no address that a token may be sent to.
    """

    def __init__(
        self,
        server_root: str,
        *,
        clock: Clock,
        rng: random.Random,
        environ: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        on_retry: OnRetry | None = None,
        stop: threading.Event | None = None,
        carrier: MakeCarrier | None = None,
    ) -> None:
        self.root = _checked_root(server_root)
        self._clock = clock
        self._rng = rng
        self._environ = environ
        self._limits = limits
        self._on_retry = on_retry
        self._stop = stop
        self._carrier = carrier

    def transport(self, token: Token, *auths: Auth) -> Transport:
        """A transport that sends the token with every request, in the header of each way given; close it at the end.

        Raises:
            UsageError: the address, or that of its proxy, cannot be used.
        """
        try:
            return Transport(
                f"{self.root}/observatory",
                # Made on the spot: tools that print local variables must not find it in one.
                headers={key: value for auth in auths for key, value in auth.headers(token.reveal()).items()},
                clock=self._clock,
                rng=self._rng,
                limits=self._limits,
                environ=self._environ,
                on_retry=self._on_retry,
                stop=self._stop,
                carrier=self._carrier or Pool,
            )
        except ValueError as problem:
            raise _bad_address(str(problem)) from None

    def streams(self, token: Token, auth: Auth) -> Streams:
        """Streams of the server's files; the token goes to the server only. Close them at the end."""
        limits = self._limits or Limits()
        return Streams(
            f"{self.root}/observatory",
            headers=auth.headers(token.reveal()),
            environ=self._environ,
            connect=limits.connect,
            read=limits.read,
            stop=self._stop,
            carrier=self._carrier or DownloadPool,
        )


def _checked_root(server_root: str) -> str:
    root = server_root.strip().rstrip("/")
    try:
        parts = urlsplit(root)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise _bad_address("it is no URL") from None
    if not usable:
        raise _bad_address("it starts with http:// or https:// and names a host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Not quoted: what stands there may be a password.
        raise _bad_address("it holds neither a user nor a query; the token comes from elsewhere")
    return root


def _bad_address(why: str) -> UsageError:
    return UsageError(
        f"the server's address cannot be used: {named(why)}",
        not_done=NOTHING_SUBMITTED,
        next_step="--eval-server https://HOST/api   (the root of the league's API)",
    )
