"""Logs whose beginning or end is gone, complaints in place of logs, and the votes in them."""

import pytest

from pytest_evalharness.episodes.ballots import NOWHERE, SKIP, accuracy, agrees, target_of
from pytest_evalharness.episodes.logs import read_log
from pytest_evalharness.episodes.results import SeatResults
from pytest_evalharness.errors import ArtifactUnreadable


def log(text):
    return read_log(text.encode() if isinstance(text, str) else text, "player's log")


def test_a_whole_log():
    found = log("connected\nplaying\n")
    assert found.whole
    assert found.text == "connected\nplaying\n"


@pytest.mark.parametrize(("lines", "lost"), [(9_999, False), (10_000, True), (10_001, True)])
@pytest.mark.parametrize("end", ["\n", ""])
def test_as_many_lines_as_are_kept_mean_that_earlier_ones_are_gone(lines, lost, end):
    found = log("\n".join(["tick"] * lines) + end)
    assert found.beginning_lost is lost
    assert found.whole is not lost


def test_the_services_own_mark_is_no_line_of_the_player():
    found = log("a\nb\n[truncated by the runner at 10 MiB]\n")
    assert found.end_lost
    assert found.text == "a\nb"
    assert not log("the docs say [truncated by the runner at 10 MiB] ends a log\n").end_lost


@pytest.mark.parametrize(
    "complaint",
    [
        "unable to retrieve container logs for containerd://0a1b2c",
        'failed to try resolving symlinks in path "/var/log/pods/x": lstat /var/log: no such file or directory',
        "No logs collected for pod episode-7f container player: not found.\n",
        "No player log was written by the game-hosted runtime.\n",
        'Error from server (BadRequest): container "player" in pod "p-7" is waiting to start: ContainerCreating',
        "rpc error: code = NotFound desc = an error occurred when try to find container",
    ],
)
def test_a_collectors_complaint_is_no_log(complaint):
    found = log(complaint)
    assert found.complaint
    assert found.text == ""
    assert not found.whole
    assert found.ballots == []


def test_a_player_may_log_such_words_itself():
    talk = "unable to retrieve container logs for my friend\n" + "playing\n" * 20
    assert log(talk).complaint == ""
    assert log("connected\nrpc error: code = Unavailable\nplaying\n").complaint == ""


def test_a_complaint_cannot_steer_a_terminal():
    assert "\x1b" not in log("No logs collected for pod \x1b[31mx").complaint


def test_bytes_that_are_no_text_are_replaced():
    assert log(b"\xff\xfe voting for red\n").ballots == [0]


def test_more_than_the_service_keeps_is_not_read():
    with pytest.raises(ArtifactUnreadable, match="player's log cannot be read"):
        read_log(b"x" * (10 * 1024 * 1024 + 1025), "player's log")


@pytest.mark.parametrize(
    "end",
    [
        "Traceback (most recent call last):\n  File \"bot.py\", line 3\nKeyError: 'x'\n",
        "thread 'main' panicked at src/main.rs:7:5:\nindex out of bounds\n",
        "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n",
        "Segmentation fault (core dumped)\n",
        "Killed\n",
    ],
)
def test_last_words(end):
    assert log("tick\n" * 500 + end).last_words == end.partition("\n")[0].strip()
    assert log(end + "tick\n" * 500).last_words == "", "it went on"


def test_a_log_that_just_ends_has_none():
    assert log("").last_words == log("tick\n" * 9).last_words == ""


# ------------------------------------------------------------------- ballots


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("red", 0), ("Blue", 1), ("CYAN", 7), (3, 3), ("5", 5), ("skip", SKIP), ("nobody", SKIP), (" green ", 2),
        ("mauve", NOWHERE), (None, NOWHERE), (True, NOWHERE), (-1, NOWHERE), (64, NOWHERE), (1.0, NOWHERE), ([], NOWHERE),
        ("", NOWHERE), ("9" * 99, NOWHERE), ("²", NOWHERE),
    ],
)  # fmt: skip
def test_whom_a_vote_is_aimed_at(word, target):
    assert target_of(word) == target


def test_votes_in_a_log():
    text = "[ 100] Voting for red\n[200] voting for slot 4\n[300] voting to skip\nno voting here\nvoting for mauve"
    assert log(text).ballots == [0, 4, SKIP, NOWHERE]


def test_accuracy_is_of_votes_at_players():
    found = accuracy([2, 2, 5, SKIP, NOWHERE], frozenset({2, 3}))
    assert (found.hits, found.votes) == (2, 3)
    assert found.share == pytest.approx(2 / 3)
    assert accuracy([SKIP], frozenset({2})).share is None


def test_votes_must_be_those_that_the_game_counted():
    results = SeatResults({"vote_players": [2, 0], "vote_skip": [1, 0]})
    assert agrees([3, 4, SKIP], results, 0)
    assert agrees([], results, 1)
    assert not agrees([3, 3, 3, SKIP], results, 0)
    assert not agrees([3, 4], results, 0)
    assert not agrees([3], SeatResults({}), 0)
