"""What an episode left behind, as the service gives it: JSON objects and bytes. Reading them is `episodes/`'s part."""

from __future__ import annotations

from typing import Any

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.observatory.calls import MISSING, Asking, Calls, named, segment


def artifact(
    calls: Calls,
    episode_request_id: str,
    kind: str,
    *,
    not_done: str,
    late_seconds: float = 0.0,
    deadline: Deadline | None = None,
) -> dict[str, Any] | None:
    """An artifact of an episode that is a JSON object; None if it is absent after `late_seconds`."""
    path = f"/v2/episode-requests/{segment(episode_request_id)}/artifacts/{kind}"
    return calls.object(path, _asking(kind, episode_request_id, not_done, late_seconds, deadline))


def seat_artifact(
    calls: Calls,
    episode_request_id: str,
    policy_version_id: str,
    seat: int,
    kind: str,
    *,
    not_done: str,
    deadline: Deadline | None = None,
) -> bytes | None:
    """What belongs to one seat, as bytes; None if it is absent. Only the owner of its policy version is given it.

    Args:
        calls: to the service.
        episode_request_id: the episode.
        policy_version_id: who sat there.
        seat: the seat's position.
        kind: `policy-logs` or `policy-artifact`.
        not_done: what the message of a failure says about submissions.
        deadline: how long it may take with all repetitions.
    """
    episode, version = segment(episode_request_id), segment(policy_version_id)
    path = f"/v2/episode-requests/{episode}/{version}/{kind}/{seat}"
    return calls.bytes(path, _asking(kind, episode_request_id, not_done, 0.0, deadline))


def _asking(
    kind: str, episode_request_id: str, not_done: str, late_seconds: float, deadline: Deadline | None
) -> Asking:
    return Asking(
        f"read the {kind} of {named(episode_request_id)}",
        not_done,
        deadline=deadline,
        late_seconds=late_seconds,
        absent=MISSING,
    )
