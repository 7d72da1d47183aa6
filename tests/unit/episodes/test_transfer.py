"""One artifact over a wire that breaks: taken up where it broke, never put together of two versions, whole or not there."""

import errno
import gzip
import hashlib
import json
import os
import random
import threading
import zlib

import pytest

from pytest_evalharness.episodes.artifacts import Artifact, Category, Offer, Outcome, State
from pytest_evalharness.episodes.limits import DownloadLimits
from pytest_evalharness.episodes.parts import Part
from pytest_evalharness.episodes.replays import decoded
from pytest_evalharness.episodes.transfer import Transfer
from pytest_evalharness.errors import CredentialsRejected
from pytest_evalharness.net import Streams

LOG = Artifact(Category.PLAYER_LOG, 3)
CONTENT = bytes(range(256)) * 40
SERVED = Outcome("replay.raw", Artifact(Category.REPLAY), State.OK)


@pytest.fixture
def fetch(wire, tmp_path):
    """Fetch an artifact from a script into `tmp_path`; returns the outcome."""
    opened = []

    def call(
        *answers, script=None, address="/x", etag=None, size=None, artifact=LOG, renew=lambda: None, **limits
    ):
        server = wire.ScriptedServer(*answers, script=script)
        clock, stop = wire.SkippingClock(), threading.Event()
        patient = {
            "connect": 60.0,
            "read": 60.0,
        }  # nobody here is silent, and a busy machine must not look like it
        streams = Streams(
            f"{server.url}/api", headers={"Authorization": "Bearer s3cret"}, environ={}, **patient
        )
        opened.extend([server, streams])
        transfer = Transfer(streams, DownloadLimits(**limits), clock=clock, rng=random.Random(1), stop=stop)
        call.server = server
        offer = Offer(
            artifact, address=server.url + address if etag else address, etag=etag, size=size, route="/x"
        )
        return transfer.fetch(offer, tmp_path, "logs/l.log", renew)

    yield call
    for each in opened:
        each.close()


def ranges(wire, content, etag, *, breaks=(), whole_after=None):
    """A storage that breaks after so many bytes of each answer in turn, and obeys Range and If-Match."""
    left = list(breaks)

    def script(request):
        if request.headers.get("if-match", etag) != etag:
            return wire.reply(b"", 412)
        start = int(request.headers.get("range", "bytes=0-")[6:-1])
        part = content[start:]
        status = "206 Partial" if "range" in request.headers else "200 OK"
        head = f"HTTP/1.1 {status}\r\nETag: {etag}\r\nContent-Length: {len(part)}\r\n"
        if "range" in request.headers:
            head += f"Content-Range: bytes {start}-{len(content) - 1}/{len(content)}\r\n"
        raw = head.encode() + b"\r\n"
        if left:
            return wire.hang_up_after(raw + part[: left.pop(0)])
        return raw + part

    return script


