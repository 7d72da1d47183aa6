"""Who and what exists in the arena before anybody asks for a game: people, policies, leagues, rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class User:
    """An account."""

    id: str
    name: str
    email: str


@dataclass(frozen=True)
class Player:
    """Somebody's name in the leagues. `key` is its name in the cast, `name` what its owner chose to show."""

    id: str
    key: str
    name: str
    owner: User


@dataclass(frozen=True)
class Version:
    """An uploaded policy version. `build` is what the game plays; `image_digest` identifies it to others."""

    id: str
    policy_id: str
    policy_name: str
    number: int
    build: str
    player: Player
    image_id: str
    image_digest: str
    created_at: float

    @property
    def label(self) -> str:
        """`name:vN`."""
        return f"{self.policy_name}:v{self.number}"


@dataclass(frozen=True)
class Coworld:
    """A game as the service hosts it. One without variants cannot be played here."""

    id: str
    game_id: str
    name: str
    title: str
    version: str
    variants: tuple[str, ...]
    created_at: float


@dataclass(frozen=True)
class League:
    """A league of one game."""

    id: str
    name: str
    slug: str
    coworld: Coworld
    variant: str | None
    created_at: float


@dataclass(frozen=True)
class Division:
    """A division; `shows_leaderboard` is off where the service answers `null`."""

    id: str
    name: str
    level: int
    kind: str
    league: League
    created_at: float
    description: str
    hidden: bool = False
    archived_at: float | None = None
    shows_leaderboard: bool = False

    @property
    def open(self) -> bool:
        """Whether it is listed in the ladder."""
        return not self.hidden and self.archived_at is None


@dataclass(frozen=True)
class Membership:
    """A policy version's place in a division; `end_time` is set when it left."""

    id: str
    status: str
    substatus: str | None
    is_champion: bool
    division: Division
    version: Version
    start_time: float
    end_time: float | None

    @property
    def active(self) -> bool:
        """Whether it still plays."""
        return self.end_time is None


@dataclass(frozen=True)
class Standing:
    """One player's result in a round."""

    id: str
    rank: int
    score: float
    version: Version
    games: int


@dataclass(frozen=True)
class Game:
    """A game of a round: who sat where, what came out."""

    id: str
    index: int
    seats: tuple[Version, ...]
    seed: int
    results: dict[str, Any]
    ticks: int


@dataclass(frozen=True)
class Round:
    """A round of a division. One that is not completed has neither games nor standings."""

    id: str
    number: int
    division: Division
    status: str
    created_at: float
    started_at: float | None
    completed_at: float | None
    standings: tuple[Standing, ...] = ()
    games: tuple[Game, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class World:
    """Everything, with the look-ups the service needs. `withdrawn` holds the ids of versions that nobody can seat."""

    me: User
    machine: User
    players: tuple[Player, ...]
    versions: tuple[Version, ...]
    coworlds: tuple[Coworld, ...]
    leagues: tuple[League, ...]
    divisions: tuple[Division, ...]
    memberships: tuple[Membership, ...]
    rounds: tuple[Round, ...] = field(repr=False)
    withdrawn: frozenset[str] = frozenset()

    @cached_property
    def version_by_id(self) -> dict[str, Version]:
        """Versions by their bare UUID."""
        return {version.id: version for version in self.versions}

    @cached_property
    def version_by_label(self) -> dict[str, Version]:
        """Versions by `name:vN`."""
        return {version.label: version for version in self.versions}

    @cached_property
    def version_by_image(self) -> dict[str, Version]:
        """Versions by the id of their container image."""
        return {version.image_id: version for version in self.versions}

    @cached_property
    def live_versions(self) -> frozenset[str]:
        """Ids of versions with an active membership somewhere."""
        return frozenset(member.version.id for member in self.memberships if member.active)

    @cached_property
    def game_by_id(self) -> dict[str, tuple[Round, Game]]:
        """Games of rounds by their episode id."""
        return {game.id: (round_, game) for round_ in self.rounds for game in round_.games}

    def owned(self, version: Version) -> bool:
        """Whether the token's user owns this version."""
        return version.player.owner.id == self.me.id

    def league(self, league_id: str) -> League | None:
        """A league by its id."""
        return next((league for league in self.leagues if league.id == league_id), None)

    def division(self, division_id: str) -> Division | None:
        """A division by its id."""
        return next((division for division in self.divisions if division.id == division_id), None)

    def divisions_of(self, league: League) -> list[Division]:
        """A league's divisions, lowest level first."""
        mine = [division for division in self.divisions if division.league.id == league.id]
        return sorted(mine, key=lambda division: (division.level, division.id))

    def competition(self, league: League) -> Division | None:
        """The division that `top_n` and `random` draw from when only a league is named."""
        return next(
            (each for each in self.divisions_of(league) if each.kind == "competition" and each.open), None
        )

    def rounds_of(self, division: Division) -> list[Round]:
        """A division's rounds, newest first."""
        mine = [round_ for round_ in self.rounds if round_.division.id == division.id]
        return sorted(mine, key=lambda round_: -round_.number)

    def latest_round(self, division: Division) -> Round | None:
        """A division's latest round that was played to its end."""
        return next((each for each in self.rounds_of(division) if each.games), None)

    def best_scores(self, division: Division) -> dict[str, float]:
        """Each player's best score in the division's completed rounds, by player id."""
        best: dict[str, float] = {}
        for round_ in self.rounds_of(division):
            for standing in round_.standings:
                player = standing.version.player.id
                best[player] = max(best.get(player, standing.score), standing.score)
        return best

    def ranked(self, division: Division, *, champions: bool) -> list[Version]:
        """The division's active versions, best player first; only champions if asked."""
        best = self.best_scores(division)
        active = [
            member
            for member in self.memberships
            if member.active and member.division.id == division.id and (member.is_champion or not champions)
        ]
        active.sort(key=lambda member: (-best.get(member.version.player.id, -1.0), member.version.id))
        return [member.version for member in active]


def member_count(memberships: Iterable[Membership], division: Division) -> int:
    """How many active memberships a division has."""
    return sum(1 for member in memberships if member.active and member.division.id == division.id)
