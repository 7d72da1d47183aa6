"""A real arena, as a process of its own."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"


@dataclass
class Arena:
    """A running server and a client that is let in."""

    process: subprocess.Popen[str]
    home: Path
    ready: dict[str, Any]
    client: httpx.Client
    stranger: httpx.Client
    labels: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.ready["url"]

    @property
    def base(self) -> str:
        return self.ready["api"] + "/observatory"

    def body(self, refs: list[str] | None = None, **fields: Any) -> dict[str, Any]:
        """A creation that is valid: eight pinned policies."""
        refs = refs or ["keeper:v1", "rival:v3", *self.field(6)]
        roster = [{"player": {"policy_ref": ref}, "slot": slot} for slot, ref in enumerate(refs)]
        return {"target": {"league_id": DAILY}, "roster": roster, "num_episodes": 2, **fields}

    def field(self, count: int) -> list[str]:
        """Labels of other players' live versions, one a player."""
        if len(self.labels) >= count:
            return self.labels[:count]
        labels: dict[str, str] = {}
        for member in self.get(
            "/v2/league-policy-memberships", active_only="true", league_id=DAILY, limit=1000
        ):
            version = member["policy_version"]
            if version["policy"]["name"] not in {"keeper", "rival"}:
                labels[version["policy"]["name"]] = f"{version['policy']['name']}:v{version['version']}"
        self.labels = sorted(labels.values())
        return self.labels[:count]

    def get(self, path: str, **params: Any) -> Any:
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post("/v2/experience-requests", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def detail(self, request_id: str) -> dict[str, Any] | None:
        answer = self.client.get(f"/v2/experience-requests/{request_id}")
        return answer.json() if answer.status_code == 200 else None

    def finished(self, request_id: str) -> dict[str, Any]:
        """The request, once it is over."""
        return until(
            lambda: (
                found
                if (found := self.detail(request_id)) and found["status"] in {"completed", "failed"}
                else None
            )
        )

    def play(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.finished(self.create(body)["id"])

    def counters(self) -> dict[str, int]:
        return self.stranger.get("/_arena/counters").json()

    def fault(self, spec: str) -> None:
        answer = self.stranger.post("/_arena/faults", json={"spec": spec})
        assert answer.status_code == 200, answer.text

    def no_faults(self) -> None:
        self.stranger.delete("/_arena/faults")

    def stop(self) -> int:
        """End its standard input and wait for it."""
        self.client.close()
        self.stranger.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.stop()


def until(look: Callable[[], Any], seconds: float = 120) -> Any:
    """What `look` finds, as soon as it finds something. It has long: a busy machine is no failure."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    pytest.fail(f"nothing happened within {seconds} s")


def command(home: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "pytest_evalharness.arena",
        "--home",
        str(home),
        "--exit-with-stdin",
        *options,
    ]


def launch(home: Path, *options: str, **popen: Any) -> Arena:
    process = subprocess.Popen(
        command(home, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen
    )
    line = process.stdout.readline()
    assert line, f"the arena did not start: exit {process.wait()}"
    ready = json.loads(line)
    client = httpx.Client(
        base_url=ready["api"] + "/observatory",
        headers={"Authorization": f"Bearer {(home / 'token').read_text()}"},
        trust_env=False,
        verify=False,
        timeout=60,
    )
    stranger = httpx.Client(base_url=ready["url"], trust_env=False, verify=False, timeout=60)
    return Arena(process, home, ready, client, stranger)


@pytest.fixture(scope="session")
def founded(founded_league: Callable[..., Path]) -> Path:
    """A home whose rounds have been played: tests start on copies of it, which is faster."""
    return founded_league()


@pytest.fixture(scope="module")
def shared_arena(founded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    arena = launch(shutil.copytree(founded, tmp_path_factory.mktemp("arena") / "home"))
    yield arena
    arena.stop()


@pytest.fixture(scope="module")
def launched() -> Iterator[Callable[..., Arena]]:
    """Starts arenas that end with the module."""
    running: list[Arena] = []

    def starter(home: Path, *options: str) -> Arena:
        running.append(launch(home, *options))
        return running[-1]

    yield starter
    for each in running:
        each.stop()


@pytest.fixture
def arena(shared_arena: Arena) -> Iterator[Arena]:
    """The module's arena, without faults before and after."""
    yield shared_arena
    shared_arena.no_faults()


@pytest.fixture
def start(tmp_path: Path, founded: Path) -> Iterator[Callable[..., Arena]]:
    """Starts arenas that end with the test: on a home that is there, or on a new one (`fresh`: not yet founded)."""
    running: list[Arena] = []

    def starter(*options: str, home: Path | None = None, fresh: bool = False, **popen: Any) -> Arena:
        home = home or tmp_path / "home"
        if not fresh and not home.exists():
            shutil.copytree(founded, home)
        running.append(launch(home, *options, **popen))
        return running[-1]

    yield starter
    for each in running:
        each.kill()


@pytest.fixture
def wait_until() -> Callable[..., Any]:
    return until


@pytest.fixture
def arena_command() -> Callable[..., list[str]]:
    return command
