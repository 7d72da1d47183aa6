"""What a server answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pytest_evalharness.net.errors import NotJson

EXCERPT = 400
"""Bytes of an unexpected body that are worth quoting."""


@dataclass(frozen=True)
class Answer:
    """A successful answer: its status, its headers (names in lower case) and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    request: str = ""

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            NotJson: it is none; NaN and infinities are none either.
        """
        try:
            return json.loads(self.body, parse_constant=_no_constant)
        except (ValueError, RecursionError) as problem:
            why = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        excerpt = self.body[:EXCERPT].decode("utf-8", "replace")
        raise NotJson(self.headers.get("content-type", ""), excerpt, why, request=self.request)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")
