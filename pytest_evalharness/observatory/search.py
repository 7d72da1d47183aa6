"""Finding a request whose answer was lost, by the text that its notes carry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import overload

from pytest_evalharness.observatory.calls import HIDDEN, Asking, Calls, named, segment
from pytest_evalharness.observatory.models import ExperienceRequestDetail, ExperienceRequestRow
from pytest_evalharness.observatory.requests import REQUESTS

_CLOCKS_DIFFER_BY = 600.0
_PAGE = 100
_MOST_DETAILS = 200


class FoundRequests(Sequence[ExperienceRequestRow]):
    """The requests that carry the text.

    Args:
        rows: the matches.
        unreadable: ids of requests that could be it, whose notes the server does not tell.
        cut: whether the server may have held a part of the list back.
    """

    def __init__(
        self, rows: Sequence[ExperienceRequestRow], *, unreadable: Sequence[str] = (), cut: bool = False
    ) -> None:
        self.rows = tuple(rows)
        self.unreadable = tuple(unreadable)
        self.cut = cut

    @property
    def conclusive(self) -> bool:
        """Whether the answer can be relied on: something was found, or nothing was hidden.

        Even then a request that was accepted a moment ago may not be listed yet: ask for a while.
        """
        return bool(self.rows) or not (self.unreadable or self.cut)

    @overload
    def __getitem__(self, index: int) -> ExperienceRequestRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ExperienceRequestRow]: ...
    def __getitem__(self, index: int | slice) -> ExperienceRequestRow | Sequence[ExperienceRequestRow]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ExperienceRequestRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        ids = ", ".join(named(row.id) for row in self.rows)
        return f"FoundRequests([{ids}], unreadable={len(self.unreadable)}, cut={self.cut})"


def search_requests(calls: Calls, text: str, since: float | None, not_done: str) -> FoundRequests:
    """See `Observatory.find_experience_requests`."""
    if not text:
        raise ValueError("every text carries an empty one")
    ask = Asking("look for the request among your own", not_done, params={"mine": True})
    oldest = -math.inf if since is None else since - _CLOCKS_DIFFER_BY
    pages = calls.pages(REQUESTS, ExperienceRequestRow, ask, limit=_PAGE)
    matches: list[ExperienceRequestRow] = []
    silent: list[ExperienceRequestRow] = []
    for page in pages:
        recent = [row for row in page if _created(row, oldest) >= oldest]
        matches += [row for row in recent if _carries(row, text)]
        # A list may show null where the detail has the notes: only a text in a list counts as told.
        silent += [row for row in recent if not _carries(row, text) and not _tells(row)]
        if page and not recent and _is_newest_first(page):
            break
    if matches:
        return FoundRequests(matches)
    return _look_inside(calls, silent, text, not_done, cut=pages.cut)


def _look_inside(
    calls: Calls, rows: Sequence[ExperienceRequestRow], text: str, not_done: str, *, cut: bool
) -> FoundRequests:
    unreadable: list[str] = []
    for row in rows[:_MOST_DETAILS]:
        ask = Asking(f"read the request {named(row.id)}", not_done, absent=HIDDEN)
        detail = calls.maybe(f"{REQUESTS}/{segment(row.id)}", ExperienceRequestDetail, ask)
        if detail is not None and _carries(detail, text):
            return FoundRequests([detail])
        if detail is None or not detail.tells_notes:
            unreadable.append(row.id)
    unreadable += [row.id for row in rows[_MOST_DETAILS:]]
    return FoundRequests([], unreadable=unreadable, cut=cut)


def _created(row: ExperienceRequestRow, unknown: float) -> float:
    return row.created_at.timestamp() if row.created_at else unknown


def _carries(row: ExperienceRequestRow, text: str) -> bool:
    return any(text in label for label in row.labels)


def _tells(row: ExperienceRequestRow) -> bool:
    return row.notes is not None or (row.requested is not None and row.requested.notes is not None)


def _is_newest_first(page: Sequence[ExperienceRequestRow]) -> bool:
    """Whether what follows is older still. A list in another order is read to its end."""
    times = [_created(row, 0.0) for row in page]
    return times == sorted(times, reverse=True) and times[0] > times[-1]
