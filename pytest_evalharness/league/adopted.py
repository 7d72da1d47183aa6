"""What a comparison of requests that somebody else created asks beside its claim. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Adopted:
    """The requests of both arms.

    Attributes:
        requests: the ids, by side.
        roles: each seat's forced role, or `natural`.
    """

    requests: Mapping[str, tuple[str, ...]]
    roles: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "requests": {side: list(ids) for side, ids in sorted(self.requests.items())},
            "roles": list(self.roles),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Adopted:
        """What `to_json` gave."""
        return cls({side: tuple(ids) for side, ids in data["requests"].items()}, tuple(data["roles"]))
