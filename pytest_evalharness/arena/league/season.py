"""The rounds of the leagues.

Their scores are not invented: `plan` says which games there are, somebody plays them, `world` counts what came out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Order, Played
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.league.founding import CREWRIFT, DAILY, Founding
from pytest_evalharness.arena.league.records import filler_seats
from pytest_evalharness.arena.league.world import (
    Division,
    Game,
    League,
    Player,
    Round,
    Standing,
    Version,
    World,
)

_HALF_A_DAY = 43_200.0
_HOSTILE = "\x1b[31mzero\x1b[0m **win** <img src=x onerror=alert(1)> [free](http://127.0.0.1:9/)|@all"


@dataclass(frozen=True)
class _Season:
    """How many rounds a division has played, and of how many games."""

    rounds: int
    games: int


_SEASONS = {
    "crewrift-daily": _Season(5, 60),
    "crewrift-prime": _Season(2, 24),
    "paint-arena-open": _Season(3, 42),
    "capture-the-flag-ladder": _Season(2, 21),
}
"""By the league's slug."""
_DAILY_ROUNDS = _SEASONS["crewrift-daily"].rounds


@dataclass(frozen=True)
class GamePlan:
    """A game of a round that is to be played."""

    id: str
    round_id: str
    number: int
    index: int
    division: Division
    seats: tuple[Version, ...]
    order: Order


