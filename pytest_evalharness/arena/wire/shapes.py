"""What goes over the wire, field by field. `NotRequired` fields are absent, all others at most null."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class WhoAmI(TypedDict):
    """`GET /whoami`."""

    user_email: str
    name: str
    is_softmax_team_member: bool
    is_softmax_admin: bool
    subject_type: Literal["anonymous", "user", "player"]
    subject_id: str
    owner_user_id: str
    scopes: list[str]


class GameShape(TypedDict):
    """A game, as leagues name it."""

    id: str
    name: str
    slug: str
    coworld_name: str
    coworld_id: str
    description: str | None
    created_at: str


class LeagueShape(TypedDict):
    """A league."""

    id: str
    name: str
    slug: str
    game: GameShape
    participation_url: str
    forum_markdown_url: str | None
    wiki_markdown_url: str | None
    commissioner_key: str
    public: bool
    hidden: bool
    created_at: str
    disabled_at: str | None


class DivisionShape(TypedDict):
    """A division."""

    id: str
    name: str
    level: int
    type: str
    hidden: bool
    league: LeagueShape
    description: str | None
    archived_at: str | None
    created_at: str


class LadderShape(TypedDict):
    """A line of the division ladder."""

    id: str
    name: str
    level: int
    member_count: int


class PolicyShape(TypedDict):
    """A policy, all its versions together."""

    id: str
    name: str


class VersionShape(TypedDict):
    """A policy version, as memberships and standings name it."""

    id: str
    policy: PolicyShape
    version: int
    player_id: str | None


class PlayerShape(TypedDict):
    """A player."""

    id: str
    name: str


class MembershipShape(TypedDict):
    """A policy version's place in a division."""

    id: str
    status: str
    substatus: str | None
    is_champion: bool
    start_time: str
    end_time: str | None
    policy_version: VersionShape
    player: PlayerShape
    league: LeagueShape
    division: DivisionShape
    created_at: str


class SubmissionShape(TypedDict):
    """A version's entry into a league."""

    id: str
    auto_champion: str
    status: str
    league: LeagueShape
    policy_version: VersionShape
    player: PlayerShape
    league_policy_membership_id: str
    notes: str | None
    created_at: str


class RoundShape(TypedDict):
    """A round."""

    id: str
    round_number: int
    commissioner_key: str
    execution_backend: str
    round_config: dict[str, Any]
    status: str
    error: str | None
    started_at: str | None
    completed_at: str | None
    division: DivisionShape
    created_at: str


class StandingShape(TypedDict):
    """A result of a round."""

    id: str
    rank: int
    score: float
    result_metadata: dict[str, Any] | None
    policy_version: VersionShape
    player: PlayerShape
    created_at: str


class RoundDetailShape(RoundShape):
    """A round with its results."""

    results: list[StandingShape]


class RecentRoundShape(TypedDict):
    """A round in a leaderboard row."""

    id: str
    round_number: int
    status: str
    rank: int
    score: float
    started_at: str | None
    completed_at: str | None


class LeaderboardShape(TypedDict):
    """A row of a leaderboard."""

    rank: int
    player_id: str
    player_name: str
    score: float
    rounds_played: int
    recent_rounds: list[RecentRoundShape]


class PolicyVersionRow(TypedDict):
    """A row of the policy look-up."""

    id: str
    name: str
    version: int
    policy_id: str
    player_id: str
    created_at: str


class PolicyVersionDetail(PolicyVersionRow):
    """One policy version; what its image is, only its owner sees."""

    kind: str
    attributes: dict[str, Any]
    container_image_id: str | None


class ImageShape(TypedDict):
    """A container image."""

    id: str
    name: str
    status: str
    image_digest: str
    created_at: str


class ParticipantShape(TypedDict):
    """Who sits in one seat of an episode."""

    position: int
    kind: Literal["policy"]
    policy_version_id: str
    policy_id: str
    policy_name: str
    version: int
    player_id: str | None
    player_name: str | None
    is_filler: bool


class ScoreShape(TypedDict):
    """A policy version's score in an episode; its seats together."""

    policy_version_id: str
    score: float


