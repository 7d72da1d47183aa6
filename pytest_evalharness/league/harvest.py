"""Reads what a finished request left behind, into plain data for the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league.attribution import BLAMES_A_PLAYER, COMPLETED
from pytest_evalharness.league.records import EpisodeRecord, SeatedAs
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import EpisodeRow, ExperienceRequestDetail
from pytest_evalharness.observatory.requests import LATE_SECONDS

_AT_ONCE = 8
_KEPT_RESULTS = (
    "scores", "win", "kills", "tasks", "imposter", "crew", "vote_players", "vote_skip", "vote_timeout",
    "connect_timeout", "disconnect_timeout", "ticks",
)  # fmt: skip
"""The per-seat lists of `results.json`, and the length where it tells one; names are left out because players choose them."""


def harvest(
    observatory: Observatory,
    detail: ExperienceRequestDetail,
    heartbeat: Callable[[dict[str, Any] | None], None],
    stop: threading.Event,
    *,
    clock: Clock,
) -> dict[str, Any] | None:
    """An ended request as plain data, or None if `stop` was set before everything was read."""
    records: list[dict[str, Any]] = []
    # One window for all results: every episode has ended by now, so what is late is late for all of them at once.
    late = Deadline.after(clock, LATE_SECONDS)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="evalharness-harvest") as pool:
        for record in pool.map(
            lambda row: None if stop.is_set() else episode_record(observatory, row, late), detail.episodes
        ):
            if record is None:
                return None
            records.append(asdict(record))
            if len(records) % _AT_ONCE == 0:
                heartbeat(None)
    return {
        "request": {
            "id": detail.id,
            "status": str(detail.status),
            "coworld_id": detail.coworld_id,
            "coworld_name": detail.coworld_name,
            "coworld_version": detail.coworld_version,
        },
        "episodes": records,
    }


def episode_record(observatory: Observatory, row: EpisodeRow, late: Deadline) -> EpisodeRecord:
    """One episode with its results; those that are late are waited for until the deadline."""
    finished = str(row.status) == COMPLETED
    results = observatory.episode_results(row.id, late_seconds=max(0.0, late.remaining)) if finished else None
    return EpisodeRecord(
        id=row.id,
        status=str(row.status),
        error_type=row.error_type,
        seed=row.seed,
        participants=tuple(
            SeatedAs(p.position, p.policy_version_id, p.kind, p.is_filler) for p in row.participants
        ),
        config=row.game_config,
        results={key: results[key] for key in _KEPT_RESULTS if key in results} if results else None,
        failed_seat=_failed_seat(observatory, row, late),
    )


def _failed_seat(observatory: Observatory, row: EpisodeRow, late: Deadline) -> int | None:
    """The seat that a failed episode's error blames: its row tells it, or the error's own file, or nobody does.

    Who is not given that file judges the cause as unknown: the games that were played are worth more than this one's.
    """
    if row.failed_policy_index is not None or row.error_type not in BLAMES_A_PLAYER:
        return row.failed_policy_index
    try:
        info = observatory.episode_error_info(row.id, late_seconds=max(0.0, late.remaining))
    except EvalHarnessError:
        return None
    told = (info or {}).get("failed_policy_index")
    return told if isinstance(told, int) and not isinstance(told, bool) else None
