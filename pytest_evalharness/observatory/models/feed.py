"""The change feed: what has become of requests' episodes since the last page."""

from __future__ import annotations

from typing import Annotated

from pytest_evalharness.observatory.models.base import NONE_IS_EMPTY, Instant, Wire, Word


class FeedBatch(Wire):
    """Where a request stands."""

    id: str
    status: Word
    episode_count: int | None = None


class FeedEpisode(Wire):
    """Where an episode stands."""

    id: str
    status: Word
    error_type: str | None = None


class FeedEntry(Wire):
    """One change of one episode. Entries may come twice and in any order: the higher revision counts.

    `episode` is None where it was removed.
    """

    id: str
    revision: int
    removed: bool = False
    episode: FeedEpisode | None = None


class ChangePage(Wire):
    """A page of the feed. `next_cursor` asks for what comes after it."""

    phase: str = ""
    batches: Annotated[tuple[FeedBatch, ...], NONE_IS_EMPTY] = ()
    entries: Annotated[tuple[FeedEntry, ...], NONE_IS_EMPTY] = ()
    next_cursor: str
    has_more: bool = False
    poll_after_seconds: float | None = None
    expires_at: Instant = None
