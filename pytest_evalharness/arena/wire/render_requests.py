"""Requests and episodes: from the desk to the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.league.records import Episode, Request, State, filler_seats, policy_scores
from pytest_evalharness.arena.league.world import Game, Round, User, Version
from pytest_evalharness.arena.wire import shapes
from pytest_evalharness.arena.wire.render_league import maybe_iso
from pytest_evalharness.base.clock import iso

View = Literal["progress", "results"]

_CREDITS_PER_SEAT_MINUTE = 1.0


def participants(
    seats: Sequence[Version], game: str, config: Mapping[str, Any]
) -> list[shapes.ParticipantShape]:
    """Who sits where. In a game of teams all seats of an entrant but its first are fillers: it is credited once.

    Args:
        seats: the version in each seat.
        game: the game's name.
        config: the game's whole configuration, which says whose side each seat is on.
    """
    fillers = filler_seats(GAMES[game].sides(config), seats)
    return [
        {
            "position": position,
            "kind": "policy",
            "policy_version_id": version.id,
            "policy_id": version.policy_id,
            "policy_name": version.policy_name,
            "version": version.number,
            "player_id": version.player.id,
            "player_name": version.player.name,
            "is_filler": fillers[position],
        }
        for position, version in enumerate(seats)
    ]


def scores(by_version: dict[str, float]) -> list[shapes.ScoreShape]:
    """Scores, one a policy version."""
    return [{"policy_version_id": key, "score": score} for key, score in by_version.items()]


def _versions(seats: Sequence[Version]) -> list[str]:
    return list(dict.fromkeys(version.id for version in seats))


@lru_cache(maxsize=65_536)
def job_id(episode_id: str) -> str:
    """The job that plays an episode: a UUID of its own, the same whenever it is asked for."""
    return str(uuid5(NAMESPACE_URL, f"job of {episode_id}"))


def episode_uuid(episode_id: str) -> str:
    """The id of the recorded episode."""
    return episode_id.partition("_")[2]


def episode(each: Episode, me: User) -> shapes.EpisodeShape:
    """An episode of a request."""
    request = each.request
    dispatched = each.state is not State.PENDING
    return {
        "id": each.id,
        "requester_user_id": me.id,
        "round_id": None,
        "mod_name": request.coworld.name,
        "env_config_name": request.variant,
        "coworld_id": request.coworld.id,
        "coworld_version": each.coworld_version,
        "seed": each.seed,
        "max_steps": GAMES[request.coworld.name].tick_limit(request.config),
        "status": each.state.value,
        "policy_version_ids": _versions(each.seats),
        "participants": participants(each.seats, request.coworld.name, request.config),
        "job_id": job_id(each.id) if dispatched else None,
        "episode_id": episode_uuid(each.id) if each.state is State.COMPLETED else None,
        "replay_url": None,
        "live_url": None,
        "error_type": each.error_type,
        "error": each.error,
        "failed_policy_index": each.blamed_seat,
        "failed_agent_index": None,
        "scores": scores(each.scores),
        "game_config": dict(request.config),
        "created_at": iso(request.created_at),
    }


def round_episode(round_: Round, game: Game, machine: User) -> shapes.EpisodeShape:
    """An episode of a round: played long ago."""
    league = round_.division.league
    hosted = GAMES[league.coworld.name]
    config = hosted.effective_config(hosted.variant(league.variant or "").config)
    return {
        "id": game.id,
        "requester_user_id": machine.id,
        "round_id": round_.id,
        "mod_name": league.coworld.name,
        "env_config_name": league.variant,
        "coworld_id": league.coworld.id,
        "coworld_version": league.coworld.version,
        "seed": game.seed,
        "max_steps": hosted.tick_limit(config),
        "status": State.COMPLETED.value,
        "policy_version_ids": _versions(game.seats),
        "participants": participants(game.seats, hosted.name, config),
        "job_id": job_id(game.id),
        "episode_id": episode_uuid(game.id),
        "replay_url": None,
        "live_url": None,
        "error_type": None,
        "error": None,
        "failed_policy_index": None,
        "failed_agent_index": None,
        "scores": scores(policy_scores(game.seats, game.results["scores"])),
        "game_config": config,
        "created_at": iso(round_.created_at),
    }


def summary(each: Episode) -> shapes.SummaryShape:
    """An episode in a list."""
    return {
        "id": each.id,
        "status": each.state.value,
        "coworld_id": each.request.coworld.id,
        "round_id": None,
        "replay_url": None,
        "policy_version_ids": _versions(each.seats),
        "created_at": iso(each.request.created_at),
    }


def round_summary(round_: Round, game: Game) -> shapes.SummaryShape:
    """An episode of a round in a list."""
    return {
        "id": game.id,
        "status": State.COMPLETED.value,
        "coworld_id": round_.division.league.coworld.id,
        "round_id": round_.id,
        "replay_url": None,
        "policy_version_ids": _versions(game.seats),
        "created_at": iso(round_.created_at),
    }


def bulk(each: Episode, view: View, *, published: bool) -> shapes.BulkEntry:
    """An episode in a bulk read or the change feed; `published` is whether what it left can be had, if it has ended."""
    entry: shapes.BulkEntry = {
        "id": each.id,
        "experience_request_id": each.request.id,
        "created_at": iso(each.request.created_at),
        "status": each.state.value,
        "error_type": each.error_type,
        "evidence_state": "sealed" if each.state.terminal and published else "pending",
    }
    if view == "results":
        entry["scores"] = scores(each.scores)
        entry["participants"] = participants(each.seats, each.request.coworld.name, each.request.config)
        entry["replay_url"] = None
        entry["error"] = each.error
    return entry


def round_bulk(row: shapes.EpisodeShape, view: View, *, published: bool) -> shapes.BulkEntry:
    """An episode of a round in a bulk read, from its row; `published` as for `bulk`."""
    entry: shapes.BulkEntry = {
        "id": row["id"],
        "experience_request_id": None,
        "created_at": row["created_at"],
        "status": row["status"],
        "error_type": None,
        "evidence_state": "sealed" if published else "pending",
    }
    if view == "results":
        entry["scores"], entry["participants"] = row["scores"], row["participants"]
        entry["replay_url"], entry["error"] = None, None
    return entry


def request_row(request: Request, me: User) -> shapes.RequestRow:
    """A request in a list."""
    counts = request.counts
    return {
        "id": request.id,
        "requester_user_id": me.id,
        "requester": me.name,
        "coworld_id": request.coworld.id,
        "coworld_name": request.coworld.name,
        "coworld_version": request.episodes[0].coworld_version,
        "variant_id": request.variant,
        "title": request.body.get("title"),
        "description": request.body.get("description"),
        "notes": request.body.get("notes"),
        "status": request.state.value,
        "episode_count": len(request.episodes),
        "pending_count": counts["pending"],
        "submitted_count": counts["submitted"],
        "running_count": counts["running"],
        "completed_count": counts["completed"],
        "failed_count": counts["failed"],
        "error": "no episode could be completed" if request.state is State.FAILED else None,
        "created_at": iso(request.created_at),
        "started_at": maybe_iso(request.started_at),
        "completed_at": maybe_iso(request.completed_at),
    }


def request_detail(request: Request, me: User) -> shapes.RequestDetail:
    """A request with its episodes."""
    return {**request_row(request, me), "episodes": [episode(each, me) for each in request.episodes]}


def created(request: Request, me: User) -> shapes.Created:
    """The answer to a creation."""
    limit = GAMES[request.coworld.name].tick_limit(request.config)
    most = episode_credits(request, limit) * len(request.episodes)
    return {
        **request_detail(request, me),
        "requested": {
            "title": request.body.get("title"),
            "description": request.body.get("description"),
            "notes": request.body.get("notes"),
            "num_episodes": len(request.episodes),
        },
        "cost_preview": {"estimated_credits": most},
    }


def episode_credits(request: Request, ticks: int) -> float:
    """What a game of a request costs that has so many ticks, in credits."""
    game = GAMES[request.coworld.name]
    return round(game.seconds(request.config, ticks) / 60 * game.seats * _CREDITS_PER_SEAT_MINUTE, 4)


def episode_stats(seats: Sequence[Version], results: Mapping[str, Any], ticks: int) -> shapes.EpisodeStats:
    """An episode's numbers, from its results."""
    policy_stats: list[shapes.PolicyStats] = []
    per_seat = {name: values for name, values in results.items() if _of_seats(name, values, len(seats))}
    for position, version in enumerate(seats):
        metrics = {name: float(values[position]) for name, values in per_seat.items()}
        reward = float(results["scores"][position])
        policy_stats.append(
            {
                "position": position,
                "policy_version_id": version.id,
                "policy_name": version.policy_name,
                "policy_version": version.number,
                "num_agents": 1,
                "avg_metrics": metrics,
                "avg_reward": reward,
                "agents": [{"agent_id": position, "reward": reward, "metrics": metrics}],
            }
        )
    numbers = {key: value for key, value in results.items() if isinstance(value, bool | int | float)}
    game_stats = {"ticks": float(ticks), **{key: float(value) for key, value in numbers.items()}}
    return {"game_stats": game_stats, "policy_stats": policy_stats, "steps": ticks}


def _of_seats(name: str, values: Any, seats: int) -> bool:
    """Whether this is a number, or a yes or no, of every seat beside its score."""
    return (
        name != "scores"
        and isinstance(values, list)
        and len(values) == seats
        and all(isinstance(value, bool | int | float) for value in values)
    )
