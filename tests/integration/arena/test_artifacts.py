"""What episodes leave: the manifest, signed URLs, replays, logs, archives, bundles; in both dialects."""

import io
import json
import shutil
import zipfile
import zlib
from urllib.parse import urlsplit

import pytest

from pytest_evalharness.arena.game import replay

MANIFEST = "/v2/episode-requests/download-manifest"
EVERYTHING = ["results", "replay", "events", "error_info", "game_logs", "player_logs", "player_artifact"]


@pytest.fixture(scope="module")
def played(shared_arena):
    return shared_arena.play(shared_arena.body(num_episodes=3))


@pytest.fixture
def store(arena):
    """What the store has counted since the test began."""
    before = arena.stranger.get("/_arena/storage").json()

    def since():
        now = arena.stranger.get("/_arena/storage").json()
        return {key: value - before.get(key, 0) for key, value in now.items() if value != before.get(key, 0)}

    return since


def manifest(arena, ids, include=("replay",), **params):
    return arena.get(MANIFEST, ids=ids, include=list(include), **params)


def one(arena, ids, category="replay"):
    return manifest(arena, ids, [category])["entries"][0]


def test_the_manifest_tells_of_everything(arena, played):
    page = manifest(arena, played["id"], EVERYTHING)

    assert (len(page["entries"]), page["unavailable_ids"], page["next_cursor"]) == (21, [], None)
    states = {entry["category"]: entry["state"] for entry in page["entries"]}
    gone = {"events", "error_info"}
    assert states == {name: "not_produced" if name in gone else "ready" for name in EVERYTHING}
    seats = {entry["position"] for entry in page["entries"] if entry["category"].startswith("player_")}
    assert seats == {0}, "only the seats of one's own policies"
    for entry in page["entries"]:
        fetched = [entry[key] is not None for key in ("url", "etag", "size", "expires_at")]
        assert all(fetched) or not any(fetched)
        there = entry["state"] == "ready"
        assert there == (all(fetched) != (entry["inline_json"] is not None))
        assert (entry["version"] is not None) is there
        assert "/" not in entry["filename"]


def test_every_file_is_as_long_as_its_entry_says_and_identified(arena, played, store):
    entries = [entry for entry in manifest(arena, played["id"], EVERYTHING)["entries"] if entry["url"]]

    for entry in entries:
        answer = arena.stranger.get(entry["url"], headers={"If-Match": entry["etag"]})
        assert answer.status_code == 200
        assert (len(answer.content), answer.headers["etag"]) == (entry["size"], entry["etag"])
        assert answer.headers["content-length"] == str(entry["size"])
        assert "content-encoding" not in answer.headers
    assert len({entry["etag"] for entry in entries}) == len(entries)
    assert store() == {"requests": len(entries), "status_200": len(entries)}


