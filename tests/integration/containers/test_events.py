"""How containers die, as a real engine tells it, and what it forgets."""

import os
import signal
import time
from pathlib import Path

import pytest

from pytest_evalharness.containers.events import REMEMBERED, Cause, deaths, read_events
from tests.integration.containers.conftest import PATIENCE, own_name

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


def until(look, enough):
    """What is seen, once it is enough: an engine tells of what has happened a moment after it."""
    deadline = time.monotonic() + PATIENCE
    while not enough(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    return seen


def actions(told, name):
    return [one.action for one in told.events if one.name == name]


def test_a_container_out_of_memory(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", f"exec {EATS}", **SMALL)
    expected = [(Cause.OOM, 137, True)]
    until(lambda: ended(asked, since, made.name), lambda found: found == expected)


def test_a_child_out_of_memory_in_a_container_that_lives_on(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", f"{EATS}; sleep 600", **SMALL)
    found = until(lambda: ended(asked, since, made.name), bool)
    assert set(found) == {(Cause.CHILD_OOM, None, True)}
    made.reload()
    assert made.status == "running"


def test_killed_through_the_engine_stopped_and_killed_from_outside(asked, start):
    since = time.time_ns()
    killed, stopped, outside = (start("sleep", "600") for _ in range(3))

    def expect(container, cause):
        until(lambda: ended(asked, since, container.name), lambda found: found == [(cause, 137, False)])

    killed.kill()
    stopped.stop(timeout=0)
    outside.reload()
    process = outside.attrs["State"]["Pid"]
    if (
        os.geteuid() == 0 and Path(f"/proc/{process}").exists()
    ):  # neither a virtual machine's nor another user's
        os.kill(process, signal.SIGKILL)
        expect(outside, Cause.VANISHED)
    expect(killed, Cause.KILLED)
    expect(stopped, Cause.STOPPED)


def test_one_that_removes_itself_leaves_its_code_in_the_events_only(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", "sleep 0.2; exit 3", auto_remove=True)
    until(lambda: {one.name for one in asked.containers(ended=True)}, lambda names: made.name not in names)
    assert ended(asked, since, made.name) == [(Cause.FAILED, 3, False)]


def test_two_readings_that_overlap_tell_each_event_once(asked, start):
    since = time.time_ns()
    made = start("sh", "-c", "exit 0")
    first = until(lambda: read(asked, since), lambda told: "die" in actions(told, made.name))
    made.remove()
    again = first.then(read(asked, since))
    second = read(asked, first.until)
    again = again.then(second)
    # Sorted: engines may tell the end of a short life before its start.
    assert sorted(actions(again, made.name)) == ["create", "destroy", "die", "start"]
    assert actions(second, made.name) == ["destroy"]
    assert again.until == second.until


@pytest.mark.usefixtures("alone")  # nobody else's events would be there any more either
def test_what_the_engine_may_have_forgotten_is_told(asked, engine, start, box):
    since = time.time_ns()
    made = start("sleep", "600")
    assert actions(read(asked, since), made.name) == ["create", "start"]
    tagged, noise = engine.images.get(box), own_name()
    for _ in range(REMEMBERED):
        tagged.tag(noise, "v1")
    engine.images.remove(f"{noise}:v1", noprune=True)
    told = read(asked, since)
    assert not told.complete
    assert actions(told, made.name) == []
