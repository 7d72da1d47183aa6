"""The founding of the arena: people, policies, leagues and memberships from seed, cast and day of birth."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.league.ids import Ids
from pytest_evalharness.arena.league.world import (
    Coworld,
    Division,
    League,
    Membership,
    Player,
    User,
    Version,
)

Cast = Sequence[tuple[str, Sequence[str]]]
"""(Name, builds oldest first) of every player of a game."""

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
PRIME = "league_a12f5172-0907-4d04-8bcb-ca02f5360e3a"

CREWRIFT = "crewrift"
_DAY = 86_400.0
_ALIAS = ("keeper-alias", ("keeper-1",))
"""A player of our own whose one version is the image of keeper:v1 under another name."""
_ENTERED = ("keeper", "painter", "warden")
"""Our own players, one a game: the first version of each is entered in its leagues, the others are uploaded only."""
_OURS = (*_ENTERED, _ALIAS[0])
_LIVE = 2  # versions of a player that play at the same time: one champion, one experiment


class Founding:
    """Everything of the world but its rounds, which have to be played first (see `season`).

    Args:
        seed: the arena's seed.
        casts: the players of every game that has some, by the game's name.
        born: when this arena was founded, in seconds since 1970; history lies before it.
    """

    def __init__(self, seed: int, casts: Mapping[str, Cast], born: float) -> None:
        casts = {name: [*cast, _ALIAS] if name == CREWRIFT else cast for name, cast in casts.items()}
        self.seed = seed
        self.born = born
        self.ids = Ids(seed)
        self.me = self._user("you")
        self.machine = self._user("commissioner")
        self.players_of = {
            game: tuple(self._player(name) for name, _ in cast) for game, cast in casts.items()
        }
        self.players = tuple(player for players in self.players_of.values() for player in players)
        self.versions = tuple(
            version
            for game, cast in casts.items()
            for player, (_, builds) in zip(self.players_of[game], cast, strict=True)
            for version in self._versions(player, builds)
        )
        self.coworlds = self._coworlds()
        self.leagues = self._leagues()
        self.divisions = self._divisions()
        self.memberships = tuple(self._memberships())

    def _user(self, name: str) -> User:
        return User(self.ids.prefixed("usr", name), name, f"{name}@arena.invalid")

    def _player(self, key: str) -> Player:
        owner = self.me if key in _OURS else self._user(f"owner-of-{key}")
        return Player(self.ids.prefixed("ply", key), key, key, owner)

    def _versions(self, player: Player, builds: Sequence[str]) -> list[Version]:
        return [
            Version(
                id=self.ids.bare("version", player.key, number),
                policy_id=self.ids.bare("policy", player.key),
                policy_name=player.key,
                number=number,
                build=build,
                player=player,
                image_id=self.ids.prefixed("img", player.key, number),
                # An image is its content: the same build pushed twice has one digest.
                image_digest="sha256:" + hashlib.sha256(f"image of {build}".encode()).hexdigest(),
                created_at=self.born - _DAY * (3 * (len(builds) - number) + 1) - 60 * number,
            )
            for number, build in enumerate(builds, start=1)
        ]

    def _coworlds(self) -> tuple[Coworld, ...]:
        def coworld(name: str, title: str, version: str, variants: tuple[str, ...]) -> Coworld:
            game_id = self.ids.prefixed("game", name)
            born = self.born - 200 * _DAY
            return Coworld(self.ids.prefixed("cow", name), game_id, name, title, version, variants, born)

        hosted = tuple(
            coworld(game.name, game.title, game.version, tuple(variant.id for variant in game.variants))
            for game in GAMES.values()
        )
        return (*hosted, coworld("heartleaf", "Heartleaf", "0.2.0", ()))

    def _leagues(self) -> tuple[League, ...]:
        crewrift, paint, flags, heartleaf = self.coworlds
        born = self.born - 150 * _DAY

        def league(words: str, name: str, coworld: Coworld, days: int) -> League:
            league_id, slug = self.ids.prefixed("league", words), name.lower().replace(" ", "-")
            return League(
                league_id, name, slug, coworld, next(iter(coworld.variants), None), born + days * _DAY
            )

        return (
            League(DAILY, "Crewrift Daily", "crewrift-daily", crewrift, "crewrift-classic", born),
            League(PRIME, "Crewrift Prime", "crewrift-prime", crewrift, "crewrift-prime", born + _DAY),
            league("paint", "Paint Arena Open", paint, 2),
            league("flags", "Capture the Flag Ladder", flags, 3),
            league("heartleaf", "Heartleaf Open", heartleaf, 4),
        )

    def _division(self, league: League, name: str, level: int, kind: str, about: str) -> Division:
        division_id = self.ids.prefixed("div", league.slug, name)
        return Division(division_id, name, level, kind, league, league.created_at + 60, about)

    def _divisions(self) -> tuple[Division, ...]:
        daily, prime, paint, flags, heartleaf = self.leagues
        return (
            self._division(daily, "Qualifiers", 0, "qualifier", "Where new versions prove that they run."),
            replace(
                self._division(daily, "Spring Season", 0, "competition", "Last season's division."),
                archived_at=self.born - 90 * _DAY,
            ),
            replace(self._division(daily, "Rehearsal", 0, "competition", "Staff only."), hidden=True),
            self._division(daily, "Competition", 1, "competition", "One champion a player, every day."),
            self._division(daily, "Champions Cup", 2, "competition", "Not open yet: nobody is in it."),
            replace(
                self._division(prime, "Competition", 1, "competition", "Shorter meetings, faster kills."),
                shows_leaderboard=True,
            ),
            self._division(paint, "Competition", 1, "competition", "Two painters, one canvas."),
            self._division(flags, "Competition", 1, "competition", "Every pair of captains, both sides."),
            self._division(heartleaf, "Competition", 1, "competition", "Nobody has entered."),
        )

    def competition(self, league_id: str) -> Division:
        """The division of a league in which rounds are played."""
        return next(
            division
            for division in self.divisions
            if division.league.id == league_id and division.kind == "competition" and division.open
        )

    def _memberships(self) -> list[Membership]:
        out = self._crewrift_memberships()
        for league in self.leagues:
            if league.coworld.name != CREWRIFT:
                division = self.competition(league.id)
                players = self.players_of.get(league.coworld.name, ())
                out.extend(
                    self._membership(division, version, state)
                    for player in players
                    for version, state in self._form(player, players)
                )
        return out

    def _crewrift_memberships(self) -> list[Membership]:
        out: list[Membership] = []
        players = self.players_of[CREWRIFT]
        for league_id in (DAILY, PRIME):
            division = self.competition(league_id)
            for place, player in enumerate(players):
                if league_id == PRIME and place % 3 == 1 and player.key not in {"keeper", "rival"}:
                    continue  # not everybody plays everywhere
                out.extend(
                    self._membership(division, version, state)
                    for version, state in self._form(player, players)
                )
        newcomers = [division for division in self.divisions if division.kind == "qualifier"]
        waiting = [version for version in self.versions if version.label == "keeper:v2"]
        out.extend(
            self._membership(division, version, "qualifying") for division in newcomers for version in waiting
        )
        return out

    def _form(self, player: Player, players: Sequence[Player]) -> list[tuple[Version, str]]:
        """A player's versions with what they are in a division: champion, experiment or retired.

        Args:
            player: whose.
            players: all of its game.
        """
        own = [version for version in self.versions if version.player.id == player.id]
        if player.key in _ENTERED:
            return [(own[0], "champion")]  # the others are uploaded, but entered nowhere
        if player.key in _OURS:
            return []
        live = own[-_LIVE:]
        # The newest version always plays somewhere; in the lower half some let an older one score.
        place = players.index(player)
        careful = place > len(players) // 2 and place % 3 == 1
        champion = live[0] if careful else live[-1]
        return [
            (
                version,
                "retired" if version not in live else "champion" if version is champion else "experiment",
            )
            for version in own
        ]

    def _membership(self, division: Division, version: Version, state: str) -> Membership:
        start = max(version.created_at, division.created_at) + 600
        return Membership(
            id=self.ids.prefixed("lpm", division.id, version.id),
            status=state if state in {"retired", "qualifying"} else "competing",
            substatus=state if state in {"champion", "experiment"} else None,
            is_champion=state == "champion",
            division=division,
            version=version,
            start_time=start,
            end_time=start + 2 * _DAY if state == "retired" else None,
        )
