"""Identifiers: deterministic UUIDs under the prefixes of the hosted service."""

from __future__ import annotations

import re
from uuid import NAMESPACE_URL, uuid5

from pytest_evalharness.base.files import canonical_json

HEX = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
"""A UUID as it stands behind a prefix."""

_BARE = re.compile(HEX)


class Ids:
    """Names things: the same arena seed and the same words always give the same UUID."""

    def __init__(self, seed: int) -> None:
        self._space = uuid5(NAMESPACE_URL, f"evalharness-arena:{seed}")

    def bare(self, *words: object) -> str:
        """A UUID without a prefix, as policies, policy versions and jobs have it."""
        return str(uuid5(self._space, canonical_json([str(word) for word in words])))

    def prefixed(self, prefix: str, *words: object) -> str:
        """`prefix_UUID`, as leagues, requests and players have it."""
        return f"{prefix}_{self.bare(prefix, *words)}"


def is_bare(text: str) -> bool:
    """Whether a text is a UUID without a prefix."""
    return _BARE.fullmatch(text.lower()) is not None