def plan(founding: Founding, scoring: Scoring = Scoring.OUTCOME) -> list[GamePlan]:
    """The games of all completed rounds, in order, each to be scored so."""
    plans: list[GamePlan] = []
    leagues = {league.slug: league for league in founding.leagues}
    for slug, season in _SEASONS.items():
        division = founding.competition(leagues[slug].id)
        sides = _sides(leagues[slug])
        for number in range(1, season.rounds + 1):
            entrants = _entrants(founding, division, early=number <= season.rounds // 2)
            rng = Random(f"{founding.seed}/{division.id}/{number}/seating")
            tables = _tables(entrants, len(set(sides)), season.games, rng)
            plans.extend(
                _game(founding, division, (number, index), tuple(captains[side] for side in sides), scoring)
                for index, captains in enumerate(tables)
            )
    return plans


def _sides(league: League) -> tuple[int, ...]:
    """Whose side each seat is on in a league's games: its captain is cloned over all seats of its side."""
    game = GAMES[league.coworld.name]
    return game.sides(game.effective_config(game.variant(league.variant or "").config))


def _entrants(founding: Founding, division: Division, *, early: bool) -> list[Version]:
    """Who plays a round: each player's champion; in early rounds the version before it."""
    champions = [
        member.version
        for member in founding.memberships
        if member.is_champion and member.division.id == division.id
    ]
    if not early:
        return champions
    before = {(version.policy_id, version.number + 1): version for version in founding.versions}
    return [before.get((version.policy_id, version.number), version) for version in champions]


def _tables(entrants: Sequence[Version], places: int, games: int, rng: Random) -> list[tuple[Version, ...]]:
    """Who sits at which table: everybody once before anybody again, nobody twice at one; none for too few."""
    if len(entrants) < places:
        return []
    tables: list[tuple[Version, ...]] = []
    queue: list[Version] = []
    for _ in range(games):
        seats: list[Version] = []
        while len(seats) < places:
            guest = next((each for each in queue if each not in seats), None)
            if guest is None:
                queue += rng.sample(entrants, len(entrants))
                continue
            queue.remove(guest)
            seats.append(guest)
        tables.append(tuple(seats))
    return tables


def _game(
    founding: Founding,
    division: Division,
    place: tuple[int, int],
    seats: tuple[Version, ...],
    scoring: Scoring,
) -> GamePlan:
    number, index = place
    digest = hashlib.sha256(f"{founding.seed}/{division.id}/{number}/{index}".encode()).digest()
    game = GAMES[division.league.coworld.name]
    order = Order(
        game=game.name,
        overrides=dict(game.variant(division.league.variant or "").config),
        seats=[(version.player.key, version.build) for version in seats],
        seed=int.from_bytes(digest[:4], "big") >> 1,
        scoring=scoring,
    )
    return GamePlan(
        id=founding.ids.prefixed("ereq", "round", division.id, number, index),
        round_id=founding.ids.prefixed("round", division.id, number),
        number=number,
        index=index,
        division=division,
        seats=seats,
        order=order,
    )


def world(founding: Founding, plans: Sequence[GamePlan], played: Sequence[Played]) -> World:
    """The world, once the games of its rounds have been played."""
    made = World(
        me=founding.me,
        machine=founding.machine,
        players=founding.players,
        versions=founding.versions,
        coworlds=founding.coworlds,
        leagues=founding.leagues,
        divisions=founding.divisions,
        memberships=founding.memberships,
        rounds=_rounds(founding, plans, played),
    )
    best = made.best_scores(founding.competition(DAILY))
    return _with_a_hostile_name(made, founding.players_of[CREWRIFT], best)


def _rounds(founding: Founding, plans: Sequence[GamePlan], played: Sequence[Played]) -> tuple[Round, ...]:
    by_round: dict[str, list[tuple[GamePlan, Played]]] = {}
    for each, outcome in zip(plans, played, strict=True):
        by_round.setdefault(each.round_id, []).append((each, outcome))
    rounds = [_completed(founding, games) for games in by_round.values()]
    following = _DAILY_ROUNDS + 1
    rounds.append(_unscored(founding, following, "failed", "the round's games could not be started"))
    rounds.append(_unscored(founding, following + 1, "running", None))
    return tuple(rounds)


def _when(founding: Founding, number: int) -> float:
    return founding.born - _HALF_A_DAY * (_DAILY_ROUNDS + 2 - number) - 3600


def _unscored(founding: Founding, number: int, status: str, error: str | None) -> Round:
    division = founding.competition(DAILY)
    start = _when(founding, number)
    ended = start + 300 if status == "failed" else None
    round_id = founding.ids.prefixed("round", division.id, number)
    return Round(round_id, number, division, status, start - 60, start, ended, error=error)


def _completed(founding: Founding, games: Sequence[tuple[GamePlan, Played]]) -> Round:
    first = games[0][0]
    start = _when(founding, first.number)
    return Round(
        id=first.round_id,
        number=first.number,
        division=first.division,
        status="completed",
        created_at=start - 60,
        started_at=start,
        completed_at=start + 1800,
        standings=_standings(founding, games),
        games=tuple(
            Game(each.id, each.index, each.seats, each.order.seed, outcome.results, outcome.ticks)
            for each, outcome in games
        ),
    )


def _standings(founding: Founding, games: Sequence[tuple[GamePlan, Played]]) -> tuple[Standing, ...]:
    scores: dict[str, list[float]] = {}
    versions = {version.id: version for version in founding.versions}
    sides = _sides(games[0][0].division.league)
    for each, outcome in games:
        fillers = filler_seats(sides, each.seats)
        for version, score, filler in zip(each.seats, outcome.results["scores"], fillers, strict=True):
            if not filler:
                scores.setdefault(version.id, []).append(float(score))
    means = {key: sum(each) / len(each) for key, each in scores.items()}
    order = sorted(means, key=lambda key: (-means[key], key))
    return tuple(
        Standing(
            id=founding.ids.prefixed("rr", games[0][0].round_id, key),
            rank=rank,
            score=means[key],
            version=versions[key],
            games=len(scores[key]),
        )
        for rank, key in enumerate(order, start=1)
    )


def _with_a_hostile_name(made: World, players: Sequence[Player], best: Mapping[str, float]) -> World:
    """Give the weakest stranger among these a display name that tries to steer whatever prints it: real leagues have some."""
    strangers = [player for player in players if player.owner.id != made.me.id and player.key != "rival"]
    if not strangers:
        return made
    weakest = min(strangers, key=lambda player: (best.get(player.id, 0.0), player.id))
    renamed = replace(weakest, name=_HOSTILE)
    versions = {
        version.id: replace(version, player=renamed) if version.player.id == weakest.id else version
        for version in made.versions
    }

    def round_with(round_: Round) -> Round:
        return replace(
            round_,
            standings=tuple(replace(each, version=versions[each.version.id]) for each in round_.standings),
            games=tuple(
                replace(game, seats=tuple(versions[seat.id] for seat in game.seats)) for game in round_.games
            ),
        )

    return replace(
        made,
        players=tuple(renamed if player.id == weakest.id else player for player in made.players),
        versions=tuple(versions.values()),
        memberships=tuple(
            replace(member, version=versions[member.version.id]) for member in made.memberships
        ),
        rounds=tuple(round_with(round_) for round_ in made.rounds),
    )
