"""Bodies straight off the socket: what was promised and no more, whoever breaks off; a connection serves again only when it is clean."""

import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpcore
import pytest

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net import AnswerLost, DeadlineExceeded, HttpStatus, NotSent, Streams, downloads
from pytest_evalharness.net.bulk import BulkStream, bulk
from pytest_evalharness.net.sockets import Patience, Stream

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def soon(clock):
    return Deadline.after(clock, 300.0)


@pytest.fixture(params=["bulk", "in pieces"])
def fetch(request, monkeypatch, clock, soon):
    """The body of a path of a server; one client for all of a test. Also as on platforms whose sockets keep no time."""
    if request.param == "in pieces":
        monkeypatch.setattr(downloads, "bulk", lambda stream, _: stream)
    opened = {}

    def call(server, *, deadline=soon, most=None, stop=None, environ=None, headers=None):
        base = server if isinstance(server, str) else server.url
        if base not in opened:
            opened[base] = Streams(
                f"{base}/api", headers={}, environ=environ or {}, connect=60.0, read=60.0, stop=stop
            )
        with opened[base].open("/x", deadline=deadline, headers=headers) as answer:
            found = b""
            for piece in answer.chunks:
                found += piece
                if most is not None and len(found) >= most:
                    break
            return found

    call.opened = opened
    yield call
    for each in opened.values():
        each.close()


def sized(body, length=None):
    return HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) if length is None else length) + body


def in_pieces(data, rng):
    """Send an answer in pieces of any size, wherever they break it, and then wait for the client to go."""

    def step(connection, _request):
        at = 0
        while at < len(data):
            size = rng.choice([1, 3, 50, 4096, 70_000, 300_000])
            connection.sendall(data[at : at + size])
            at += size
        connection.settimeout(300)
        connection.recv(1)

    return step


@pytest.mark.parametrize("seed", range(6))
def test_a_body_comes_whole_however_it_is_cut(serve, fetch, seed):
    rng = random.Random(seed)
    body = rng.randbytes(rng.choice([0, 1, 5000, 1_500_000]))

    assert fetch(serve(in_pieces(sized(body), rng))) == body


def test_a_chunked_body_comes_whole(serve, fetch):
    body = random.Random(1).randbytes(400_000)
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:300_000], body[300_000:])
    )
    raw = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    server = serve(raw)

    assert fetch(server) == fetch(server) == body
    assert server.connections == 1


def test_chunks_count_where_a_length_is_told_too(serve, fetch):
    raw = HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

    assert fetch(serve(raw)) == b"hello"


def test_a_body_without_a_length_ends_with_the_connection(serve, wire, fetch):
    server = serve(wire.hang_up_after(b"HTTP/1.0 200 OK\r\n\r\nold"))

    assert fetch(server) == fetch(server) == b"old"
    assert server.connections == 2


def test_a_connection_serves_again(serve, fetch):
    server = serve(
        sized(b"first"), b"HTTP/1.1 103 Early Hints\r\n\r\n" + sized(b"second"), sized(b""), sized(b"last")
    )

    assert [fetch(server) for _ in range(4)] == [b"first", b"second", b"", b"last"]
    assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Connection: close\r\nContent-Length: 5\r\n\r\nfirst",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nfirst",
        sized(b"first and more than was promised", 5),
    ],
    ids=["close", "old", "too much"],
)
def test_a_connection_that_is_not_clean_does_not(serve, fetch, answer):
    server = serve(answer, sized(b"again"))

    assert [fetch(server), fetch(server)] == [b"first", b"again"]
    assert server.connections == 2


def test_nor_does_one_whose_body_was_left_behind(serve, fetch):
    server = serve(sized(bytes(3_000_000)), sized(b"again"))

    assert len(fetch(server, most=1)) < 3_000_000
    assert fetch(server) == b"again"
    assert server.connections == 2


def test_nor_one_that_the_server_has_closed_meanwhile(serve, wire, fetch):
    server = serve(wire.hang_up_after(sized(b"first")), sized(b"again"))

    assert fetch(server) == b"first"
    (pool,) = fetch.opened[server.url]._carriers.values()
    ((kept, _),) = pool._idle
    until = time.monotonic() + 60
    while (
        not kept.get_extra_info("is_readable") and time.monotonic() < until
    ):  # the end has come to this side
        time.sleep(0.001)
    assert fetch(server) == b"again"


def test_an_error_is_told_and_the_connection_serves_again(serve, wire, fetch):
    server = serve(wire.reply({"detail": "gone"}, 410), sized(b"there"))

    with pytest.raises(HttpStatus) as caught:
        fetch(server)
    assert caught.value.status == 410
    assert "gone" in str(caught.value)
    assert fetch(server) == b"there"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (sized(b"half", 10), "after 4 of 10 bytes"),
        (b"", "without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-", "without an answer"),
        (HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", "Content-Length"),
        (HEAD + b"Content-Length: -4\r\n\r\nabcde", "Content-Length"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nno size\r\n", "chunk"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe", "peer closed"),
        (b"220 mail.example ESMTP\r\n\r\n", "status line"),
        (HEAD + b"X: " + b"x" * 200_000, "too long"),
    ],
)
def test_answers_that_are_none(serve, wire, fetch, answer, why):
    with pytest.raises(AnswerLost, match=f"(?i){why}"):
        fetch(serve(wire.hang_up_after(answer)))


def test_a_header_that_would_be_another_is_not_sent(serve, fetch):
    server = serve(sized(b"x"))

    with pytest.raises(NotSent):
        fetch(server, headers={"If-Match": '"1"\r\nAuthorization: mine'})
    assert server.requests == []