class EpisodeShape(TypedDict):
    """An episode."""

    id: str
    requester_user_id: str
    round_id: str | None
    mod_name: str | None
    env_config_name: str | None
    coworld_id: str | None
    coworld_version: str
    seed: int | None
    max_steps: int | None
    status: str
    policy_version_ids: list[str]
    participants: list[ParticipantShape]
    job_id: str | None
    episode_id: str | None
    replay_url: str | None
    live_url: str | None
    error_type: str | None
    error: str | None
    failed_policy_index: int | None
    failed_agent_index: int | None
    scores: list[ScoreShape]
    game_config: dict[str, Any] | None
    created_at: str


class SummaryShape(TypedDict):
    """An episode in a list."""

    id: str
    status: str
    coworld_id: str | None
    round_id: str | None
    replay_url: str | None
    policy_version_ids: list[str]
    created_at: str


class RequestRow(TypedDict):
    """An experience request in a list."""

    id: str
    requester_user_id: str
    requester: str | None
    coworld_id: str
    coworld_name: str
    coworld_version: str
    variant_id: str | None
    title: str | None
    description: str | None
    notes: str | None
    status: str
    episode_count: int
    pending_count: int
    submitted_count: int
    running_count: int
    completed_count: int
    failed_count: int
    error: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None


class RequestDetail(RequestRow):
    """An experience request with its episodes."""

    episodes: list[EpisodeShape]


class Requested(TypedDict):
    """What was asked for, in the answer to a creation."""

    title: str | None
    description: str | None
    notes: str | None
    num_episodes: int


class Created(RequestDetail):
    """The answer to a creation."""

    requested: Requested
    cost_preview: dict[str, Any] | None


class BulkEntry(TypedDict):
    """An episode in bulk reads; the last four only in the `results` view."""

    id: str
    experience_request_id: str | None
    created_at: str
    status: str
    error_type: str | None
    evidence_state: Literal["pending", "sealed"]
    scores: NotRequired[list[ScoreShape]]
    participants: NotRequired[list[ParticipantShape]]
    replay_url: NotRequired[str | None]
    error: NotRequired[str | None]


class BulkPage(TypedDict):
    """A page of episodes in bulk."""

    entries: list[BulkEntry]
    unavailable_ids: list[str]
    next_cursor: str | None
    observed_at: str


class BatchShape(TypedDict):
    """A request in the change feed."""

    id: str
    status: str
    episode_count: int


class ChangeEntry(TypedDict):
    """An episode in the change feed."""

    id: str
    experience_request_id: str
    revision: int
    removed: bool
    episode: BulkEntry | None


class ChangePage(TypedDict):
    """A page of the change feed."""

    batches: list[BatchShape]
    phase: Literal["snapshot", "changes"]
    entries: list[ChangeEntry]
    next_cursor: str
    has_more: bool
    poll_after_seconds: int
    expires_at: str


class DownloadEntry(TypedDict):
    """An artifact in the download manifest."""

    episode_request_id: str
    category: str
    position: int | None
    artifact_id: str
    version: str | None
    filename: str
    state: Literal["pending", "ready", "not_produced", "unavailable"]
    media_type: str
    encoding: str
    size: int | None
    etag: str | None
    url: str | None
    expires_at: str | None
    inline_json: dict[str, Any] | None


class DownloadPage(TypedDict):
    """A page of the download manifest."""

    entries: list[DownloadEntry]
    unavailable_ids: list[str]
    next_cursor: str | None


class AgentStats(TypedDict):
    """One seat's numbers."""

    agent_id: int
    reward: float
    metrics: dict[str, float]


class PolicyStats(TypedDict):
    """One position's numbers."""

    position: int
    policy_version_id: str
    policy_name: str | None
    policy_version: int | None
    num_agents: int
    avg_metrics: dict[str, float]
    avg_reward: float
    agents: list[AgentStats]


class EpisodeStats(TypedDict):
    """An episode's numbers."""

    game_stats: dict[str, float]
    policy_stats: list[PolicyStats]
    steps: int | None


class PolicyArtifact(TypedDict):
    """What a seat left behind."""

    position: int
    policy_version_id: str
    policy_name: str | None
    has_log: bool
    has_artifact: bool
