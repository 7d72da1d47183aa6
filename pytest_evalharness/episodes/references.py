"""Episodes as they were found: who they are, how they stand, and what must be known to fetch what they left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_evalharness.observatory.models.sources import SourceRow
from pytest_evalharness.observatory.status import Status


@dataclass(frozen=True)
class Reference:
    """An episode that was found.

    Attributes:
        id: an `ereq_…` id, or the UUID of a recorded episode.
        created_at: seconds since 1970; None if nobody tells.
        status: how it stands.
        row: the object that it was read from, as the server sent it.
        seats: seat → the policy version in it; None for one that has none, such as a human.
        job_id: the job that played it.
        replay_url: where its replay is public; untrusted.
        error_type: why it failed, in the service's word.
        request_id: the experience request that it belongs to.
        over: whether its status will not change any more.
        sealed: whether the server says that nothing will be added to what it left; None where it does not tell.
        whole: whether `row` is all that the server tells of it, and not a line of a list.
        recorded: whether it is a recorded league episode of mid 2026, which has no `ereq_` id.
    """

    id: str
    created_at: float | None
    status: Status
    row: Mapping[str, Any] = field(repr=False)
    seats: Mapping[int, str | None] = field(default_factory=dict)
    job_id: str | None = None
    replay_url: str | None = None
    error_type: str | None = None
    request_id: str | None = None
    over: bool = True
    sealed: bool | None = None
    whole: bool = True
    recorded: bool = False


def reference(
    row: SourceRow,
    *,
    request: str | None = None,
    request_status: Status | None = None,
    whole: bool = True,
) -> Reference:
    """The reference of a row.

    A failed episode may be dispatched again while its request lives; one that is pending when its request was cancelled
    never starts. So the request's own status counts.

    Args:
        row: the episode.
        request: its request, where that is known.
        request_status: how that stands; None if nobody knows, as for a round's.
        whole: whether the row is all that the server tells of it.
    """
    status, alive = row.status, request_status is not None and not request_status.terminal
    over = status.terminal and not (alive and status is Status.FAILED)
    if request_status is Status.CANCELLED and status in {Status.PENDING, Status.SUBMITTED}:
        status, over = Status.CANCELLED, True
    return Reference(
        id=row.id,
        created_at=row.created_at.timestamp() if row.created_at is not None else None,
        status=status,
        row=row.source,
        seats={seat.position: seat.policy_version_id for seat in row.participants},
        job_id=row.job_id,
        replay_url=row.replay_url,
        error_type=row.error_type,
        request_id=request or row.experience_request_id,
        over=over,
        whole=whole,
        recorded="tags" in row.source and "participants" not in row.source,
    )