@pytest.mark.parametrize("seed", range(8))
def test_wherever_it_breaks_it_is_taken_up_there(fetch, wire, tmp_path, seed):
    breaks = [random.Random(seed).randrange(len(CONTENT) // 4) for _ in range(4)]

    found = fetch(script=ranges(wire, CONTENT, '"v1"', breaks=breaks), etag='"v1"', size=len(CONTENT))

    assert found.state is State.OK
    assert (tmp_path / "logs" / "l.log").read_bytes() == CONTENT
    assert found.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert found.fetched == found.size == len(CONTENT)  # no byte came twice
    assert all("authorization" not in request.headers for request in fetch.server.requests)
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["l.log"]


def test_what_a_dead_process_left_is_taken_up(fetch, wire, tmp_path):
    content = CONTENT * 150
    (tmp_path / "logs").mkdir()
    with Part(tmp_path / "logs" / "l.log") as part:
        part.begin('"v1"')
        part.write(content[:1_200_000])

    found = fetch(script=ranges(wire, content, '"v1"'), etag='"v1"', size=len(content))

    assert found.state is State.OK
    assert found.fetched == len(content) - 1_200_000
    assert found.sha256 == hashlib.sha256(content).hexdigest()


def test_what_a_dead_process_left_of_another_version_is_forgotten(fetch, wire, tmp_path):
    content = CONTENT * 150
    (tmp_path / "logs").mkdir()
    with Part(tmp_path / "logs" / "l.log") as part:
        part.begin('"v0"')
        part.write(b"0" * 1_200_000)

    found = fetch(script=ranges(wire, content, '"v1"'), etag='"v1"', size=len(content))

    assert (found.state, found.fetched) == (State.OK, len(content))
    assert "range" not in fetch.server.requests[0].headers


def test_without_a_version_it_begins_again(fetch, wire, tmp_path):
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(CONTENT)}\r\n\r\n".encode()

    found = fetch(wire.hang_up_after(head + CONTENT[:500]), head + CONTENT)

    assert found.state is State.OK
    assert (tmp_path / "logs" / "l.log").read_bytes() == CONTENT
    assert "range" not in fetch.server.requests[1].headers


def test_a_version_that_changes_in_the_middle_is_not_mixed_in(fetch, wire, tmp_path):
    first = ranges(wire, b"a" * 9000, '"v1"', breaks=[4000])
    second = ranges(wire, b"b" * 9000, '"v2"')
    asked = []

    def script(request):
        asked.append(request)
        return (first if len(asked) == 1 else second)(request)

    found = fetch(script=script)

    assert found.state is State.OK
    assert (tmp_path / "logs" / "l.log").read_bytes() == b"b" * 9000
    assert asked[1].headers["if-match"] == '"v1"'


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ("Content-Range: bytes 5-9/10\r\n", "another part"),
        ("Content-Range: nonsense\r\n", "another part"),
        ("", "another part"),
        ('ETag: "v2"\r\nContent-Range: bytes 0-9/10\r\n', "another version"),
        ("Content-Type: text/html\r\n", "HTML"),
    ],
    ids=["offset", "nonsense", "none", "version", "html"],
)
def test_parts_that_were_not_asked_for(fetch, tmp_path, headers, why):
    answer = f"HTTP/1.1 206 Partial\r\n{headers}Content-Length: 10\r\n\r\n0123456789".encode()

    found = fetch(answer, etag='"v1"')

    assert found.state is State.FAILED
    assert why in found.reason
    assert list((tmp_path / "logs").iterdir()) == []


@pytest.mark.parametrize(
    ("status", "state"),
    [(403, State.DENIED), (404, None), (400, State.NOT_PRODUCED), (410, State.FAILED), (500, State.FAILED)],
)
@pytest.mark.failure_mode(number=4)
def test_statuses_of_a_route(fetch, wire, tmp_path, status, state):
    found = fetch(wire.reply({"detail": "no"}, status))

    assert (found and found.state) == state
    assert list((tmp_path / "logs").iterdir()) == []
    assert len(fetch.server.requests) == (5 if status == 500 else 1)


def test_a_token_that_does_not_count_any_more_ends_it(fetch, wire):
    with pytest.raises(CredentialsRejected):
        fetch(wire.reply({"detail": "expired"}, 401))


@pytest.mark.parametrize("status", [403, 404, 412])
def test_an_address_is_renewed_once(fetch, wire, status):
    asked = []

    def renew():
        asked.append(1)
        return Offer(LOG, address=f"{fetch.server.url}/new", etag='"v1"', size=3)

    def script(request):
        return wire.reply(b"new") if request.path == "/new" else wire.reply(b"", status)

    assert fetch(script=script, etag='"v1"', renew=renew).state is State.OK
    assert len(asked) == 1
    assert fetch(wire.reply(b"", status), etag='"v1"', renew=renew).state is State.FAILED
    assert len(asked) == 2


def test_a_file_may_outlive_several_addresses(fetch, wire, tmp_path):
    content, asked, used = bytes(4 * 100_000), [], []
    storage = ranges(wire, content, '"v1"', breaks=[100_000] * 3)

    def renew():
        asked.append(1)
        return Offer(LOG, address=f"{fetch.server.url}/{len(asked)}", etag='"v1"', size=len(content))

    def script(request):
        used.append(request.path)
        # Each address counts for one answer.
        return storage(request) if used.count(request.path) == 1 else wire.reply(b"", 403)

    assert fetch(script=script, etag='"v1"', renew=renew).state is State.OK
    assert (tmp_path / "logs" / "l.log").read_bytes() == content
    assert len(asked) == 3


def test_an_address_may_expire_in_the_pause_after_a_broken_connection(fetch, wire):
    asked, used = [], []

    def renew():
        asked.append(1)
        return Offer(LOG, address=f"{fetch.server.url}/{len(asked)}", etag='"v1"', size=3)

    def script(request):
        used.append(request.path)
        if request.path == "/x" or used.count(request.path) > 1:
            return wire.reply(b"", 403)
        return wire.hang_up_after(b"") if request.path == "/1" else wire.reply(b"new")

    assert fetch(script=script, etag='"v1"', renew=renew).state is State.OK
    assert used == ["/x", "/1", "/1", "/2"]


