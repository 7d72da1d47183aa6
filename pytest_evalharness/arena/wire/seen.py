"""An episode as the routes of its artifacts see it, whether a request or a round asked for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Order
from pytest_evalharness.arena.league.dispatch import order_of
from pytest_evalharness.arena.league.records import Episode, State
from pytest_evalharness.arena.league.world import Coworld, Game, Round, Version
from pytest_evalharness.arena.wire import render_requests as render
from pytest_evalharness.arena.wire import shapes
from pytest_evalharness.arena.wire.dialect import Said
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.refusals import not_found


@dataclass(frozen=True)
class Seen:
    """An episode: its row in today's words, and what it left."""

    row: shapes.EpisodeShape
    seats: tuple[Version, ...]
    state: State
    ticks: int | None
    order: Order
    results: Callable[[], dict[str, Any] | None]
    ended_at: float | None
    error: dict[str, Any] | None
    silent: tuple[str, ...] = ()
    """The policies whose adviser never answered."""


def of_request(house: House, each: Episode) -> Seen:
    """An episode of a request."""
    error: dict[str, Any] | None = None
    if each.state is State.FAILED:
        error = {"error_type": each.error_type, "message": each.error}
        if each.blamed_seat is not None:
            error["failed_policy_index"] = each.blamed_seat
    return Seen(
        row=render.episode(each, house.world.me),
        seats=each.seats,
        state=each.state,
        ticks=each.ticks,
        order=order_of(each),
        results=lambda: house.desk.results(each),
        ended_at=each.completed_at,
        error=error,
        silent=each.request.marks.silent,
    )


def of_round(house: House, round_: Round, game: Game) -> Seen:
    """An episode of a round."""
    league = round_.division.league
    name = league.coworld.name
    config = GAMES[name].variant(league.variant or "").config
    seats = [(version.player.key, version.build) for version in game.seats]
    return Seen(
        row=render.round_episode(round_, game, house.world.machine),
        seats=game.seats,
        state=State.COMPLETED,
        ticks=game.ticks,
        order=Order(name, config, seats, game.seed),
        results=lambda: game.results,
        ended_at=round_.completed_at,
        error=None,
    )


def find(house: House, episode_id: str) -> Seen:
    """An episode by its id.

    Raises:
        HTTPException: 404.
    """
    episode = house.desk.episode(episode_id)
    if episode is not None:
        return of_request(house, episode)
    played = house.now.game_by_id.get(episode_id)
    if played is None:
        raise not_found("Episode request")
    return of_round(house, *played)


@dataclass(frozen=True)
class Choice:
    """An episode of a list, or one that was asked for by its id: shown only when its turn comes."""

    id: str
    state: State
    source: Episode | tuple[Round, Game]

    @property
    def seats(self) -> tuple[Version, ...]:
        """Who sits where."""
        return self.source.seats if isinstance(self.source, Episode) else self.source[1].seats

    @property
    def of_round(self) -> bool:
        """Whether a round asked for it."""
        return not isinstance(self.source, Episode)

    @property
    def coworld(self) -> Coworld:
        """The game that it is of."""
        if isinstance(self.source, Episode):
            return self.source.request.coworld
        return self.source[0].division.league.coworld

    @property
    def summary(self) -> shapes.SummaryShape:
        """It in a list."""
        if isinstance(self.source, Episode):
            return render.summary(self.source)
        return render.round_summary(*self.source)

    def seen(self, house: House) -> Seen:
        """The episode with its row."""
        if isinstance(self.source, Episode):
            return of_request(house, self.source)
        return of_round(house, *self.source)


def everything(house: House) -> Iterator[Choice]:
    """All episodes, those of requests first."""
    for request in house.desk.requests():
        for each in request.episodes:
            yield Choice(each.id, each.state, each)
    for round_, game in house.world.game_by_id.values():
        yield Choice(game.id, State.COMPLETED, (round_, game))


def select(house: House, ids: Iterable[str]) -> tuple[list[Choice], list[str]]:
    """The episodes behind ids of requests or of episodes, each once, and the ids nothing can be seen of."""
    found: dict[str, Choice] = {}
    missing: list[str] = []
    for each in dict.fromkeys(ids):
        request, episode = house.desk.request(each), house.desk.episode(each)
        played = house.now.game_by_id.get(each)
        if request is not None:
            found.update({child.id: Choice(child.id, child.state, child) for child in request.episodes})
        elif episode is not None:
            found[each] = Choice(each, episode.state, episode)
        elif played is not None:
            found[each] = Choice(each, State.COMPLETED, played)
        else:
            missing.append(each)
    return list(found.values()), missing


def results_of(house: House, seen: Seen) -> Said:
    """Its results.json, in the house's dialect.

    Raises:
        HTTPException: 404 if it has none.
    """
    there = seen.state is State.COMPLETED and house.published(seen.ended_at, "results")
    results = seen.results() if there else None
    if results is None:
        raise not_found("Artifact")
    return house.dialect.results(results)


def error_of(house: House, seen: Seen) -> dict[str, Any]:
    """Why it failed.

    Raises:
        HTTPException: 404 if it did not.
    """
    if seen.error is None or not house.published(seen.ended_at, "error_info"):
        raise not_found("Artifact")
    return seen.error


def seat(house: House, episode_id: str, version_id: str, position: int) -> Seen:
    """An episode of which the user may read this seat.

    Raises:
        HTTPException: 404 if this version does not sit there, 403 if it is somebody else's.
    """
    seen = find(house, episode_id)
    if position >= len(seen.seats) or seen.seats[position].id != version_id:
        raise not_found("Seat")
    if not house.world.owned(seen.seats[position]):
        raise HTTPException(403, "You can only read the logs of your own policies")
    return seen
