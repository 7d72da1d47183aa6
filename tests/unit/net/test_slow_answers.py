"""Servers that take their time, and more polls than connections: neither is a failure before its own limit."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_evalharness.net import Limits, Pool

USUAL_DEFAULT = 5.0
"""Seconds after which httpx gives up on each step of a call, where nobody says otherwise."""
POLLS = 64
CONNECTIONS = 16


def late(wire, seconds, body=1):
    """An answer after some time, on a connection that is closed then."""

    def step(connection, _request):
        time.sleep(seconds)
        connection.sendall(wire.reply(body, headers=[("Connection", "close")]))

    return step


@pytest.mark.thread(row=22)
@pytest.mark.slow
def test_an_answer_after_the_usual_default_is_waited_for(connect, serve, wire):
    server = serve(late(wire, USUAL_DEFAULT + 0.5, {"status": "running"}))
    assert connect(server.url, limits=Limits()).get_json("/x") == {"status": "running"}
    assert len(server.requests) == 1, "it was asked once, and not given up and asked again"


@pytest.mark.thread(row=22)
def test_no_step_of_a_call_has_a_limit_that_nobody_set(connect, serve, wire):
    """The same without the wait: what each step of a real call is allowed."""
    seen = []

    class Noting(Pool):
        def handle_request(self, request):
            seen.append(request.extensions["timeout"])
            return super().handle_request(request)

    transport = connect(serve(wire.reply(1)).url, limits=Limits(), carrier=Noting)
    transport.get("/x")
    transport.post_json("/x", {})
    (get, post), eight = seen, 8.0
    assert get["connect"] == post["connect"] == Limits().connect
    assert min(get["read"], get["write"], get["pool"]) > eight
    assert min(post["read"], post["write"], post["pool"]) > eight


@pytest.mark.thread(row=22)
def test_more_polls_than_connections_wait_for_their_turn(connect, serve, wire):
    """The wait for a connection counts against the call, not against the server's silence, and nobody is asked twice."""
    lock, at_once, peak = threading.Lock(), 0, 0
    full = threading.Barrier(CONNECTIONS)

    class Patient(Pool):
        """Bears silence, which a busy machine may be the cause of; the wait for a connection is as long as it was."""

        def handle_request(self, request):
            request.extensions["timeout"]["read"] = 60.0
            return super().handle_request(request)

    def step(connection, _request):
        nonlocal at_once, peak
        with lock:
            at_once += 1
            peak = max(peak, at_once)
        full.wait(60)
        time.sleep(0.1)
        with lock:  # before the answer is out: with it the next one may begin
            at_once -= 1
        connection.sendall(wire.reply(1, headers=[("Connection", "close")]))

    server = serve(step)
    # Whoever is served last waits for its connection longer than any silence may last.
    transport = connect(server.url, limits=Limits(connect=60, read=0.3, total=300, tries=1), carrier=Patient)
    together = threading.Barrier(POLLS)

    def poll(number):
        together.wait(60)
        return transport.get_json(f"/v2/experience-requests/{number}")

    started = time.monotonic()
    with ThreadPoolExecutor(POLLS) as pool:
        assert list(pool.map(poll, range(POLLS))) == [1] * POLLS
    assert time.monotonic() - started > 0.3
    assert sorted(int(request.path.rpartition("/")[2]) for request in server.requests) == list(range(POLLS))
    assert peak == CONNECTIONS
