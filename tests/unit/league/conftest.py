"""A plan, a field and two finished arms to spoil in one place each."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from pytest_evalharness.league.arms import SIDES, build_arm
from pytest_evalharness.league.plan import ComparisonPlan
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord, SeatedAs
from pytest_evalharness.league.roster import Member, Roster
from pytest_evalharness.observatory.models import ExperienceRequestDetail, Membership
from pytest_evalharness.observatory.resolve import ResolvedPolicy
from pytest_evalharness.verdict.claim import Declaration


def plan(**changes):
    seat = changes.get("tested_seat", 0)
    said = {
        "server": "embedded:2026", "league": "league_1", "division": None, "backend": "k8s", "layout_seed": 679961,
        "tested_seat": seat, "candidate": {seat: "bot:v2"}, "baseline": {seat: "bot:v1"}, "opponents": (),
        "top_n": 7, "episodes": 4, "ticks": 10_000, "declaration": Declaration("better"), "config": {},
    }  # fmt: skip
    return ComparisonPlan(**{**said, **changes})


def roster(**changes):
    field = tuple(
        Member(f"ply_{i}", f"Player {i}", f"rival-{i}:v{i}", f"id-rival-{i}", 0.9 - i / 10)
        for i in range(1, 8)
    )
    said = {
        "opponents": field, "league": "league_1", "division": "div_1", "resolved_at": "2026-09-01T12:00:00Z",
        "live_players": 20, "chosen": "best recent round score",
    }  # fmt: skip
    return Roster(**{**said, **changes})


def policies(*labels):
    return {
        label: ResolvedPolicy(
            label=label,
            name=label.partition(":")[0],
            version=int(label.rpartition("v")[2]),
            policy_version_id=f"id-{label}",
            image_digest=f"sha256:{hashlib.sha256(label.encode()).hexdigest()}",
            owned=True,
            player_id=None,
            player_name=None,
        )
        for label in labels or ("bot:v1", "bot:v2", "rival:v3")
    }


def arms(asked=None, field=None):
    asked = asked or plan()
    return {side: build_arm(asked, side, field or roster(), policies()) for side in SIDES}


def episode(arm, number=0, *, win=True, **changes):
    """A completed episode in which everybody sat where the arm put them, with results in the reference's shape."""
    roles = [seat.role for seat in arm.seats]
    tested = roles[arm.tested_seat]
    wins = [(role == tested) is win for role in roles]
    results = {
        "scores": [(3 if role == "imposter" else 1) * won for role, won in zip(roles, wins, strict=True)],
        "win": wins,
        "tasks": [8] * 8, "kills": [1] * 8, "vote_timeout": [0] * 8,
        "imposter": [int(role == "imposter") for role in roles],
        "crew": [int(role == "crew") for role in roles],
        "connect_timeout": [0] * 8, "disconnect_timeout": [0] * 8,
    }  # fmt: skip
    said = {
        "id": f"ereq_{arm.side}_{number}",
        "status": "completed",
        "error_type": None,
        "seed": number,
        "participants": tuple(
            SeatedAs(s.position, s.policy_version_id, "policy", is_filler=False) for s in arm.seats
        ),
        "config": {**arm.body["game_config_overrides"], "minPlayers": 8, "seed": number},
        "results": results,
    }
    return EpisodeRecord(**{**said, **changes})


def reseated(record, seats):
    """The same episode with other people in some seats: position → version id, or what is to differ."""
    changed = [
        replace(s, **({"policy_version_id": new} if isinstance(new, str) else new))
        if (new := seats.get(s.position))
        else s
        for s in record.participants
    ]
    return replace(record, participants=tuple(changed))


def record(arm, episodes=None, **changes):
    if episodes is None:
        episodes = [episode(arm, i) for i in range(arm.episodes)]
    said = {
        "request_ids": (f"xreq_{arm.side}",), "request_statuses": ("completed",), "coworlds": ("crewrift 1.2.0",),
        "requested": arm.episodes, "episodes": tuple(episodes),
    }  # fmt: skip
    return ArmRecord(**{**said, **changes})


def paired_games(arm):
    """What each request of a paired arm lists: one game, with the request's seed in row and config."""
    return [
        [episode(arm, i, seed=block.seed, config={**arm.body["game_config_overrides"], "seed": block.seed})]
        for i, block in enumerate(arm.blocks)
    ]


def paired_record(arm, games, statuses=None):
    """A paired arm's record from what each of its requests lists; `statuses` by request, else completed."""
    evidence = [
        {
            "request": {
                "id": f"xreq_{arm.side}_{i}", "status": (statuses or {}).get(i, "completed"),
                "coworld_name": "crewrift", "coworld_version": "1.2.0",
            },
            "episodes": [asdict(game) for game in listed],
        }
        for i, listed in enumerate(games)
    ]  # fmt: skip
    return ArmRecord.from_blocks(evidence, arm.blocks)


def membership(player="ply_a", policy="rival-a", version=1, **changes):
    """A league-policy-membership as the reference shows it."""
    name = changes.pop("player_name", f"Player of {policy}")
    row = {
        "id": f"lpm_{policy}_{version}", "status": "competing", "substatus": "champion", "is_champion": True,
        "start_time": "2026-09-01T00:00:00Z", "end_time": None,
        "policy_version": {
            "id": f"id-{policy}-{version}", "policy": {"id": f"p-{policy}", "name": policy}, "version": version,
            "player_id": player,
        },
        "player": {"id": player, "name": name} if player else None,
        "league": {"id": "league_1", "name": "Daily"}, "division": {"id": "div_1", "name": "Top"},
        "created_at": "2026-08-01T00:00:00Z",
    }  # fmt: skip
    return Membership.model_validate({**row, **changes})


def request(status, *children, **changes):
    """An experience request's detail as the reference shows it."""
    row = {
        "id": "xreq_1", "requester_user_id": "usr_1", "coworld_id": "cow_1", "coworld_name": "crewrift",
        "coworld_version": "1.2.0", "status": status, "episode_count": len(children), "pending_count": 0,
        "submitted_count": 0, "running_count": 0, "completed_count": 0, "failed_count": 0,
        "created_at": "2026-09-01T12:00:00Z",
        "episodes": [
            {
                "id": f"ereq_{i}", "requester_user_id": "usr_1", "status": child, "created_at": "2026-09-01T12:00:00Z",
                "policy_version_ids": [], "participants": [], "scores": [],
            }
            for i, child in enumerate(children)
        ],
    }  # fmt: skip
    return ExperienceRequestDetail.model_validate({**row, **changes})


@pytest.fixture
def make():
    return SimpleNamespace(
        plan=plan, roster=roster, policies=policies, arms=arms, episode=episode, reseated=reseated, record=record,
        membership=membership, request=request, paired_games=paired_games, paired_record=paired_record,
    )  # fmt: skip