def test_the_manifest_comes_in_pages_of_any_size(arena, played):
    whole = manifest(arena, played["id"], EVERYTHING)["entries"]

    for limit in (1, 4, 7, 20, 21):
        seen, cursor = [], None
        for _ in range(25):
            page = manifest(
                arena, played["id"], EVERYTHING, limit=limit, **({"cursor": cursor} if cursor else {})
            )
            assert 1 <= len(page["entries"]) <= limit
            seen += [entry["artifact_id"] for entry in page["entries"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == [entry["artifact_id"] for entry in whole]


def test_agents_narrow_down_what_is_of_seats(arena):
    refs = ["keeper:v1", "keeper:v2", "keeper:v4", *arena.field(5)]
    made = arena.play(arena.body(refs, num_episodes=1))
    include = ["player_logs", "results"]

    assert [e["position"] for e in manifest(arena, made["id"], include)["entries"]] == [0, 1, 2, None]
    assert [e["position"] for e in manifest(arena, made["id"], include, agent=[2, 7])["entries"]] == [2, None]


def test_episodes_can_be_named_and_those_of_rounds_too(arena, played):
    episode = played["episodes"][1]["id"]
    round_ = arena.get("/v2/rounds", status="completed")["entries"][0]["id"]
    of_round = arena.get(f"/v2/rounds/{round_}/episode-requests")["entries"][0]["id"]
    unknown = "ereq_00000000-0000-4000-8000-000000000000"

    page = manifest(arena, [episode, of_round, unknown], ["replay", "results"])

    assert [entry["episode_request_id"] for entry in page["entries"]] == [episode] * 2 + [of_round] * 2
    assert {entry["state"] for entry in page["entries"]} == {"ready"}
    assert page["unavailable_ids"] == [unknown]
    bulk = arena.get("/v2/episode-requests", ids=[episode, of_round], view="results")["entries"]
    assert [entry["experience_request_id"] for entry in bulk] == [played["id"], None]
    assert [urlsplit(entry["replay_url"]).scheme for entry in bulk] == ["conductor", "http"]
    assert {entry["evidence_state"] for entry in bulk} == {"sealed"}


def test_both_kinds_of_episodes_are_listed_by_their_game(arena, played):
    path = f"/v2/coworlds/{played['coworld_id']}/episode-requests"

    both = arena.get(path, limit=100)["entries"]
    asked = arena.get(path, limit=100, source="experience_request")["entries"]
    rounds = arena.get(path, limit=5, source="tournament")["entries"]

    assert {each["id"] for each in played["episodes"]} <= {each["id"] for each in asked}
    assert {each["round_id"] for each in asked} == {None}
    assert all(each["round_id"] for each in rounds)
    assert both[: len(asked)] == asked
    other = arena.get("/v2/coworlds/" + arena.get("/v2/games")[1]["coworld_id"] + "/episode-requests")[
        "entries"
    ]
    assert not {each["id"] for each in other} & {each["id"] for each in both}


@pytest.mark.parametrize("cursor", ["nonsense", "e30", "eyJlcGlzb2RlIjogIngiLCAic2tpcCI6IDF9"])
def test_a_cursor_that_is_none_is_refused(arena, played, cursor):
    params = {"ids": played["id"], "include": "replay", "cursor": cursor}
    assert arena.client.get(MANIFEST, params=params).status_code == 422


def test_a_part_can_be_had_as_long_as_the_file_is_the_same(arena, played):
    entry = one(arena, played["id"], "game_logs")
    whole, size = arena.stranger.get(entry["url"]).content, entry["size"]

    def part(range_, **headers):
        return arena.stranger.get(entry["url"], headers={"Range": range_, **headers})

    for range_, start, stop in (("bytes=5-9", 5, 10), ("bytes=7-", 7, size), ("bytes=-4", size - 4, size)):
        answer = part(range_)
        assert (answer.status_code, answer.content) == (206, whole[start:stop])
        assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
    assert part("bytes=5-", **{"If-Range": entry["etag"]}).content == whole[5:]
    assert part("bytes=5-", **{"If-Range": '"other"'}).content == whole
    assert part("bytes=5-", **{"If-Match": '"other"'}).status_code == 412
    assert part(f"bytes={size}-").status_code == 416
    for nonsense in ("bytes=9-5", "bytes=-", "lines=1-2", "bytes=1-2,4-5"):
        assert (part(nonsense).status_code, part(nonsense).content) == (200, whole)


def test_who_sends_a_token_to_the_store_is_counted(arena, played, store):
    url = one(arena, played["id"])["url"]
    arena.client.get(url)
    arena.stranger.get(url, headers={"X-Auth-Token": "x"})
    arena.stranger.get(url)

    assert store() == {"requests": 3, "with_a_token": 2, "status_200": 3}


@pytest.mark.parametrize("change", ["signature=", "expires=9", "/replay/-/", "ereq_0"])
def test_a_url_that_was_not_made_here_lets_nobody_in(arena, played, change, store):
    url = one(arena, played["id"])["url"]
    other = {
        "signature=": url.replace("signature=", "signature=0"),
        "expires=9": url.replace("expires=", "expires=9"),
        "/replay/-/": url.replace("/replay/-/", "/game_logs/-/"),
        "ereq_0": url.replace(played["episodes"][0]["id"], played["episodes"][1]["id"]),
    }[change]

    answer = arena.stranger.get(other)

    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/xml")
    assert store()["status_403"] == 1


def test_replays_are_played_again_to_the_same_results(arena, played):
    row = played["episodes"][0]
    path = f"/v2/episode-requests/{row['id']}/artifacts"
    data = arena.client.get(f"{path}/replay").content

    told = replay.read(data)

    assert row["replay_url"].startswith("conductor://")
    assert data == arena.stranger.get(one(arena, row["id"])["url"]).content
    assert replay.differences(told) == []
    assert list(told.scores) == arena.get(f"{path}/results")["scores"]
    assert (told.seed, told.version) == (row["seed"], row["coworld_version"])
    assert [each["policy"] for each in told.policies][:2] == ["keeper:v1", "rival:v3"]


def test_a_rounds_replay_has_a_public_address(arena):
    round_ = arena.get("/v2/rounds", status="completed")["entries"][0]["id"]
    episode = arena.get(f"/v2/rounds/{round_}/episode-requests")["entries"][0]

    answer = arena.stranger.get(episode["replay_url"])

    assert replay.differences(replay.read(answer.content)) == []
    assert arena.stranger.get(episode["replay_url"].replace(".replay", ".zip")).status_code == 404
    assert arena.get(f"/v2/episode-requests/{episode['id']}")["replay_url"] == episode["replay_url"]


def test_seats_are_told_apart_foreign_and_not_yet_there(arena):
    arena.fault("closed-queue")
    arena.fault("not-visible=0")
    row = arena.create(arena.body())["episodes"][0]
    seats = [seat["policy_version_id"] for seat in row["participants"]]

    def log(seat):
        path = f"/v2/episode-requests/{row['id']}/{seats[seat]}/policy-logs/{seat}"
        return arena.client.get(path).status_code

    assert (log(0), log(1)) == (404, 403)
    states = {entry["state"] for entry in manifest(arena, row["id"], EVERYTHING)["entries"]}
    assert states == {"pending"}


def test_a_failed_episode_is_complete_with_its_error(arena):
    arena.fault("fail-games=1:keeper:v1:episode_timeout")
    arena.fault("fail-games=1:keeper:v1:platform_error")
    rows = arena.play(arena.body())["episodes"]
    assert {row["status"] for row in rows} == {"failed"}
    assert {row["replay_url"] for row in rows} == {None}

    left = {
        row["error_type"]: {
            entry["category"]: entry["state"]
            for entry in manifest(arena, row["id"], EVERYTHING)["entries"]
            if entry["state"] != "not_produced"
        }
        for row in rows
    }
    assert left["platform_error"] == {"error_info": "ready"}
    assert left["episode_timeout"] == dict.fromkeys(("error_info", "game_logs", "player_logs"), "ready")
    (late,) = [row for row in rows if row["error_type"] == "episode_timeout"]
    log = arena.stranger.get(one(arena, late["id"], "player_logs")["url"]).text
    assert log.startswith("[     0] connected as slot 0")
    assert "game_over" not in log


def test_a_bundle_is_one_zip_with_what_one_may_have(arena, played):
    row = played["episodes"][0]
    path = f"/v2/episode-requests/{row['id']}"

    def opened(answer):
        archive = zipfile.ZipFile(io.BytesIO(answer.content))
        return archive, json.loads(archive.read("manifest.json"))

    archive, told = opened(arena.client.get(f"{path}/bundle"))
    assert (told["ereq_id"], told["status"]) == (row["id"], "success")
    assert told["files"] == {
        "results": "results.json",
        "replay": "replay",
        "game_logs": {"combined": "logs/game.log"},
        "player_logs": {"0": "logs/policy_agent_0.log"},
        "player_artifact": {"0": "artifacts/policy_artifact_0.zip"},
    }
    assert told["include"] == list(told["files"])
    assert json.loads(archive.read("results.json")) == arena.get(f"{path}/artifacts/results")
    assert archive.read("replay") == arena.client.get(f"{path}/artifacts/replay").content
    _, some = opened(arena.client.get(f"{path}/bundle", params={"include": "error_info,results"}))
    assert some["include"] == ["results"]
    _, recorded = opened(
        arena.client.get(f"/v2/episodes/{row['episode_id']}/bundle", params={"include": "results"})
    )
    assert (recorded["episode_id"], "ereq_id" in recorded) == (row["episode_id"], False)
    assert arena.client.get(f"{path}/bundle", params={"include": "secrets"}).status_code == 422


def test_a_store_of_its_own_and_urls_that_outlive_a_restart(start):
    server = start("--storage-port", "0")
    made = server.play(server.body(num_episodes=1))
    entry = one(server, made["id"])
    assert entry["url"].startswith(server.ready["storage"])
    assert server.ready["storage"] != server.url
    content = server.stranger.get(entry["url"]).content
    server.stop()

    # By now anybody may have its port. A URL's signature covers what it names and not where, so any other is as good.
    again = start("--storage-port", "0", home=server.home)
    moved = entry["url"].replace(server.ready["storage"], again.ready["storage"])

    assert again.stranger.get(moved).content == content
    assert one(again, made["id"])["etag"] == entry["etag"]


@pytest.fixture(scope="module")
def june(founded, tmp_path_factory, launched):
    home = shutil.copytree(founded, tmp_path_factory.mktemp("june") / "home")
    return launched(home, "--dialect", "2026-06")


def test_june_packs_its_replays_at_public_addresses(june):
    row = june.play(june.body(num_episodes=1))["episodes"][0]
    packed = june.client.get(f"/jobs/{row['job_id']}/artifacts/replay").content

    told = replay.read(zlib.decompress(packed))

    assert row["replay_url"].endswith(f"/replays/{row['job_id']}.z")
    assert june.stranger.get(row["replay_url"]).content == packed
    assert told.scoring == "reward"
    assert list(told.scores) == june.get(f"/jobs/{row['job_id']}/artifacts/results")["scores"]
    assert replay.differences(told) == []


def test_june_finds_league_episodes_by_pool_and_by_policy(june):
    pool = june.get("/v2/pools", limit=1)["entries"][0]
    assert june.get(f"/v2/pools/{pool['id']}") == pool
    page = june.get("/v2/episode-requests", pool_id=pool["id"], limit=5, offset=10)
    assert (len(page["entries"]), page["total_count"], page["offset"]) == (2, 12, 10)
    row = page["entries"][0]
    assert row["round_id"] == pool["round_id"]
    assert "kind" not in row["participants"][0]

    version = row["participants"][0]
    listed = june.get("/episodes", policy_version_id=version["policy_version_id"], limit=200)
    found = [each for each in listed["entries"] if each["id"] == row["episode_id"]]
    recorded = june.get(f"/episodes/{row['episode_id']}")

    assert [recorded] == found
    assert recorded["tags"] == {"job_id": row["job_id"]}
    named = recorded["policy_results"][0]
    assert named == {
        "position": 0,
        "policy": {"name": version["policy_name"], "version": version["version"]},
    }
    assert june.get(f"/jobs/{row['job_id']}/artifacts/results")["scores"]
    for narrowed in ({"round_id": pool["round_id"]}, {"division_id": pool["division_id"]}):
        assert june.get("/v2/episode-requests", **narrowed)["total_count"] >= 12
    assert june.client.get("/v2/episode-requests").status_code == 422


def test_junes_episodes_of_requests_are_no_league_episodes(june):
    row = june.play(june.body(num_episodes=1))["episodes"][0]

    assert june.client.get(f"/episodes/{row['episode_id']}").status_code == 404
    assert june.get(f"/v2/episode-requests/{row['id']}")["job_id"] == row["job_id"]
