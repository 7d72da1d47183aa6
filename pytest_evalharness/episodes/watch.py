"""An experience request that is still being played: each episode is fetched as it ends, until nothing more will come."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.files import readable_json, write_atomic
from pytest_evalharness.episodes.artifacts import State
from pytest_evalharness.episodes.download import Download, Watching
from pytest_evalharness.episodes.index import Entry
from pytest_evalharness.episodes.layout import WATCH_STATE, read_within
from pytest_evalharness.episodes.references import Reference, reference
from pytest_evalharness.errors import ServerUnreachable
from pytest_evalharness.observatory.episodes import EpisodeCalls
from pytest_evalharness.observatory.status import Status

OUTAGE = 1800.0
"""Seconds for which a server may not answer before the watch ends."""
_LARGEST_STATE = 16 * 1024 * 1024


class Attempts:
    """How often each episode was tried and left incomplete: kept in `watch_state.json`, so that a killed watch remembers."""

    def __init__(self, root: Path, most: int) -> None:
        self._path = root / WATCH_STATE
        self._most = most
        self._counted = self._read()

    def _read(self) -> dict[str, int]:
        try:
            told = json.loads(read_within(self._path, _LARGEST_STATE))
        except (OSError, ValueError, RecursionError):
            return {}  # it only bounds retries: without it, an episode is tried again
        return (
            {key: value for key, value in told.items() if isinstance(value, int)}
            if isinstance(told, dict)
            else {}
        )

    def exhausted(self, episode_id: str) -> bool:
        """Whether an episode is not tried any more."""
        return self._counted.get(episode_id, 0) >= self._most

    def count(self, entries: Sequence[Entry]) -> None:
        """Note that these were tried: one that is complete needs no further try."""
        for entry in entries:
            if entry.settled:
                self._counted.pop(entry.id, None)
            else:
                self._counted[entry.id] = self._counted.get(entry.id, 0) + 1
        write_atomic(self._path, readable_json(self._counted))

    def forget(self, episode_ids: Collection[str]) -> None:
        """Begin anew with some episodes."""
        for each in episode_ids:
            self._counted.pop(each, None)


@dataclass(frozen=True)
class Watched:
    """How a watch ended.

    Attributes:
        entries: the episodes of the request that were looked at.
        waiting: how many had not ended.
        exhausted: how many are incomplete and are not tried any more.
    """

    entries: tuple[Entry, ...]
    waiting: int = 0
    exhausted: int = 0


def drained(status: Status, episodes: Sequence[Reference]) -> bool:
    """Whether no further episode will end: the request is over, and so is each of its episodes.

    After a cancel, those that never started stay pending for ever, and only those that run are waited for; the counters of
    the request say nothing any more.
    """
    return status.terminal and all(one.over and one.status.terminal for one in episodes)


def watch(
    calls: EpisodeCalls,
    download: Download,
    request_id: str,
    *,
    wanted: Callable[[Reference], bool],
    most: int | None,
    interval: float,
    max_attempts: int,
    anew: bool,
    clock: Clock,
    stop: threading.Event,
    watching: Watching,
) -> Watched:
    """Follow a request to its end.

    Args:
        calls: the server.
        download: fetches episodes.
        request_id: the request.
        wanted: whether an episode that has ended is to be fetched.
        most: only the first so many episodes of the request; None for all.
        interval: seconds between two looks.
        max_attempts: tries of an episode that stays incomplete; those of earlier watches count.
        anew: whether earlier tries are forgotten.
        clock: waits.
        stop: once set, it ends soon.
        watching: told how it goes.

    Raises:
        ServerUnreachable: nobody answered for half an hour; what has come is kept.
        EvalHarnessError: see `Download.run`.
    """
    attempts = Attempts(download.index.root, max_attempts)
    through: dict[str, Entry] = {}
    over_since: dict[str, float] = {}

    def never(one: Reference) -> bool:
        return clock.monotonic() - over_since[one.id] >= download.late_seconds

    silent_since: float | None = None
    while True:
        try:
            told = calls.of_request(request_id)
        except ServerUnreachable as problem:
            now = clock.monotonic()
            silent_since = now if silent_since is None else silent_since
            if stop.is_set() or now - silent_since >= OUTAGE:
                raise
            watching.remark(f"the server does not answer, it is asked again: {problem.what}")
            clock.wait(interval, stop)
            continue
        silent_since = None
        episodes = [
            reference(row, request=request_id, request_status=told.status) for row in told.episodes[:most]
        ]
        if anew:
            attempts.forget({one.id for one in episodes})
            anew = False
        ended = [one for one in episodes if one.over and one.status.terminal and wanted(one)]
        over_since |= {one.id: clock.monotonic() for one in ended if one.id not in over_since}
        ready = [one for one in ended if _again(one, through, attempts)]
        if ready:
            watching.found(len(ready))
            late = {one.id for one in ready if not never(one)}
            entries = download.run(ready, late_seconds=0.0, never=never)
            # What is only late, and may be, was not tried in vain: short intervals would use all attempts up.
            attempts.count([entry for entry in entries if entry.id not in late or not _late(entry)])
            through |= {entry.id: entry for entry in entries}
        waiting = [one for one in episodes if not (one.over and one.status.terminal)]
        left = [one for one in ended if _again(one, through, attempts)]
        if (drained(told.status, episodes) and not left) or clock.wait(interval, stop):
            exhausted = [one for one in ended if one.id not in through or not through[one.id].settled]
            return Watched(tuple(through.values()), len(waiting), len(exhausted))


def _late(entry: Entry) -> bool:
    """Whether all that an episode lacks may still come."""
    lacking = [one for one in entry.files.values() if not one.state.settled]
    return bool(lacking) and all(one.state is State.PENDING for one in lacking)


def _again(episode: Reference, through: dict[str, Entry], attempts: Attempts) -> bool:
    """Whether an episode that has ended is to be tried."""
    entry = through.get(episode.id)
    return (entry is None or not entry.settled) and not attempts.exhausted(episode.id)
