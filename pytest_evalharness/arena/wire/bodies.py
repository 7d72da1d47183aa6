"""What a creation may ask for. Anything else is a 422."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pytest_evalharness.arena.league.ids import HEX


def prefixed(prefix: str) -> str:
    """The pattern of an id with this prefix."""
    return f"^{prefix}_{HEX}$"


LeagueId = Annotated[str, StringConstraints(pattern=prefixed("league"))]
DivisionId = Annotated[str, StringConstraints(pattern=prefixed("div"))]
CoworldId = Annotated[str, StringConstraints(pattern=prefixed("cow"))]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
StrictInt = Annotated[int, Field(strict=True)]

_MOST_ENTRIES = 64  # far above any game's seats: a bound on work, not a rule of the game


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Target(_Body):
    """Where to play."""

    league_id: LeagueId | None = None
    league_name: Name | None = None
    division_id: DivisionId | None = None
    division_name: Name | None = None
    coworld_id: CoworldId | None = None
    variant_id: Name | None = None


class Selector(_Body):
    """Whom to seat: exactly one of the three."""

    policy_ref: Name | None = None
    top_n: Annotated[int, Field(strict=True, ge=1, le=100)] | None = None
    random: Literal[True] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Selector:
        chosen = [name for name in ("policy_ref", "top_n", "random") if getattr(self, name) is not None]
        if len(chosen) != 1:
            found = " and ".join(chosen) or "none"
            raise ValueError(f"exactly one of policy_ref, top_n, random is needed, not {found}")
        return self


class RosterEntry(_Body):
    """One seat's occupant."""

    player: Selector
    slot: StrictInt = -1


class CreateExperienceRequest(_Body):
    """The body of `POST /v2/experience-requests`."""

    target: Target | None = None
    coworld_id: CoworldId | None = None
    variant_id: Name | None = None
    roster: Annotated[list[RosterEntry], Field(max_length=_MOST_ENTRIES)]
    included_players: Annotated[list[Name], Field(max_length=1000)] | None = None
    excluded_players: Annotated[list[Name], Field(max_length=1000)] | None = None
    num_episodes: Annotated[int, Field(strict=True, ge=1, le=100)] = 1
    execution_backend: Literal["k8s", "antfarm"] = "k8s"
    game_config_overrides: dict[str, Any] | None = None
    game_config_overlay_secret: Name | None = None
    state: dict[str, Any] | None = None
    notes: Annotated[str, Field(max_length=1000)] | None = None
    title: Annotated[str, Field(max_length=200)] | None = None
    description: Annotated[str, Field(max_length=5000)] | None = None
    idempotency_key: Annotated[str, Field(min_length=5, max_length=200)] | None = None
    private: Annotated[bool, Field(strict=True)] = False
    episode_player_llm_spend_limit_usd: Annotated[float, Field(ge=0)] | None = None
    llm_routing_override: dict[str, Any] | None = None
    reporters: list[Any] | None = None
