"""Headers as they are sent: who asks, and values that no tool shows."""

from __future__ import annotations

import importlib.metadata

import httpx


class QuietHeaders(httpx.Headers):
    """Headers that tools which print local variables may show: a token may stand in any of them."""

    def __repr__(self) -> str:
        """The names, no value."""
        return f"Headers({', '.join(self.keys())})"


def user_agent() -> str:
    """`pytest-evalharness/<version>`: the service's front refuses nameless clients."""
    try:
        version = importlib.metadata.version("pytest-evalharness")
    except importlib.metadata.PackageNotFoundError:
        version = "0"
    return f"pytest-evalharness/{version}"
