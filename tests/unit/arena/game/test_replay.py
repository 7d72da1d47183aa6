"""Replays: a match comes out of its file as it was, of every game that is hosted, and what is no whole replay is told apart."""

import gzip
import json
import struct
import zlib
from dataclasses import replace

import pytest

from pytest_evalharness.arena.faults import payloads
from pytest_evalharness.arena.game import replay
from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Order
from pytest_evalharness.arena.game.scoring import Scoring
from pytest_evalharness.base.files import canonical_json
from pytest_evalharness.cli import main


def order_of(name, **fields):
    game = GAMES[name]
    cast = [(player, builds[-1]) for player, builds in game.cast()]
    seats = [cast[seat % len(cast)] for seat in range(game.seats)]
    return Order(name, dict(game.variants[0].config), seats, 20260615, **fields)


def written(name="crewrift", version=None, **fields):
    order = order_of(name, **fields)
    labels = [f"policy-{seat}:v1" for seat in range(len(order.seats))]
    return replay.write(order, version or GAMES[name].version, labels)


def edited(data, **fields):
    """The replay with another header."""
    _, length = struct.unpack("<HI", data[8:14])
    header = {**json.loads(data[14 : 14 + length]), **fields}
    head = json.dumps(header).encode()
    return data[:10] + struct.pack("<I", len(head)) + head + data[14 + length :]


@pytest.fixture(scope="module")
def made():
    return written()


@pytest.mark.parametrize("name", sorted(GAMES))
@pytest.mark.parametrize("mishaps", [(), ((1, "crash"),)], ids=["sound", "crash"])
def test_a_match_of_any_game_is_played_again_to_the_same_hash(name, mishaps):
    data = written(name, mishaps=mishaps)
    told = replay.read(data)

    assert replay.differences(told) == []
    played = GAMES[name].play(order_of(name, mishaps=mishaps))
    assert (told.ticks, list(told.scores)) == (played.ticks, list(played.results["scores"]))
    assert replay._hash_of(played.results) == told.results_sha256
    assert written(name, mishaps=mishaps) == data, "the same bytes whenever it is asked for"


def test_the_scoring_is_found_out_from_the_results():
    order = order_of("crewrift")
    by_points = replace(order, scoring=Scoring.REWARD)
    results = GAMES["crewrift"].play(by_points).results

    data = replay.write(order, "0.6.2", ["x:v1"] * 8, results)

    assert replay.read(data).scoring == "reward"
    assert list(replay.read(data).scores) == results["scores"]
    assert replay.differences(replay.read(data)) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 1}, "hash of the match"),
        ({"scoring": "reward"}, "scores"),
        ({"results_sha256": "0" * 64}, "hash of results.json"),
        ({"digest": "0" * 64}, "hash of the match"),
        ({"ticks": 1}, "ticks: 1 then"),
    ],
)
def test_what_comes_out_otherwise_is_named(made, changed, words):
    found = replay.differences(replay.read(edited(made, **changed)))

    assert any(words in each for each in found)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "does not begin"),
        (b"EVHREPLY", "does not begin"),
        (b"CREWRIFT" + bytes(40), "does not begin"),
        (b"EVHREPLY" + struct.pack("<HI", 1, 10**9) + b"{}", "header"),
        (b"EVHREPLY" + struct.pack("<HI", 1, 2) + b"[]", "header"),
    ],
)
def test_what_is_no_replay_is_said_to_be_none(data, words):
    with pytest.raises(replay.NotAReplayError, match=words):
        replay.read(data)


def test_a_replay_that_is_cut_or_changed_is_refused(made):
    for broken in (made[:-1], made + b"\n", made[:-5] + b"xxxx\n"):
        with pytest.raises(replay.NotAReplayError, match="cut short or changed"):
            replay.read(broken)


@pytest.mark.parametrize(
    "changed",
    [
        {"policies": [1]},
        {"policies": [{"name": "a", "build": "nobody-1"}] * 8},
        {"policies": [{"name": "a", "build": "keeper-1", "mishap": "sabotage"}] * 8},
        {"policies": []},
        {"config": {"nonsense": 1}},
        {"scoring": "beauty"},
    ],
    ids=str,
)
def test_a_match_that_cannot_be_played_is_refused(made, changed):
    with pytest.raises(replay.NotAReplayError, match="cannot be played"):
        replay.differences(replay.read(edited(made, **changed)))


@pytest.mark.parametrize("changed", [{"seed": "1"}, {"game": []}, {"scores": 1}, {"policies": {}}], ids=str)
def test_a_header_with_other_types_is_refused(made, changed):
    with pytest.raises(replay.NotAReplayError, match="none of a replay"):
        replay.read(edited(made, **changed))


@pytest.mark.parametrize(
    ("changed", "words"), [({"version": "0.7.0"}, "this package plays 0.6.2"), ({"game": "chess"}, "'chess'")]
)
def test_another_version_is_not_played(made, changed, words):
    with pytest.raises(replay.AnotherVersionError, match=words):
        replay.differences(replay.read(edited(made, **changed)))
    with pytest.raises(replay.AnotherVersionError, match="format 2"):
        replay.read(made[:8] + b"\x02\x00" + made[10:])


def test_it_is_unpacked_however_it_was_kept(made):
    assert replay.unpacked(made) == made
    assert replay.unpacked(zlib.compress(made)) == made
    assert replay.unpacked(gzip.compress(made)) == made
    for broken in (zlib.compress(made)[:-9], zlib.compress(made) + b"x", b"\x78\x9cnonsense"):
        with pytest.raises(replay.NotAReplayError, match="compressed"):
            replay.unpacked(broken)


@pytest.mark.parametrize("packing", ["zlib", "gzip"])
def test_bombs_are_bombs_and_are_not_unpacked(packing):
    bomb = payloads.replay_bomb(packing)

    assert len(bomb) < 10 * 1024 * 1024
    head = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(bomb, 1024 * 1024)
    assert head == bytes(1024 * 1024)
    with pytest.raises(replay.NotAReplayError, match=r"unpacks to more|more comes behind"):
        replay.unpacked(bomb)


def test_the_command_plays_and_compares(made, tmp_path, capsys):
    file = tmp_path / "replay.z"
    file.write_bytes(zlib.compress(made))

    assert main(["arena", "replay", str(file)]) == 0
    said = capsys.readouterr().out
    assert f"to the same result and hash, {replay.read(made).digest}" in said
    assert "policy-0:v1" in said
    assert not any(each["token"] in said for each in replay.read(made).policies)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": 1}, (1, "DIFFERS")),
        ({"version": "0.5.0\x1b[2J"}, (11, "cannot be played here")),
        ({"policies": "\x1b[2J"}, (11, "is no replay")),
    ],
)
def test_the_command_says_plainly_why_not(made, tmp_path, capsys, changed, said):
    code, words = said
    file = tmp_path / "\x1b[31mreplay.replay"
    file.write_bytes(edited(made, **changed))

    assert main(["arena", "replay", str(file)]) == code
    printed = "".join(capsys.readouterr())
    assert words in printed
    assert "\x1b" not in printed


def test_the_command_needs_a_file(tmp_path, capsys):
    assert main(["arena", "replay", str(tmp_path / "none")]) == 4
    assert "nothing was played" in capsys.readouterr().err


def test_the_hash_of_results_is_that_of_their_canonical_json():
    assert replay._hash_of({"b": 1, "a": [1.5]}) == replay._hash_of({"a": [1.5], "b": 1})
    assert canonical_json({"b": 1, "a": 2}) == '{"a":2,"b":1}'
