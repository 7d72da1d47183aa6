"""The dispatcher: takes waiting episodes to the workers, fairly, and writes down how they ended."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Order, Played
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.arena.league.desk import Desk
from pytest_evalharness.arena.league.records import PLAYER_ERROR, Episode, Request, State, policy_scores
from pytest_evalharness.arena.league.store import Finished, Store
from pytest_evalharness.arena.league.workers import Workers, WorkersGoneError
from pytest_evalharness.base.clock import Clock

_WARM_EPISODES = 240
"""How many games run at the same time when they take wall time: as many as the hosted service keeps warm."""

_KNOCK_SECONDS = 0.05
"""How often a request looks whether a closed queue has opened."""

_RETRIED = "player_never_started"
"""The error type of an episode that is dispatched again."""

_RETRY_SECONDS = 0.5
"""How long a failed episode can be read as failed before it is dispatched again."""

_WORDS = {
    "platform_error": "the node was lost before the game had ended",
    PLAYER_ERROR: "a player's process ended before the game had",
}


class Dispatcher:
    """Plays what the desk has taken in.

    Args:
        desk: where requests are.
        store: where ends of episodes are written before anybody sees them.
        workers: who plays.
        pace: a game lasts as long as on the hosted service divided by this; 0 for as long as it takes to compute.
        clock: tells the time.
        scoring: how games are scored; those that an earlier server has finished keep the scores that they have.
        closed: whether new requests are to wait for now.
    """

    def __init__(
        self,
        desk: Desk,
        store: Store,
        workers: Workers,
        pace: float,
        clock: Clock,
        *,
        scoring: Scoring = Scoring.OUTCOME,
        closed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._desk = desk
        self._store = store
        self._workers = workers
        self._pace = pace
        self._clock = clock
        self._scoring = scoring
        self._closed = closed
        self._waiting: deque[deque[Episode]] = deque()
        self._arrived = asyncio.Event()
        self._computing = asyncio.Semaphore(
            workers.count + 1
        )  # one more, so that no worker ever waits for us
        self._tables = asyncio.Semaphore(_WARM_EPISODES)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: list[tuple[Finished, asyncio.Future[None]]] = []
        self._writing = False
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="arena-writer")

    def start(self) -> None:
        """Begin; requests that an earlier server left unfinished come first."""
        for request in self._desk.unfinished():
            self.accept(request)
        self._spawn(self._deal())

    async def stop(self) -> None:
        """Stop dealing. Episodes under way are forgotten; the next server on this home plays them again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._writer.shutdown()

    def accept(self, request: Request) -> None:
        """Play a request's episodes as soon as it is its turn."""
        self._spawn(self._queue(request))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _queue(self, request: Request) -> None:
        """Keep a request pending for as long as it must, then line its episodes up."""
        remaining = request.created_at + request.marks.queue_seconds - self._clock.now()
        if remaining > 0:
            await asyncio.sleep(remaining)
        while self._closed() and request.cancelled_at is None:  # noqa: ASYNC110 - a fault wakes nobody when it ends
            await asyncio.sleep(_KNOCK_SECONDS)
        if request.cancelled_at is not None:
            return
        line: deque[Episode] = deque()
        for episode in request.episodes:
            if not episode.state.terminal:
                episode.state = State.SUBMITTED
                self._desk.touch(episode)
                line.append(episode)
        self._waiting.append(line)
        self._arrived.set()

    async def _deal(self) -> None:
        """Hand out episodes, one request after the other in turn, so that two arms progress together."""
        while True:
            await self._tables.acquire()
            await self._computing.acquire()
            self._spawn(self._play(await self._next()))

    async def _next(self) -> Episode:
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            line = self._waiting.popleft()
            if not line or line[0].request.cancelled_at is not None:
                continue
            episode = line.popleft()
            self._waiting.append(line)
            return episode

    async def _play(self, episode: Episode) -> None:
        """One episode from its start to its end. Holds a table, and a place at the workers while computing."""
        started = self._clock.now()
        episode.state, episode.started_at = State.RUNNING, started
        self._desk.touch(episode)
        release = _once(self._computing.release)
        try:
            if episode.wedged:
                return  # it runs, and that is all it will ever do
            if episode.stumbles:
                self._stumble(episode)
                return
            played, problem = await self._compute(episode)
            release()
            if played is not None and self._pace > 0:
                request = episode.request
                lasts = GAMES[request.coworld.name].seconds(request.config, played.ticks)
                over = started + lasts / self._pace
                await asyncio.sleep(max(0.0, over - self._clock.now()))
            await self._finish(episode, played, problem)
        finally:
            release()
            self._tables.release()

    def _stumble(self, episode: Episode) -> None:
        """Let an episode fail, and dispatch it again in a moment. Not written down: a restarted server begins with it anew."""
        episode.state, episode.retried = State.FAILED, True
        episode.error_type, episode.error = _RETRIED, "a player's container did not start"
        self._desk.touch(episode)
        self._spawn(self._again(episode))

    async def _again(self, episode: Episode) -> None:
        await asyncio.sleep(_RETRY_SECONDS)
        if episode.request.cancelled_at is not None:
            return
        episode.state, episode.started_at, episode.error_type, episode.error = (
            State.SUBMITTED,
            None,
            None,
            None,
        )
        self._desk.touch(episode)
        self._waiting.append(deque([episode]))
        self._arrived.set()

    async def _compute(self, episode: Episode) -> tuple[Played | None, tuple[str, str]]:
        if episode.fate is not None:
            return None, (episode.fate, _WORDS.get(episode.fate, "the game had not ended"))
        try:
            scoring = Scoring(episode.request.marks.scoring or self._scoring)
            return await self._workers.play(replace(order_of(episode), scoring=scoring)), ("", "")
        except WorkersGoneError as error:
            return None, ("worker_error", str(error))
        except Exception:  # noqa: BLE001 - whatever the game raises is this episode's end, not the server's
            return None, ("game_error", "the game stopped with an error of its own")

    async def _finish(self, episode: Episode, played: Played | None, problem: tuple[str, str]) -> None:
        self._desk.revision += 1
        end = Finished(
            episode=episode,
            state=State.COMPLETED if played else State.FAILED,
            revision=self._desk.revision,
            started_at=episode.started_at or self._clock.now(),
            completed_at=self._clock.now(),
            scores=policy_scores(episode.seats, played.results["scores"]) if played else {},
            played=played,
            error_type=None if played else problem[0],
            error=None if played else problem[1],
        )
        written = asyncio.get_running_loop().create_future()
        self._ended.append((end, written))
        if not self._writing:
            self._writing = True
            self._spawn(self._write())
        await written

    async def _write(self) -> None:
        """Write ends, as many as there are in one transaction: a sync to disk for each would be slower than the games."""
        loop = asyncio.get_running_loop()
        while self._ended:
            batch, self._ended = self._ended, []
            write = functools.partial(self._store.finish, [end for end, _ in batch])
            try:
                await loop.run_in_executor(self._writer, write)
            except Exception as error:  # noqa: BLE001 - a full disk: these episodes stay running, others may do better
                for _, written in batch:
                    written.set_exception(error)
                continue
            for end, written in batch:
                self._show(end)
                if not written.done():
                    written.set_result(None)
        self._writing = False

    def _show(self, end: Finished) -> None:
        """Let an end be seen, now that it is safe on disk."""
        episode = end.episode
        episode.state, episode.completed_at = end.state, end.completed_at
        episode.scores, episode.error_type, episode.error = end.scores, end.error_type, end.error
        episode.ticks = end.played.ticks if end.played else None
        self._desk.touch(episode)


def order_of(episode: Episode) -> Order:
    """What the workers have to know to play an episode."""
    overrides = episode.request.overrides
    if episode.request.marks.own_seeds:  # a seed among them would be obeyed by the game itself
        overrides = {key: value for key, value in overrides.items() if key != "seed"}
    return Order(
        game=episode.request.coworld.name,
        overrides=overrides,
        seats=[(version.player.name, version.build) for version in episode.seats],
        seed=episode.seed,
        mishaps=episode.mishaps,
    )


def _once(action: Callable[[], None]) -> Callable[[], None]:
    """The action, done by the first call only."""
    done = False

    def act() -> None:
        nonlocal done
        if not done:
            done = True
            action()

    return act
