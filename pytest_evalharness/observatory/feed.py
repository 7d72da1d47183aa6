"""The change feed of a request: one page a call, each asked for once, so that whoever waits can show between two that it lives."""

from __future__ import annotations

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.net import HttpStatus, NetError
from pytest_evalharness.net.retry import retry_after
from pytest_evalharness.observatory.calls import Asking, Calls, named
from pytest_evalharness.observatory.models import ChangePage
from pytest_evalharness.observatory.problems import Busy, CursorLost
from pytest_evalharness.observatory.requests import GOES_ON

CHANGES = "/v2/episode-requests/changes"
_CURSOR_LOST = frozenset({404, 409, 410})
_TOO_MANY = 429
_PAGE_SECONDS = 20.0
"""How long a page may take beyond what the server was asked to wait."""
_USUAL_PAUSE = 5.0
"""Seconds after a 429 that names none."""


class ChangeFeed:
    """The change feeds of requests. A page is asked for once: whoever waits for changes asks again."""

    def __init__(self, calls: Calls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock

    @property
    def offered(self) -> bool:
        """Whether the server says that it has feeds. One that says nothing is not tried."""
        return self._calls.dialect.capabilities.has("GET", CHANGES) is True

    def page(
        self,
        request_id: str,
        *,
        cursor: str | None = None,
        wait_seconds: float = 0.0,
        not_done: str = GOES_ON,
    ) -> ChangePage:
        """A page of a request's feed.

        Args:
            request_id: the request.
            cursor: the last page's `next_cursor`; None begins with a snapshot of all episodes.
            wait_seconds: how long the server may wait for news before it answers; not in a snapshot.
            not_done: what the message of a failure says about submissions.

        Raises:
            Busy: the server asks for a pause (429 of any kind); a `ServerUnreachable`.
            CursorLost: the cursor does not count any more (404, 409, 410): begin with a snapshot; a `NotTheService`.
            EvalHarnessError: as every call of the client.
        """
        ask = Asking(f"read the changes of the request {named(request_id)}", not_done)
        waits = wait_seconds if cursor is not None and wait_seconds > 0 else None
        params = {"ids": [request_id], "view": "progress", "cursor": cursor, "wait_seconds": waits}
        deadline = Deadline.after(self._clock, wait_seconds + _PAGE_SECONDS)
        try:
            answer = self._calls.transport.get(
                CHANGES, params=params, deadline=deadline, held_seconds=wait_seconds, tries=1
            )
            data = answer.json()
        except NetError as problem:
            told = self._calls.translator.reading(problem, ask.doing, not_done)
            found = _failure(problem, told, self._clock.now())
        else:
            return self._calls.read(ChangePage, data, ask)
        raise found


def _failure(problem: NetError, told: EvalHarnessError, now: float) -> EvalHarnessError:
    """What a failure means to a reader of the feed."""
    if not isinstance(problem, HttpStatus):
        return told
    if problem.status in _CURSOR_LOST:
        return CursorLost(told.what, not_done=told.not_done, next_step=told.next_step)
    if problem.status != _TOO_MANY:
        return told
    busy = Busy(told.what, not_done=told.not_done, next_step=told.next_step)
    pause = retry_after(problem.headers, now)
    busy.seconds = _USUAL_PAUSE if pause is None else pause
    return busy
