"""Episodes as lists and records show them, with everything that was said of them; and where their files are."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from pytest_evalharness.observatory.models.base import NONE_IS_EMPTY, Instant, Wire, Word
from pytest_evalharness.observatory.models.requests import EpisodeRow
from pytest_evalharness.observatory.status import Status


class SourceRow(EpisodeRow):
    """An episode, and the object that it was read from.

    Records of league episodes, as they were until mid 2026, have neither status nor participants: they are of games that
    were played, name their policies in `policy_results`, and their job among `tags`.
    """

    status: Word = Status.UNKNOWN
    experience_request_id: str | None = None
    source: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _kept(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "source" in value:
            return value
        return {**value, **_of_record(value), "source": value}


def _of_record(value: dict[str, Any]) -> dict[str, Any]:
    """What a recorded episode says in other words."""
    seats = value.get("policy_results")
    if "status" in value or not isinstance(seats, list):
        return {}
    tags = value.get("tags")
    rows = [seat for seat in seats if isinstance(seat, dict) and isinstance(seat.get("position"), int)]
    return {
        "status": "completed",
        "job_id": tags.get("job_id") if isinstance(tags, dict) else None,
        "participants": [{"position": seat["position"], **_policy(seat.get("policy"))} for seat in rows],
    }


def _policy(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        return {}
    name, version = told.get("name"), told.get("version")
    return {
        "policy_name": name if isinstance(name, str) else None,
        "version": version if isinstance(version, int) else None,
    }


class SourceRequest(Wire):
    """An experience request, and its episodes with everything that was said of them."""

    id: str
    status: Word
    episodes: Annotated[tuple[SourceRow, ...], NONE_IS_EMPTY] = ()


class SeatFiles(Wire):
    """What a seat left that this token may read."""

    position: int = Field(ge=0)
    policy_version_id: str
    has_log: bool = False
    has_artifact: bool = False


class Evidence(Wire):
    """How final an episode's files are: `sealed` means that nothing will be added."""

    id: str
    status: Word = Status.UNKNOWN
    evidence_state: str = "pending"


class ManifestEntry(Wire):
    """One file of the download manifest.

    `state`: `pending`, `ready`, `not_produced` or `unavailable`. A ready one has its content as `inline_json`, or an address
    with size in bytes and ETag.
    """

    episode_request_id: str
    category: str
    position: int | None = None
    state: str
    size: int | None = Field(default=None, ge=0)
    etag: str | None = None
    url: str | None = None
    inline_json: Any = None
    expires_at: Instant = None


class ManifestPage(Wire):
    """A page of the download manifest."""

    entries: Annotated[tuple[ManifestEntry, ...], NONE_IS_EMPTY] = ()
    unavailable_ids: Annotated[tuple[str, ...], NONE_IS_EMPTY] = ()
    next_cursor: str | None = None
