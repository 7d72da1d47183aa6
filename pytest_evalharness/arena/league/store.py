"""What the arena remembers in its home: requests, episodes, results, the games of its rounds, counters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_evalharness.arena.game.hosted import Played
from pytest_evalharness.arena.league.records import Episode, Marks, Request, State
from pytest_evalharness.arena.league.world import World
from pytest_evalharness.base.database import Database

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE round_games (id TEXT PRIMARY KEY, results TEXT NOT NULL, ticks INTEGER NOT NULL);
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    body TEXT NOT NULL,
    coworld_id TEXT NOT NULL,
    variant TEXT NOT NULL,
    league_id TEXT,
    idempotency_key TEXT,
    config TEXT NOT NULL,
    overrides TEXT NOT NULL,
    marks TEXT NOT NULL,
    created_at REAL NOT NULL,
    cancelled_at REAL,
    frozen_counts TEXT,
    UNIQUE (digest, occurrence),
    UNIQUE (league_id, idempotency_key)
);
CREATE TABLE episodes (
    id TEXT PRIMARY KEY,
    request_id TEXT NOT NULL REFERENCES requests (id),
    position INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    seats TEXT NOT NULL,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    started_at REAL,
    completed_at REAL,
    scores TEXT NOT NULL,
    results TEXT,
    ticks INTEGER,
    error_type TEXT,
    error TEXT
);
CREATE INDEX episodes_of_request ON episodes (request_id, position)
"""

_REVISION = "revision"


@dataclass(frozen=True)
class Finished:
    """An episode as it will stand in the database: set on the episode once that is safe."""

    episode: Episode
    state: State
    revision: int
    started_at: float
    completed_at: float
    scores: dict[str, float]
    played: Played | None
    error_type: str | None = None
    error: str | None = None


