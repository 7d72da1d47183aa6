"""Embedded leagues of both dialects with some played games, and the command that downloads what they left."""

import json
import os
import random
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.cli import main
from pytest_evalharness.observatory import Observatory, load_token

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
ROOT = Path(__file__).parents[3]


class League:
    """A running embedded league, as its users and whoever runs it see it."""

    def __init__(self, home, *words, port=0):
        self.home = home
        self.words = words
        self.port = port
        self.process = None

    def start(self):
        command = [
            sys.executable,
            "-m",
            "pytest_evalharness.arena",
            "--home",
            str(self.home),
            "--port",
            str(self.port),
        ]
        with (self.home.parent / f"{self.home.name}.log").open("a") as log:
            self.process = subprocess.Popen(
                [*command, *self.words, "--exit-with-stdin"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        said = json.loads(self.process.stdout.readline())
        self.api, self.url, self.dialect, self.credentials = (
            said[key] for key in ("api", "url", "dialect", "credentials")
        )
        self.port = int(self.url.rpartition(":")[2])
        return self

    def stop(self):
        self.process.stdin.close()
        self.process.wait(120)
        self.process.stdout.close()

    def _arena(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/_arena{path}", data, {"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())

    def fault(self, spec):
        self._arena("/faults", {"spec": spec})

    def clear(self):
        self._arena("/faults", method="DELETE")

    def storage(self):
        return self._arena("/storage")

    def client(self):
        token = load_token(self.api, environ={"SOFTMAX_CONFIG_DIR": self.credentials})
        client = Observatory(self.api, token, clock=SystemClock(), rng=random.Random(1))
        client.learn()
        return client

    def get(self, path):
        """A route of the API that the client has no call for."""
        token = load_token(self.api, environ={"SOFTMAX_CONFIG_DIR": self.credentials}).reveal()
        headers = {"Authorization": f"Bearer {token}", "X-Auth-Token": token, "User-Agent": "a-test"}
        request = urllib.request.Request(f"{self.api}/observatory{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())

    def play(self, episodes=3, ticks=300, *, wait=True):
        """Ask for some games of `keeper:v2` and wait for their end; returns the request's id."""
        with self.client() as client:
            self.division = client.competition_division(DAILY).id
            rivals = {
                row.player_id: row.policy_version.id for row in client.memberships(division_id=self.division)
            }
            seats = ["keeper:v2", *list(rivals.values())[:7]]
            body = {
                "target": {"league_id": DAILY},
                "roster": [{"player": {"policy_ref": ref}, "slot": seat} for seat, ref in enumerate(seats)],
                "num_episodes": episodes,
                "game_config_overrides": {"maxTicks": ticks},
                "notes": "a test of downloads",
            }
            made = client.create_experience_request(body)
            while wait and not client.experience_request(made.id, fresh=True).status.terminal:
                SystemClock().wait(0.05)
            return made.id


@pytest.fixture(scope="session", params=["current", "2026-06"])
def dialect(request):
    return request.param


@pytest.fixture(scope="session")
def _leagues(tmp_path_factory):
    """One league a dialect, started when it is first asked for."""
    running = {}

    def get(dialect):
        if dialect not in running:
            home = tmp_path_factory.mktemp("leagues") / dialect
            running[dialect] = League(home, "--dialect", dialect, "--pace", "100").start()
            running[dialect].played = running[dialect].play()
        return running[dialect]

    yield get
    for each in running.values():
        each.stop()


@pytest.fixture
def league(_leagues, dialect):
    """A league of each dialect, with three played games (`played`) and without faults."""
    found = _leagues(dialect)
    yield found
    found.clear()


@pytest.fixture
def today(_leagues):
    """Today's league only."""
    found = _leagues("current")
    yield found
    found.clear()


@pytest.fixture
def june(_leagues):
    """That of mid 2026 only."""
    found = _leagues("2026-06")
    yield found
    found.clear()


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `evalharness episodes` on a league; returns exit code, output and errors."""

    def call(league, *words):
        monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(league.credentials))
        monkeypatch.delenv("EVALHARNESS_TOKEN", raising=False)
        capsys.readouterr()
        code = main(["episodes", *words, "--server", league.api])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def download(run):
    """The same, and what it reports. `code` is what it must exit with, `late` for how long artifacts may be late."""

    def call(league, out, *words, code=0, late=0.3):
        got, told, errors = run(league, *words, "--late", str(late), "--out", str(out), "--json")
        assert got == code, told + errors
        return json.loads(told)

    return call


@pytest.fixture
def verified(capsys):
    """Whether `evalharness episodes verify` finds a folder whole."""

    def call(out):
        capsys.readouterr()
        return main(["episodes", "verify", str(out)]) == 0

    return call
