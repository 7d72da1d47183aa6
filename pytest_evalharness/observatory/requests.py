"""Experience requests: submit once, read, cancel softly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import SubmissionUnknown
from pytest_evalharness.net import HttpStatus, NetError
from pytest_evalharness.observatory.calls import Asking, Calls, Missing, named, segment
from pytest_evalharness.observatory.models import ExperienceRequestDetail, ExperienceRequestRow
from pytest_evalharness.observatory.status import Status

REQUESTS = "/v2/experience-requests"
KEY = "idempotency_key"
GOES_ON = "what was submitted goes on on the server"
LATE_SECONDS = 30.0
"""How long what was just made may not be there yet."""
_NO_SUCH_REQUEST = Missing(
    SubmissionUnknown,
    "run as the identity that submitted it   (softmax status shows who the token speaks for)",
)
_NO_SUCH_CALL = frozenset({404, 405})
_CONFLICT = 409


def create(calls: Calls, body: Mapping[str, Any], deadline: Deadline | None) -> ExperienceRequestDetail:
    """See `Observatory.create_experience_request`."""
    doing = "submit the experience request"
    try:
        answer = calls.transport.post_json(REQUESTS, dict(body), deadline=deadline)
        return ExperienceRequestDetail.model_validate(answer.json())
    except NetError as problem:
        found = calls.translator.submitting(problem, doing)
    except ValidationError as problem:
        # The server said yes to something: whatever the words were, a request may run.
        found = calls.translator.lost(str(calls.translator.mismatch(problem, doing, "").what))
    raise found


def read(
    calls: Calls, request_id: str, late_seconds: float, not_done: str, deadline: Deadline | None
) -> ExperienceRequestDetail:
    """See `Observatory.experience_request`."""
    ask = Asking(
        f"read the request {named(request_id)}",
        not_done,
        deadline=deadline,
        late_seconds=late_seconds,
        missing=_NO_SUCH_REQUEST,
    )
    return calls.one(f"{REQUESTS}/{segment(request_id)}", ExperienceRequestDetail, ask)


def cancel(calls: Calls, request_id: str) -> bool | None:
    """See `Observatory.cancel`."""
    ask = Asking(
        f"cancel the request {named(request_id)}", f"{named(request_id)} may still run on the server"
    )
    try:
        answer = calls.transport.post_json(f"{REQUESTS}/{segment(request_id)}/cancel")
        if not answer.body:
            return True  # a success without words
        data = answer.json()
    except NetError as problem:
        status = problem.status if isinstance(problem, HttpStatus) else None
        if status in _NO_SUCH_CALL:
            return None
        if status == _CONFLICT:
            return False
        found = calls.translator.reading(problem, ask.doing, ask.not_done)
    else:
        return calls.read(ExperienceRequestRow, data, ask).status is Status.CANCELLED
    raise found
