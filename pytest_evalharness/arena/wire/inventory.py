"""What an episode left, piece by piece: what there is of it for this user, in which state, and its bytes.

Pieces are named as in the download manifest. Nothing is stored: the same order gives the same match, so its logs, uploads and
replay are made when they are asked for, byte for byte the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from fastapi import HTTPException

from pytest_evalharness.arena.faults import payloads
from pytest_evalharness.arena.faults.artifacts import CATEGORIES
from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Recorded
from pytest_evalharness.arena.league.records import State
from pytest_evalharness.arena.wire import contents, left_behind, seen
from pytest_evalharness.arena.wire.contents import Content
from pytest_evalharness.arena.wire.house import House
from pytest_evalharness.arena.wire.refusals import not_found
from pytest_evalharness.arena.wire.seen import Seen

Category = Literal["results", "replay", "events", "error_info", "game_logs", "player_logs", "player_artifact"]
Stand = Literal["pending", "ready", "not_produced", "unavailable"]

OF_SEATS: Final = ("player_logs", "player_artifact")
INLINE: Final = ("results", "error_info")
MOST_LINES: Final = 10_000
"""So many lines of a player's log are kept: the last ones."""
MOST_BYTES: Final = 10 * 1024 * 1024
"""So many bytes of a log are kept, and a mark that says so."""

_MARK: Final = b"\n[truncated by the runner at 10 MiB]\n"
_STARTED: Final = frozenset(
    {
        "crash",
        "episode_timeout",
        "game_contract_violation",
        "game_error",
        "game_unhealthy",
        "oom",
        "replay_missing",
        "replay_unloadable",
        "results_malformed",
        "results_missing",
    }
)
"""Error types of games that were under way when they failed: they leave logs."""

_FILES: Final[dict[str, tuple[str, str]]] = {
    "results": ("results.json", "application/json"),
    "error_info": ("error_info.json", "application/json"),
    "replay": ("replay.replay", "application/octet-stream"),
    "events": ("events.json", "application/json"),
    "game_logs": ("game.log", "text/plain; charset=utf-8"),
    "player_logs": ("policy_agent_{}.log", "text/plain; charset=utf-8"),
    "player_artifact": ("policy_artifact_{}.zip", "application/zip"),
}
assert set(_FILES) == set(CATEGORIES)


@dataclass(frozen=True)
class Piece:
    """A thing that an episode may have left; `position` is the seat of those that belong to one."""

    category: Category
    position: int | None = None

    @property
    def filename(self) -> str:
        """What it is called."""
        return _FILES[self.category][0].format(self.position)

    @property
    def media_type(self) -> str:
        """Of what kind its bytes are."""
        return _FILES[self.category][1]

    def key(self, episode: Seen) -> str:
        """Its name among those of all episodes."""
        seat = "" if self.position is None else f":{self.position}"
        return f"{episode.row['id']}:{self.category}{seat}"


def pieces(
    house: House, episode: Seen, include: Iterable[Category], agents: Iterable[int] | None
) -> Iterator[Piece]:
    """What this user may ask for of an episode: of the pieces of seats only those of the user's own policies.

    Args:
        house: knows who the user is.
        episode: the episode.
        include: the categories to tell of.
        agents: the seats to tell of, all if None.
    """
    wanted = None if agents is None else set(agents)
    for category in include:
        if category not in OF_SEATS:
            yield Piece(category)
            continue
        for position, version in enumerate(episode.seats):
            if house.world.owned(version) and (wanted is None or position in wanted):
                yield Piece(category, position)


def stand(house: House, episode: Seen, piece: Piece) -> Stand:
    """Whether a piece is there, will be, never will be, or is refused."""
    if piece.position is not None and piece.position in house.faults.all("denied-seat"):
        return "unavailable"
    if not episode.state.terminal or not house.published(episode.ended_at, piece.category):
        return "pending"
    return "ready" if left(episode, piece) else "not_produced"


def left(episode: Seen, piece: Piece) -> bool:
    """Whether an episode that has ended left this piece."""
    completed = episode.state is State.COMPLETED
    if piece.category in ("results", "replay"):
        return completed
    if piece.category == "error_info":
        return episode.error is not None
    if piece.category == "player_artifact":
        return left_behind.uploads(episode, piece.position or 0)
    return piece.category in ("game_logs", "player_logs") and (completed or _was_under_way(episode))


