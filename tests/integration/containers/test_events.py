"""How containers die, as a real engine tells it, and what it forgets."""

import os
import signal
import time
from pathlib import Path

from pytest_evalharness.containers.events import REMEMBERED, Cause, deaths, read_events

EATS = "tail /dev/zero"
"""Reads a line that never ends into memory."""
SMALL = {"mem_limit": "24m", "memswap_limit": "24m"}


def read(asked, since):
    return read_events(asked, since=since, until=time.time_ns())


def ended(asked, since, *names):
    """Deaths of these containers: others on this machine are none of ours."""
    told = read(asked, since)
    assert told.complete
    return [(one.cause, one.exit_code, one.out_of_memory) for one in deaths(told.events) if one.name in names]


def test_a_container_out_of_memory(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", f"exec {EATS}", **SMALL)
    made.wait()
    assert ended(asked, since, made.name) == [(Cause.OOM, 137, True)]


def test_a_child_out_of_memory_in_a_container_that_lives_on(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", f"{EATS}; sleep 60", **SMALL)
    for _ in range(100):
        if found := ended(asked, since, made.name):
            break
        time.sleep(0.05)
    assert found == [(Cause.CHILD_OOM, None, True)]
    made.reload()
    assert made.status == "running"


def test_killed_through_the_engine_stopped_and_killed_from_outside(asked, start):
    since = time.time_ns()
    killed, stopped, outside = (start("sleep", "60") for _ in range(3))
    killed.kill()
    stopped.stop(timeout=0)
    outside.reload()
    process = outside.attrs["State"]["Pid"]
    if (
        os.geteuid() == 0 and Path(f"/proc/{process}").exists()
    ):  # neither a virtual machine's nor another user's
        os.kill(process, signal.SIGKILL)
        outside.wait()
        assert ended(asked, since, outside.name) == [(Cause.VANISHED, 137, False)]
    killed.wait()
    stopped.wait()
    assert ended(asked, since, killed.name) == [(Cause.KILLED, 137, False)]
    assert ended(asked, since, stopped.name) == [(Cause.STOPPED, 137, False)]


def test_one_that_removes_itself_leaves_its_code_in_the_events_only(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", "sleep 0.2; exit 3", auto_remove=True)
    for _ in range(100):
        if made.name not in {one.name for one in asked.containers(ended=True)}:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("it is still there")
    assert ended(asked, since, made.name) == [(Cause.FAILED, 3, False)]


def test_two_readings_that_overlap_tell_each_event_once(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", "exit 0")
    made.wait()
    first = read(asked, since)
    made.remove()
    again = first.then(read(asked, since))
    second = read(asked, first.until)
    again = again.then(second)
    mine = [one.action for one in again.events if one.name == made.name]
    assert mine == ["create", "start", "die", "destroy"]
    assert [one.action for one in second.events if one.name == made.name] == ["destroy"]
    assert again.until == second.until


def test_what_the_engine_may_have_forgotten_is_told(asked, engine, start, box):
    since = time.time_ns()
    made = start("sleep", "60")
    assert [one.action for one in read(asked, since).events if one.name == made.name] == ["create", "start"]
    tagged = engine.images.get(box)
    for _ in range(REMEMBERED):
        tagged.tag("evalharness-test-noise", "v1")
    engine.images.remove("evalharness-test-noise:v1", noprune=True)
    told = read(asked, since)
    assert not told.complete
    assert [one.action for one in told.events if one.name == made.name] == []
