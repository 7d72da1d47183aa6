"""Reads what a finished request left behind, into plain data for the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.episodes.error_info import Blame, blame_of, read_error_info
from pytest_evalharness.episodes.results import SeatResults, read_results
from pytest_evalharness.errors import EvalHarnessError
from pytest_evalharness.league.attribution import COMPLETED
from pytest_evalharness.league.own_records import Looking, OwnRecords
from pytest_evalharness.league.records import EpisodeRecord, SeatedAs
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import EpisodeRow, ExperienceRequestDetail
from pytest_evalharness.observatory.requests import LATE_SECONDS

_AT_ONCE = 8
_BREATH = 5.0
"""Seconds after which whoever waits for results shows that it lives."""


def harvest(
    observatory: Observatory,
    detail: ExperienceRequestDetail,
    heartbeat: Callable[[dict[str, Any] | None], None],
    stop: threading.Event,
    *,
    clock: Clock,
    looking: Looking | None = None,
    deep: int | None = 0,
    late_seconds: float = LATE_SECONDS,
) -> dict[str, Any] | None:
    """An ended request as plain data, or None if `stop` was set before everything was read.

    Args:
        observatory: the client.
        detail: the request.
        heartbeat: called now and then, so that nobody takes this process for dead.
        stop: ends the harvest.
        clock: tells how long results may be late.
        looking: reads what is optional; None leaves all of it out.
        deep: in so many played games, the first ones, the tested policy's own records are read too; None for all.
        late_seconds: how long results may be late, counted from now for all games at once.
    """
    records: list[dict[str, Any]] = []
    played = [row.id for row in detail.episodes if str(row.status) == COMPLETED]
    looked_into = frozenset(played[:deep])

    def record_of(row: EpisodeRow) -> EpisodeRecord | None:
        if stop.is_set():
            return None
        return episode_record(observatory, row, late, looking, deep=row.id in looked_into)

    # One window for all results: every episode has ended by now, so what is late is late for all of them at once.
    late = Deadline.after(clock, late_seconds)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="evalharness-harvest") as pool:
        asked = [pool.submit(record_of, row) for row in detail.episodes]
        try:
            for one in asked:
                record = _awaited(one, heartbeat)
                if record is None:
                    return None
                records.append(record.to_json())
                if len(records) % _AT_ONCE == 0:
                    heartbeat(None)
        finally:
            for one in asked:
                one.cancel()
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


def _awaited(
    asked: Future[EpisodeRecord | None], heartbeat: Callable[[dict[str, Any] | None], None]
) -> EpisodeRecord | None:
    while True:
        try:
            return asked.result(timeout=_BREATH)
        except TimeoutError:
            if asked.done():
                raise  # its own
            heartbeat(None)


def unpublished(evidence: dict[str, Any]) -> int:
    """How many games of a harvest were played to their end and have no results."""
    return sum(
        one["status"] == COMPLETED and one["results"] is None and not one["malformed"]
        for one in evidence["episodes"]
    )


def episode_record(
    observatory: Observatory,
    row: EpisodeRow,
    late: Deadline,
    looking: Looking | None = None,
    *,
    deep: bool = False,
) -> EpisodeRecord:
    """One episode with its results; those that are late are waited for until the deadline.

    Args:
        observatory: the client.
        row: the episode as its request lists it.
        late: until when results may come.
        looking: reads what is optional; None leaves all of it out.
        deep: whether the tested policy's own records are among that.
    """
    finished = str(row.status) == COMPLETED
    told = observatory.episode_results(row.id, late_seconds=max(0.0, late.remaining)) if finished else None
    read = read_results(told) if told else None
    results = dict(read.kept) if read is not None else None
    blamed = (
        row.failed_policy_index if row.failed_policy_index is not None else _blamed(observatory, row, late)
    )
    own = OwnRecords()
    if looking is not None and (finished or (blamed is None and blame_of(row.error_type) is Blame.PLAYER)):
        own = looking.read(row, None if results is None else SeatResults(results), deep=deep)
    return EpisodeRecord(
        id=row.id,
        status=str(row.status),
        error_type=row.error_type,
        seed=row.seed,
        participants=tuple(
            SeatedAs(p.position, p.policy_version_id, p.kind, p.is_filler) for p in row.participants
        ),
        config=row.game_config,
        results=results or None,
        failed_seat=blamed,
        coworld_version=row.coworld_version,
        malformed=read.malformed if read is not None else (),
        players=own.players,
        adviser=own.adviser,
        ballots=own.ballots,
        last_words=own.last_words,
        untold=own.untold,
    )


def _blamed(observatory: Observatory, row: EpisodeRow, late: Deadline) -> int | None:
    """The seat that the error's own file blames, where the row leaves it open; None if nobody is named.

    Who is not given that file judges the cause as unknown: the games that were played are worth more than this one's.
    """
    if blame_of(row.error_type) is not Blame.PLAYER:
        return None
    try:
        info = observatory.episode_error_info(row.id, late_seconds=max(0.0, late.remaining))
        return None if info is None else read_error_info(info).failed_seat
    except EvalHarnessError:
        return None
