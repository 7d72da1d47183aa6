"""What can happen to a world while it is served: versions are withdrawn, the game moves on, scores mean something else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.league.world import Coworld, Game, Membership, Round, Version, World

_RETIRED = "retired"


def without(world: World, labels: Collection[str], at: float) -> World:
    """The world after some versions were withdrawn: they have left every league, and nobody can seat them, owner or not.

    Args:
        world: as it was.
        labels: the versions, as `name:vN`.
        at: when they left, in seconds since 1970.
    """
    gone = frozenset(version.id for version in world.versions if version.label in labels)
    memberships = tuple(
        replace(member, status=_RETIRED, substatus=None, is_champion=False, end_time=at)
        if member.active and member.version.id in gone
        else member
        for member in world.memberships
    )
    return replace(world, memberships=memberships, withdrawn=world.withdrawn | gone)


def succeeded(world: World, label: str, at: float) -> World:
    """The world after a player uploaded another version: it plays in the place of the one that is named.

    Args:
        world: as it was.
        label: the version that was replaced, as `name:vN`; nothing happens if there is none.
        at: when that was, in seconds since 1970.
    """
    version = world.version_by_label.get(label)
    if version is None:
        return world
    newer = _successor(world, version)
    memberships: list[Membership] = []
    for member in world.memberships:
        if not member.active or member.version.id != version.id:
            memberships.append(member)
            continue
        memberships.append(replace(member, status=_RETIRED, substatus=None, is_champion=False, end_time=at))
        name = f"lpm_{uuid5(NAMESPACE_URL, f'{member.id}/{newer.id}')}"
        memberships.append(replace(member, id=name, version=newer, start_time=at))
    return replace(world, memberships=tuple(memberships), versions=(*world.versions, newer))


def _successor(world: World, version: Version) -> Version:
    """The same build under the policy's next number."""
    number = 1 + max(each.number for each in world.versions if each.policy_id == version.policy_id)
    name = str(uuid5(NAMESPACE_URL, f"{version.policy_id}/{number}"))
    return replace(version, id=name, number=number)


def moved_on(world: World, version: str) -> World:
    """The world after its leagues moved on to another version of their game; what was played stays as it was.

    Args:
        world: as it was.
        version: the game's version from now on.
    """
    newer = {league.coworld.id: _newer(league.coworld, version) for league in world.leagues}
    leagues = tuple(replace(league, coworld=newer[league.coworld.id]) for league in world.leagues)
    return replace(world, leagues=leagues, coworlds=(*world.coworlds, *newer.values()))


def rescored(world: World, scoring: Scoring, at: float) -> World:
    """The world after its games began to be scored otherwise: with each division's latest round, which has just ended.

    Args:
        world: as it was.
        scoring: how games are scored from then on.
        at: when that round ended, in seconds since 1970.
    """
    latest = {round_.id for each in world.divisions if (round_ := world.latest_round(each)) is not None}
    rounds = tuple(
        replace(round_, completed_at=at, games=_scored(round_, scoring)) if round_.id in latest else round_
        for round_ in world.rounds
    )
    return replace(world, rounds=rounds)


def _scored(round_: Round, scoring: Scoring) -> tuple[Game, ...]:
    hosted = GAMES[round_.division.league.coworld.name]
    return tuple(replace(game, results=hosted.rescored(game.results, scoring)) for game in round_.games)


def _newer(coworld: Coworld, version: str) -> Coworld:
    """The service gives every version of a game an id of its own."""
    return replace(coworld, id=f"cow_{uuid5(NAMESPACE_URL, f'{coworld.id}/{version}')}", version=version)
