"""Names of our own making, folders that are nobody else's, and replays unpacked within bounds."""

import gzip
import json
import os
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.episodes.artifacts import Artifact, Category, Outcome, State
from pytest_evalharness.episodes.compression import unpacked
from pytest_evalharness.episodes.index import Index, read_index
from pytest_evalharness.episodes.layout import ReplayNames, file_of, folder_name, real_folder, size_on_disk
from pytest_evalharness.episodes.replays import read_replay_header
from pytest_evalharness.episodes.routes import seat_of
from pytest_evalharness.episodes.watch import Attempts
from pytest_evalharness.errors import ArtifactUnreadable, UsageError

REQUEST = "ereq_0c99b84f-e37f-52cc-8640-1f996fcb32f3"
NAME = r"[0-9]{8}T[0-9]{6}_[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]|[0-9]{8}T[0-9]{6}__"


def test_a_folder_is_called_as_the_page_says():
    assert folder_name(REQUEST, 1_788_264_000.25, {}) == "20260901T120000_ereq_0c99b84f-e3"
    assert folder_name(REQUEST[5:], 1_788_264_000.25, {}) == "20260901T120000_0c99b84f"
    assert folder_name(REQUEST, None, {}).startswith("00000000T000000_")
    assert folder_name(REQUEST, 1e30, {}).startswith("00000000T000000_")


@pytest.mark.failure_mode(number=33)
def test_two_ids_with_one_beginning_and_one_second_are_two_folders(tmp_path):
    index = Index(tmp_path)
    ids = [REQUEST, f"{REQUEST[:-1]}4", f"{REQUEST[:-1]}5"]

    folders = [index.entry(one, 0.0).folder for one in ids]

    assert len(set(folders)) == 3
    assert [index.entry(one, 0.0).folder for one in ids] == folders
    assert folders[0] == "19700101T000000_ereq_0c99b84f-e3"


@pytest.mark.failure_mode(number=33)
def test_a_folder_that_another_episode_has_on_disk_is_left_alone(tmp_path):
    taken = tmp_path / "19700101T000000_ereq_0c99b84f-e3"
    taken.mkdir()
    (taken / "episode.json").write_text(json.dumps({"id": "another"}))

    assert Index(tmp_path).entry(REQUEST, 0.0).folder != taken.name

    (taken / "episode.json").write_text(json.dumps({"id": REQUEST}))
    assert Index(tmp_path).entry(REQUEST, 0.0).folder == taken.name


@given(
    st.lists(
        st.text(max_size=60) | st.sampled_from(["..", "../../x", "/etc/passwd", "a/b", "a_b", "A_B"]),
        unique=True,
    )
)
def test_whatever_ids_come_each_has_a_folder_of_its_own(tmp_path_factory, ids):
    taken = {}
    for one in ids:
        name = folder_name(one, 0.0, taken)
        assert "/" not in name
        assert "\\" not in name
        assert name not in {".", ".."}
        assert name.isascii()
        assert len(name) < 200
        assert name.lower() not in taken
        taken[name.lower()] = one


def test_files_are_called_by_category_and_seat():
    replay = ReplayNames()
    assert file_of(Artifact(Category.PLAYER_LOG, 7), replay) == "logs/policy_agent_7.log"
    assert file_of(Artifact(Category.PLAYER_ARTIFACT, 0), replay) == "artifacts/policy_artifact_0.zip"
    assert {file_of(Artifact(one), replay) for one in Category if not one.per_seat} == {
        "results.json", "error_info.json", "replay.raw", "logs/game.log",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "seat"),
    [
        ("policy_agent_3.log", 3), ("policy_artifact_12.zip", 12), (5, 5), ("6", 6), ("policy_agent_.log", None),
        ("../../policy_agent_3.log/x", None), (-1, None), (True, None), (None, None), (64, None), ("a_999.log", None),
    ],
)  # fmt: skip
@pytest.mark.failure_mode(number=32)
def test_the_seat_of_a_listed_file(name, seat):
    assert seat_of(name) == seat


def test_links_are_no_folders_and_no_files(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_text("x")
    (tmp_path / "out" / "link").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UsageError, match="is a link"):
        real_folder(tmp_path / "out", "link", "logs")
    assert size_on_disk(tmp_path / "out", "link/f") is None
    assert size_on_disk(tmp_path, "elsewhere/f") == 1
    assert size_on_disk(tmp_path, "elsewhere/../elsewhere/f") is None


# ------------------------------------------------------------------ packing


@pytest.mark.failure_mode(number=20)
@given(st.binary(max_size=300), st.integers(1, 50), st.sampled_from([bytes, zlib.compress, gzip.compress]))
def test_a_replay_is_unpacked_by_its_bytes(content, step, pack):
    content = b"CREWRIFT" + content
    packed = pack(content)
    chunks = [packed[at : at + step] for at in range(0, len(packed), step)]

    assert b"".join(unpacked(chunks, 10_000)) == content


@pytest.mark.failure_mode(number=20)
def test_packed_twice_and_in_members():
    assert b"".join(unpacked([gzip.compress(zlib.compress(b"raw"))], 100)) == b"raw"
    assert b"".join(unpacked([gzip.compress(b"one") + gzip.compress(b"two")], 100)) == b"onetwo"
    assert b"".join(unpacked([], 100)) == b""
    assert b"".join(unpacked([b"x"], 100)) == b"x"


def _four_times(raw):
    """Without the time of day in it: a parameter's value is a part of its test's name."""
    for _ in range(4):
        raw = gzip.compress(raw, mtime=0)
    return raw


