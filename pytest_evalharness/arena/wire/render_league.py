"""Leagues, divisions, memberships, rounds, policies: from the world to the wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.league.world import (
    Coworld,
    Division,
    League,
    Membership,
    Player,
    Round,
    Standing,
    Version,
    World,
)
from pytest_evalharness.arena.wire import shapes
from pytest_evalharness.base.clock import iso


def maybe_iso(at: float | None) -> str | None:
    """An instant, or null."""
    return None if at is None else iso(at)


def game(coworld: Coworld) -> shapes.GameShape:
    """A game."""
    return {
        "id": coworld.game_id,
        "name": coworld.title,
        "slug": coworld.name,
        "coworld_name": coworld.name,
        "coworld_id": coworld.id,
        "description": None,
        "created_at": iso(coworld.created_at),
    }


def manifest(coworld: Coworld) -> dict[str, Any]:
    """What a game says of itself: its schemas, and the variants that it can be played in."""
    hosted = GAMES.get(coworld.name)
    return {
        "name": coworld.name,
        "version": coworld.version,
        "game": {
            "name": coworld.name,
            "description": hosted.description if hosted else "It cannot be played here.",
            "config_schema": hosted.config_schema() if hosted else {"type": "object"},
            "results_schema": hosted.results_schema() if hosted else {"type": "object"},
        },
        "variants": [
            {
                "id": variant.id,
                "name": variant.name,
                "description": variant.description,
                "game_config": dict(variant.config),
            }
            for variant in (hosted.variants if hosted else ())
        ],
    }


def league(league: League, root: str) -> shapes.LeagueShape:
    """A league; `root` is the URL of the API, for the links in it."""
    return {
        "id": league.id,
        "name": league.name,
        "slug": league.slug,
        "game": game(league.coworld),
        "participation_url": f"{root}/v2/participate?league_id={league.id}",
        "forum_markdown_url": None,
        "wiki_markdown_url": None,
        "commissioner_key": "daily",
        "public": True,
        "hidden": False,
        "created_at": iso(league.created_at),
        "disabled_at": None,
    }


def division(division: Division, root: str) -> shapes.DivisionShape:
    """A division."""
    return {
        "id": division.id,
        "name": division.name,
        "level": division.level,
        "type": division.kind,
        "hidden": division.hidden,
        "league": league(division.league, root),
        "description": division.description,
        "archived_at": maybe_iso(division.archived_at),
        "created_at": iso(division.created_at),
    }


def player(player: Player) -> shapes.PlayerShape:
    """A player."""
    return {"id": player.id, "name": player.name}


def version(version: Version) -> shapes.VersionShape:
    """A policy version."""
    return {
        "id": version.id,
        "policy": {"id": version.policy_id, "name": version.policy_name},
        "version": version.number,
        "player_id": version.player.id,
    }


def membership(member: Membership, root: str) -> shapes.MembershipShape:
    """A membership."""
    return {
        "id": member.id,
        "status": member.status,
        "substatus": member.substatus,
        "is_champion": member.is_champion,
        "start_time": iso(member.start_time),
        "end_time": maybe_iso(member.end_time),
        "policy_version": version(member.version),
        "player": player(member.version.player),
        "league": league(member.division.league, root),
        "division": division(member.division, root),
        "created_at": iso(member.start_time),
    }


def submission(member: Membership, submission_id: str, root: str) -> shapes.SubmissionShape:
    """The entry that led to a membership."""
    return {
        "id": submission_id,
        "auto_champion": "always",
        "status": "placed",
        "league": league(member.division.league, root),
        "policy_version": version(member.version),
        "player": player(member.version.player),
        "league_policy_membership_id": member.id,
        "notes": None,
        "created_at": iso(member.start_time),
    }


def round_(round_: Round, root: str) -> shapes.RoundShape:
    """A round."""
    return {
        "id": round_.id,
        "round_number": round_.number,
        "commissioner_key": "daily",
        "execution_backend": "k8s",
        "round_config": {"num_episodes": len(round_.games)},
        "status": round_.status,
        "error": round_.error,
        "started_at": maybe_iso(round_.started_at),
        "completed_at": maybe_iso(round_.completed_at),
        "division": division(round_.division, root),
        "created_at": iso(round_.created_at),
    }


def round_detail(each: Round, root: str, *, turned: int = 0) -> shapes.RoundDetailShape:
    """A round with its results.

    Args:
        each: the round.
        root: the URL of the API, as this client reached it.
        turned: by how many places its players are moved, by a fault.
    """
    at = each.completed_at or each.created_at
    who = [standing.version for standing in each.standings]
    by = turned % len(who) if who else 0
    rows = zip(each.standings, who[by:] + who[:by], strict=True)
    return {**round_(each, root), "results": [_standing(replace(one, version=v), at) for one, v in rows]}


def _standing(standing: Standing, at: float) -> shapes.StandingShape:
    return {
        "id": standing.id,
        "rank": standing.rank,
        "score": standing.score,
        "result_metadata": {"episodes": standing.games},
        "policy_version": version(standing.version),
        "player": player(standing.version.player),
        "created_at": iso(at),
    }


def leaderboard(world: World, division: Division) -> list[shapes.LeaderboardShape] | None:
    """A division's leaderboard; null where there is none, as on the hosted service."""
    rounds = [each for each in world.rounds_of(division) if each.status == "completed"]
    if not division.shows_leaderboard or not rounds:
        return None
    entries: dict[str, tuple[Player, list[tuple[Round, Standing]]]] = {}
    for each in rounds:
        for standing in each.standings:
            who = standing.version.player
            entries.setdefault(who.id, (who, []))[1].append((each, standing))
    means = {key: sum(s.score for _, s in found) / len(found) for key, (_, found) in entries.items()}
    order = sorted(entries, key=lambda key: (-means[key], key))
    return [
        {
            "rank": rank,
            "player_id": key,
            "player_name": entries[key][0].name,
            "score": means[key],
            "rounds_played": len(entries[key][1]),
            "recent_rounds": [
                {
                    "id": each.id,
                    "round_number": each.number,
                    "status": each.status,
                    "rank": standing.rank,
                    "score": standing.score,
                    "started_at": maybe_iso(each.started_at),
                    "completed_at": maybe_iso(each.completed_at),
                }
                for each, standing in entries[key][1]
            ],
        }
        for rank, key in enumerate(order, start=1)
    ]


def policy_version(version: Version) -> shapes.PolicyVersionRow:
    """A row of the policy look-up."""
    return {
        "id": version.id,
        "name": version.policy_name,
        "version": version.number,
        "policy_id": version.policy_id,
        "player_id": version.player.id,
        "created_at": iso(version.created_at),
    }


def policy_version_detail(version: Version, *, owned: bool, image: bool) -> shapes.PolicyVersionDetail:
    """One policy version. Images are private: a stranger learns nothing of them, and of some servers nobody."""
    return {
        **policy_version(version),
        "kind": "docker-image",
        "attributes": {"run": ["/app/play"]} if owned else {},
        "container_image_id": version.image_id if image else None,
    }


def image(version: Version) -> shapes.ImageShape:
    """A container image."""
    return {
        "id": version.image_id,
        "name": f"{version.policy_name}:{version.number}",
        "status": "ready",
        "image_digest": version.image_digest,
        "created_at": iso(version.created_at),
    }
