"""What became of players' processes, and whom an error blames."""

import json

import pytest

from pytest_evalharness.episodes.error_info import Blame, blame_of, read_error_info
from pytest_evalharness.episodes.player_status import PlayerState, PlayerStatus, read_player_status
from pytest_evalharness.errors import ArtifactUnreadable

END = "2026-08-12T18:42:00Z"
EARLY = "2026-08-12T18:37:00Z"
WITH_THE_GAME = "2026-08-12T18:41:45Z"


def player(slot, state="exited", code=0, at=END, **more):
    return {"slot": slot, "state": state, "exit_code": code, "reason": "Completed", "finished_at": at, **more}


def status(*players, version="1"):
    return read_player_status(json.dumps({"schema_version": version, "players": players}).encode())


def test_the_documented_shape():
    found = status(player(0), player(1, "running", None, None)).of(0)
    assert (found.state, found.exit_code, found.reason) == (PlayerState.EXITED, 0, "Completed")
    assert found.finished_at == 1786560120.0
    assert status(player(0)).of(1) is None


@pytest.mark.parametrize(
    ("first", "crashed"),
    [
        (player(0), False),
        (player(0, at=EARLY), False),  # exit code 0 is neutral
        (player(0, code=1), False),  # many fail once the game closes their connection
        (player(0, code=1, at=WITH_THE_GAME), False),
        (player(0, code=1, at=EARLY), True),
        (player(0, code=137, at=EARLY), True),
        (player(0, "running", None, None), False),
        (player(0, "not_started", None, None), None),
        (player(0, "unavailable", None, None), None),
        (player(0, "levitating"), None),
        (player(0, code=None, at=EARLY), None),
        (player(0, code="1", at=EARLY), None),
        (player(0, code=1, at=None), None),
        (player(0, code=1, at="yesterday"), None),
    ],
)
def test_a_crash_is_an_error_while_others_still_had_a_game(first, crashed):
    assert status(first, player(1), player(2, "running", None, None)).crashed(0) is crashed


def test_a_crash_needs_somebody_to_be_earlier_than():
    assert status(player(0, code=1, at=EARLY), player(1, "running", None, None)).crashed(0) is None
    assert status(player(1)).crashed(0) is None


@pytest.mark.parametrize(
    "told",
    [
        {}, [], None, {"schema_version": 1, "players": []}, {"schema_version": "2", "players": []},
        {"schema_version": "1"}, {"schema_version": "1", "players": {}}, {"schema_version": "1", "players": [3]},
        {"schema_version": "1", "players": [{"state": "exited"}]},
        {"schema_version": "1", "players": [{"slot": -1}]}, {"schema_version": "1", "players": [{"slot": True}]},
        {"schema_version": "1", "players": [player(0), player(0)]},
        {"schema_version": "1", "players": [player(i) for i in range(65)]},
    ],
)  # fmt: skip
def test_another_shape_is_one_error(told):
    with pytest.raises(ArtifactUnreadable, match="player-status cannot be read"):
        read_player_status(json.dumps(told).encode())


def test_a_reason_cannot_steer_a_terminal():
    assert "\x1b" not in status(player(0, reason="\x1b[31mError" + "x" * 999)).of(0).reason


def test_it_survives_the_journal():
    found = status(player(0, code=1, at=EARLY), player(1, "running", None, None))
    assert PlayerStatus.from_json(json.loads(json.dumps(found.to_json()))) == found


# ---------------------------------------------------------------- error info


def test_the_documented_error():
    found = read_error_info(
        b'{"error_type": "player_error", "message": "seat 0 exited 137", "failed_policy_index": 0}'
    )
    assert (found.error_type, found.message, found.failed_seat) == ("player_error", "seat 0 exited 137", 0)


@pytest.mark.parametrize("seat", [None, "0", True, -1, 64, 1.0, [0], 10**30])
def test_a_seat_that_is_none(seat):
    assert read_error_info({"error_type": "player_error", "failed_policy_index": seat}).failed_seat is None


def test_words_of_strangers_are_short_and_harmless():
    found = read_error_info({"error_type": "\x1b[2J" + "x" * 500, "message": "\u202e" + "y" * 9999})
    assert len(found.error_type) <= 80
    assert len(found.message) <= 2000
    assert not {*found.error_type, *found.message} & {*"\x1b\u202e"}


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"error_type": NaN}', b"x" * (1024 * 1024 + 1)])
def test_what_is_no_object_is_one_error(data):
    with pytest.raises(ArtifactUnreadable, match="error info cannot be read"):
        read_error_info(data)


def test_every_documented_word_blames_somebody_and_any_other_nobody():
    assert blame_of("player_error") is blame_of("players_missing") is Blame.PLAYER
    assert blame_of("oom") is blame_of("crash") is blame_of("episode_timeout") is Blame.GAME
    assert blame_of("worker_oom") is blame_of("player_never_started") is Blame.INFRASTRUCTURE
    assert {blame_of(word) for word in (None, "", "PLAYER_ERROR", "gremlins")} == {Blame.UNKNOWN}
