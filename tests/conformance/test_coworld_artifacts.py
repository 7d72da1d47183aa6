"""What the real `coworld` client downloads from our server: whole, again for nothing, and byte for byte what ours downloads."""

import json

import httpx
import pytest

from pytest_evalharness.arena.game import replay
from pytest_evalharness.cli import main

EVERYTHING = ["results", "replay", "events", "error_info", "game_logs", "player_logs", "player_artifact"]
KEPT = {
    "results": "results.json",
    "replay": "replay.raw",
    "game_logs": "logs/game.log",
    "player_logs": "logs/{}",
    "player_artifact": "artifacts/{}",
}


def included(categories):
    return [word for each in categories for word in ("--include", each)]


def receipts(folder):
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def downloaded(run, request_id, episode_id, tmp_path_factory):
    """Everything of the request, as the client downloaded it."""
    folder = tmp_path_factory.mktemp("client")
    run("xp-request", "download", request_id, *included(EVERYTHING), "-d", str(folder))
    return folder


def test_it_downloads_everything_and_nothing_twice(run, request_id, downloaded):
    told = receipts(downloaded)

    states = {each["artifact_id"].split(":")[1]: each["state"] for each in told}
    missing = {"events", "error_info"}
    assert states == {name: "not_produced" if name in missing else "completed" for name in EVERYTHING}
    files = [each for each in told if each["state"] == "completed"]
    assert len({each["path"] for each in files}) == len(files) >= 6 * 5
    assert all((downloaded / each["path"]).stat().st_size == each["size"] for each in files)
    stamps = {each["path"]: (downloaded / each["path"]).stat().st_mtime_ns for each in files}

    run("xp-request", "download", request_id, *included(EVERYTHING), "-d", str(downloaded))

    assert {path: (downloaded / path).stat().st_mtime_ns for path in stamps} == stamps
    assert receipts(downloaded)[len(told) :] == told


def test_its_replays_can_be_played_again(downloaded):
    files = list(downloaded.rglob("replay.replay"))

    assert len(files) == 6
    assert [replay.differences(replay.read(file.read_bytes())) for file in files] == [[]] * 6


@pytest.fixture
def ours_downloaded(arena, request_id, tmp_path, monkeypatch, capfd):
    """The folders of the same episodes, as `evalharness episodes` downloads them."""
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", arena["credentials"])
    which = ["--xreq", request_id, "-n", "50"]
    code = main(["episodes", *which, "--out", str(tmp_path), "--server", arena["api"]])
    assert code == 0, "".join(capfd.readouterr())
    return {json.loads(row.read_text())["id"]: row.parent for row in tmp_path.glob("*/episode.json")}


def test_its_files_are_those_that_ours_downloads(downloaded, ours_downloaded):
    assert len(ours_downloaded) == 6
    compared = 0
    for each in receipts(downloaded):
        if each["state"] != "completed":
            continue
        category = each["artifact_id"].split(":")[1]
        ours = ours_downloaded[each["episode_request_id"]] / KEPT[category].format(each["filename"])
        theirs = (downloaded / each["path"]).read_bytes()
        if category == "results":  # the client writes the inline object in its own spelling
            assert json.loads(ours.read_bytes()) == json.loads(theirs)
        else:
            assert ours.read_bytes() == theirs
        compared += 1
    assert compared >= 6 * 5


def test_it_waits_for_evidence(run, request_id, episode_id):
    assert "completed" in run(
        "xp-request", "watch", request_id, "--timeout", "300", "--until", "evidence", *included(EVERYTHING)
    )


@pytest.mark.slow
def test_it_downloads_the_logs_and_uploads_of_one_episode(run, episode_id, tmp_path):
    run("episode-logs", episode_id, "-d", str(tmp_path))

    names = {path.name for path in tmp_path.glob("*.*")}
    assert {f"{episode_id}-policy_agent_0.log", f"{episode_id}-policy_agent_0.zip"} <= names
    run("episode-logs", episode_id, "--agent", "0", "--artifact", "-o", str(tmp_path / "one.zip"))
    one = (tmp_path / "one.zip").read_bytes()
    assert one == (tmp_path / f"{episode_id}-policy_agent_0.zip").read_bytes()
    assert "policy_artifact" not in run("episode-logs", episode_id, "--list", "--mine")


@pytest.mark.parametrize("chosen", ["round", pytest.param("policy", marks=pytest.mark.slow)])
def test_it_downloads_replays_of_rounds_and_of_policies(run, episode_id, tmp_path, chosen):
    """Those of rounds have public addresses, those of requests the conductor's."""
    which = ["--policy", "keeper:v2"]
    if chosen == "round":
        rounds = json.loads(run("rounds", "--status", "completed", "--json"))["entries"]
        which = ["--round", rounds[0]["id"]]

    run("replays", *which, "--limit", "3", "-o", str(tmp_path))

    files = list(tmp_path.glob("*.replay"))
    assert len(files) == 3
    assert replay.differences(replay.read(files[0].read_bytes())) == []


def test_a_file_that_changed_since_the_manifest_is_asked_for_again(run, create, arena, tmp_path):
    changing = create(2, "changes")  # what has changed once is another file to whoever comes later
    run("xp-request", "watch", changing, "--timeout", "300")
    for spec in ("changed-artifacts=1", "expired-urls=1"):
        httpx.post(arena["url"] + "/_arena/faults", json={"spec": spec}, trust_env=False)

    run(
        "xp-request",
        "download",
        changing,
        *included(["game_logs"]),
        "-d",
        str(tmp_path),
        "--concurrency",
        "1",
    )

    assert {each["state"] for each in receipts(tmp_path)} == {"completed"}
    counted = httpx.get(arena["url"] + "/_arena/storage", trust_env=False).json()
    assert counted["status_412"] >= 1
    assert counted["status_403"] >= 1
    assert counted["with_a_token"] == 0, "no client gives its token away"


@pytest.mark.slow
def test_a_file_whose_size_is_wrong_is_no_success(run, request_id, arena, tmp_path):
    httpx.post(arena["url"] + "/_arena/faults", json={"spec": "wrong-sizes=1"}, trust_env=False)

    run("xp-request", "download", request_id, *included(["game_logs"]), "-d", str(tmp_path), code=2)

    assert sorted({each["state"] for each in receipts(tmp_path)}) == ["completed", "failed"]
