"""Real processes race for work and are killed at it with `kill -9`."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec

ACTOR = Path(__file__).with_name("actor.py")
linux = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="pids alone prove too little without /proc"
)


class Remote:
    """An actor in a process of its own."""

    def __init__(self, home, session):
        self.process = subprocess.Popen(
            [sys.executable, str(ACTOR), str(home), session],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, *command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self

    def answer(self):
        line = self.process.stdout.readline()
        assert line, "the actor died"
        return json.loads(line)

    def __call__(self, *command):
        return self.send(*command).answer()

    def kill(self, *, reap=True):
        self.process.send_signal(signal.SIGKILL)
        if reap:
            self.process.wait(60)
        else:
            # Dead for sure, and still in the process table. The end of its output would prove too little: a dying
            # process closes its files before it is dead.
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def home(tmp_path):
    return tmp_path / ".evalharness"


@pytest.fixture
def start(home):
    """Starts actors, all at once: their start-up is most of a test's time."""
    remotes = []

    def begin(count=1, session="monday"):
        new = [Remote(home, session) for _ in range(count)]
        remotes.extend(new)
        assert [remote.answer() for remote in new] == ["ready"] * count
        return new

    yield begin
    for remote in remotes:
        remote.close()


@pytest.fixture
def ledger(home):
    opened = Ledger.open(home, clock=SystemClock(), owner=Owner.current("reader"))
    yield opened
    opened.close()


def at_once(remotes, *command):
    """The same command in every process at the same moment."""
    moment = time.time() + 0.15
    for remote in remotes:
        remote.send("at", moment, list(command))


def test_processes_that_open_a_new_home_together_all_get_in(start, home):
    start(6)
    assert (home / "ledger.sqlite").exists()


def test_one_of_many_gets_the_block(start):
    actors = start(5)
    for arm in range(6):
        (block_id,) = actors[0]("setup", f"arm-{arm}")
        at_once(actors, "acquire", block_id)
        answers = [actor.answer() for actor in actors]
        assert sorted(answers, key=str) == [None] * 4 + ["planned"]


def test_one_of_many_produces_and_all_read_it(start):
    actors = start(5)
    for key in "abcdef":
        at_once(actors, "once", key)
        produced, pids = 0, set()
        for actor in actors:
            word = actor.answer()
            if word == "producing":
                word = actor.answer()
                produced += 1
                assert word[0] is True
            pids.add(word[1])
        assert produced == 1
        assert len(pids) == 1


def test_many_workers_asking_for_fresh_get_one_attempt(start, ledger):
    actors = start(5)
    for number in range(1, 7):
        at_once(actors, "fresh", f"run-{number}")
        assert [actor.answer() for actor in actors] == [number] * 5
        play_to_the_end(ledger, number)


def play_to_the_end(ledger, number):
    """Finish the newest attempt: only beside a finished one does `fresh` begin another."""
    newest = ledger.attempts({"ask": 1})[-1]
    arms = {side: ArmSpec(f"{side}-{number}", {}, [{}]) for side in ("candidate", "baseline")}
    for arm_key in ledger.freeze(newest.id, {}, arms).arms.values():
        with ledger.acquire(ledger.blocks(arm_key)[0].block_id) as lease:
            lease.begin_post()
            lease.posted(f"xreq-{arm_key}")
            lease.finish({})


@linux
@pytest.mark.parametrize("reap", [True, False], ids=["gone", "zombie"])
def test_the_work_of_a_killed_process_is_taken_over_where_it_stood(start, ledger, reap):
    victims, heir = start(3), start(1)[0]
    states = ["planned", "posting", "running"]
    blocks = []
    for victim, state in zip(victims, states, strict=True):
        (block_id,) = victim("setup", f"arm-{state}")
        blocks.append(block_id)
        assert victim("acquire", block_id) == "planned"
        assert victim("bring", state) == state
    assert [heir("acquire", block_id) for block_id in blocks] == [None, None, None]
    for victim in victims:
        victim.kill(reap=reap)
    for victim, block_id, state in zip(victims, blocks, states, strict=True):
        assert ledger.block(block_id).owner.pid == victim.process.pid
        assert heir("acquire", block_id) == state
        assert ledger.block(block_id).owner.pid == heir.process.pid


@linux
def test_settled_work_of_a_killed_process_is_what_it_was(start, ledger):
    victim, same, later = [*start(2), *start(1, "tuesday")]
    blocks = {}
    for state in ("refused", "finished", "abandoned"):
        (blocks[state],) = victim("setup", f"arm-{state}")
        victim("acquire", blocks[state])
        victim("bring", state)
    victim.kill()
    assert [same("acquire", block) for block in blocks.values()] == [None, None, None]
    assert ledger.block(blocks["finished"]).evidence == {"wins": 1}
    assert later("acquire", blocks["refused"]) == "planned"
    assert later("acquire", blocks["abandoned"]) == "abandoned"
    assert later("acquire", blocks["finished"]) is None


@linux
def test_a_stopped_process_keeps_its_post(start):
    """SIGSTOP, a debugger, a laptop that sleeps: it may send the POST when it wakes."""
    victim, other = start(2)
    (block_id,) = victim("setup", "arm")
    victim("acquire", block_id)
    victim("bring", "posting")
    victim.process.send_signal(signal.SIGSTOP)
    assert other("acquire", block_id) is None
    victim.process.send_signal(signal.SIGCONT)
    victim.kill()
    assert other("acquire", block_id) == "posting"


@linux
def test_a_producer_that_is_killed_is_taken_over_by_one_that_waits(start):
    victim, *waiters = start(3)
    assert victim("once", "roster", 600) == "producing"
    for waiter in waiters:
        waiter.send("once", "roster")
    victim.kill()
    words = [waiter.answer() for waiter in waiters]
    assert words.count("producing") == 1
    producer = waiters[words.index("producing")]
    values = [producer.answer(), *(word for word in words if word != "producing")]
    assert {value[1] for value in values} == {producer.process.pid}


def written(home):
    """How many comparisons there are."""
    with closing(sqlite3.connect(home / "ledger.sqlite", timeout=60)) as connection:
        return connection.execute("SELECT count(*) FROM comparisons").fetchone()[0]


@linux
def test_killing_writers_in_the_middle_leaves_whole_transactions(start, home, ledger):
    """Frozen with its arms and blocks, or not at all; and the file stays sound."""
    for _ in range(2):
        writers = start(2)
        before = written(home)
        for writer in writers:
            assert writer("churn") == "churning"
        until = time.monotonic() + 60
        while written(home) < before + 5 and time.monotonic() < until:
            time.sleep(0.01)
        for writer in writers:
            writer.kill()
    connection = sqlite3.connect(home / "ledger.sqlite")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        keys = [key for (key,) in connection.execute("SELECT plan_json FROM comparisons")]
    finally:
        connection.close()
    assert keys
    for key in keys:
        (comparison,) = ledger.attempts(json.loads(key))
        if comparison.frozen is not None:
            assert len(ledger.blocks(comparison.arms["candidate"])) == 2
        else:
            assert comparison.arms == {}
