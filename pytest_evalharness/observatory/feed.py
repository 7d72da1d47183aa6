"""The change feed of a request: one page a call, each asked for once, so that whoever waits can show between two that it lives."""

from __future__ import annotations

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.net import HttpStatus, NetError
from pytest_evalharness.net.retry import retry_after
from pytest_evalharness.observatory.calls import Asking, Calls, named
from pytest_evalharness.observatory.models import ChangePage
from pytest_evalharness.observatory.problems import Busy, CursorLost

CHANGES = "/v2/episode-requests/changes"
_CURSOR_LOST = frozenset({404, 409, 410})
_TOO_MANY = 429
_USUAL_PAUSE = 5.0
"""Seconds after a 429 that names none."""


def changes(
    calls: Calls,
    request_id: str,
    cursor: str | None,
    wait_seconds: float,
    *,
    deadline: Deadline,
    not_done: str,
) -> ChangePage:
    """See `Observatory.changes`."""
    ask = Asking(f"read the changes of the request {named(request_id)}", not_done)
    waits = wait_seconds if cursor is not None and wait_seconds > 0 else None
    params = {"ids": [request_id], "view": "progress", "cursor": cursor, "wait_seconds": waits}
    try:
        data = calls.transport.get(
            CHANGES, params=params, deadline=deadline, held_seconds=wait_seconds, tries=1
        ).json()
    except NetError as problem:
        found = _failure(
            problem, calls.translator.reading(problem, ask.doing, not_done), deadline.clock.now()
        )
    else:
        return calls.read(ChangePage, data, ask)
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
