"""Every way in which artifacts arrive late, broken, refused, replaced or hostile, made to happen."""

import io
import json
import shutil
import time
import zipfile
import zlib

import httpx
import pytest

from pytest_evalharness.episodes.logs import read_log

MANIFEST = "/v2/episode-requests/download-manifest"
EVERYTHING = ["results", "replay", "events", "error_info", "game_logs", "player_logs", "player_artifact"]


@pytest.fixture(scope="module")
def played(shared_arena):
    return shared_arena.play(shared_arena.body(num_episodes=2))


@pytest.fixture(scope="module")
def june(founded, tmp_path_factory, launched):
    home = shutil.copytree(founded, tmp_path_factory.mktemp("june") / "home")
    return launched(home, "--dialect", "2026-06")


def entries(arena, made, *include):
    return arena.get(MANIFEST, ids=made["id"], include=list(include or ("game_logs",)))["entries"]


def fetched(arena, entry, **headers):
    return arena.stranger.get(entry["url"], headers=headers)


def states(arena, made):
    return {entry["category"]: entry["state"] for entry in entries(arena, made, *EVERYTHING)}


def test_one_category_can_come_late(arena, played):
    before = states(arena, played)
    arena.fault("late-category=replay:3600")
    arena.fault("late-category=player_logs:3600")
    row = played["episodes"][0]
    path = f"/v2/episode-requests/{row['id']}"

    assert states(arena, played) == {**before, "replay": "pending", "player_logs": "pending"}
    assert arena.client.get(f"{path}/artifacts/replay").status_code == 404
    assert arena.client.get(f"{path}/artifacts/logs").status_code == 200
    version = row["participants"][0]["policy_version_id"]
    assert arena.client.get(f"{path}/{version}/policy-logs/0").status_code == 404
    bulk = arena.get("/v2/episode-requests", ids=played["id"])["entries"]
    assert {entry["evidence_state"] for entry in bulk} == {"pending"}

    arena.no_faults()
    assert states(arena, played) == before


def test_one_seat_can_be_denied(arena, played):
    arena.fault("denied-seat=0")
    row = played["episodes"][0]
    path = f"/v2/episode-requests/{row['id']}/{row['participants'][0]['policy_version_id']}"

    assert arena.client.get(f"{path}/policy-logs/0").status_code == 403
    assert arena.client.get(f"{path}/policy-artifact/0").status_code == 403
    found = states(arena, played)
    assert (found["player_logs"], found["player_artifact"]) == ("unavailable", "unavailable")
    assert found["game_logs"] == "ready"


def test_a_connection_can_break_in_the_middle_and_the_rest_be_had(arena, played):
    entry = entries(arena, played)[0]
    whole = fetched(arena, entry).content
    arena.fault("reset-bodies=1")
    got = b""

    with arena.stranger.stream("GET", entry["url"]) as answer:
        assert answer.headers["content-length"] == str(entry["size"])
        with pytest.raises(httpx.TransportError):  # noqa: PT012 - what came before it counts
            for part in answer.iter_raw():
                got += part

    assert got == whole[: len(got)]
    assert 0 < len(got) < len(whole)
    rest = fetched(arena, entry, **{"Range": f"bytes={len(got)}-", "If-Match": entry["etag"]})
    assert (rest.status_code, got + rest.content) == (206, whole)


def test_a_body_can_be_shorter_than_it_was_announced(arena, played):
    entry = entries(arena, played)[0]
    arena.fault("cut-bodies=1")

    with pytest.raises(httpx.RemoteProtocolError, match=r"incomplete|without sending complete"):
        fetched(arena, entry)
    assert len(fetched(arena, entry).content) == entry["size"]


