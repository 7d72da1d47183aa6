from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.net import Limits, Transport
from pytest_evalharness.observatory import Observatory, Token, load_token


@dataclass(frozen=True)
class Arena:
    """A running embedded league."""

    api: str
    url: str
    credentials: Path
    dialect: str

    def environ(self) -> dict[str, str]:
        return {"SOFTMAX_CONFIG_DIR": str(self.credentials)}

    def token(self) -> Token:
        return load_token(self.api, environ=self.environ())

    def control(self) -> Transport:
        return Transport(f"{self.url}/_arena", headers={}, clock=SystemClock(), rng=random.Random(1))

    def creations(self) -> int:
        with self.control() as transport:
            counters = transport.get_json("/counters")
        return sum(value for key, value in counters.items() if "created" in key)

    def fault(self, spec: str) -> None:
        with self.control() as transport:
            transport.post_json("/faults", {"spec": spec})


@pytest.fixture(scope="module", params=["current", "2026-06"])
def dialect(request: pytest.FixtureRequest) -> str:
    """Every generation of the service that there is."""
    return str(request.param)


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory, dialect: str) -> Iterator[Arena]:
    home = tmp_path_factory.mktemp("arena")
    command = [sys.executable, "-m", "pytest_evalharness.arena", "--home", str(home), "--port", "0"]
    command += ["--dialect", dialect]
    with (home.parent / "server.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--exit-with-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # The folder under test, wherever it is installed or run from.
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
    assert process.stdin is not None
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    yield Arena(said["api"], said["url"], Path(said["credentials"]), said["dialect"])
    process.stdin.close()
    process.wait(120)
    process.stdout.close()


@pytest.fixture
def observatory(arena: Arena) -> Iterator[Observatory]:
    """A client that has read what it speaks to."""
    with connect(arena) as client:
        assert client.learn().name == arena.dialect
        yield client


@pytest.fixture
def again(arena: Arena) -> Callable[..., Observatory]:
    """Another client of the same server, with its own limits; it has not read the description."""
    return lambda **limits: connect(arena, Limits(**limits))


def connect(arena: Arena, limits: Limits | None = None) -> Observatory:
    return Observatory(arena.api, arena.token(), clock=SystemClock(), rng=random.Random(2), limits=limits)


@pytest.fixture
def body(observatory: Observatory, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A request that the league accepts: `keeper:v2` in seat 0 against seven live players."""
    league = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
    division = observatory.competition_division(league)
    rivals = {
        row.player_id: row.policy_version.id for row in observatory.memberships(division_id=division.id)
    }
    seats = ["keeper:v2", *list(rivals.values())[:7]]
    name = request.node.name
    return {
        "target": {"league_id": league},
        "roster": [{"player": {"policy_ref": ref}, "slot": seat} for seat, ref in enumerate(seats)],
        "num_episodes": 2,
        "game_config_overrides": {"maxTicks": 300},
        "notes": f"a test, token-{name}",
        "idempotency_key": f"evh-{name}",
    }
