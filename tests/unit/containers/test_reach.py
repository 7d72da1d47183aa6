"""What was heard of a container that has already gone, on machines that take their time."""

import socket
import threading
from types import SimpleNamespace

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.containers.reach import Reached, reaches_host

LATE = 1.2


@pytest.fixture
def engine():
    """An engine whose container ends at once with this code, and what it has said arrives late, if at all."""
    late = []

    def made(code, *, speaks=True):
        def run_once(_image, command, **_):
            port, word = int(command[-2]), command[-1]

            def arrive():
                with socket.create_connection(("127.0.0.1", port)) as speaker:
                    speaker.sendall(word.encode())

            if speaks:
                late.append(threading.Timer(LATE, arrive))
                late[-1].start()
            return code, "no route"

        return SimpleNamespace(clock=SystemClock(), run_once=run_once)

    yield made
    for one in late:
        one.join()


def test_what_a_container_has_said_by_its_own_account_is_waited_for(engine, monkeypatch):
    monkeypatch.setattr("pytest_evalharness.containers.reach._QUEUED", 300.0)
    found = reaches_host(engine(0), "box", bind="127.0.0.1")
    assert found.state is Reached.YES, found


def test_what_it_failed_to_say_is_not(engine):
    found = reaches_host(engine(1, speaks=False), "box", bind="127.0.0.1")
    assert found.state is Reached.NO
    assert "ended with code 1: no route" in found.words