@pytest.mark.failure_mode(number=20)
@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (zlib.compress(bytes(10_000_000)), "more than 1000000 bytes"),
        (gzip.compress(bytes(10_000_000), mtime=0), "more than 1000000 bytes"),
        (zlib.compress(b"whole" * 100)[:-9], "cut off"),
        (b"\x1f\x8bnothing", "damaged gzip"),
        (_four_times(b"x"), "packed more than 3 times"),
    ],
)
def test_what_cannot_be_unpacked(packed, why):
    with pytest.raises(ArtifactUnreadable, match=why):
        list(unpacked([packed], 1_000_000))


def crewrift(config, *, wide=True):
    text = json.dumps(config).encode()
    head = b"CREWRIFT" + struct.pack("<H", 3)
    for word in (b"crewrift", b"1"):
        head += struct.pack("<H", len(word)) + word
    return (
        head
        + struct.pack("<Q", 1_788_264_000_000)
        + struct.pack("<I" if wide else "<H", len(text))
        + text
        + b"\x01rest"
    )


@pytest.mark.failure_mode(number=21)
@pytest.mark.parametrize("pack", [bytes, zlib.compress, gzip.compress], ids=["raw", "zlib", "gzip"])
@pytest.mark.parametrize("wide", [True, False])
def test_the_header_of_a_hosted_replay(pack, wide):
    found = read_replay_header(pack(crewrift({"maxTicks": 10_000}, wide=wide)))

    assert (found.kind, found.format, found.game, found.version) == ("crewrift", 3, "crewrift", "1")
    assert found.recorded_at == "2026-09-01T12:00:00.000Z"
    assert found.config == {"maxTicks": 10_000}


@pytest.mark.failure_mode(number=21)
def test_replays_that_are_cut_or_of_other_games():
    assert read_replay_header(b"some other game").kind == "unknown"
    whole = crewrift({"maxTicks": 10_000})
    for cut in range(8, len(whole) - len(b"\x01rest")):
        with pytest.raises(ArtifactUnreadable):
            read_replay_header(whole[:cut])


# -------------------------------------------------------------------- index


def written(root):
    index = Index(root, server="https://league.example/api", selection={"mode": "xreq"})
    entry = index.entry(REQUEST, 0.0)
    entry.over, entry.status, entry.asked = True, "completed", {Category.RESULTS}
    entry.files = {
        "results.json": Outcome("results.json", Artifact(Category.RESULTS), State.OK, size=2, sha256="ab")
    }
    index.write(0.0)
    return index


def test_an_index_is_read_as_it_was_written(tmp_path):
    index = written(tmp_path)

    found = read_index(tmp_path)

    assert found.entries == index.entries
    assert found.entries[REQUEST].settled
    assert [one.path for one in found.entries[REQUEST].lost(tmp_path)] == ["results.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told["episodes"][0].update(folder="../outside"),
        lambda told: told["episodes"][0]["artifacts"][0].update(path="../../x"),
        lambda told: told["episodes"][0]["artifacts"][0].update(path="/etc/passwd"),
        lambda told: told["episodes"][0]["artifacts"][0].update(state="fine"),
        lambda told: told["episodes"][0].update(folder=7),
        lambda told: told.update(format=2),
        lambda told: told.update(episodes="all"),
        lambda told: told.clear(),
    ],
    ids=["folder", "path", "absolute", "state", "number", "format", "episodes", "empty"],
)
def test_an_index_of_somebody_else_is_refused(tmp_path, damage):
    written(tmp_path)
    told = json.loads((tmp_path / "index.json").read_text())
    damage(told)
    (tmp_path / "index.json").write_text(json.dumps(told))

    with pytest.raises(UsageError, match="cannot be read"):
        read_index(tmp_path)


@pytest.mark.parametrize("content", ["", "[", "[]", "null", '{"format": 1}'], ids=["0", "1", "2", "3", "4"])
def test_an_index_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "index.json").write_text(content)

    with pytest.raises(UsageError, match="cannot be read"):
        read_index(tmp_path)


@pytest.fixture(params=["pipe", "link", "folder", "huge"])
def planted(request, tmp_path):
    """Put something where a file should be that must not be waited for, followed, or read whole."""

    def put(place, content):
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        if request.param == "pipe":
            os.mkfifo(place)
        elif request.param == "folder":
            place.mkdir()
        elif request.param == "link":
            (tmp_path / "elsewhere").write_text(content)
            place.symlink_to(tmp_path / "elsewhere")
        else:
            place.write_text(content)
            os.truncate(place, 1 << 40)

    return put


def test_what_is_planted_in_place_of_an_index_is_refused(tmp_path, planted):
    root = tmp_path / "eps"
    written(root)
    planted(root / "index.json", (root / "index.json").read_text())

    with pytest.raises(UsageError, match="cannot be read"):
        read_index(root)


def test_what_is_planted_in_place_of_an_episode_makes_its_folder_nobodys(tmp_path, planted):
    root = tmp_path / "eps"
    taken = folder_name(REQUEST, 0.0, {})
    root.mkdir()
    planted(root / taken / "episode.json", json.dumps({"id": REQUEST}))

    assert Index(root).entry(REQUEST, 0.0).folder != taken


def test_what_is_planted_in_place_of_a_watch_counts_nothing(tmp_path, planted):
    planted(tmp_path / "watch_state.json", json.dumps({REQUEST: 3}))

    assert not Attempts(tmp_path, 3).exhausted(REQUEST)
