"""What we download and what the real `coworld` client downloads are the same bytes.

`tests/conformance/install.sh` makes the client's virtual environment; without one these tests skip.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.cli import main
from pytest_evalharness.observatory import Observatory, load_token

DAILY = "league_605ff338-0a2e-4e62-aeda-559df9a9198f"
_ROOT = Path(__file__).parents[2]
_PLACES = [os.environ.get("EVALHARNESS_COWORLD_VENV"), _ROOT / ".venv-coworld"]
_OURS = {"replay.replay": "replay.raw", "game.log": "logs/game.log"}
CATEGORIES = ("results", "replay", "error_info", "game_logs", "player_logs", "player_artifact")


@pytest.fixture(scope="module")
def coworld():
    for place in filter(None, _PLACES):
        if (Path(place) / "bin" / "coworld").exists():
            return Path(place) / "bin" / "coworld"
    pytest.skip("no coworld client: run tests/conformance/install.sh, or set EVALHARNESS_COWORLD_VENV")


@pytest.fixture(scope="module")
def arena(coworld, tmp_path_factory):
    home = tmp_path_factory.mktemp("same-downloads")
    with subprocess.Popen(
        [sys.executable, "-m", "pytest_evalharness.arena", "--home", str(home), "--exit-with-stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield json.loads(process.stdout.readline())
        process.stdin.close()


@pytest.fixture(scope="module")
def played(arena):
    """A request of eight games that have ended."""
    token = load_token(arena["api"], environ={"SOFTMAX_CONFIG_DIR": arena["credentials"]})
    with Observatory(arena["api"], token, clock=SystemClock(), rng=random.Random(3)) as client:
        division = client.competition_division(DAILY).id
        rivals = {row.player_id: row.policy_version.id for row in client.memberships(division_id=division)}
        seats = ["keeper:v2", *list(rivals.values())[:7]]
        body = {
            "target": {"league_id": DAILY},
            "roster": [{"player": {"policy_ref": ref}, "slot": seat} for seat, ref in enumerate(seats)],
            "num_episodes": 8,
            "game_config_overrides": {"maxTicks": 600},
        }
        made = client.create_experience_request(body)
        while not client.experience_request(made.id, fresh=True).status.terminal:
            SystemClock().wait(0.05)
        return made.id


def ours_of(filename):
    if filename.startswith("policy_agent_"):
        return f"logs/{filename}"
    if filename.startswith("policy_artifact_"):
        return f"artifacts/{filename}"
    return _OURS.get(filename, filename)


def theirs(coworld, arena, request, folder):
    """(episode, our name of the file) → its bytes, by the real client's receipts."""
    proxies = {"http_proxy", "https_proxy", "all_proxy"}
    environment = {key: value for key, value in os.environ.items() if key.lower() not in proxies}
    environment |= {"SOFTMAX_CONFIG_DIR": arena["credentials"], "NO_PROXY": "127.0.0.1"}
    wanted = [word for category in CATEGORIES for word in ("--include", category)]
    done = subprocess.run(
        [coworld, "xp-request", "download", request, *wanted, "-d", str(folder), "--server", arena["api"]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in (folder / "manifest.jsonl").read_text().splitlines():
        receipt = json.loads(line)
        if receipt["state"] == "completed":
            key = receipt["episode_request_id"], ours_of(receipt["filename"])
            found[key] = (folder / receipt["path"]).read_bytes()
    return found


def test_the_same_files_with_the_same_bytes(coworld, arena, played, tmp_path, monkeypatch, capsys):  # noqa: PLR0917
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", arena["credentials"])
    monkeypatch.delenv("EVALHARNESS_TOKEN", raising=False)
    out = tmp_path / "ours"

    code = main(
        ["episodes", "--xreq", played, "-n", "100", "--out", str(out), "--server", arena["api"], "--json"]
    )

    report = json.loads(capsys.readouterr().out)
    assert code == 0
    mine = {
        (episode["id"], one["path"]): (out / episode["folder"] / one["path"]).read_bytes()
        for episode in report["episodes"]
        for one in episode["artifacts"]
        if one["state"] == "ok" and one["path"] != "replay.bin"
    }
    real = theirs(coworld, arena, played, tmp_path / "theirs")
    assert sorted(mine) == sorted(real)
    assert mine == real
    assert {path.split("/")[0] for _, path in mine} == {"results.json", "replay.raw", "logs", "artifacts"}
