"""Sees how a posted request stands: by its change feed where the server offers one, else by reading it again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import EvalHarnessError, NotTheService, ServerUnreachable
from pytest_evalharness.observatory.client import Observatory
from pytest_evalharness.observatory.models import ChangePage, ExperienceRequestDetail, FeedEntry
from pytest_evalharness.observatory.problems import Busy, CursorLost
from pytest_evalharness.observatory.status import Status

LONGEST_WAIT = 15.0
"""Seconds for which the feed may keep an answer back: a poller that is silent for thirty counts as dead elsewhere."""
MOST_FAILURES = 3
"""Failures of the feed, in a row and while the request itself can be read, after which it is not asked any more."""
_MOST_PAGES = 50
SLOWEST_READING = 10.0
SLOWEST_FEED = 1.0


class _Placed(Protocol):
    @property
    def status(self) -> Status: ...


class Standing(Protocol):
    """How a request stands: its own status, its episodes', and when the server wants to be asked again."""

    @property
    def status(self) -> Status:
        """The request's."""
        ...

    @property
    def episodes(self) -> Sequence[_Placed]:
        """One an episode."""
        ...

    @property
    def poll_after_seconds(self) -> float | None:
        """Seconds that the server asks for before the next look."""
        ...


class Watcher(Protocol):
    """Looks at one request."""

    @property
    def slowest(self) -> float:
        """Seconds: the longest pause that makes sense before the next look."""
        ...

    def look(self, patience: float) -> Standing | None:
        """How the request stands. Once it has ended this is its `ExperienceRequestDetail`.

        Args:
            patience: seconds that the look may wait for news.

        Returns:
            the standing, or None if there is none to tell.

        Raises:
            ServerUnreachable: nobody answers; `Busy` where the server asks for a pause.
            SubmissionUnknown: the server does not show the request.
        """
        ...


class DetailWatcher:
    """Reads the whole request at every look."""

    slowest = SLOWEST_READING

    def __init__(self, observatory: Observatory, request_id: str) -> None:
        self._observatory = observatory
        self._request_id = request_id

    def look(self, patience: float) -> ExperienceRequestDetail:
        """See `Watcher`. It never waits."""
        del patience
        return self._observatory.experience_request(self._request_id, fresh=True)


@dataclass(frozen=True)
class _FeedStanding:
    status: Status
    episodes: tuple[_Placed, ...]
    poll_after_seconds: float | None


class FeedWatcher:
    """Follows a request's change feed, and reads the request itself where the feed fails.

    Args:
        observatory: the client.
        request_id: the request.
        clock: tells whether the server waits for news.
        stop: once set, a failure is the end of the wait and no news.
        lost: told why, once the feed is not asked any more.
    """

    def __init__(
        self,
        observatory: Observatory,
        request_id: str,
        *,
        clock: Clock,
        stop: threading.Event,
        lost: Callable[[str], None],
    ) -> None:
        self._observatory = observatory
        self._request_id = request_id
        self._clock = clock
        self._stop = stop
        self._lost = lost
        self._reading = DetailWatcher(observatory, request_id)
        self._failures = 0
        self._given_up = False
        self._idle = False
        self._begin()

    def _begin(self) -> None:
        """Forget everything: the next page is a snapshot."""
        self._cursor: str | None = None
        self._entries: dict[str, FeedEntry] = {}
        self._status = Status.UNKNOWN

    @property
    def slowest(self) -> float:
        """See `Watcher`: a feed that answers at once with nothing is asked as seldom as the request would be read."""
        return SLOWEST_READING if self._given_up or self._idle else SLOWEST_FEED

    def look(self, patience: float) -> Standing | None:
        """See `Watcher`."""
        if self._given_up:
            return self._reading.look(patience)
        try:
            standing = self._follow(min(patience, LONGEST_WAIT))
        except EvalHarnessError as problem:
            if self._stop.is_set():
                return None
            if isinstance(problem, Busy):
                raise
            return self._instead(problem, patience)
        self._failures = 0
        return self._reading.look(patience) if ended(standing) else standing

    def _follow(self, patience: float) -> _FeedStanding:
        """Everything that the feed has to tell by now; with nothing new, after as much patience as the server has."""
        for _ in range(_MOST_PAGES):
            began, first = self._clock.monotonic(), self._cursor is None
            page = self._observatory.feed.page(self._request_id, cursor=self._cursor, wait_seconds=patience)
            at_once = self._clock.monotonic() - began < patience / 2
            self._idle = not (first or page.entries) and (at_once or patience <= 0.0)
            self._take_in(page)
            if not page.has_more:
                return _FeedStanding(self._status, self._episodes(), page.poll_after_seconds)
        raise NotTheService(f"the change feed of {printable(self._request_id)} does not end")

    def _take_in(self, page: ChangePage) -> None:
        self._cursor = page.next_cursor
        for batch in page.batches:
            if batch.id == self._request_id:
                self._status = batch.status
        for entry in page.entries:
            known = self._entries.get(entry.id)
            if known is None or entry.revision > known.revision:
                self._entries[entry.id] = entry

    def _episodes(self) -> tuple[_Placed, ...]:
        rows = (entry.episode for entry in self._entries.values() if not entry.removed)
        return tuple(row for row in rows if row is not None)

    def _instead(self, problem: EvalHarnessError, patience: float) -> ExperienceRequestDetail:
        """The request itself, where the feed fails. If that fails too, the feed is not to blame."""
        if not isinstance(problem, ServerUnreachable):
            self._begin()
        detail = self._reading.look(patience)
        self._failures += 1
        unreadable = not isinstance(problem, ServerUnreachable | CursorLost)
        if unreadable or self._failures >= MOST_FAILURES:
            self._given_up = True
            self._lost(problem.what)
        return detail


def watcher(
    observatory: Observatory,
    request_id: str,
    *,
    clock: Clock,
    stop: threading.Event,
    lost: Callable[[str], None],
) -> Watcher:
    """Whatever suits the server."""
    if observatory.feed.offered:
        return FeedWatcher(observatory, request_id, clock=clock, stop=stop, lost=lost)
    return DetailWatcher(observatory, request_id)


def ended(standing: Standing) -> bool:
    """Whether nothing more will come: the request and every episode are terminal.

    A failed episode may be dispatched again while its request lives, so the request's own state comes first. After
    a cancel, episodes that never started stay pending for ever and are not waited for.
    """
    if not standing.status.terminal:
        return False
    if standing.status is Status.CANCELLED:
        return not any(episode.status is Status.RUNNING for episode in standing.episodes)
    return all(episode.status.terminal for episode in standing.episodes)
