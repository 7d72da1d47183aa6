"""The desk: takes requests in, hands them out, cancels them. All of it on the event loop's thread."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import RefusedConfigError
from pytest_evalharness.arena.league.ids import Ids
from pytest_evalharness.arena.league.records import Episode, Marks, Request
from pytest_evalharness.arena.league.roster import (
    Pick,
    Target,
    UnresolvableError,
    resolve_roster,
    resolve_target,
    seat_episode,
)
from pytest_evalharness.arena.league.store import Store
from pytest_evalharness.arena.league.world import World
from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.files import canonical_json

POSTS = "experience_request_posts"
CREATED = "experience_requests_created"
REPLAYS = "idempotent_replays"

_REVISIONS_A_START = 1_000_000


class KeyConflictError(Exception):
    """The idempotency key was already used for something else."""


class AlreadyOverError(Exception):
    """The request has ended; it cannot be cancelled any more."""


class Bell:
    """Wakes everybody who waits for a change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for the next change; False when the time is over."""
        event = self._event
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True


@dataclass(frozen=True)
class Plan:
    """A request that has been checked, not yet taken in."""

    target: Target
    picks: Sequence[Pick]
    overrides: Mapping[str, Any]
    config: Mapping[str, Any]
    digest: str


class Desk:
    """All requests, and how new ones come in."""

    def __init__(self, seed: int, world: World, store: Store, clock: Clock) -> None:
        self.seed = seed
        self.world = world
        self.bell = Bell()
        self._store = store
        self._clock = clock
        self._ids = Ids(seed)
        self._taking_in = asyncio.Lock()
        self._requests = {request.id: request for request in store.load(world)}
        self._episodes = {each.id: each for request in self._requests.values() for each in request.episodes}
        self.revision = store.highest_revision() + _REVISIONS_A_START
        for episode in self._episodes.values():
            if not episode.state.terminal:
                self.touch(episode)

    # -------------------------------------------------------------- reading

    def visible(self, request: Request) -> bool:
        """Whether a request can be read yet: for a moment after its creation it cannot."""
        return self._clock.now() >= request.created_at + request.marks.hidden_seconds

    def request(self, request_id: str) -> Request | None:
        """A request that can be read, by its id."""
        request = self._requests.get(request_id)
        return request if request is not None and self.visible(request) else None

    def episode(self, episode_id: str) -> Episode | None:
        """An episode of a request that can be read."""
        episode = self._episodes.get(episode_id)
        return episode if episode is not None and self.visible(episode.request) else None

    def requests(self) -> list[Request]:
        """All requests that can be read, newest first."""
        return [request for request in reversed(self._requests.values()) if self.visible(request)]

    def unfinished(self) -> list[Request]:
        """Requests that still have episodes to play, oldest first."""
        return [
            request
            for request in self._requests.values()
            if request.cancelled_at is None and not request.state.terminal
        ]

    def results(self, episode: Episode) -> dict[str, Any] | None:
        """The results.json of an episode, once it is completed."""
        return self._store.results(episode.id)

    def counters(self) -> dict[str, int]:
        """What was posted, created and replayed since this home exists."""
        return {POSTS: 0, CREATED: 0, REPLAYS: 0, **self._store.counters()}

    # ------------------------------------------------------------- changing

    def touch(self, episode: Episode) -> None:
        """Note that an episode changed."""
        self.revision += 1
        episode.revision = self.revision
        self.bell.ring()

    async def create(
        self, body: Mapping[str, Any], mark: Marks, world: World | None = None
    ) -> tuple[Request, bool]:
        """Take a request in; True if it is new, False if its idempotency key gave an earlier one back.

        Args:
            body: what is asked.
            mark: what faults do to it.
            world: the world as it is now, where that is no longer the one the desk began with.

        Raises:
            UnresolvableError: target, roster or configuration cannot be played.
            KeyConflictError: the key belongs to a request with another body.
        """
        async with self._taking_in:
            plan = self._plan(body, world or self.world)
            earlier = self._earlier(plan, body)
            if earlier is not None:
                self._store.count(POSTS)
                self._store.count(REPLAYS)
                return earlier, False
            occurrence = self._store.occurrences(plan.digest)
            request = self._draft(plan, body, mark, occurrence)
            self._store.add(request, plan.digest, occurrence, [POSTS, CREATED])
            self._requests[request.id] = request
            self._episodes.update({episode.id: episode for episode in request.episodes})
            return request, True

    def _earlier(self, plan: Plan, body: Mapping[str, Any]) -> Request | None:
        key = body.get("idempotency_key")
        if key is None or plan.target.league is None:
            return None  # the key only counts within a league
        request_id = self._store.by_key(plan.target.league.id, key)
        request = self._requests.get(request_id) if request_id else None
        if request is not None and request.body != body:
            raise KeyConflictError
        return request

    def _plan(self, body: Mapping[str, Any], world: World) -> Plan:
        target = resolve_target(world, body)
        picks = resolve_roster(world, target, body)
        game = GAMES[target.coworld.name]
        overrides = {**game.variant(target.variant).config, **(body.get("game_config_overrides") or {})}
        try:
            config = game.effective_config(overrides)
        except RefusedConfigError as error:
            raise UnresolvableError(f"game_config_overrides: {error}") from error
        content = {
            "coworld": target.coworld.id,
            "variant": target.variant,
            "league": target.league.id if target.league else None,
            "division": target.division.id if target.division else None,
            "config": config,
            "roster": [pick.spelled() for pick in picks],
        }
        digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
        return Plan(target, picks, overrides, config, digest)

    def _draft(self, plan: Plan, body: Mapping[str, Any], mark: Marks, occurrence: int) -> Request:
        request = Request(
            id=self._ids.prefixed("xreq", plan.digest, occurrence),
            body=body,
            coworld=plan.target.coworld,
            variant=plan.target.variant,
            league_id=plan.target.league.id if plan.target.league else None,
            config=plan.config,
            overrides=plan.overrides,
            marks=mark,
            created_at=self._clock.now(),
        )
        for index in range(int(body.get("num_episodes", 1))):
            request.episodes.append(self._episode(request, plan, occurrence, index))
        return request

    def _episode(self, request: Request, plan: Plan, occurrence: int, index: int) -> Episode:
        # What is played depends on what was asked and how often, never on when or by whom: notes may differ, the
        # server may restart. So different arms may arrive in any order. Requests with the same roster and config
        # are counted as they arrive: two that differ only in their number of episodes swap games if they swap places.
        words = f"{self.seed}/{plan.digest}/{occurrence}/{index}"
        given = -1 if request.marks.own_seeds else int(plan.config.get("seed", -1))
        derived = int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big") >> 1
        seats = seat_episode(plan.picks, index, Random(f"{words}/draw"))
        if request.marks.shuffled:
            seats = seats[-1:] + seats[:-1]
        episode = Episode(
            id=self._ids.prefixed("ereq", request.id, index),
            request=request,
            index=index,
            seed=derived if given < 0 else given,
            seats=seats,
        )
        self.touch(episode)
        return episode

    def cancel(self, request: Request) -> None:
        """Stop a request softly: what runs goes on, what waits never starts, the counts freeze.

        Raises:
            AlreadyOverError: it is completed or failed.
        """
        if request.cancelled_at is not None:
            return
        if request.state.terminal:
            raise AlreadyOverError(request.state.value)
        at, counts = self._clock.now(), request.count()
        self._store.cancel(request, at, counts)
        request.cancelled_at, request.frozen_counts = at, counts
        self.bell.ring()
