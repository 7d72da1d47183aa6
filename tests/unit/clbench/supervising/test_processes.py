"""Processes that are found by fingerprint and sent signals: all of them are real, and only ours hear anything."""

import os
import secrets
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

SLEEP = "import time; time.sleep(600)"
# Ready before it is asked, and not by way of Python's handler: an interpreter that starts or ends slowly would meet SIGTERM too.
POLITE = (
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nprint(flush=True)\ntime.sleep(600)"
)
DEAF = "import signal, time\nfor one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(600)"
CHILD = "import time; print(flush=True); time.sleep(600)"
# Whoever has just been started has no command line yet for a moment: the child says when it is there.
PARENT = f"import subprocess, sys, time\none = subprocess.Popen([sys.executable, '-c', {CHILD!r}], env={{}}, stdout=subprocess.PIPE)\none.stdout.readline()\nprint(flush=True)\ntime.sleep(600)"
PATIENCE = 60.0
FAST = Graces(0.3, 0.3, PATIENCE)
PATIENT = Graces(PATIENCE, PATIENCE, PATIENCE)


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


@pytest.fixture
def token():
    """One of this test's own: the whole machine is looked through, also beside the same tests of another run."""
    return f"evh-{secrets.token_hex(16)}"


def mark(token):
    return Fingerprint(frozenset({token}))


def gone(one):
    """Its exit code, if it has ended."""
    try:
        return one.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return None


# ------------------------------------------------------------------ found


def test_only_whoever_carries_the_token_is_found_and_what_descends_from_it(started, token):
    mine = started(PARENT, token=token, ready=True)
    started(token="evh-other")
    started(token=f"{token}-too")
    started()
    found = mark(token).find()
    assert set(found) >= {mine.pid}
    assert len(found) == 2, "its child has another environment"
    child = next(one for one in found.values() if one.pid != mine.pid)
    assert child.parent == mine.pid
    assert not child.tokens
    mine.kill()
    mine.wait()
    assert mark(token).find() == {}
    known = Fingerprint(frozenset({token}), frozenset({child.key}))
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


def test_a_zombie_is_dead(started, token):
    one = started("pass", token=token)
    while process(one.pid) is not None:
        time.sleep(0.01)
    assert mark(token).find() == {}
    assert not send(Process(one.pid, "1", 0, 0, stopped=False, argv=()), signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="compares ps with /proc")
def test_ps_tells_the_same_as_proc(started, token, monkeypatch):
    mine = started(PARENT, token=token, ready=True)
    by_proc = mark(token).find()
    monkeypatch.setattr(process_table, "_PS_SECONDS", PATIENCE)
    by_ps = {one.pid: one for one in process_table._by_ps({token})}
    found = ours(by_ps, mark(token))
    assert set(found) == set(by_proc)
    assert found[mine.pid].tokens == {token}
    assert (found[mine.pid].parent, found[mine.pid].group) == (
        by_proc[mine.pid].parent,
        by_proc[mine.pid].group,
    )
    assert not found[mine.pid].stopped
    child = next(one for one in found.values() if one.pid != mine.pid)
    assert child.argv[1:] == ("-c", *CHILD.split())


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


def test_parents_come_before_children_also_where_pids_began_anew():
    some = table((900, 1, "run-all"), (20, 900, "run alpha"), (7, 20, "worker"), (8, 20, "worker"))
    for roots in ({900}, {7, 20, 900}, {7, 900}, {7, 8, 20, 900}):
        assert [one.pid for one in trees(some, roots)] == [900, 20, 7, 8]
    circle = table((3, 4, "a"), (4, 3, "b"))  # read while pids were given away
    assert {one.pid for one in trees(circle, {3, 4})} == {3, 4}


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


def test_a_tree_stands_still_and_goes_on(started, token):
    mine = started(PARENT, token=token, ready=True)

    def tree():
        return list(mark(token).find().values())

    def soon(what):
        deadline = time.monotonic() + PATIENCE
        while not what() and time.monotonic() < deadline:
            time.sleep(0.01)
        return what()

    assert len(stop(tree)) == 2
    assert soon(lambda: all(one.stopped for one in tree()))
    assert go_on(tree()) == 2
    assert soon(lambda: not any(one.stopped for one in tree()))
    assert mine.poll() is None


def test_an_end_asks_before_it_kills(started, token):
    polite = started(POLITE, token=token, ready=True)
    signals = []
    left = end(
        lambda: mark(token).find().values(),
        SystemClock(),
        PATIENT,
        on_signal=lambda *told: signals.append(told),
    )
    assert left == []
    assert signals == [(signal.SIGINT, 1)]
    assert gone(polite) == -signal.SIGINT


def test_who_does_not_hear_is_killed_after_every_grace(started, token):
    deaf = started(DEAF, token=token, ready=True)
    signals = []
    left = end(
        lambda: mark(token).find().values(),
        SystemClock(),
        FAST,
        on_signal=lambda *told: signals.append(told),
    )
    assert left == []
    assert [one for one, _ in signals] == [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    assert gone(deaf) == -signal.SIGKILL


def test_haste_leaves_steps_out(started, token):
    deaf = started(DEAF, token=token, ready=True)
    signals = []
    assert not end(
        lambda: mark(token).find().values(),
        SystemClock(),
        PATIENT,
        haste=lambda: 2,
        on_signal=lambda *told: signals.append(told),
    )
    assert [one for one, _ in signals] == [signal.SIGKILL]
    assert gone(deaf) == -signal.SIGKILL


def test_who_stands_still_is_woken_to_end(started, token):
    mine = started(POLITE, token=token, ready=True)
    stop(lambda: mark(token).find().values())
    assert end(lambda: mark(token).find().values(), SystemClock(), PATIENT) == []
    assert gone(mine) == -signal.SIGINT


def test_whoever_is_beyond_sigkill_is_told():
    stuck = Process(1, "0", 0, 0, stopped=False, argv=("stuck",))
    assert end(lambda: [stuck], SystemClock(), Graces(0.0, 0.0, 0.2)) == [stuck]