@pytest.mark.parametrize("begun", [b"", HEAD + b"Content-Length: 3000\r\n\r\n"], ids=["head", "body"])
def test_a_byte_now_and_then_does_not_outlast_the_deadline(serve, wire, clock, fetch, begun):
    def step(connection, request):
        connection.sendall(begun)
        wire.drip(b"HTTP/1.1 200 OK" + b"x" * 3000)(connection, request)

    with pytest.raises(DeadlineExceeded):
        fetch(serve(step), deadline=Deadline.after(clock, 0.5))


def test_a_wait_for_bytes_ends_when_the_run_does(serve, wire, fetch):
    stop = threading.Event()

    def step(connection, request):
        connection.sendall(sized(b"half", 10))
        stop.set()
        wire.silent(connection, request)

    with pytest.raises(DeadlineExceeded):
        fetch(serve(step), stop=stop)


ENDLESS = {
    "head": (HEAD + b"X: ", b"x"),
    "heads": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x"),
}
"""How an answer begins, and what comes of it again and again."""


def endless(begun, again, *, heard=lambda _: None, every=0.02):
    def step(connection, _request):
        gone = threading.Event()
        try:
            connection.sendall(begun)
            until, count = time.monotonic() + 300, 0
            while time.monotonic() < until:  # the client goes long before
                connection.sendall(again)
                heard(count)
                count += 1
                gone.wait(every)
        except OSError:
            pass

    return step


@pytest.mark.parametrize("what", ENDLESS)
def test_so_does_the_wait_for_what_comes_bit_by_bit(serve, clock, fetch, what):
    stop, deadline = threading.Event(), Deadline.after(clock, 120.0)
    server = serve(endless(*ENDLESS[what], heard=lambda count: count == 5 and stop.set()))

    with pytest.raises(DeadlineExceeded):
        fetch(server, stop=stop, deadline=deadline)
    assert stop.is_set()
    assert not deadline.expired, "it went on to the deadline"


def test_heads_without_end_do_not_outlast_the_deadline(serve, clock, fetch):
    with pytest.raises(DeadlineExceeded):
        fetch(serve(endless(*ENDLESS["heads"], every=0.0)), deadline=Deadline.after(clock, 0.5))


def test_sixteen_at_once_and_the_next_waits_for_its_turn(serve, clock, soon, fetch):
    server = serve(sized(b"body"))
    with Streams(f"{server.url}/api", headers={}, environ={}, connect=60.0, read=60.0) as streams:
        held = [streams.open("/x", deadline=soon) for _ in range(16)]
        for each in held:
            each.__enter__()
        with (
            pytest.raises(NotSent, match="PoolTimeout"),
            streams.open("/x", deadline=Deadline.after(clock, 0.05)),
        ):
            pass
        held.pop().__exit__(None, None, None)
        with streams.open("/x", deadline=soon) as answer:
            assert b"".join(answer.chunks) == b"body"
        for each in held:
            each.__exit__(None, None, None)
    assert server.connections == 17  # one that was not read to its end, and its successor


def test_many_threads_share_the_connections(serve, fetch):
    server = serve(script=lambda request: sized(request.headers["x-which"].encode() * 30_000))

    def one(which):
        return fetch(server, headers={"X-Which": str(which)}) == str(which).encode() * 30_000

    assert one(99)  # the threads share one client, which is made here
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(100, 160)))
    assert server.connections <= 8


def test_a_proxy_is_asked_where_one_leads_there(serve, fetch):
    proxy = serve(sized(b"through"))

    assert fetch("http://league.example", environ={"http_proxy": proxy.url}) == b"through"

    assert [request.target for request in proxy.requests] == ["http://league.example/api/x"]


class Plain(httpcore.MockStream):
    """A stream that is nothing but its socket."""

    def __init__(self, found):
        super().__init__([])
        self.found = found

    def get_extra_info(self, info):
        return self.found if info == "socket" else super().get_extra_info(info)


@pytest.fixture
def pair():
    """A stream that reads in bulk, and its other end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream = bulk(Stream(Plain(ours), Patience()), Patience())
        assert isinstance(stream, BulkStream)
        yield stream, theirs


class Refusing:
    def setsockopt(self, *_):
        raise OSError("no such option")


class Forgetting:
    def setsockopt(self, *_):
        pass

    def getsockopt(self, _level, _option, size):
        return bytes(size)


@pytest.mark.parametrize("made", [Refusing, Forgetting])
def test_a_socket_that_keeps_no_time_is_read_as_on_other_platforms(made):
    stream = Stream(Plain(made()), Patience())

    assert bulk(stream, Patience()) is stream


def test_what_nobody_takes_is_told(pair):
    stream, theirs = pair

    with pytest.raises(httpcore.WriteTimeout):
        stream.write(bytes(20_000_000), 0.3)
    theirs.close()
    with pytest.raises(httpcore.WriteError):
        stream.write(b"more", 0.3)


def test_what_is_taken_slowly_is_sent_whole(pair):
    stream, theirs = pair
    taken = []

    def take():
        while sum(map(len, taken)) < 5_000_000:
            taken.append(theirs.recv(70_000))

    with ThreadPoolExecutor(1) as pool:
        taking = pool.submit(take)
        stream.write(bytes(5_000_000), 60.0)
        taking.result()
    assert sum(map(len, taken)) == 5_000_000


def test_silence_ends_a_read_and_a_reset_is_told(pair):
    stream, theirs = pair

    theirs.sendall(b"half")
    assert bytes(stream.piece(10, 0.4)) == b"half"
    with pytest.raises(httpcore.ReadTimeout):
        stream.piece(6, 0.2)
    stream._socket.close()
    with pytest.raises(httpcore.ReadError):
        stream.piece(6, 0.2)
