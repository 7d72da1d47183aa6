"""What episodes leave beside their results: player status and uploads, sound and with every way in which players fail."""

import io
import json
import zipfile

import pytest


def first(arena, request):
    """The first episode's row and the path of what it left."""
    row = request["episodes"][0]
    return row, f"/v2/episode-requests/{row['id']}"


def processes(arena, path):
    told = arena.get(path + "/artifacts/player-status")
    assert told["schema_version"] == "1"
    assert [player["slot"] for player in told["players"]] == list(range(8))
    return told["players"]


def upload(arena, row, path, seat=0):
    return arena.client.get(f"{path}/{row['participants'][seat]['policy_version_id']}/policy-artifact/{seat}")


def events(answer):
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        rows = [json.loads(line) for line in archive.read("telemetry.jsonl").splitlines()]
    return [row["event"] for row in rows if row["kind"] == "trace"]


def test_every_process_ends_with_a_sound_game(arena):
    row, path = first(arena, arena.play(arena.body()))
    ends = processes(arena, path)
    assert {(end["state"], end["exit_code"], end["reason"]) for end in ends} == {("exited", 0, "Completed")}
    assert len({end["finished_at"] for end in ends}) == 1
    assert arena.get(path + "/policy-artifacts")[0]["has_artifact"] is True
    assert row["coworld_version"] == "0.6.2"


def test_an_upload_is_its_owners(arena):
    row, path = first(arena, arena.play(arena.body()))
    answer = upload(arena, row, path)
    assert answer.headers["content-type"] == "application/zip"
    assert not any(event.endswith("llm_fallback") for event in events(answer))
    assert upload(arena, row, path).content == answer.content
    assert upload(arena, row, path, seat=1).status_code == 403


def test_an_adviser_can_be_silent(arena):
    arena.fault("silent-adviser=keeper:v1")
    body = arena.body(num_episodes=12)
    told = [
        events(upload(arena, row, f"/v2/episode-requests/{row['id']}"))
        for row in arena.play(body)["episodes"]
    ]
    kinds = {event.rpartition("_")[2] for game in told for event in game if "llm_" in event}
    assert kinds == {"fallback"}


@pytest.mark.parametrize(
    ("how", "state", "code", "flag"),
    [
        ("connect", "not_started", None, "connect_timeout"),
        ("disconnect", "exited", 1, "disconnect_timeout"),
        ("crash", "exited", 1, None),
    ],
)
def test_players_fail_on_demand(arena, how, state, code, flag):
    arena.fault(f"fail-players=1:keeper:v1:{how}")
    made = arena.play(arena.body())
    row, path = first(arena, made)
    results = arena.get(path + "/artifacts/results")
    for kind in ("connect_timeout", "disconnect_timeout"):
        assert results[kind] == [int(kind == flag)] + [0] * 7
    assert any(results["win"]) is (flag is None)
    ends = processes(arena, path)
    assert (ends[0]["state"], ends[0]["exit_code"]) == (state, code)
    if code is not None:
        assert ends[0]["finished_at"] < ends[1]["finished_at"]
    assert {end["exit_code"] for end in ends[1:]} == {0}
    assert arena.get(path + "/policy-artifacts")[0]["has_artifact"] is False
    assert upload(arena, row, path).status_code == 404
    second = made["episodes"][1]
    assert processes(arena, f"/v2/episode-requests/{second['id']}")[0]["exit_code"] == 0, (
        "only one was to fail"
    )


def test_of_a_failed_episode_only_the_process_to_blame_is_known(arena):
    arena.fault("fail-games=1:keeper:v1:player_error")
    _, path = first(arena, arena.play(arena.body()))
    ends = processes(arena, path)
    assert (ends[0]["state"], ends[0]["exit_code"]) == ("exited", 1)
    assert {end["state"] for end in ends[1:]} == {"unavailable"}


def test_a_game_rolls_on_in_the_middle_of_a_request(arena):
    arena.fault("rolled-version=1:0.7.0")
    rows = arena.play(arena.body())["episodes"]
    assert [row["coworld_version"] for row in rows] == ["0.6.2", "0.7.0"]
    later = arena.play(arena.body())
    assert later["coworld_version"] == "0.7.0"
    assert {row["coworld_version"] for row in later["episodes"]} == {"0.7.0"}


@pytest.mark.slow
def test_a_restarted_server_tells_the_same(start):
    server = start()
    server.fault("fail-players=1:keeper:v1:crash")
    server.fault("silent-adviser=keeper:v1")
    server.fault("rolled-version=1:0.7.0")
    made = server.play(server.body())
    before = [
        server.client.get(f"/v2/episode-requests/{row['id']}/artifacts/player-status").json()
        for row in made["episodes"]
    ]
    uploaded = upload(server, made["episodes"][1], f"/v2/episode-requests/{made['episodes'][1]['id']}")
    server.stop()
    again = start(home=server.home)
    rows = again.detail(made["id"])["episodes"]
    assert rows == made["episodes"]
    told = [again.get(f"/v2/episode-requests/{row['id']}/artifacts/player-status") for row in rows]
    assert told == before
    assert upload(again, rows[1], f"/v2/episode-requests/{rows[1]['id']}").content == uploaded.content
