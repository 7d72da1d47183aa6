"""The process: one a home, restarted on its home, gone with whoever started it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pytest_evalharness.arena.__main__ import main


def _born(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None for one that does not live."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(rest[18])


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):  # it, or one of its threads, may end while it is looked at
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                children += map(int, (task / "children").read_text().split())
    return children


def _family(pid: int) -> dict[int, int | None]:
    """A process and all its descendants, with their births: a number is given again."""
    if not Path("/proc/self/task").exists():
        pytest.skip("needs /proc")
    found = {pid: _born(pid)}
    for child in _children(pid):
        found |= _family(child)
    return {each: born for each, born in found.items() if born is not None}


def _gone(family: dict[int, int | None]) -> bool:
    return not any(_born(pid) == born for pid, born in family.items())


def _outcome(done):
    return [(each["id"], each["seed"], each["scores"], each["participants"]) for each in done["episodes"]]


def test_a_second_server_on_a_home_is_refused(start, capsys):
    arena = start()

    assert main(["--home", str(arena.home)]) == 1

    told = capsys.readouterr()
    assert "another arena is running" in told.err
    assert told.out == ""
    assert arena.get("/whoami")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--fault", "nonsense"], 4, "no fault is called"),
        (["--fault", "slow-queue"], 4, "needs a value"),
        (["--pace", "-1"], 4, "pace"),
        (["--port", "99999"], 1, "cannot listen on port 99999"),
        (["--port", "99999"], 1, "; port 0 takes a free one"),
        (["--fd", "2000000000"], 1, "not a socket"),
        (["--token", "a b"], 1, "--token"),
        (["--unknown"], 4, "unrecognized"),
    ],
)
def test_usage_errors_are_one_clear_message(tmp_path, capsys, options, code, words):
    try:
        ended = main(["--home", str(tmp_path / "home"), *options])
    except SystemExit as exit_:
        ended = exit_.code

    told = capsys.readouterr()
    assert ended == code
    assert words in told.err
    assert told.out == ""


def test_a_fault_that_is_none_is_told_without_this_programs_options(tmp_path, capsys):
    """`evalharness arena serve` and pytest start it, and have others."""
    assert main(["--home", str(tmp_path / "home"), "--fault", "nonsense"]) == 4
    assert capsys.readouterr().err.startswith("arena: --fault: no fault is called 'nonsense'; there are ")


def test_the_seed_of_a_home_stays(founded, tmp_path, arena_command):
    home = shutil.copytree(founded, tmp_path / "home")

    done = subprocess.run(
        arena_command(home, "--seed", "8"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 1
    assert "founded with --seed 2026" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_end_of_standard_input_leaves_nothing_behind(start, wait_until):
    arena = start("--pace", "0.01")  # so slow that nobody can wait for a game
    arena.create(arena.body(num_episodes=20))
    family = _family(arena.process.pid)
    assert len(family) > 1

    assert arena.stop() == 0

    wait_until(lambda: _gone(family))


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_leaves_nothing_behind(start, wait_until, sign):
    arena = start()
    arena.create(arena.body(num_episodes=100))
    family = _family(arena.process.pid)
    assert len(family) > 1

    arena.process.send_signal(sign)

    arena.process.wait(60)
    wait_until(lambda: _gone(family))


def test_a_killed_parent_leaves_nothing_behind(tmp_path, arena_command, wait_until):
    program = (
        "import json, subprocess, sys, time\n"
        "child = subprocess.Popen(json.loads(sys.argv[1]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "print(child.stdout.readline().decode(), child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(arena_command(tmp_path / "home"))],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert json.loads(parent.stdout.readline())["url"]
        pid = int(parent.stdout.readline())
        family = _family(pid)
        assert len(family) > 1
        parent.kill()

    wait_until(lambda: _gone(family))


def test_an_inherited_socket_is_served_and_survives_a_restart(start, tmp_path):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        fd = listening.fileno()
        first = start("--fd", str(fd), home=tmp_path / "a", pass_fds=[fd])
        assert first.url == url
        assert first.get("/whoami")
        first.stop()
        second = start("--fd", str(fd), home=tmp_path / "a", pass_fds=[fd])

        assert second.url == url
        assert second.get("/whoami")


def test_a_socket_that_does_not_listen_on_the_loopback_is_refused(tmp_path, arena_command):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        done = subprocess.run(
            arena_command(tmp_path / "home", "--fd", str(sock.fileno())),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=[sock.fileno()],
            text=True,
            timeout=120,
            check=False,
        )

    assert done.returncode == 1
    assert "listens on 127.0.0.1" in done.stderr


def test_a_token_can_be_given(start):
    arena = start("--token", "tok_given")

    assert arena.client.headers["Authorization"] == "Bearer tok_given"
    assert arena.get("/whoami")


def test_a_restart_keeps_what_is_there(start):
    first = start("--fault", "not-visible=0")
    done = first.play(first.body(num_episodes=3, notes="kept", idempotency_key="evh-kept"))
    rounds = first.get("/v2/rounds")
    counters = first.counters()
    first.stop()

    second = start()

    assert second.detail(done["id"]) == done
    assert second.get("/v2/experience-requests")["entries"][0]["notes"] == "kept"
    results = second.get(f"/v2/episode-requests/{done['episodes'][0]['id']}/artifacts/results")
    assert results["scores"]
    assert [each["id"] for each in second.get("/v2/rounds")["entries"]] == [
        each["id"] for each in rounds["entries"]
    ]
    assert second.counters()["experience_request_posts"] == counters["experience_request_posts"]
    assert (
        second.create(second.body(num_episodes=3, notes="kept", idempotency_key="evh-kept"))["id"]
        == done["id"]
    )


def test_a_server_killed_in_the_middle_ends_up_where_it_would_have(start, tmp_path, wait_until):
    undisturbed = start(home=tmp_path / "undisturbed")
    expected = undisturbed.play(undisturbed.body(num_episodes=12))
    undisturbed.stop()

    for pace in (300, 60, 12):  # who is kept from looking misses the middle, and looks at slower games then
        home = tmp_path / f"killed-{pace}"
        killed = start("--pace", str(pace), home=home, fresh=True)
        made = killed.create(killed.body(num_episodes=12))
        seen = wait_until(lambda: (now := killed.detail(made["id"])) and now["completed_count"] and now)  # noqa: B023
        killed.kill()
        finished = {each["id"] for each in seen["episodes"] if each["status"] == "completed"}
        if len(finished) < 12:
            break
    assert 0 < len(finished) < 12
    again = start("--fault", "slow-queue=0", home=home)
    kept = again.detail(made["id"])
    done = again.finished(made["id"])

    assert finished <= {each["id"] for each in kept["episodes"] if each["status"] == "completed"}
    assert _outcome(done) == _outcome(expected)
    assert again.counters()["experience_request_posts"] == 1


def test_a_wedged_request_is_still_wedged_after_a_restart(start, wait_until):
    first = start("--fault", "wedged-seat=0")
    made = first.create(first.body())
    first.kill()

    second = start()

    wait_until(lambda: (second.detail(made["id"]) or {}).get("running_count") == 2)
    assert second.play(second.body())["status"] == "completed"


def test_a_feed_cursor_survives_a_restart(start):
    first = start("--fault", "not-visible=0")
    done = first.play(first.body())
    cursor = first.get("/v2/episode-requests/changes", ids=done["id"])["next_cursor"]
    first.stop()

    second = start()

    page = second.get("/v2/episode-requests/changes", ids=done["id"], cursor=cursor)
    assert page["entries"] == []


def test_arms_come_out_the_same_in_any_order_and_with_any_notes(start, tmp_path):
    one = start(home=tmp_path / "one")
    candidate = one.body(["keeper:v2", "rival:v3", *one.field(6)], num_episodes=4)
    baseline = one.body(["keeper:v1", "rival:v3", *one.field(6)], num_episodes=4)
    first = [one.play(candidate), one.play(baseline)]
    one.stop()

    other = start(home=tmp_path / "other")
    swapped = [
        other.play({**baseline, "notes": "second home", "idempotency_key": "evh-order"}),
        other.play({**candidate, "title": "later"}),
    ]

    assert [_outcome(done) for done in first] == [_outcome(done) for done in reversed(swapped)]
    repeated = other.play(candidate)
    assert {each["seed"] for each in repeated["episodes"]}.isdisjoint(
        each["seed"] for each in first[0]["episodes"]
    )


def test_a_given_seed_is_every_episodes_seed(start):
    arena = start()

    done = arena.play(arena.body(game_config_overrides={"seed": 679961}, num_episodes=3))

    assert {each["seed"] for each in done["episodes"]} == {679961}
    assert len({str(each["scores"]) for each in done["episodes"]}) == 1


def test_a_dead_worker_is_replaced(start):
    arena = start()
    workers = [
        pid
        for pid in _family(arena.process.pid)
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert workers
    os.kill(workers[0], signal.SIGKILL)

    assert arena.play(arena.body(num_episodes=4))["completed_count"] == 4


def test_paced_games_take_wall_time_together(start, tmp_path):
    for pace in (600, 60, 10):  # where computing them takes longer than they last, slower ones tell
        arena = start("--pace", str(pace), home=tmp_path / str(pace))
        done = arena.play(arena.body(num_episodes=10))
        began, ended = (datetime.fromisoformat(done[key]) for key in ("started_at", "completed_at"))
        took = (ended - began).total_seconds()
        lasted = [
            arena.get(f"/v2/episode-requests/{each['id']}/episode-stats")["steps"] / 24 / pace
            for each in done["episodes"]
        ]
        assert took >= max(lasted) - 0.01
        if took < sum(lasted):
            break
    assert took < sum(lasted)