def _was_under_way(episode: Seen) -> bool:
    return (episode.error or {}).get("error_type") in _STARTED


async def content(house: House, episode: Seen, piece: Piece) -> Content:
    """The bytes of a piece.

    Raises:
        HTTPException: 404 if it is not there, 403 if it is refused.
    """
    there = stand(house, episode, piece)
    if there == "unavailable":
        raise HTTPException(403, "You cannot read this seat")
    if there != "ready":
        raise not_found("Artifact")
    made = await _made(house, episode, piece)
    times = house.storage.generations[piece.key(episode)]
    return made if times == 0 else _again(made, piece, times)


def _again(made: Content, piece: Piece, times: int) -> Content:
    """The bytes of a piece that was replaced so often."""
    if piece.category.endswith("_logs") and made.size <= MOST_BYTES:
        return contents.of_bytes(f"[collected again, {times}]\n".encode() + made.whole(), made.media_type)
    return replace(made, etag=f'{made.etag[:-1]}-{times}"')


async def _made(house: House, episode: Seen, piece: Piece) -> Content:
    huge: tuple[str, int] | None = house.faults.value("huge-artifacts")
    if huge is not None and huge[0] == piece.category:
        return contents.of_lines(huge[1], piece.media_type)
    if piece.category in INLINE:
        told = inline(house, episode, piece)
        return contents.of_bytes(json.dumps(told, sort_keys=True).encode(), piece.media_type)
    if piece.category == "replay":
        return contents.of_bytes(await replay(house, episode), piece.media_type)
    hostile = house.faults.value("hostile-uploads")
    if piece.category == "player_artifact" and hostile is not None:
        return contents.of_bytes(await asyncio.to_thread(payloads.upload, hostile), piece.media_type)
    recorded = await house.records.get(episode.row["id"], lambda: house.workers.record(episode.order))
    return contents.of_bytes(_of_record(house, episode, piece, recorded), piece.media_type)


def inline(house: House, episode: Seen, piece: Piece) -> dict[str, Any]:
    """A piece that is one JSON object.

    Raises:
        HTTPException: 404.
    """
    if piece.category == "results":
        return dict(seen.results_of(house, episode))
    return seen.error_of(house, episode)


async def replay(house: House, episode: Seen) -> bytes:
    """An episode's replay, as today's storage keeps it."""
    packing = house.faults.value("replay-bomb")
    if packing is not None:
        return await asyncio.to_thread(payloads.replay_bomb, packing)
    results = episode.results() or {}
    scored = f"{episode.row['id']}/{results.get('scores')}"  # a fault may count a round's points anew
    return await house.replays.get(scored, lambda: _replay(house, episode, results))


async def _replay(house: House, episode: Seen, results: dict[str, Any]) -> bytes:
    labels = [version.label for version in episode.seats]
    return await house.workers.replay(episode.order, episode.row["coworld_version"], labels, results)


def _of_record(house: House, episode: Seen, piece: Piece, recorded: Recorded) -> bytes:
    if piece.category == "player_artifact":
        return left_behind.upload(episode, piece.position or 0, recorded)
    text = recorded.game_log if piece.position is None else recorded.seat_logs[piece.position]
    if episode.state is State.FAILED:
        text = _begun(text, GAMES[episode.order.game].gone_at)
    if piece.position is not None and house.faults.value("uncollected-logs") is not None:
        return f"no pod logs were captured for player {piece.position}\n".encode()
    if piece.position is not None:
        chatter = house.faults.value("long-logs") or 0
        text = "".join(f"[{'lobby':>6}] waiting, look {look}\n" for look in range(chatter)) + text
    return kept(text.encode(), lines=MOST_LINES if piece.position is not None else None)


def _begun(text: str, ticks: int) -> str:
    """As much of a log as there is of a game that ended so early: its share of the lines."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[: max(1, len(lines) * ticks // 10_000)])


def kept(log: bytes, *, lines: int | None) -> bytes:
    """What the service keeps of a log: the last lines, if they are counted, and of those so many bytes and a mark."""
    if lines is not None:
        log = b"".join(log.splitlines(keepends=True)[-lines:])
    return log if len(log) <= MOST_BYTES else log[:MOST_BYTES] + _MARK
