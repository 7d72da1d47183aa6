from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from pytest_evalharness.base.text import redact
from pytest_evalharness.net import Limits
from pytest_evalharness.observatory import Identity, Observatory, Token

SECRET = "usr_s3cret-t0ken"
BASE = "/api/observatory"


@pytest.fixture(autouse=True)
def forgotten_secrets() -> Iterator[None]:
    """Hypothesis likes words of the source as tokens; hidden for ever, they would be gone from later messages."""
    before = set(redact._secrets)
    yield
    redact._secrets.intersection_update(before)


@pytest.fixture
def clock(wire: ModuleType) -> Any:
    return wire.StandingClock()


@pytest.fixture
def serve(wire: ModuleType) -> Iterator[Callable[..., Any]]:
    servers = []

    def start(*answers: Any, script: Any = None) -> Any:
        server = wire.ScriptedServer(*answers, script=script)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def client(clock: Any, serve: Callable[..., Any], wire: ModuleType) -> Iterator[Callable[..., Observatory]]:
    """A client of a server that answers so: with answers in turn, or with a mapping of paths to JSON."""
    opened: list[Observatory] = []

    def make(*answers: Any, routes: dict[str, Any] | None = None, **options: Any) -> Observatory:
        def route(request: Any) -> Any:
            asked = request.path.removeprefix(BASE)
            found = (routes or {}).get(f"{request.method} {asked}", (routes or {}).get(asked))
            if callable(found):
                found = found(request)
            if found is None:
                return wire.reply({"detail": "Not Found"}, 404)
            return found if isinstance(found, bytes) else wire.reply(found)

        server = serve(*answers, script=None if answers else route)
        return connect(f"{server.url}/api", server=server, **options)

    def connect(root: str, server: Any = None, **options: Any) -> Observatory:
        # Nobody here is silent who is not told so: a machine that is busy must not look like it.
        given = {"limits": Limits(connect=60, read=60, total=60, submit=60, tries=3), **options}
        token = Token(SECRET, identity=Identity.USER, source="a test")
        made = Observatory(root, token, clock=clock, rng=random.Random(3), environ={}, **given)
        made.server = server  # type: ignore[attr-defined]
        opened.append(made)
        return made

    make.at = connect  # type: ignore[attr-defined]
    yield make
    for each in opened:
        each.close()


@pytest.fixture
def sample() -> Samples:
    return Samples()


class Samples:
    """Answers as the service gives them."""

    id = "11111111-1111-4111-8111-111111111111"
    other = "22222222-2222-4222-8222-222222222222"

    def member(self, name: str = "rival", version: int = 3, **changes: Any) -> dict[str, Any]:
        return {
            "id": f"lpm_{name}{version}",
            "status": "competing",
            "substatus": "champion",
            "is_champion": True,
            "start_time": "2026-09-01T00:00:00Z",
            "end_time": None,
            "policy_version": {
                "id": changes.pop("pv", f"pv-{name}-{version}"),
                "policy": {"id": "p", "name": name},
                "version": version,
                "player_id": "ply_1",
            },
            "player": {"id": "ply_1", "name": "Ann"},
            "league": {"id": "league_1", "name": "L"},
            "division": {"id": "div_1", "name": "D"},
            "created_at": "2026-09-01T00:00:00Z",
            **changes,
        }

    def row(self, number: int = 1, **changes: Any) -> dict[str, Any]:
        return {
            "id": f"xreq_{number}",
            "requester_user_id": "usr_1",
            "coworld_id": "cow_1",
            "coworld_name": "crewrift",
            "coworld_version": "1.2.3",
            "status": "running",
            "episode_count": 2,
            "pending_count": 0,
            "submitted_count": 0,
            "running_count": 2,
            "completed_count": 0,
            "failed_count": 0,
            "created_at": "2026-09-21T14:00:00Z",
            **changes,
        }

    def episode(self, **changes: Any) -> dict[str, Any]:
        seats = [
            {"position": n, "policy_version_id": self.id, "policy_name": "a", "version": 1} for n in (0, 1)
        ]
        return {
            "id": "ereq_1",
            "requester_user_id": "usr_1",
            "status": "completed",
            "policy_version_ids": [self.id],
            "participants": seats,
            "scores": [{"policy_version_id": self.id, "score": 1.0}],
            "created_at": "2026-09-21T14:00:00Z",
            **changes,
        }

    def detail(self, number: int = 1, **changes: Any) -> dict[str, Any]:
        return {**self.row(number), "episodes": [self.episode()], **changes}