def test_what_is_no_json_object_is_no_result(fetch, wire, tmp_path):
    for body in (b"[1]", b"{", b"<html>", json.dumps({"scores": [float("nan")]}).encode()):
        found = fetch(wire.reply(body), artifact=Artifact(Category.RESULTS))
        assert found.state is State.FAILED
        assert found.reason
    assert fetch(wire.reply({"scores": [1]}), artifact=Artifact(Category.RESULTS)).state is State.OK
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["l.log"]


def test_a_route_that_packs_all_the_same_is_unpacked_within_the_limit(fetch, wire, tmp_path):
    packed = [("Content-Encoding", "gzip")]

    assert fetch(wire.reply(gzip.compress(CONTENT), headers=packed)).state is State.OK
    assert (tmp_path / "logs" / "l.log").read_bytes() == CONTENT
    bomb = fetch(wire.reply(gzip.compress(bytes(9_000_000)), headers=packed), artifact_bytes=1_000_000)
    assert bomb.state is State.FAILED
    assert "limit of 1000000" in bomb.reason


def test_a_length_beyond_the_limit_is_not_even_begun(fetch):
    found = fetch(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n", artifact_bytes=1000)

    assert found.state is State.FAILED
    assert "5000000000" in found.reason


def test_a_body_without_a_length_ends_at_the_limit(fetch):
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b"x" * 1024 + b"\r\n"

    found = fetch(endless + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 100, artifact_bytes=5000)

    assert found.state is State.FAILED
    assert "limit of 5000" in found.reason


def put(kind, place, elsewhere):
    """Something that is no file of this name's own, where one is going to be written."""
    elsewhere.write_text("mine")
    if kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "second name":
        place.hardlink_to(elsewhere)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "folder"])
def test_what_stands_where_a_part_should_be(fetch, wire, tmp_path, kind, noted):
    (tmp_path / "logs").mkdir()
    place, elsewhere = tmp_path / "logs" / ".l.log.part", tmp_path / "elsewhere"
    put(kind, place, elsewhere)
    if noted:
        place.with_name(".l.log.part.json").write_text('{"etag": "\\"v1\\""}')

    found = fetch(wire.reply(b"theirs", headers=[("ETag", '"v1"')]))

    assert elsewhere.read_text() == "mine"
    assert found.state is (State.FAILED if kind == "folder" else State.OK)


@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "folder"])
def test_what_stands_where_a_replay_is_unpacked(tmp_path, kind):
    replay, elsewhere = bytes(300_000), tmp_path / "elsewhere"
    (tmp_path / "replay.raw").write_bytes(zlib.compress(replay))
    put(kind, tmp_path / ".replay.bin.part", elsewhere)

    found = decoded(SERVED, tmp_path, "replay.bin", 1_000_000)

    assert elsewhere.read_text() == "mine"
    assert found.state is (State.FAILED if kind == "folder" else State.OK)
    assert kind == "folder" or (tmp_path / "replay.bin").read_bytes() == replay


def test_unpacking_ends_when_the_run_does(tmp_path):
    (tmp_path / "replay.raw").write_bytes(zlib.compress(bytes(3_000_000)))
    looks = []

    found = decoded(SERVED, tmp_path, "replay.bin", 10_000_000, lambda: len(looks) > 2 or looks.append(1))

    assert found.state is State.PENDING
    assert len(looks) == 3
    assert [one.name for one in tmp_path.iterdir()] == ["replay.raw"]


@pytest.mark.parametrize("content", [b"x\x9cno zlib at all", zlib.compress(bytes(3_000_000))[:-9]])
def test_nothing_is_left_of_a_replay_that_cannot_be_unpacked(tmp_path, content):
    (tmp_path / "replay.raw").write_bytes(content)

    assert decoded(SERVED, tmp_path, "replay.bin", 10_000_000).state is State.FAILED
    assert [one.name for one in tmp_path.iterdir()] == ["replay.raw"]


def test_nothing_is_left_of_a_replay_that_finds_no_room(tmp_path, monkeypatch):
    (tmp_path / "replay.raw").write_bytes(zlib.compress(bytes(3_000_000)))

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    found = decoded(SERVED, tmp_path, "replay.bin", 10_000_000)

    assert (found.state, found.reason) == (State.FAILED, "it cannot be written: No space left on device")
    assert [one.name for one in tmp_path.iterdir()] == ["replay.raw"]