def test_a_body_can_be_longer_than_it_was_announced(arena, played):
    entry = entries(arena, played)[0]
    arena.fault("overlong-bodies=1")

    answer = fetched(arena, entry)

    assert (answer.status_code, len(answer.content)) == (200, entry["size"] // 2)
    assert len(fetched(arena, entry).content) == entry["size"]


def test_a_page_can_come_in_place_of_bytes(arena, played):
    entry = entries(arena, played, "replay")[0]
    arena.fault("html-bodies=2")
    row = played["episodes"][0]

    answers = [
        fetched(arena, entry),
        arena.client.get(f"/v2/episode-requests/{row['id']}/artifacts/replay"),
    ]

    for answer in answers:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert answer.text.startswith("<!doctype html>")
    assert fetched(arena, entry).content.startswith(b"EVHREPLY")


def test_a_url_can_be_refused_at_its_first_use(arena, played):
    entry = entries(arena, played)[0]
    arena.fault("expired-urls=1")

    assert fetched(arena, entry).status_code == 403
    assert fetched(arena, entry).status_code == 200


def test_urls_expire(arena, played):
    arena.fault("url-lifetime=0")
    entry = entries(arena, played)[0]

    assert fetched(arena, entry).status_code == 403

    arena.no_faults()
    assert fetched(arena, entries(arena, played)[0]).status_code == 200


def test_an_artifact_can_change_between_manifest_and_fetch(arena, played):
    (entry, *_) = entries(arena, played)
    before = fetched(arena, entry).content
    arena.fault("changed-artifacts=1")

    assert fetched(arena, entry, **{"If-Match": entry["etag"]}).status_code == 412
    (newer, *_) = entries(arena, played)
    assert newer["etag"] != entry["etag"]
    assert (entry["version"], newer["version"]) == ("v1", "v2")
    after = fetched(arena, newer, **{"If-Match": newer["etag"]})
    assert (after.status_code, len(after.content)) == (200, newer["size"])
    assert after.content != before
    spliced = fetched(arena, newer, **{"Range": "bytes=9-", "If-Range": entry["etag"]})
    assert (spliced.status_code, spliced.content) == (200, after.content)


def test_bytes_can_drip(arena, played):
    entry = entries(arena, played, "player_artifact")[0]
    arena.fault(f"slow-bodies={entry['size'] * 4}")
    began = time.monotonic()

    assert len(fetched(arena, entry).content) == entry["size"]
    assert time.monotonic() - began > 0.2


def test_parts_can_be_unavailable(arena, played):
    entry = entries(arena, played)[0]
    arena.fault("no-ranges")

    answer = fetched(arena, entry, Range="bytes=5-9")

    assert (answer.status_code, len(answer.content)) == (200, entry["size"])
    assert "accept-ranges" not in answer.headers


def test_the_manifest_can_lie_about_sizes(arena, played):
    honest = entries(arena, played, "game_logs", "replay")
    arena.fault("wrong-sizes=1")

    first, second = (entries(arena, played, "game_logs", "replay")[at] for at in (0, 1))

    assert first["size"] == honest[0]["size"] - 7
    assert second["size"] == honest[1]["size"]
    assert entries(arena, played)[0]["size"] == honest[0]["size"]


def test_urls_can_name_another_host(arena, played):
    arena.fault("other-host")
    entry = entries(arena, played)[0]

    assert entry["url"].startswith("http://localhost:")
    assert len(fetched(arena, entry).content) == entry["size"]


def test_files_can_have_names_that_are_paths(arena, june, played):
    arena.fault("hostile-files")
    names = [entry["filename"] for entry in entries(arena, played, *EVERYTHING)]

    assert {"../../escaped.txt", "/tmp/escaped.txt", "nul\0byte.txt", "", ".."} <= set(names)
    assert max(map(len, names)) == 5000
    bundle = arena.client.get(f"/v2/episode-requests/{played['episodes'][0]['id']}/bundle")
    with zipfile.ZipFile(io.BytesIO(bundle.content)) as archive:
        assert "../../escaped.txt" in archive.namelist()
    june.fault("hostile-files")
    job = june.play(june.body(num_episodes=1))["episodes"][0]["job_id"]
    assert june.get(f"/jobs/{job}/policy-logs")[0] == "../../escaped.txt"
    june.no_faults()


def test_ids_can_have_slashes(arena, june, played):
    arena.fault("slashed-ids")
    detail = arena.detail(played["id"])

    hostile, honest = detail["episodes"]
    assert hostile["id"] == "ereq_/../../../escaped"
    assert hostile["job_id"] == "/../../../escaped"
    assert honest == played["episodes"][1]
    assert detail["id"] == played["id"]
    rounds = arena.get("/v2/rounds", status="completed")["entries"]
    listed = arena.get(f"/v2/rounds/{rounds[0]['id']}/episode-requests")["entries"]
    assert [each["id"].count("/") for each in listed[:2]] == [4, 0]
    june.fault("slashed-ids")
    record = june.get("/episodes", limit=1)["entries"][0]
    assert (record["id"], record["tags"]["job_id"]) == ("/../../../escaped", "/../../../escaped")
    june.no_faults()


def test_an_artifact_can_be_huge_and_is_never_whole_in_memory(arena, played):
    arena.fault("huge-artifacts=player_logs:50000000000")
    entry = entries(arena, played, "player_logs")[0]

    assert entry["size"] == 50_000_000_000
    with arena.stranger.stream("GET", entry["url"]) as answer:
        assert answer.headers["content-length"] == "50000000000"
        assert next(answer.iter_raw()).startswith(b"[     0] the same line")
    end = fetched(arena, entry, Range="bytes=-40")
    assert (end.status_code, len(end.content)) == (206, 40)
    part = fetched(arena, entry, Range="bytes=100000-300000").content
    one = fetched(arena, entry, Range="bytes=99990-100009").content
    assert (len(part), part[:10]) == (200_001, one[10:])


@pytest.mark.parametrize(("lines", "kept"), [(100, 100), (20_000, 10_000)])
def test_of_long_logs_the_last_lines_are_kept(arena, played, lines, kept):
    (entry, *_) = entries(arena, played, "player_logs")
    own = fetched(arena, entry).text.splitlines()
    arena.fault(f"long-logs={lines}")

    log = fetched(arena, entries(arena, played, "player_logs")[0]).text.splitlines()

    assert len(log) == min(10_000, kept + len(own))
    assert log[-len(own) :] == own
    assert (log[0] == "[ lobby] waiting, look 0") is (lines < 10_000)


def test_a_collector_can_complain_in_place_of_a_log(arena, played):
    arena.fault("uncollected-logs")

    (entry, *_) = entries(arena, played, "player_logs")

    told = read_log(fetched(arena, entry).content, "a log")
    assert (told.text, told.complaint) == ("", "no pod logs were captured for player 0")
    assert "phase" in fetched(arena, entries(arena, played)[0]).text, "the game's own log is another matter"


@pytest.mark.parametrize("packing", ["zlib", "gzip"])
def test_a_replay_can_be_a_bomb(arena, june, played, packing):
    row = june.play(june.body(num_episodes=1))["episodes"][0]
    for league in (arena, june):
        league.fault(f"replay-bomb={packing}")
    entry = entries(arena, played, "replay")[0]

    bombs = [
        fetched(arena, entry).content,
        june.client.get(f"/jobs/{row['job_id']}/artifacts/replay").content,
    ]

    assert bombs[0] == bombs[1]
    assert len(bombs[0]) == entry["size"] < 10_000_000
    opened = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    assert opened.decompress(bombs[0], 1_000_000) == bytes(1_000_000)
    june.no_faults()


@pytest.mark.parametrize("kind", ["bomb", "slip", "garbage"])
def test_an_upload_can_be_hostile(arena, played, kind):
    arena.fault(f"hostile-uploads={kind}")
    row = played["episodes"][0]
    path = f"/v2/episode-requests/{row['id']}/{row['participants'][0]['policy_version_id']}/policy-artifact/0"

    content = arena.client.get(path).content

    assert content == fetched(arena, entries(arena, played, "player_artifact")[0]).content
    if kind == "garbage":
        assert not zipfile.is_zipfile(io.BytesIO(content))
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if kind == "bomb":
            (member,) = archive.infolist()
            assert (member.filename, member.file_size) == ("telemetry.jsonl", 256 * 1024 * 1024)
            assert len(content) < 2_000_000
        else:
            assert "../../escaped.txt" in archive.namelist()
            link = archive.getinfo("telemetry.jsonl")
            assert link.external_attr >> 16 == 0o120777, "a symbolic link"


@pytest.mark.parametrize(
    "spec",
    [
        "late-category=scores:5",
        "late-category=replay",
        "denied-seat=64",
        "huge-artifacts=results:5",
        "huge-artifacts=replay:-5",
        "replay-bomb",
        "replay-bomb=lzma",
        "hostile-uploads=nice",
        "slow-bodies=0",
        "long-logs=0",
    ],
)
def test_what_cannot_go_wrong_is_refused(arena, spec):
    answer = arena.stranger.post("/_arena/faults", json={"spec": spec})

    assert answer.status_code == 422
    assert json.dumps(spec.partition("=")[0])[1:-1] in answer.text
