"""Processes that are found by fingerprint and sent signals: all of them are real, and only ours hear anything."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign import process_table
from pytest_evalharness.clbench.campaign.process_table import TOKEN, Process, process, processes
from pytest_evalharness.clbench.campaign.processes import (
    Fingerprint,
    Graces,
    domains,
    end,
    go_on,
    ours,
    send,
    stop,
    task_of,
    trees,
)

SLEEP = "import time; time.sleep(60)"
# Ready before it is asked, and not by way of Python's handler: an interpreter that starts or ends slowly would meet SIGTERM too.
POLITE = (
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nprint(flush=True)\ntime.sleep(60)"
)
DEAF = "import signal, time\nfor one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(60)"
PARENT = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], env={}, stdout=subprocess.DEVNULL)\nprint(flush=True)\ntime.sleep(60)"
FAST = Graces(0.3, 0.3, 5.0)


@pytest.fixture
def started():
    running = []

    def start(code=SLEEP, token="", *, ready=False, **more):
        environment = {name: value for name, value in os.environ.items() if name != TOKEN}
        one = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**environment, **({TOKEN: token} if token else {})},
            stdout=subprocess.PIPE,
            **more,
        )
        running.append(one)
        if ready:
            one.stdout.readline()
        return one

    yield start
    for each in trees(processes(()), {one.pid for one in running}):
        send(each, signal.SIGKILL)
    for one in running:
        one.communicate()


def mark(token):
    return Fingerprint(frozenset({token}))


def gone(one):
    """Its exit code, if it has ended."""
    try:
        return one.wait(5)
    except subprocess.TimeoutExpired:
        return None


# ------------------------------------------------------------------ found


def test_only_whoever_carries_the_token_is_found_and_what_descends_from_it(started):
    mine = started(PARENT, token="evh-mine", ready=True)
    started(token="evh-other")
    started(token="evh-mine-too")
    started()
    found = mark("evh-mine").find()
    assert set(found) >= {mine.pid}
    assert len(found) == 2, "its child has another environment"
    child = next(one for one in found.values() if one.pid != mine.pid)
    assert child.parent == mine.pid
    assert not child.tokens
    mine.kill()
    mine.wait()
    assert mark("evh-mine").find() == {}
    known = Fingerprint(frozenset({"evh-mine"}), frozenset({child.key}))
    assert set(known.find()) == {child.pid}, "it was seen: it is known without its parent"
    os.kill(child.pid, signal.SIGKILL)


def test_a_pid_that_somebody_else_has_by_now_is_not_ours(started):
    other = started()
    seen = process(other.pid)
    assert ours(processes(()), Fingerprint(frozenset(), frozenset({(seen.pid, "1")}))) == {}
    assert set(ours(processes(()), Fingerprint(frozenset(), frozenset({seen.key})))) == {other.pid}
    assert not send(replace(seen, started="1"), signal.SIGKILL)
    assert other.poll() is None


def test_a_process_that_asks_is_never_its_own_prey(monkeypatch):
    me = process(os.getpid())
    assert Fingerprint(frozenset(), frozenset({me.key})).find() == {}


def test_a_zombie_is_dead(started):
    one = started("pass", token="evh-z")
    while process(one.pid) is not None:
        time.sleep(0.01)
    assert mark("evh-z").find() == {}
    assert not send(Process(one.pid, "1", 0, 0, stopped=False, argv=()), signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="compares ps with /proc")
def test_ps_tells_the_same_as_proc(started, monkeypatch, tmp_path):
    mine = started(PARENT, token="evh-ps", ready=True)
    by_proc = mark("evh-ps").find()
    monkeypatch.setattr(process_table, "_PROC", tmp_path)
    by_ps = {one.pid: one for one in process_table._by_ps({"evh-ps"})}
    found = ours(by_ps, mark("evh-ps"))
    assert set(found) == set(by_proc)
    assert found[mine.pid].tokens == {"evh-ps"}
    assert (found[mine.pid].parent, found[mine.pid].group) == (
        by_proc[mine.pid].parent,
        by_proc[mine.pid].group,
    )
    assert not found[mine.pid].stopped
    child = next(one for one in found.values() if one.pid != mine.pid)
    assert child.argv[1:] == ("-c", "import", "time;", "time.sleep(60)")


# ------------------------------------------------------------------- trees


def table(*rows):
    return {
        pid: Process(pid, str(pid), parent, 1, stopped=False, argv=tuple(words.split()))
        for pid, parent, words in rows
    }


TABLE = table(
    (10, 1, "clbench run-all --name mine --task alpha beta"),
    (11, 10, "/bin/sh bin/clbench run alpha --system s"),
    (12, 11, "python run_benchmark.py run alpha --system s"),
    (13, 12, "python -c spawn_main"),
    (14, 10, "clbench run beta --system s"),
    (15, 14, "python -c spawn_main"),
    (16, 1, "clbench run gamma"),
)


def test_a_domain_is_the_tree_of_its_topmost_program():
    found = domains(TABLE, ["alpha", "beta"])
    assert {task: [one.pid for one in tree] for task, tree in found.items()} == {
        "alpha": [11, 12, 13],
        "beta": [14, 15],
    }
    assert [one.pid for one in trees(TABLE, {10})] == [10, 11, 12, 13, 14, 15]


@pytest.mark.parametrize(
    ("words", "task"),
    [
        ("clbench run alpha", "alpha"),
        ("clbench run-all --task alpha", ""),
        ("clbench run other alpha", ""),
        ("clbench inspect task alpha", ""),
        ("run", ""),
    ],
)
def test_which_task_a_command_runs(words, task):
    assert task_of(words.split(), {"alpha"}) == task


# ----------------------------------------------------------------- signals


def test_a_tree_stands_still_and_goes_on(started):
    mine = started(PARENT, token="evh-stop", ready=True)

    def tree():
        return list(mark("evh-stop").find().values())

    def soon(what):
        deadline = time.monotonic() + 60
        while not what() and time.monotonic() < deadline:
            time.sleep(0.01)
        return what()

    assert len(stop(tree)) == 2
    assert soon(lambda: all(one.stopped for one in tree()))
    assert go_on(tree()) == 2
    assert soon(lambda: not any(one.stopped for one in tree()))
    assert mine.poll() is None


def test_an_end_asks_before_it_kills(started):
    polite = started(POLITE, token="evh-end", ready=True)
    signals = []
    left = end(
        lambda: mark("evh-end").find().values(), SystemClock(), on_signal=lambda *told: signals.append(told)
    )
    assert left == []
    assert signals == [(signal.SIGINT, 1)]
    assert gone(polite) == -signal.SIGINT


def test_who_does_not_hear_is_killed_after_every_grace(started):
    deaf = started(DEAF, token="evh-deaf", ready=True)
    signals = []
    left = end(
        lambda: mark("evh-deaf").find().values(),
        SystemClock(),
        FAST,
        on_signal=lambda *told: signals.append(told),
    )
    assert left == []
    assert [one for one, _ in signals] == [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    assert gone(deaf) == -signal.SIGKILL


def test_haste_leaves_steps_out(started):
    deaf = started(DEAF, token="evh-haste", ready=True)
    signals = []
    begun = time.monotonic()
    assert not end(
        lambda: mark("evh-haste").find().values(),
        SystemClock(),
        Graces(60.0, 60.0, 5.0),
        haste=lambda: 2,
        on_signal=lambda *told: signals.append(told),
    )
    assert [one for one, _ in signals] == [signal.SIGKILL]
    assert gone(deaf) == -signal.SIGKILL
    assert time.monotonic() - begun < 30


def test_who_stands_still_is_woken_to_end(started):
    mine = started(POLITE, token="evh-woken", ready=True)
    stop(lambda: mark("evh-woken").find().values())
    assert end(lambda: mark("evh-woken").find().values(), SystemClock(), Graces(10.0, 0.1, 0.1)) == []
    assert gone(mine) == -signal.SIGINT


def test_whoever_is_beyond_sigkill_is_told():
    stuck = Process(1, "0", 0, 0, stopped=False, argv=("stuck",))
    assert end(lambda: [stuck], SystemClock(), Graces(0.0, 0.0, 0.2)) == [stuck]
