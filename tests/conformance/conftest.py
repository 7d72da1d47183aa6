"""The real `coworld` client and a server of ours, and the real `levers9` SDK, which the conformance tests share.

`tests/conformance/install.sh` makes their virtual environments; without one these tests skip.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.observatory import Observatory, load_token

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
_ROOT = Path(__file__).parents[2]
_PLACES = [os.environ.get("EVALHARNESS_COWORLD_VENV"), _ROOT / ".venv-coworld"]
_PEERS_PLACES = [os.environ.get("EVALHARNESS_PEERS_VENV"), _ROOT / ".venv-peers"]
_SDK_PLACES = [os.environ.get("EVALHARNESS_LEVERS9_VENV"), _ROOT / ".venv-levers9"]


@pytest.fixture(scope="session")
def tools():
    for place in filter(None, _PLACES):
        folder = Path(place) / "bin"
        if (folder / "coworld").exists():
            return folder
    pytest.skip("no coworld client: run tests/conformance/install.sh, or set EVALHARNESS_COWORLD_VENV")


@pytest.fixture(scope="session")
def sdk():
    for place in filter(None, _SDK_PLACES):
        if (Path(place) / "bin" / "levers9").exists():  # written last, so a half-made environment has none
            return Path(place) / "bin" / "python"
    pytest.skip("no levers9 SDK: run tests/conformance/install.sh, or set EVALHARNESS_LEVERS9_VENV")


@pytest.fixture(scope="session")
def peers():
    """The folder of packages that has the libraries whose estimators ours are held against."""
    for place in filter(None, _PEERS_PLACES):
        for packages in Path(place).glob("lib/python*/site-packages"):
            if (packages / "obp").exists() and (packages / "scope_rl").exists():
                return packages
    pytest.skip("no obp and scope-rl: run tests/conformance/install.sh, or set EVALHARNESS_PEERS_VENV")


@pytest.fixture(scope="session")
def peer_estimates(peers):
    """Asks a library for its estimates of many cases at once: `peer_estimates("obp", [arrays by name, …])`."""

    def ask(library, cases):
        done = subprocess.run(
            [peers.parents[2] / "bin" / "python", Path(__file__).with_name("peer_estimates.py"), library],
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


@pytest.fixture(scope="session")
def arena(tmp_path_factory):
    home = tmp_path_factory.mktemp("conformance")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest_evalharness.arena", "--home", str(home), "--exit-with-stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield json.loads(process.stdout.readline())


@pytest.fixture(scope="session")
def run(tools, arena):
    """Runs a command of the client and returns what it printed; of one that fails, what it complained of."""

    def runner(*command, code=0, tool="coworld", text=None):
        proxies = {"http_proxy", "https_proxy", "all_proxy"}
        environment = {key: value for key, value in os.environ.items() if key.lower() not in proxies}
        environment |= {
            "SOFTMAX_CONFIG_DIR": arena["credentials"],
            "NO_PROXY": "127.0.0.1",
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }
        done = subprocess.run(
            [tools / tool, *command, "--server", arena["api"]],
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr if code else done.stdout

    return runner


@pytest.fixture(scope="session")
def create(run):
    """Creates requests with the client."""

    def creator(games, notes):
        roster = [{"player": {"policy_ref": "keeper:v2"}, "slot": 0}, *[{"player": {"top_n": 9}}] * 7]
        body = {"target": {"league_id": DAILY}, "roster": roster, "num_episodes": games, "notes": notes}
        made = run("xp-request", "create", "-", "--title", "by the client", "--json", text=json.dumps(body))
        return json.loads(made)["id"]

    return creator


@pytest.fixture(scope="session")
def request_id(run, create):
    """A request that the client created."""
    created = create(6, "conformance")
    rows = json.loads(run("xp-request", "list", "--mine", "--json"))["entries"]
    assert created in [row["id"] for row in rows]
    return created


@pytest.fixture(scope="session")
def episode_id(run, request_id):
    run("xp-request", "watch", request_id, "--timeout", "300")
    return json.loads(run("xp-request", "get", request_id, "--json"))["episodes"][0]["id"]


@pytest.fixture(scope="session")
def ours(arena):
    """Our client of the same server, with the same credentials."""
    token = load_token(arena["api"], environ={"SOFTMAX_CONFIG_DIR": arena["credentials"]})
    with Observatory(arena["api"], token, clock=SystemClock(), rng=random.Random(1), environ={}) as client:
        client.learn()
        yield client