class Store:
    """The arena's database.

    Raises:
        SchemaTooNewError, sqlite3.Error: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._db = Database(path, [_SCHEMA])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def remember(self, key: str, value: str) -> str:
        """The value stored under a key; stores this one if there is none yet."""
        with self._db.transaction() as run:
            run("INSERT OR IGNORE INTO meta VALUES (?, ?)", key, value)
            return str(run("SELECT value FROM meta WHERE key=?", key)[0][0])

    # ------------------------------------------------------------ rounds

    def round_games(self, cast: str) -> dict[str, Played]:
        """The games of rounds played so far, by id; none if another cast played them."""
        with self._db.transaction() as run:
            run("INSERT OR IGNORE INTO meta VALUES ('cast', ?)", cast)
            if run("SELECT value FROM meta WHERE key='cast'")[0][0] != cast:
                run("DELETE FROM round_games")
                run("UPDATE meta SET value=? WHERE key='cast'", cast)
            rows = run("SELECT * FROM round_games")
        return {row["id"]: Played(json.loads(row["results"]), row["ticks"]) for row in rows}

    def keep_round_games(self, games: Iterable[tuple[str, Played]]) -> None:
        """Store games of rounds."""
        with self._db.transaction() as run:
            for key, played in games:
                results = json.dumps(played.results)
                run("INSERT OR REPLACE INTO round_games VALUES (?, ?, ?)", key, results, played.ticks)

    # ---------------------------------------------------------- requests

    def occurrences(self, digest: str) -> int:
        """How many requests with this digest there are."""
        return int(self._db.read("SELECT count(*) FROM requests WHERE digest=?", digest)[0][0])

    def by_key(self, league_id: str, key: str) -> str | None:
        """The id of the request that was created with this idempotency key in this league."""
        rows = self._db.read(
            "SELECT id FROM requests WHERE league_id=? AND idempotency_key=?", league_id, key
        )
        return str(rows[0][0]) if rows else None

    def add(self, request: Request, digest: str, occurrence: int, counters: Sequence[str]) -> None:
        """Store a new request with its episodes, and count it: all or nothing."""
        key = request.body.get("idempotency_key") if request.league_id else None
        with self._db.transaction() as run:
            run(
                "INSERT INTO requests (id, digest, occurrence, body, coworld_id, variant, league_id,"
                " idempotency_key, config, overrides, marks, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                request.id,
                digest,
                occurrence,
                json.dumps(request.body),
                request.coworld.id,
                request.variant,
                request.league_id,
                key,
                json.dumps(request.config),
                json.dumps(request.overrides),
                json.dumps(asdict(request.marks)),
                request.created_at,
            )
            for episode in request.episodes:
                run(
                    "INSERT INTO episodes (id, request_id, position, seed, seats, state, revision, scores)"
                    " VALUES (?,?,?,?,?,?,?,'{}')",
                    episode.id,
                    request.id,
                    episode.index,
                    episode.seed,
                    json.dumps([version.id for version in episode.seats]),
                    episode.state.value,
                    episode.revision,
                )
            for name in counters:
                run(_COUNT, name)

    def count(self, name: str) -> None:
        """Add one to a counter."""
        with self._db.transaction() as run:
            run(_COUNT, name)

    def counters(self) -> dict[str, int]:
        """All counters that are not zero."""
        return {row["name"]: row["value"] for row in self._db.read("SELECT * FROM counters")}

    def cancel(self, request: Request, at: float, counts: dict[str, int]) -> None:
        """Store that a request was cancelled, and how far its episodes were."""
        with self._db.transaction() as run:
            run(
                "UPDATE requests SET cancelled_at=?, frozen_counts=? WHERE id=?",
                at,
                json.dumps(counts),
                request.id,
            )

    def finish(self, finished: Sequence[Finished]) -> None:
        """Store the end of episodes."""
        with self._db.transaction() as run:
            for end in finished:
                run(
                    "UPDATE episodes SET state=?, revision=?, started_at=?, completed_at=?, scores=?, results=?,"
                    " ticks=?, error_type=?, error=? WHERE id=?",
                    end.state.value,
                    end.revision,
                    end.started_at,
                    end.completed_at,
                    json.dumps(end.scores),
                    json.dumps(end.played.results) if end.played else None,
                    end.played.ticks if end.played else None,
                    end.error_type,
                    end.error,
                    end.episode.id,
                )
            highest = max((end.revision for end in finished), default=0)
            run(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE"
                " SET value=max(CAST(value AS INTEGER), excluded.value)",
                _REVISION,
                highest,
            )

    def results(self, episode_id: str) -> dict[str, Any] | None:
        """The results.json of an episode."""
        rows = self._db.read("SELECT results FROM episodes WHERE id=?", episode_id)
        if not rows or rows[0][0] is None:
            return None
        out: dict[str, Any] = json.loads(rows[0][0])
        return out

    def highest_revision(self) -> int:
        """The highest revision that was ever stored."""
        rows = self._db.read("SELECT value FROM meta WHERE key=?", _REVISION)
        return int(rows[0][0]) if rows else 0

    def load(self, world: World) -> list[Request]:
        """All requests, oldest first. Episodes that had not ended are pending again.

        Requests that name something the world no longer has are left out: they cannot be shown whole.
        """
        coworlds = {coworld.id: coworld for coworld in world.coworlds}
        requests: dict[str, Request] = {}
        for row in self._db.read("SELECT * FROM requests ORDER BY number"):
            if row["coworld_id"] in coworlds:
                requests[row["id"]] = Request(
                    id=row["id"],
                    body=json.loads(row["body"]),
                    coworld=coworlds[row["coworld_id"]],
                    variant=row["variant"],
                    league_id=row["league_id"],
                    config=json.loads(row["config"]),
                    overrides=json.loads(row["overrides"]),
                    marks=_marks(row["marks"]),
                    created_at=row["created_at"],
                    cancelled_at=row["cancelled_at"],
                    frozen_counts=json.loads(row["frozen_counts"]) if row["frozen_counts"] else None,
                )
        for row in self._db.read("SELECT * FROM episodes ORDER BY request_id, position"):
            _load_episode(row, requests, world)
        return [request for request in requests.values() if request.episodes]


_COUNT = "INSERT INTO counters VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value=value+1"


def _marks(text: str) -> Marks:
    fields = json.loads(text)
    for name in ("wedged", "doomed", "mishaps"):
        fields[name] = tuple((first, second) for first, second in fields.get(name, ()))
    rolled = fields.get("rolled")
    fields["rolled"] = None if rolled is None else (rolled[0], rolled[1])
    fields["silent"] = tuple(fields.get("silent", ()))
    return Marks(**fields)


def _load_episode(row: Any, requests: dict[str, Request], world: World) -> None:
    request = requests.get(row["request_id"])
    if request is None:
        return
    versions = [world.version_by_id.get(key) for key in json.loads(row["seats"])]
    seats = tuple(version for version in versions if version is not None)
    if len(seats) < len(versions):
        del requests[request.id]
        return
    ended = State(row["state"]).terminal
    request.episodes.append(
        Episode(
            id=row["id"],
            request=request,
            index=row["position"],
            seed=row["seed"],
            seats=seats,
            state=State(row["state"]) if ended else State.PENDING,
            revision=row["revision"],
            started_at=row["started_at"],
            completed_at=row["completed_at"],
            scores=json.loads(row["scores"]),
            ticks=row["ticks"],
            error_type=row["error_type"],
            error=row["error"],
        )
    )
