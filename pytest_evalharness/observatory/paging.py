"""Lists of the service, whole: three generations of paging, and no list without an end.

1. opaque cursors: an envelope with `entries` and `next_cursor`, or a bare list and the header `X-Next-Cursor`;
2. offsets: an envelope with `entries`, `total_count`, `limit` and `offset`;
3. bare lists, which older servers cut at a limit without saying so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

CURSOR_HEADER = "x-next-cursor"
_MOST_PAGES = 1000


class PagingError(Exception):
    """A list that is none, or that does not end."""


@dataclass
class Pages:
    """Follows a list to its end.

    Args:
        fetch: the JSON and the headers of one page, given extra query parameters.
        limit: rows asked for on each page.
        cut: set when a list without any paging filled its page: it may have been cut there.
    """

    fetch: Callable[[Mapping[str, str | int]], tuple[Any, Mapping[str, str]]]
    limit: int
    cut: bool = False
    _cursors: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[list[Any]]:
        """Page after page of raw rows.

        Raises:
            PagingError: an answer that is no list, a cursor that came before, or pages without an end.
        """
        extra: dict[str, str | int] = {}
        previous: list[Any] | None = None
        for _ in range(_MOST_PAGES):
            data, headers = self.fetch({"limit": self.limit, **extra})
            rows = _rows(data)
            if rows and rows == previous:
                raise PagingError("the same page came twice")
            previous = rows
            yield rows
            following = self._following(data, headers, rows)
            if following is None:
                return
            extra = following
        raise PagingError(f"there are more than {_MOST_PAGES} pages")

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
        if isinstance(data, list) and CURSOR_HEADER not in headers and len(rows) >= self.limit:
            self.cut = True
        total, offset = envelope.get("total_count"), envelope.get("offset")
        if not (isinstance(total, int) and isinstance(offset, int)) or "next_cursor" in envelope:
            return None
        reached = offset + len(rows)
        return {"offset": reached} if rows and reached < total else None


def _rows(data: Any) -> list[Any]:
    rows = data.get("entries") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        what = "no `entries`" if isinstance(data, dict) else "no list"
        raise PagingError(f"the answer has {what}")
    return rows
