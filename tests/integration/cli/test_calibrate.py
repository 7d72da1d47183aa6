"""`evalharness calibrate`: real games, counted; interruptible; progress where it belongs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_evalharness.cli import calibrate, main
from pytest_evalharness.verdict.words import Rule

COMMAND = [sys.executable, "-m", "pytest_evalharness.cli", "calibrate"]


def test_it_plays_counts_and_is_the_same_for_a_seed(capfd):
    found = []
    for _ in range(2):
        assert main(["calibrate", "--runs", "12", "--n", "10", "--seed", "5", "--json"]) == 0
        told = capfd.readouterr()
        found.append(json.loads(told.out))
        assert "12 of 12 comparisons played" in told.err
    assert found[0] == found[1]
    assert {one["rule"] for one in found[0]["rules"]} == {*Rule}
    assert all(one["runs"] == 12 and one["inside"] for one in found[0]["rules"])
    assert 0.2 < found[0]["win_rate"] < 0.8


def test_no_game_is_played_twice():
    arms = calibrate.drawn(20, 30, 0)
    seeds = [seed for arm in arms for seed in arm]
    assert [len(arm) for arm in arms] == [30] * 40
    assert len(set(seeds)) == 1200
    assert calibrate.drawn(20, 30, 1) != arms


def spread(won, games=30):
    return [(turn + 1) * won // games - turn * won // games for turn in range(games)]


@pytest.fixture
def instead(monkeypatch):
    """Count these wins of 30 games instead of playing; they come evenly spread."""

    def use(wins):
        monkeypatch.setattr(calibrate, "played", lambda *_: ((spread(c), spread(b)) for c, b in wins))

    return use


def test_a_rule_that_breaks_its_promise_exits_with_1(instead, capsys):
    instead([(26, 15)] * 50)
    assert main(["calibrate", "--runs", "50"]) == 1
    told = capsys.readouterr().out
    assert "score            wrong in 50 of 50: 100.0%" in told
    assert "promises at most 5.5%: OUTSIDE" in told
    assert "bayes            wrong in 0 of 50" in told
    assert "a rule errs more often than it promises" in told


def test_rules_that_keep_theirs_exit_with_0(instead, capsys):
    instead([(16, 15)] * 50)
    assert main(["calibrate", "--runs", "50"]) == 0
    told = capsys.readouterr()
    assert "50 A/A comparisons of 30 games an arm on the embedded game, win rate 0.517" in told.out
    assert "every rule is inside its bound" in told.out
    assert told.err.splitlines()[0] == "5 of 50 comparisons played"
    assert len(told.err.splitlines()) == 10
    assert "\r" not in told.err


def test_on_a_terminal_one_line_changes(instead, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    instead([(16, 15)] * 3)
    assert main(["calibrate", "--runs", "3"]) == 0
    assert capsys.readouterr().err == "".join(f"\r{k} of 3 comparisons played" for k in (1, 2, 3)) + "\n"


def long_one():
    """A calibration of minutes, with a terminal of its own."""
    return subprocess.Popen(
        [*COMMAND, "--runs", "1000", "--n", "4"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def test_ctrl_c_ends_it_with_2_and_leaves_nobody_behind():
    process = long_one()
    assert process.stderr.readline() == "100 of 1000 comparisons played\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, errors = process.communicate(timeout=300)  # ends when the last holder of the pipes has
    assert process.returncode == 2
    assert "of 1000 comparisons; nothing was measured" in errors
    assert "Traceback" not in errors
    assert output == ""


def test_ctrl_c_reaches_no_worker_not_even_one_that_still_starts():
    """It takes a while to import what it needs, and could not leave the signal to its parent before: it would die loudly."""
    process = long_one()
    while not (workers := starting(process.pid)):
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert workers == {True}
    assert "Traceback" not in errors
    assert output == ""


def starting(pid):
    """Of the workers that a process has by now: whether SIGINT is held back from them or ignored."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            lines = (folder / "status").read_text().splitlines()
            told = {name: value for name, _, value in (line.partition(":") for line in lines)}
            if int(told["PPid"]) == pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.add(bool((int(told["SigBlk"], 16) | int(told["SigIgn"], 16)) & 1 << signal.SIGINT - 1))
    return found


@pytest.mark.parametrize("arguments", [["--runs", "0"], ["--n", "x"], ["--seed", "-1"], ["--nonsense"]])
def test_usage_errors_exit_with_4(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(["calibrate", *arguments])
    assert left.value.code == 4
    assert "--help" in capsys.readouterr().err
