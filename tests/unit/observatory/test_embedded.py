"""The embedded league's process: a start that fails says why to everybody, and a death is noticed."""

import fcntl
import os
import signal
import socket
import sys
import threading
import time

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import ServerUnreachable
from pytest_evalharness.observatory import embedded, turns
from pytest_evalharness.observatory.embedded import EmbeddedServer, await_health

READY = """import os, sys
print('{"api": "here"}', flush=True)
while os.read(0, 4096):
    pass
"""
FAILING = "import sys; sys.exit('arena: the reason')"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server whose process runs `program(text)` in place of the league's module."""
    made = EmbeddedServer(tmp_path, seed=7)
    popen = embedded.subprocess.Popen
    starts = []

    def program(text):
        def start(command, **words):
            starts.append(command)
            return popen([sys.executable, "-c", text], **words)

        monkeypatch.setattr(embedded.subprocess, "Popen", start)

    made.program, made.starts = program, starts
    yield made
    made.stop()


def test_a_failed_start_is_told_again_and_not_tried_again(server):
    server.program(FAILING)
    with pytest.raises(ServerUnreachable) as first:
        server.start()
    assert "did not start: arena: the reason" in first.value.what
    with pytest.raises(ServerUnreachable) as second:
        server.start()
    assert second.value is first.value
    assert len(server.starts) == 1
    assert server.gone() == first.value.what


def test_a_fault_that_there_is_not_is_corrected_and_nothing_is_to_be_installed(server):
    server.program("import sys; sys.exit('--fault: no fault is called \\'wobble\\'; there are wedged-seat')")
    with pytest.raises(ServerUnreachable, match="no fault is called") as refused:
        server.start()
    assert "correct --eval-arena-fault" in refused.value.next_step
    assert "pip install" not in refused.value.next_step


def test_the_last_words_of_another_run_are_not_this_ones(server):
    server.home.mkdir(parents=True)
    (server.home / "server.log").write_text("a reason of yesterday\n")
    server.program("pass")
    with pytest.raises(ServerUnreachable, match="did not start: it said nothing"):
        server.start()


def test_a_home_that_another_run_holds_too_long_is_told_and_nothing_is_to_be_installed(tmp_path):
    waits = []
    server = EmbeddedServer(tmp_path, seed=7, on_wait=lambda: waits.append("told"), patience=0.0)
    server.home.mkdir(parents=True)
    with (server.home / "arena.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ServerUnreachable, match="another arena is running") as refused:
            server.start()
    server.stop()
    assert waits == ["told"]
    assert refused.value.next_step.startswith("wait until the other run on this home has ended")
    assert "pip" not in refused.value.next_step


def test_a_run_that_waits_for_its_turn_can_be_stopped(tmp_path):
    waits = threading.Event()
    server = EmbeddedServer(tmp_path, seed=7, on_wait=waits.set)
    server.home.mkdir(parents=True)
    with (server.home / "arena.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        server.start_when_needed()
        with socket.create_connection(("127.0.0.1", server._port)):
            assert waits.wait(60)
            server.stop()
    assert "another arena is running" in server.gone()


@pytest.mark.parametrize(
    ("text", "age", "told"),
    [("http://here/api", 0, True), ("http://here/api", 60, False), ("http://there/api", 0, False)],
)
def test_a_note_counts_while_it_is_renewed_and_ours(tmp_path, text, age, told):
    note = tmp_path / "waiting.txt"
    note.write_text(text)
    assert turns.waits(tmp_path, "http://here/api", note.stat().st_mtime + age) is told
    note.unlink()
    assert not turns.waits(tmp_path, "http://here/api", 0.0)


def test_a_home_that_cannot_be_made_is_a_failed_start(tmp_path):
    (tmp_path / "file").write_text("")
    server = EmbeddedServer(tmp_path / "file", seed=7)
    for _ in range(2):
        with pytest.raises(ServerUnreachable, match="Not a directory"):
            server.start()
    server.stop()


def test_a_worker_is_told_why_the_server_did_not_start(server):
    server.program(FAILING)
    server.start_when_needed()
    with pytest.raises(ServerUnreachable) as told:
        await_health(server.api, SystemClock(), home=server.home)
    with pytest.raises(ServerUnreachable) as original:
        server.start()
    assert str(told.value) == str(original.value)
    with pytest.raises(ServerUnreachable, match="does not answer"):
        await_health(server.api, SystemClock())


def test_a_failure_of_another_address_is_not_believed(server):
    server.home.mkdir(parents=True)
    (server.home / "failed.txt").write_text("http://127.0.0.1:1/api\nanother run's reason\n")
    api = server.api
    server.stop()
    with pytest.raises(ServerUnreachable, match="does not answer"):
        await_health(api, SystemClock(), home=server.home)


@pytest.mark.parametrize("begin", ["start", "start_when_needed"])
def test_an_old_failure_is_forgotten(server, begin):
    server.home.mkdir(parents=True)
    (server.home / "failed.txt").write_text("old")
    server.program(READY)
    getattr(server, begin)()
    assert not (server.home / "failed.txt").exists()


def test_a_server_that_lives_is_not_gone(server):
    server.program(READY)
    assert server.gone() == ""
    server.start()
    server.start()
    assert len(server.starts) == 1
    assert server.gone() == ""
    server.stop()
    assert server.gone() == ""


def wait_until_gone(server):
    until = time.monotonic() + 60
    while not (words := server.gone()):
        assert time.monotonic() < until
        time.sleep(0.01)
    return words


def test_a_server_that_ends_is_gone_with_its_last_words(server):
    server.program("""print('{"api": "here"}', flush=True); import sys; sys.exit('the disk is full')""")
    server.start()
    assert wait_until_gone(server) == (
        "the embedded league ended by itself with exit code 1; its last words: the disk is full"
    )


def test_a_server_that_is_killed_is_gone(server):
    server.program(READY)
    server.start()
    os.kill(server._process.pid, signal.SIGKILL)
    assert wait_until_gone(server) == "the embedded league was killed by signal 9"
