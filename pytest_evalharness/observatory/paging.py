"""Lists of the service, whole: three generations of paging, and no list without an end.

1. opaque cursors: an envelope with `entries` and `next_cursor`, or a bare list and the header `X-Next-Cursor`;
2. offsets: an envelope with `entries`, `total_count`, `limit` and `offset`;
3. bare lists, which older servers cut at a limit without saying so.

What is asked for follows the server's description, what is done with an answer follows the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

CURSOR_HEADER = "x-next-cursor"
_MOST_PAGES = 1000
_CUSTOMARY = frozenset({50, 100, 200, 250, 500, 1000})
"""Where servers cut lists whose limit nobody chose: a list of just so many rows may have been longer."""


class Paging(StrEnum):
    """How a long list is asked for."""

    CURSOR = "cursors"
    OFFSET = "offsets"
    LIMIT = "a limit"
    WHOLE = "no paging"
    UNKNOWN = "whatever comes"


class PagingError(Exception):
    """A list that is none, or that does not end."""


@dataclass
class Pages:
    """Follows a list to its end.

    Args:
        fetch: the JSON and the headers of one page, given extra query parameters.
        limit: rows asked for on each page.
        paging: how the server's description says that the list is asked for.
        most: the largest limit that it says the list takes; None if it says none.
        cut: set when the list may be longer than what came: it filled its page and cannot be asked for more, it ended at a
            number at which lists are cut, or it shrank while it was read.
    """

    fetch: Callable[[Mapping[str, str | int]], tuple[Any, Mapping[str, str]]]
    limit: int
    paging: Paging = Paging.UNKNOWN
    most: int | None = None
    cut: bool = False
    _cursors: set[str] = field(default_factory=set)
    _total: int | None = None
    _came: int = 0

    def __iter__(self) -> Iterator[list[Any]]:
        """Page after page of raw rows.

        Raises:
            PagingError: an answer that is no list, a cursor that came before, or pages without an end.
        """
        fixed: dict[str, str | int] = {} if self.paging is Paging.WHOLE else {"limit": self._asked}
        extra: dict[str, str | int] = {}
        previous: list[Any] | None = None
        for _ in range(_MOST_PAGES):
            data, headers = self.fetch({**fixed, **extra})
            rows = _rows(data)
            if rows and rows == previous and not self._grew(data):
                raise PagingError("the same page came twice")
            previous = rows
            self._came += len(rows)
            yield rows
            following = self._following(data, headers, rows)
            if following is None:
                if _is_bare(data, headers) and not self._cursors:
                    yield from self._rest_of_bare(rows)
                return
            extra = following
        raise PagingError(f"there are more than {_MOST_PAGES} pages")

    @property
    def _asked(self) -> int:
        """Rows asked for on each page."""
        return self.limit if self.most is None else min(self.limit, self.most)

    def _grew(self, data: Any) -> bool:
        """Whether rows have come in since the last page: by offsets, they push a page to where the next one is asked for."""
        total = data.get("total_count") if isinstance(data, dict) else None
        return isinstance(total, int) and self._total is not None and total > self._total

    def _following(
        self, data: Any, headers: Mapping[str, str], rows: list[Any]
    ) -> dict[str, str | int] | None:
        envelope = data if isinstance(data, dict) else {}
        cursor = envelope.get("next_cursor") or headers.get(CURSOR_HEADER)
        if cursor:
            word = str(cursor)
            if word in self._cursors:
                raise PagingError("a cursor came twice: the list has no end")
            self._cursors.add(word)
            return {"cursor": word}
        total, offset = envelope.get("total_count"), envelope.get("offset")
        if not (isinstance(total, int) and isinstance(offset, int)) or "next_cursor" in envelope:
            full = _is_bare(data, headers) and len(rows) >= self._asked
            return {"offset": self._came} if full and self.paging is Paging.OFFSET else None
        reached = offset + len(rows)
        # Fewer rows than before: one before our place has gone, and the next one has moved where it was.
        self.cut = self.cut or (self._total is not None and total < self._total)
        self._total = total
        if reached < total and not rows:
            self.cut = True
        return {"offset": reached} if rows and reached < total else None

    def _rest_of_bare(self, rows: list[Any]) -> Iterator[list[Any]]:
        """What a list without any paging has beyond its only page, as far as that can be asked for."""
        told = self.paging in {
            Paging.CURSOR,
            Paging.OFFSET,
        }  # then a missing word means that this was the last page
        if not told and self.paging is not Paging.LIMIT:
            self.cut = len(rows) in _CUSTOMARY
        if told or self.paging is Paging.WHOLE or len(rows) < self._asked:
            return
        if self.most is None or self.most <= self._asked:
            self.cut = True
            return
        data, _ = self.fetch({"limit": self.most})
        again = _rows(data)
        self.cut = len(again) >= self.most
        yield again[len(rows) :] if again[: len(rows)] == rows else [row for row in again if row not in rows]


def _is_bare(data: Any, headers: Mapping[str, str]) -> bool:
    """Whether an answer has no word about further pages."""
    words = {"next_cursor", "total_count"}
    return CURSOR_HEADER not in headers and not (isinstance(data, dict) and words & data.keys())


def _rows(data: Any) -> list[Any]:
    rows = data.get("entries") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        what = "no `entries`" if isinstance(data, dict) else "no list"
        raise PagingError(f"the answer has {what}")
    return rows
