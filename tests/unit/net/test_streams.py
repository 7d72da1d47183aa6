"""Streams: the token goes to its own host only, no address leads where only this machine reaches, bodies come as they are."""

import gzip
import threading

import pytest

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net import AnswerLost, DeadlineExceeded, HttpStatus, NotSent, Redirected, Streams

SECRET = "s3cret-t0ken"


@pytest.fixture
def streams(clock):
    opened = []

    def make(server, **options):
        base = server if isinstance(server, str) else f"{server.url}/api/observatory"
        given = {"connect": 60.0, "read": 60.0, **options}
        found = Streams(base, headers={"Authorization": f"Bearer {SECRET}"}, environ={}, **given)
        opened.append(found)
        return found

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def soon(clock):
    return Deadline.after(clock, 300.0)


def body(streams, address, deadline, **options):
    with streams.open(address, deadline=deadline, **options) as answer:
        return b"".join(answer.chunks)


def test_a_path_is_asked_with_the_token_and_an_address_without(serve, wire, streams, soon):
    server = serve(wire.reply(b"bytes"))
    found = streams(server)

    assert body(found, "/v2/x", soon) == body(found, f"{server.url}/api/observatory/v2/x", soon) == b"bytes"

    own, given = server.requests
    assert own.headers["authorization"] == f"Bearer {SECRET}"
    assert "authorization" not in given.headers
    assert own.target == given.target == "/api/observatory/v2/x"
    assert own.headers["accept-encoding"] == "identity"
    assert own.headers["user-agent"].startswith("pytest-evalharness/")


def test_a_redirect_out_of_the_api_loses_the_token(serve, wire, streams, soon):
    storage = serve(wire.reply(b"stored"))
    server = serve(wire.reply(b"", 302, [("Location", f"{storage.url}/signed?x=1")]))

    assert body(streams(server), "/v2/x", soon, headers={"Range": "bytes=2-"}) == b"stored"

    (asked,) = storage.requests
    assert "authorization" not in asked.headers
    assert asked.headers["range"] == "bytes=2-"


def test_a_redirect_below_the_api_keeps_it_and_one_beside_it_does_not(serve, wire, streams, soon):
    server = serve(
        wire.reply(b"", 307, [("Location", "/api/observatory/v2/y")]),
        wire.reply(b"", 307, [("Location", "/elsewhere")]),
        wire.reply(b"there"),
    )

    assert body(streams(server), "/v2/x", soon) == b"there"

    assert ["authorization" in request.headers for request in server.requests] == [True, True, False]


def test_redirects_without_an_end(serve, wire, streams, soon):
    server = serve(wire.reply(b"", 302, [("Location", "/api/observatory/v2/x")]))

    with pytest.raises(Redirected):
        body(streams(server), "/v2/x", soon)

    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("https://league.example/api", "http://league.example/x"),
        ("https://league.example/api", "https://127.0.0.1/x"),
        ("https://league.example/api", "https://localhost:8443/x"),
        ("https://league.example/api", "https://[::1]/x"),
        ("http://127.0.0.1:1/api", "file:///etc/passwd"),
        ("http://127.0.0.1:1/api", "conductor://replays/x"),
        ("http://127.0.0.1:1/api", "https://"),
        ("http://127.0.0.1:1/api", "http://[bad"),
    ],
)
def test_addresses_that_lead_where_they_should_not(streams, soon, base, address):
    with pytest.raises(NotSent):
        body(streams(base), address, soon)


def test_bodies_are_not_unpacked(serve, wire, streams, soon):
    packed = gzip.compress(b"x" * 1000)
    server = serve(wire.reply(packed, headers=[("Content-Encoding", "gzip")]))

    assert body(streams(server), "/v2/x", soon) == packed


def test_errors_are_told_without_secrets(serve, wire, streams, soon):
    server = serve(wire.reply(f"no {SECRET}=", 403))

    with pytest.raises(HttpStatus) as caught:
        body(streams(server), f"{server.url}/x?signature=abc", soon)

    assert caught.value.status == 403
    assert "signature" not in str(caught.value)


def test_a_body_that_breaks_is_lost_in_the_middle(serve, wire, streams, soon):
    server = serve(wire.reset_after(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"))
    came = []

    with streams(server).open("/v2/x", deadline=soon) as answer, pytest.raises(AnswerLost):
        came.extend(answer.chunks)

    assert b"".join(came) in {b"half", b""}  # a reset may take back what was not read


def test_a_body_that_stops_coming(serve, wire, streams, soon):
    def stop(connection, request):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        wire.silent(connection, request)

    found, begun = streams(serve(stop), read=0.3), []

    def read():
        with found.open("/v2/x", deadline=soon) as answer:
            begun.append(answer.status)
            list(answer.chunks)

    while not begun:  # on a busy machine the beginning may be late too
        with pytest.raises(DeadlineExceeded):
            read()


def test_nobody_sees_the_token_in_it(streams):
    found = streams("https://league.example/api", stop=threading.Event())

    assert SECRET not in repr(found)
    assert all(SECRET not in repr(value) for value in vars(found).values())
