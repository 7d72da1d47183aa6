import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evalharness.ledger.ownership import Owner, ProcessLiveness

BOOT = "9ecef37b-69b1-4fd8-92b3-934f53830b74"


@pytest.fixture
def proc(tmp_path):
    """A /proc of our own making."""
    root = tmp_path / "proc"
    (root / "sys/kernel/random").mkdir(parents=True)
    (root / "sys/kernel/random/boot_id").write_text(BOOT + "\n")
    (root / "self/ns").mkdir(parents=True)
    (root / "self/ns/pid").symlink_to("pid:[4026531836]")
    return root


def process(proc, pid, started="500", state="S", name="python"):
    (proc / str(pid)).mkdir(exist_ok=True)
    fields = [state, *("0" for _ in range(18)), started, *("0" for _ in range(30))]
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


def owner(pid=7, started="500", host="here"):
    return Owner(pid, started, host, "s", "gw0")


@pytest.fixture
def alive(proc):
    return ProcessLiveness("here", proc)


def test_the_current_process(proc):
    process(proc, os.getpid(), started="123")
    me = Owner.current("s", "gw1", proc=proc)
    assert (me.pid, me.started, me.session, me.worker) == (os.getpid(), "123", "s", "gw1")
    assert me.host.endswith(" 9ecef37b pid:[4026531836]")
    assert Owner.from_json(me.as_json()) == me
    assert str(me).startswith(f"process {os.getpid()} (gw1) on ")
    assert "9ecef" not in str(me)


def test_another_boot_or_pid_namespace_is_another_host(proc):
    before = Owner.current("s", proc=proc).host
    (proc / "self/ns/pid").unlink()
    (proc / "self/ns/pid").symlink_to("pid:[1]")
    other_container = Owner.current("s", proc=proc).host
    (proc / "sys/kernel/random/boot_id").write_text("00000000")
    other_boot = Owner.current("s", proc=proc).host
    assert len({before, other_container, other_boot}) == 3


def test_without_proc_there_is_a_pid_and_a_host_name(tmp_path):
    me = Owner.current("s", proc=tmp_path / "none")
    assert me.started == ""
    assert me.host
    assert " " not in me.host


def test_a_process_that_runs_is_alive(proc, alive):
    process(proc, 7)
    assert alive(owner(), 5, speaks=True)


def test_one_whose_pid_is_gone_is_dead(alive):
    assert not alive(owner(), 0, speaks=True)
    assert not alive(owner(), 0, speaks=False)


def test_one_whose_pid_was_given_to_another_is_dead(proc, alive):
    process(proc, 7, started="501")
    assert not alive(owner(), 0, speaks=True)


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_zombie_is_dead(proc, alive, state):
    process(proc, 7, state=state)
    assert not alive(owner(), 0, speaks=False)


@pytest.mark.parametrize("name", ["a) S 1 1", "((", "tab\tand space", "Z) Z"])
def test_a_nasty_command_name_does_not_matter(proc, alive, name):
    process(proc, 7, name=name)
    assert alive(owner(), 0, speaks=True)


@pytest.mark.parametrize("text", ["", "7 (python) S", "garbage"])
def test_an_unreadable_stat_is_a_dead_process(proc, alive, text):
    (proc / "7").mkdir()
    (proc / "7/stat").write_text(text)
    assert not alive(owner(), 0, speaks=True)


def test_a_living_poller_that_has_gone_quiet_is_hung(proc, alive):
    process(proc, 7)
    assert alive(owner(), 119, speaks=True)
    assert not alive(owner(), 121, speaks=True)


def test_a_living_process_keeps_its_post_however_long_it_takes(proc, alive):
    process(proc, 7, state="T")
    assert alive(owner(), 1e6, speaks=False)


def test_elsewhere_heartbeats_decide(alive):
    assert alive(owner(host="there"), 29, speaks=True)
    assert not alive(owner(host="there"), 31, speaks=True)
    assert alive(owner(host="there"), 299, speaks=False)
    assert not alive(owner(host="there"), 301, speaks=False)


def test_without_proc_a_missing_pid_is_proof_and_a_present_one_is_not(tmp_path):
    alive = ProcessLiveness("here", tmp_path / "none")
    nobody = 2**30  # beyond what any system gives: the pid of a process that has ended may be given again
    assert not alive(owner(nobody, ""), 0, speaks=True)
    assert alive(owner(os.getpid(), ""), 29, speaks=True)
    assert not alive(owner(os.getpid(), ""), 31, speaks=True)
    assert alive(owner(1, ""), 29, speaks=True)  # not ours to signal, but there


def test_the_limits_are_settings(proc):
    alive = ProcessLiveness("here", proc, remote=1, hung=2, mute=3)
    process(proc, 7)
    assert not alive(owner(), 2, speaks=True)
    assert not alive(owner(host="there"), 1, speaks=True)
    assert not alive(owner(host="there"), 3, speaks=False)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_this_very_process_is_alive_and_a_real_zombie_is_not():
    me = Owner.current("s")
    alive = ProcessLiveness(me.host)
    assert alive(me, 0, speaks=True)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
        theirs = Owner(child.pid, started, me.host, "s")
        assert alive(theirs, 0, speaks=True)
        child.kill()
        # Waits for its end without reaping it.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(theirs, 0, speaks=True)
    finally:
        child.kill()
        child.communicate()
    assert not alive(theirs, 0, speaks=True)
