"""Experience requests, their episodes and who sat where; and what they cost."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from pytest_evalharness.observatory.models.base import NONE_IS_EMPTY, Instant, Prose, Wire, Word


class Participant(Wire):
    """Who sits in a seat. `position` is the seat; old servers leave `kind` out."""

    position: int = Field(ge=0)
    kind: str = "policy"
    policy_version_id: str | None = None
    policy_id: str | None = None
    policy_name: str | None = None
    version: int | None = None
    player_id: str | None = None
    player_name: str | None = None
    is_filler: bool = False
    user_id: str | None = None
    name: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _kind(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("kind") is None:
            human = value.get("user_id") is not None and value.get("policy_version_id") is None
            return {**value, "kind": "human" if human else "policy"}
        return value


class PolicyScore(Wire):
    """A row's score: one a policy version, not one a seat."""

    policy_version_id: str
    score: float | None = None


class EpisodeRow(Wire):
    """An episode of a request."""

    id: str
    status: Word
    policy_version_ids: Annotated[tuple[str, ...], NONE_IS_EMPTY] = ()
    participants: Annotated[tuple[Participant, ...], NONE_IS_EMPTY] = ()
    scores: Annotated[tuple[PolicyScore, ...], NONE_IS_EMPTY] = ()
    seed: int | None = None
    job_id: str | None = None
    episode_id: str | None = None
    round_id: str | None = None
    coworld_id: str | None = None
    coworld_version: str | None = None
    replay_url: str | None = None
    error_type: str | None = None
    error: Prose = None
    failed_policy_index: int | None = None
    failed_agent_index: int | None = None
    game_config: dict[str, Any] | None = None
    created_at: Instant = None


class Requested(Wire):
    """The echo of what a request asked for."""

    title: Prose = None
    description: Prose = None
    notes: Prose = None
    num_episodes: int | None = None


class ExperienceRequestRow(Wire):
    """An experience request as lists show it. There is no count of cancelled episodes."""

    id: str
    status: Word
    status_word: str = ""
    requester_user_id: str | None = None
    coworld_id: str | None = None
    coworld_name: str | None = None
    coworld_version: str | None = None
    variant_id: str | None = None
    title: Prose = None
    description: Prose = None
    notes: Prose = None
    requested: Requested | None = None
    idempotency_key: str | None = None
    error: Prose = None
    episode_count: int = 0
    pending_count: int = 0
    submitted_count: int = 0
    running_count: int = 0
    completed_count: int = 0
    failed_count: int = 0
    created_at: Instant = None
    started_at: Instant = None
    completed_at: Instant = None

    @model_validator(mode="before")
    @classmethod
    def _keep_word(cls, value: Any) -> Any:
        """The wire's own word stays, so that a message can quote one that nobody knows."""
        if isinstance(value, dict) and "status_word" not in value:
            return {**value, "status_word": str(value.get("status", ""))[:80]}
        return value

    @property
    def labels(self) -> tuple[str, ...]:
        """Every free text that came with the request: where a token in the notes can be found."""
        echo = self.requested or Requested()
        found = (self.notes, self.title, self.description, echo.notes, echo.title, echo.description)
        return tuple(text for text in found if text)

    @property
    def tells_notes(self) -> bool:
        """Whether this answer shows notes at all, be they null. If not, a missing text proves nothing."""
        echo = self.requested
        return "notes" in self.model_fields_set or (echo is not None and "notes" in echo.model_fields_set)


class ExperienceRequestDetail(ExperienceRequestRow):
    """An experience request with its episodes."""

    episodes: Annotated[tuple[EpisodeRow, ...], NONE_IS_EMPTY] = ()
    cost_preview: Any = None
    poll_after_seconds: float | None = None


class CreditStatus(Wire):
    """An account's balance."""

    balance_credits: float | None = None
    max_balance_credits: float | None = None
    refill_credits: float | None = None
    refill_cadence: str | None = None
    next_refill_at: Instant = None
    credits_per_usd: float | None = None
    spent_this_period_credits: float | None = None
    enforced: bool | None = None


class CreditUse(Wire):
    """What a request has cost."""

    experience_request_id: str
    episodes: int | None = None
    compute_cost_credits: float | None = None
    last_activity_at: Instant = None


class Credits(Wire):
    """Balance and recent spending."""

    status: CreditStatus
    recent_requests: Annotated[tuple[CreditUse, ...], NONE_IS_EMPTY] = ()
