"""Identities, leagues, policies and rounds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from pytest_evalharness.observatory.models.base import (
    NONE_IS_EMPTY,
    Instant,
    Named,
    Ref,
    Wire,
    Word,
    name_of_policy,
)
from pytest_evalharness.observatory.status import Status


class WhoAmI(Wire):
    """Whose token it is."""

    subject_type: str = "user"
    subject_id: str | None = None
    owner_user_id: str | None = None
    user_email: str | None = None
    name: str | None = None
    is_softmax_team_member: bool | None = None
    scopes: Annotated[tuple[str, ...], NONE_IS_EMPTY] = ()

    @model_validator(mode="before")
    @classmethod
    def _says_anything(cls, value: Any) -> Any:
        """Every field may be missing, but an object with none of them comes from another service."""
        if isinstance(value, dict) and not value.keys() & cls.model_fields.keys():
            raise ValueError("nothing in it says who this is")
        return value

    @property
    def anonymous(self) -> bool:
        """Whether the server took the token for none."""
        return self.subject_type == "anonymous"


class Game(Ref):
    """The game of a league."""

    coworld_name: str | None = None
    coworld_id: str | None = None


class League(Named):
    """A league. Its settings are read where they tell how its games are seated, and are whatever they are."""

    slug: str | None = None
    game: Game | None = None
    settings: Any = None
    hidden: bool = False
    disabled_at: Instant = None
    created_at: Instant = None


class Division(Named):
    """A division of a league."""

    level: int = 0
    type: str = ""
    hidden: bool = False
    archived_at: Instant = None
    league: Ref | None = None
    created_at: Instant = None


class PolicyVersion(Wire):
    """A version of a policy, as lists, memberships and results show it."""

    id: str
    name: str
    version: int
    policy: Ref | None = None
    player_id: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return name_of_policy(value)

    @property
    def label(self) -> str:
        """`name:vN`, as rosters spell it."""
        return f"{self.name}:v{self.version}"


class PolicyVersionDetail(Wire):
    """One version by its id."""

    id: str
    name: str | None = None
    version: int | None = None
    kind: str | None = None
    container_image_id: str | None = None
    player_id: str | None = None
    attributes: Any = None

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return name_of_policy(value)


class ContainerImage(Wire):
    """A policy's image: its digest proves that two versions are different builds."""

    id: str
    status: str | None = None
    image_digest: str | None = None


class Membership(Wire):
    """A policy version's place in a league."""

    id: str
    status: str
    substatus: str | None = None
    is_champion: bool = False
    start_time: Instant = None
    end_time: Instant = None
    policy_version: PolicyVersion
    player: Ref | None = None
    league: Ref | None = None
    division: Ref | None = None
    created_at: Instant = None

    @property
    def label(self) -> str:
        """`name:vN` of the version."""
        return self.policy_version.label

    @property
    def player_id(self) -> str | None:
        """Whose version it is, wherever the server says so."""
        return self.player.id if self.player else self.policy_version.player_id

    @property
    def player_name(self) -> str | None:
        """What the player calls itself; untrusted."""
        return self.player.name if self.player else None


class RoundResult(Wire):
    """A version's result in a round."""

    id: str | None = None
    rank: int | None = None
    score: float | None = None
    policy_version: PolicyVersion
    player: Ref | None = None
    result_metadata: Any = None
    created_at: Instant = None

    @property
    def player_id(self) -> str | None:
        """Whose version it is, wherever the server says so."""
        return self.player.id if self.player else self.policy_version.player_id


class Round(Wire):
    """A round of a division."""

    id: str
    round_number: int | None = None
    status: Word = Status.UNKNOWN
    division: Ref | None = None
    created_at: Instant = None
    completed_at: Instant = None


class RoundDetail(Round):
    """A round with its results."""

    results: Annotated[tuple[RoundResult, ...], NONE_IS_EMPTY] = ()


class Standing(Wire):
    """A player's place on a leaderboard."""

    rank: int | None = None
    player_id: str
    player_name: str | None = None
    score: float | None = None
    rounds_played: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        """In June 2026 the player was an object, and the score had a longer name."""
        if not isinstance(value, dict) or not isinstance(value.get("player"), dict):
            return value
        player = value["player"]
        return {
            "score": value.get("mean_round_score"),
            **value,
            "player_id": player.get("id"),
            "player_name": player.get("name"),
        }


class Leaderboard(Wire):
    """A division's leaderboard: null where there is none, a list today, an object in June 2026."""

    entries: Annotated[tuple[Standing, ...], NONE_IS_EMPTY]

    @model_validator(mode="before")
    @classmethod
    def _any_shape(cls, value: Any) -> Any:
        return {"entries": value} if value is None or isinstance(value, list) else value
