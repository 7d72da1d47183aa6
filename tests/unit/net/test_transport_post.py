from __future__ import annotations

import math
import time

import pytest

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net import (
    AnswerLost,
    ConnectFailed,
    HttpStatus,
    Limits,
    NotJson,
    Pool,
    Redirected,
)


def test_a_post_carries_json(connect, serve, wire):
    server = serve(wire.reply({"id": "x"}))
    assert connect(server.url).post_json("/p", {"a": [1, "é"]}).json() == {"id": "x"}
    sent = server.requests[0]
    assert (sent.method, sent.json()) == ("POST", {"a": [1, "é"]})
    assert sent.headers["content-type"] == "application/json"


def test_a_post_without_body(connect, serve, wire):
    server = serve(wire.reply({}))
    connect(server.url).post_json("/p")
    assert server.requests[0].body == b""
    assert "content-type" not in server.requests[0].headers


def test_a_body_that_is_no_json_is_not_sent(connect, serve, wire):
    server = serve(wire.reply({}))
    with pytest.raises(ValueError, match="JSON"):
        connect(server.url).post_json("/p", {"a": math.nan})
    assert server.requests == []


def test_a_refused_connection_is_tried_again(connect, nobody):
    with pytest.raises(ConnectFailed) as caught:
        connect(nobody.url).post_json("/p", {})
    assert caught.value.attempts == 4
    assert not caught.value.sent


@pytest.mark.parametrize(
    "fate",
    ["reset", "reset in the answer", "hangs up", "half an answer", "garbage", "silence", "drip"],
)
def test_whatever_may_have_been_accepted_is_sent_once(connect, serve, wire, clock, fate):
    whole = wire.reply({"id": "x" * 3000})
    answers = {
        "reset": wire.reset,
        "reset in the answer": wire.reset_after(whole[:40]),
        "hangs up": wire.hang_up_after(b""),
        "half an answer": wire.hang_up_after(whole[:-9]),
        "garbage": wire.hang_up_after(b"\x16\x03\x01\r\n\r\n"),
        "silence": wire.silent,
        "drip": wire.drip(whole),
    }
    server = serve(answers[fate])
    started = time.monotonic()
    with pytest.raises(AnswerLost) as caught:
        connect(server.url).post_json("/p", {}, deadline=Deadline.after(clock, 0.5))
    assert time.monotonic() - started < 50
    while not server.requests and time.monotonic() - started < 60:  # it may be read later than it is given up
        time.sleep(0.01)
    assert len(server.requests) == 1
    assert caught.value.sent
    assert clock.waits == []


def test_a_deadline_that_is_over_by_then_is_told_as_such(connect, serve, wire, clock):
    with pytest.raises(AnswerLost, match="no whole answer in time"):
        connect(serve(wire.silent).url).post_json("/p", {}, deadline=Deadline.after(clock, 0.0))


@pytest.mark.parametrize("status", [400, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504])
def test_no_status_is_a_reason_to_post_again(connect, serve, wire, status):
    server = serve(wire.reply({"detail": "no"}, status, [("Retry-After", "1")]), wire.reply({}))
    with pytest.raises(HttpStatus) as caught:
        connect(server.url).post_json("/p", {})
    assert caught.value.status == status
    assert len(server.requests) == 1


def test_except_a_limit_that_rejected_it_before_it_ran(connect, serve, wire, clock):
    rejected = wire.reply(
        {"detail": {"type": "api_rate_limit_exceeded", "retry_after_seconds": 3}},
        429,
        [("X-RateLimit-Outcome", "rejected"), ("Retry-After", "3")],
    )
    server = serve(rejected, rejected, wire.reply({"id": 1}))
    assert connect(server.url).post_json("/p", {}).json() == {"id": 1}
    assert len(server.requests) == 3
    assert all(3 <= wait <= 3.25 for wait in clock.waits)


def test_the_limit_s_patience_ends_too(connect, serve, wire):
    rejected = wire.reply(None, 429, [("X-RateLimit-Outcome", "rejected"), ("Retry-After", "600")])
    server = serve(rejected)
    with pytest.raises(HttpStatus) as caught:
        connect(server.url).post_json("/p", {})
    assert caught.value.refused_before_execution
    assert len(server.requests) == 1


def test_an_error_s_status_counts_even_if_its_body_is_lost(connect, serve, wire):
    server = serve(wire.hang_up_after(wire.reply({"detail": "x" * 100}, 422)[:-20]))
    with pytest.raises(HttpStatus) as caught:
        connect(server.url).post_json("/p", {})
    assert caught.value.status == 422


def test_a_page_is_no_answer_to_a_post(connect, serve, wire):
    with pytest.raises(NotJson, match="text/html"):
        connect(serve(wire.reply("<p>", content_type="text/html")).url).post_json("/p", {}).json()


def test_a_post_is_not_redirected(connect, serve, wire):
    elsewhere = serve(wire.reply({}))
    with pytest.raises(Redirected):
        connect(serve(wire.reply("", 307, [("Location", elsewhere.url)])).url).post_json("/p", {})
    assert elsewhere.requests == []


def test_a_post_never_uses_a_kept_connection(connect, serve, wire):
    """The server may close a kept connection while the POST is on its way: an answer lost without need."""
    server = serve(wire.reply(1))
    transport = connect(server.url, limits=Limits())
    transport.get("/x")
    transport.post_json("/p", {})
    transport.post_json("/p", {})
    transport.get("/x")
    assert server.connections == 3


def test_what_carries_single_requests_can_be_put_around_the_pool(connect, serve, wire):
    carried = []

    class Watched(Pool):
        def handle_request(self, request):
            carried.append((request.method, request.url.path))
            return super().handle_request(request)

    server = serve(wire.reply({}, 503), wire.reply({}), wire.reply({}))
    with connect(server.url, carrier=Watched) as transport:
        transport.get_json("/a")
        transport.post_json("/b", {})
    assert carried == [("GET", "/a"), ("GET", "/a"), ("POST", "/b")]
