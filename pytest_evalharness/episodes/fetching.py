"""A whole download: a selection, a folder, and what came of it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.episodes.artifacts import State
from pytest_evalharness.episodes.discovery import Found, Mode, Selection, find
from pytest_evalharness.episodes.download import Download, Wanted, Watching
from pytest_evalharness.episodes.index import Entry, Index, counts, locked, read_index
from pytest_evalharness.episodes.manifest import source_of
from pytest_evalharness.episodes.references import Reference
from pytest_evalharness.episodes.transfer import Transfer
from pytest_evalharness.episodes.watch import watch
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.status import Status


@dataclass(frozen=True)
class Watch:
    """That a request is followed to its end.

    Attributes:
        interval: seconds between two looks.
        max_attempts: tries of an episode that stays incomplete.
    """

    interval: float = 15.0
    max_attempts: int = 3


@dataclass(frozen=True)
class Report:
    """What a download came to.

    Attributes:
        root: the folder.
        entries: the episodes that it was about.
        more: what was left out, in words; empty if nothing.
        missing: ids that were named and that the server does not show.
        by_uuid: whether they are those of recorded episodes.
        waiting: episodes of a watched request that had not ended.
        exhausted: episodes of a watched request that are incomplete and are not tried any more.
    """

    root: Path
    entries: tuple[Entry, ...]
    more: str = ""
    missing: tuple[str, ...] = ()
    by_uuid: bool = False
    waiting: int = 0
    exhausted: int = 0

    @property
    def counts(self) -> dict[State, int]:
        """How many files stand how."""
        return counts(self.entries)

    @property
    def complete(self) -> bool:
        """Whether every artifact is there, was never produced, or is for others, and every named episode was found."""
        return not (self.missing or self.waiting or self.exhausted) and all(
            one.settled for one in self.entries
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "folder": str(self.root),
            "complete": self.complete,
            "more": self.more,
            "missing": list(self.missing),
            "waiting": self.waiting,
            "counts": {state.value: count for state, count in self.counts.items()},
            "episodes": [one.to_json() for one in self.entries],
        }


def fetch(
    observatory: Observatory,
    selection: Selection,
    root: Path,
    wanted: Wanted,
    *,
    server: str,
    clock: Clock,
    stop: threading.Event,
    watching: Watching,
    watched: Watch | None = None,
    on_wait: Callable[[], None] = lambda: None,
    rng: random.Random | None = None,
) -> Report:
    """Find episodes and download what they left.

    Args:
        observatory: a client that has learnt what it speaks to.
        selection: which episodes.
        root: the folder, made where it is missing; another download into it is waited for.
        wanted: what to fetch, and how.
        server: how the index names the server.
        clock: tells the time and waits.
        stop: once set, it ends soon; what has come is kept.
        watching: told how it goes.
        watched: follow the request of the selection to its end.
        on_wait: told once, when another download into the same folder is waited for.
        rng: draws the jitter of pauses.

    Raises:
        UsageError: the selection is none for this server, or the folder cannot be used.
        EvalHarnessError: the server cannot be asked; what has come is kept.
    """
    calls = observatory.episodes
    if not calls.dialect.capabilities.known:
        watching.remark(f"the server's API is {calls.dialect.words}")
    with (
        locked(root, clock=clock, on_wait=on_wait),
        calls.streams() as streams,
    ):
        index = read_index(root)
        index.server, index.selection, index.more = server, selection.to_json(), ""
        transfer = Transfer(
            streams,
            wanted.limits,
            clock=clock,
            rng=rng or random.Random(),
            stop=stop,
            on_bytes=watching.bytes,
        )
        download = Download(
            calls, source_of(calls), transfer, index, wanted, clock=clock, stop=stop, watching=watching
        )
        if watched is None or selection.mode is not Mode.XREQ:
            return _once(find(observatory, selection), selection, download, watching)
        found = watch(
            calls,
            download,
            selection.names[0],
            wanted=lambda one: _is_wanted(one, selection),
            most=selection.most,
            interval=watched.interval,
            max_attempts=watched.max_attempts,
            anew=wanted.force,
            clock=clock,
            stop=stop,
            watching=watching,
        )
        return Report(root, found.entries, waiting=found.waiting, exhausted=found.exhausted)


def _is_wanted(episode: Reference, selection: Selection) -> bool:
    return not selection.failed_only or episode.status is Status.FAILED


def _once(found: Found, selection: Selection, download: Download, watching: Watching) -> Report:
    watching.found(len(found.episodes))
    index: Index = download.index
    index.more = found.more
    entries = download.run(found.episodes, late_seconds=download.late_seconds)
    by_uuid = selection.mode is Mode.EPISODE
    return Report(index.root, tuple(entries), found.more, found.missing, by_uuid=by_uuid)
