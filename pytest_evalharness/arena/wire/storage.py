"""The store of artifacts: URLs that let their bearer in until they expire, and a book of who came and how.

A URL's signature covers what it names and when it expires, under a key made of the home's token: URLs outlive a restart of the
server, as long as it comes back at the same address.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from pytest_evalharness.arena.faults.active import Faults

PATH: Final = "/storage"
USUAL_LIFETIME: Final = 900.0
"""Seconds for which a signed URL lets in."""


@dataclass
class Storage:
    """The store, as those see it who make URLs of it.

    Attributes:
        url: where it answers, without a path.
        key: signs URLs.
        visits: how many came, by what happened to them.
        generations: how often an artifact was replaced, by its id.
    """

    url: str
    key: bytes = field(repr=False)
    visits: Counter[str] = field(default_factory=Counter)
    generations: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, url: str, token: str) -> Storage:
        """The store of a home with this token."""
        return cls(url, hashlib.sha256(f"storage/{token}".encode()).digest())

    def address(self, faults: Faults) -> str:
        """Where it answers, as it is told at the moment."""
        if faults.value("other-host") is None:
            return self.url
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=f"localhost:{parts.port}"))

    def signed(self, path: str, expires: float, faults: Faults) -> str:
        """A URL of a path below `PATH` that lets in until then, in whole seconds since 1970."""
        until = int(expires)
        query = f"expires={until}&signature={self._signature(path, until)}"
        return f"{self.address(faults)}{PATH}{quote(path)}?{query}"

    def lets_in(self, path: str, expires: int, signature: str, now: float) -> bool:
        """Whether a URL was made here and is still good."""
        good = hmac.compare_digest(signature.encode(), self._signature(path, expires).encode())
        return good and now < expires

    def _signature(self, path: str, expires: int) -> str:
        return hmac.new(self.key, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()

    def note(self, *, authorized: bool) -> None:
        """Somebody came; `authorized` is whether they sent a token along, which nobody here may see."""
        self.visits["requests"] += 1
        self.visits["with_a_token"] += authorized
