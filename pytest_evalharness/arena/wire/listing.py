"""How long lists are cut: today by opaque cursors, in mid 2026 by offsets, or at a limit that nobody is told of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from pytest_evalharness.arena.wire import paging
from pytest_evalharness.arena.wire.parameters import Cursor, bad_cursor

_T = TypeVar("_T")
_Entry = TypeVar("_Entry")
_Offset = Annotated[int, Query(ge=0)]


class CursorPage(TypedDict, Generic[_Entry]):
    """A page, and the cursor of the next one."""

    entries: list[_Entry]
    next_cursor: str | None


class OffsetPage(TypedDict, Generic[_Entry]):
    """A page, where it starts, and how many rows there are."""

    entries: list[_Entry]
    total_count: int
    limit: int
    offset: int


@dataclass(frozen=True)
class Asked:
    """Which part of a list a client wants."""

    limit: int
    cursor: str | None = None
    offset: int = 0


def _limit(usual: int, most: int) -> Any:
    """The default of a `limit`, with its bounds: they belong to the route, so no annotation can hold them."""
    return Query(usual, ge=1, le=most)


class Listing(ABC):
    """A way to cut lists."""

    @abstractmethod
    def asked(self, usual: int, most: int) -> Any:
        """The dependency that reads the query of a route: so many rows if it names no limit, and never more than `most`."""

    @abstractmethod
    def shape(self, entry: Any) -> Any:
        """What a page of such entries looks like, for the description."""

    @abstractmethod
    def answer(
        self, rows: Sequence[_T], key: Callable[[_T], str], asked: Asked, show: Callable[[_T], Any]
    ) -> Response:
        """The part that was asked for.

        Raises:
            HTTPException: 422 for a cursor that is none.
        """


class _ByCursor(Listing):
    def asked(self, usual: int, most: int) -> Any:
        """As `Listing.asked`."""

        def read(limit: int = _limit(usual, most), cursor: Cursor = None) -> Asked:
            return Asked(limit, cursor)

        return Depends(read)

    @staticmethod
    def _page(rows: Sequence[_T], key: Callable[[_T], str], asked: Asked) -> tuple[Sequence[_T], str | None]:
        try:
            return paging.page(rows, key, asked.limit, asked.cursor)
        except paging.BadCursorError as error:
            raise bad_cursor(error) from error


class CursorEnvelope(_ByCursor):
    """Today's: entries and the next cursor."""

    def shape(self, entry: Any) -> Any:
        """As `Listing.shape`."""
        return CursorPage[entry]

    def answer(
        self, rows: Sequence[_T], key: Callable[[_T], str], asked: Asked, show: Callable[[_T], Any]
    ) -> Response:
        """As `Listing.answer`."""
        shown, following = self._page(rows, key, asked)
        return JSONResponse({"entries": [show(each) for each in shown], "next_cursor": following})


class CursorList(_ByCursor):
    """Today's bare lists: the next cursor is in a header."""

    def shape(self, entry: Any) -> Any:
        """As `Listing.shape`."""
        return list[entry]

    def answer(
        self, rows: Sequence[_T], key: Callable[[_T], str], asked: Asked, show: Callable[[_T], Any]
    ) -> Response:
        """As `Listing.answer`."""
        shown, following = self._page(rows, key, asked)
        headers = {"X-Next-Cursor": following} if following else None
        return JSONResponse([show(each) for each in shown], headers=headers)


class OffsetEnvelope(Listing):
    """Mid 2026: entries, where they start, and how many there are in all."""

    def asked(self, usual: int, most: int) -> Any:
        """As `Listing.asked`."""

        def read(limit: int = _limit(usual, most), offset: _Offset = 0) -> Asked:
            return Asked(limit, offset=offset)

        return Depends(read)

    def shape(self, entry: Any) -> Any:
        """As `Listing.shape`."""
        return OffsetPage[entry]

    def answer(
        self, rows: Sequence[_T], key: Callable[[_T], str], asked: Asked, show: Callable[[_T], Any]
    ) -> Response:
        """As `Listing.answer`."""
        del key
        shown = rows[asked.offset : asked.offset + asked.limit]
        return JSONResponse(
            {
                "entries": [show(each) for each in shown],
                "total_count": len(rows),
                "limit": asked.limit,
                "offset": asked.offset,
            }
        )


class CutList(Listing):
    """Mid 2026's bare lists: they end at the limit, and nothing says that there is more."""

    def asked(self, usual: int, most: int) -> Any:
        """As `Listing.asked`."""

        def read(limit: int = _limit(usual, most)) -> Asked:
            return Asked(limit)

        return Depends(read)

    def shape(self, entry: Any) -> Any:
        """As `Listing.shape`."""
        return list[entry]

    def answer(
        self, rows: Sequence[_T], key: Callable[[_T], str], asked: Asked, show: Callable[[_T], Any]
    ) -> Response:
        """As `Listing.answer`."""
        del key
        return JSONResponse([show(each) for each in rows[: asked.limit]])
