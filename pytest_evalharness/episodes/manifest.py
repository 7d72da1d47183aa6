"""The download manifest as a source: addresses, sizes and versions of many episodes' artifacts at once."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Collection, Mapping, Sequence

from pytest_evalharness.episodes.artifacts import Artifact, Category, Offer, State
from pytest_evalharness.episodes.references import Reference
from pytest_evalharness.episodes.routes import (
    NOT_YOURS,
    EpisodeRoutes,
    JobRoutes,
    Source,
    replay_offer,
    shown,
)
from pytest_evalharness.episodes.untrusted import MOST_SEATS
from pytest_evalharness.errors import NotTheService
from pytest_evalharness.observatory.episodes import MANIFEST, MOST_IDS, EpisodeCalls, is_request_id
from pytest_evalharness.observatory.models.sources import ManifestEntry

_STATES: Mapping[str, State] = {
    "pending": State.PENDING,
    "not_produced": State.NOT_PRODUCED,
    "unavailable": State.DENIED,
}


def source_of(calls: EpisodeCalls) -> Source:
    """The source that fits a server, by its own description."""
    if calls.of_jobs:
        return JobRoutes(calls)
    return ManifestSource(calls) if calls.has_manifest else EpisodeRoutes(calls)


class ManifestSource(Source):
    """Asks the manifest, and the routes for what it says nothing of: a round's episodes, or a seat it does not name."""

    def __init__(self, calls: EpisodeCalls) -> None:
        self._calls = calls
        self._routes = EpisodeRoutes(calls)
        self._lock = threading.Lock()
        self._known: dict[str, dict[Artifact, Offer]] = {}

    def prepare(self, episodes: Sequence[Reference], wanted: Collection[Category]) -> None:
        """Read the manifest of all of them, fifty at a time. What cannot be read of it, the routes are asked for."""
        ids = [one.id for one in episodes if is_request_id(one.id)]
        for start in range(0, len(ids), MOST_IDS):
            with contextlib.suppress(NotTheService):
                self._read(ids[start : start + MOST_IDS], wanted)

    def _read(self, ids: Sequence[str], wanted: Collection[Category]) -> None:
        found: dict[str, dict[Artifact, Offer]] = {one: {} for one in ids}
        for entry in self._calls.manifest(ids, [one.value for one in wanted]):
            offer = _offer(entry)
            if offer is not None and entry.episode_request_id in found:
                found[entry.episode_request_id][offer.artifact] = offer
        with self._lock:
            for one, offers in found.items():
                self._known[one] = {**self._known.get(one, {}), **offers}

    def _offers(self, episode: Reference, wanted: Collection[Category]) -> list[Offer]:
        with self._lock:
            known = dict(self._known.get(episode.id, {}))
        silent = [one for one in wanted if not any(artifact.category is one for artifact in known)]
        found = {offer.artifact: offer for offer in self._routes.offers(episode, silent)} if silent else {}
        found |= {artifact: offer for artifact, offer in known.items() if artifact.category in wanted}
        for category in wanted:
            if category.per_seat:
                for seat in episode.seats:
                    artifact = Artifact(category, seat)
                    found.setdefault(artifact, Offer(artifact, State.DENIED, NOT_YOURS))
        replay = found.get(Artifact(Category.REPLAY))
        if replay is not None and replay.state is State.DENIED and episode.replay_url:
            found[replay.artifact] = replay_offer(episode, "")
        return list(found.values())

    def renewed(self, episode: Reference, artifact: Artifact) -> Offer | None:
        """Ask the manifest again for this episode."""
        try:
            self._read([episode.id], [artifact.category])
        except NotTheService:
            return None
        with self._lock:
            return self._known[episode.id].get(artifact)


def _offer(entry: ManifestEntry) -> Offer | None:
    """An entry as an offer; None for one that names no seat where every seat has its own, and for unknown categories."""
    try:
        category = Category(entry.category)
    except ValueError:
        return None
    if category.per_seat and (entry.position is None or entry.position >= MOST_SEATS):
        return None
    artifact = Artifact(category, entry.position if category.per_seat else None)
    if entry.state != "ready":
        return Offer(
            artifact, _STATES.get(entry.state, State.PENDING), "as the manifest says", route=MANIFEST
        )
    if entry.inline_json is not None:
        # As the service's own client writes it, so that both have the same bytes.
        content = json.dumps(entry.inline_json, sort_keys=True).encode()
        return Offer(artifact, content=content, size=len(content), route=MANIFEST)
    if not entry.url:
        return Offer(
            artifact, State.FAILED, "the manifest calls it ready and names no address", route=MANIFEST
        )
    return Offer(
        artifact, address=entry.url, size=entry.size, etag=entry.etag or None, route=shown(entry.url)
    )
