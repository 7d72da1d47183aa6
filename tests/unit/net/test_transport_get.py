from __future__ import annotations

import dataclasses
import gzip
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net import (
    AnswerLost,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatus,
    Limits,
    NotJson,
    Redirected,
    TooLarge,
)
from pytest_evalharness.net.answer import Answer
from pytest_evalharness.net.transport import user_agent

# ------------------------------------------------------------------ nobody there


def test_a_refused_connection_is_tried_again_and_then_told(connect, clock, nobody):
    told = []
    transport = connect(nobody.url, on_retry=lambda reason, seconds: told.append((reason, seconds)))
    with pytest.raises(ConnectFailed) as caught:
        transport.get_json("/x")
    assert caught.value.attempts == 4
    assert not caught.value.sent
    assert len(clock.waits) == len(told) == 3
    assert [seconds for _, seconds in told] == clock.waits
    assert "refused" in str(caught.value)
    assert caught.value.seconds >= sum(clock.waits)


def test_the_pauses_grow(connect, clock, nobody):
    with pytest.raises(ConnectFailed):
        connect(nobody.url, limits=Limits(tries=8, total=1e6)).get("/x")
    ceilings = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert all(top / 2 <= wait <= top for wait, top in zip(clock.waits, ceilings, strict=True))


def test_a_host_that_does_not_exist_is_a_failed_connection(connect):
    with pytest.raises(ConnectFailed, match="no such host"):
        connect("http://nowhere.invalid", limits=Limits(tries=1)).get("/x")


def test_a_full_backlog_ends_at_the_connect_limit(connect):
    # A listening socket that nobody accepts from, filled up: further connections get no answer at all.
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(0)
    port = listening.getsockname()[1]
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.settimeout(0)
        filler.connect_ex(("127.0.0.1", port))
        fillers.append(filler)
    started = time.monotonic()
    try:
        with pytest.raises((ConnectFailed, DeadlineExceeded)):
            connect(f"http://127.0.0.1:{port}", limits=Limits(connect=0.1, read=0.1, total=600, tries=1)).get(
                "/x"
            )
    finally:
        for each in (*fillers, listening):
            each.close()
    assert time.monotonic() - started < 60  # the system alone tries for two minutes


# --------------------------------------------------------------- silence, trickle


def test_a_silent_server_ends_at_the_deadline(connect, serve, wire, clock):
    server = serve(wire.silent)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        connect(server.url, limits=Limits(read=200)).get("/x", deadline=Deadline.after(clock, 0.5))
    assert time.monotonic() - started < 100


def test_a_silent_try_is_repeated_within_the_total(connect, serve, wire):
    server = serve(wire.silent, wire.reply({"ok": 1}))
    # On a busy machine an answer may come later than so short a silence is borne: then it is asked for once more.
    limits = Limits(read=0.3, total=1000.0, tries=1000)
    assert connect(server.url, limits=limits).get_json("/x") == {"ok": 1}
    assert len(server.requests) >= 2


@pytest.mark.parametrize("where", ["headers", "body"])
def test_a_dripping_server_ends_at_the_deadline(connect, serve, wire, clock, where):
    whole = wire.reply({"a": "x" * 3000})
    head, blank, body = whole.partition(b"\r\n\r\n")

    def drip_body(connection, request):
        connection.sendall(head + blank)
        wire.drip(body)(connection, request)

    server = serve(wire.drip(whole) if where == "headers" else drip_body)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        # Every single byte comes well within the read limit.
        connect(server.url, limits=Limits(read=60)).get("/x", deadline=Deadline.after(clock, 0.5))
    assert time.monotonic() - started < 50


def test_the_total_limit_holds_without_a_deadline_of_the_callers(connect, serve, wire):
    server = serve(wire.drip(wire.reply({"a": "x" * 3000})))
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        connect(server.url, limits=Limits(read=60, total=0.5)).get("/x")
    assert time.monotonic() - started < 50


# --------------------------------------------------------------------- breaking off


def test_a_reset_is_repeated(connect, serve, wire):
    server = serve(wire.reset, wire.reset_after(b"HTTP/1.1 200 OK\r\nContent-Le"), wire.reply([1]))
    assert connect(server.url).get_json("/x") == [1]
    assert len(server.requests) == 3


def test_an_answer_that_breaks_off_is_repeated_then_lost(connect, serve, wire):
    half = wire.reply({"a": "x" * 100})[:-50]
    server = serve(wire.hang_up_after(half))
    with pytest.raises(AnswerLost) as caught:
        connect(server.url).get_json("/x")
    assert caught.value.attempts == 4
    assert len(server.requests) == 4


def test_a_kept_connection_that_the_server_has_closed_costs_nothing(connect, serve, wire):
    server = serve(wire.reply(1), wire.hang_up_after(wire.reply(2)), wire.reply(3))
    transport = connect(server.url)
    assert [transport.get_json("/x") for _ in range(3)] == [1, 2, 3]
    assert server.connections == 2


# ------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_transient_statuses_are_repeated(connect, serve, wire, status):
    server = serve(wire.reply({"detail": "busy"}, status), wire.reply({"ok": True}))
    assert connect(server.url).get_json("/x") == {"ok": True}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 501])
def test_final_statuses_are_not(connect, serve, wire, status):
    server = serve(wire.reply({"detail": "no"}, status, [("X-Request-Id", "r-17")]))
    with pytest.raises(HttpStatus) as caught:
        connect(server.url).get("/x")
    assert len(server.requests) == 1
    assert (caught.value.status, caught.value.detail, caught.value.request_id) == (status, "no", "r-17")


def test_a_burst_of_errors_is_survived_but_not_for_ever(connect, serve, wire):
    busy = wire.reply("<h1>Bad gateway</h1>", 502, content_type="text/html")
    assert connect(serve(busy, busy, busy, wire.reply(1)).url).get_json("/x") == 1
    with pytest.raises(HttpStatus, match="HTTP 502: <h1>Bad gateway"):
        connect(serve(busy).url).get_json("/x")


def test_with_a_deadline_of_the_callers_time_decides_and_not_the_count(connect, serve, wire, clock):
    server = serve(*[wire.reply(None, 503)] * 20, wire.reply(1))
    assert connect(server.url).get_json("/x", deadline=Deadline.after(clock, 600)) == 1
    assert len(server.requests) == 21


def test_a_404_may_mean_not_yet(connect, serve, wire, clock):
    server = serve(*[wire.reply({"detail": "Not Found"}, 404)] * 3, wire.reply(1))
    assert connect(server.url).get_json("/x", late_seconds=30) == 1
    with pytest.raises(HttpStatus, match="404"):
        connect(serve(wire.reply(None, 404)).url, limits=Limits(tries=99)).get("/x", late_seconds=3)
    assert sum(clock.waits) < 20


@pytest.mark.parametrize("deadline", [None, 60])
def test_an_early_404_is_a_matter_of_time_and_not_of_tries(connect, serve, wire, standing, deadline):
    missing = wire.reply({"detail": "Not Found"}, 404)
    until = None if deadline is None else Deadline.after(standing, deadline)
    transport = connect(serve(missing).url, limits=Limits(tries=2, total=60), clock=standing)
    with pytest.raises(HttpStatus, match="404"):
        transport.get("/x", late_seconds=30, deadline=until)
    assert 30 <= sum(standing.waits) <= 39


def test_early_404s_leave_the_tries_to_real_failures(connect, serve, wire, standing):
    missing, busy = wire.reply(None, 404), wire.reply(None, 503)
    server = serve(missing, busy, missing, missing, wire.reply(1))
    few = {"limits": Limits(tries=2), "clock": standing}
    assert connect(server.url, **few).get_json("/x", late_seconds=30) == 1
    with pytest.raises(HttpStatus, match="503"):
        connect(serve(missing, busy).url, **few).get_json("/x", late_seconds=30)


def test_the_deadline_ends_the_wait_for_an_early_404(connect, serve, wire, standing):
    transport = connect(serve(wire.reply(None, 404)).url, clock=standing)
    with pytest.raises(HttpStatus, match="404"):
        transport.get("/x", late_seconds=30, deadline=Deadline.after(standing, 5))
    assert sum(standing.waits) <= 5


# ------------------------------------------------------------------------ Retry-After


def test_retry_after_in_seconds_is_obeyed(connect, serve, wire, clock):
    server = serve(wire.reply(None, 429, [("Retry-After", "7")]), wire.reply(1))
    assert connect(server.url).get_json("/x") == 1
    assert 7 <= clock.waits[0] <= 7.25


def test_retry_after_as_a_date_is_obeyed(connect, serve, wire, standing):
    from email.utils import formatdate

    server = serve(
        wire.reply(None, 503, [("Retry-After", formatdate(standing.now() + 9, usegmt=True))]), wire.reply(1)
    )
    assert connect(server.url, clock=standing).get_json("/x") == 1
    assert 9 <= standing.waits[0] <= 9.25


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(connect, serve, wire, clock):
    server = serve(wire.reply(None, 503, [("Retry-After", "3600")]))
    with pytest.raises(HttpStatus) as caught:
        connect(server.url).get("/x")
    assert clock.waits == []
    assert caught.value.headers["retry-after"] == "3600"


@pytest.mark.parametrize("nonsense", ["soon", "nan", "inf", "-5", "Wed, 99 Foo 2026", "", "1" * 400])
def test_a_nonsense_retry_after_does_no_harm(connect, serve, wire, clock, nonsense):
    server = serve(wire.reply(None, 503, [("Retry-After", nonsense)]), wire.reply(1))
    assert connect(server.url).get_json("/x") == 1
    assert clock.waits[0] < 1


# -------------------------------------------------------------------------- stopping


def test_once_stopped_nothing_waits(connect, serve, wire, clock):
    stop = threading.Event()
    stop.set()
    server = serve(wire.reply(None, 503))
    with pytest.raises(HttpStatus):
        connect(server.url, stop=stop).get("/x")
    assert len(server.requests) == 1
    assert clock.waits == []


# ------------------------------------------------------------------------------ bodies


@pytest.mark.parametrize(
    "case",
    [
        ("<html><body>Sign in</body></html>", "text/html", "text/html: <html>"),
        ('{"entries": [1, 2', "application/json", "application/json"),
        ("", "", "(empty)"),
        ('{"score": NaN}', "application/json", "NaN is no JSON number"),
        ("[" * 4000, "application/json", "no JSON"),  # too deep for Python 3.11, unfinished for 3.13
        (b"\xff\xfe\x00", "application/json", "no JSON"),
        ("\x1b]0;owned\x07", "text/plain", "\ufffd]0;owned\ufffd"),
    ],
)
def test_what_is_no_json_is_told_with_its_type_and_beginning(connect, serve, wire, case):
    body, kind, shown = case
    server = serve(wire.reply(body, content_type=kind))
    with pytest.raises(NotJson) as caught:
        connect(server.url).get_json("/x")
    assert shown in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(server.requests) == 1


def test_a_large_body_is_not_read(connect, serve, wire):
    with pytest.raises(TooLarge, match="4096 bytes"):
        connect(serve(wire.reply("x" * 5000)).url).get("/x")


def test_a_compressed_bomb_is_not_read_either(connect, serve, wire):
    packed = gzip.compress(b"x" * 5_000_000)
    server = serve(wire.reply(packed, headers=[("Content-Encoding", "gzip")]))
    with pytest.raises(TooLarge):
        connect(server.url).get("/x")


def test_compression_works_and_lies_are_found(connect, serve, wire):
    encoded = [("Content-Encoding", "gzip")]
    assert connect(serve(wire.reply(gzip.compress(b"[1]"), headers=encoded)).url).get_json("/x") == [1]
    with pytest.raises(NotJson, match="decompressed"):
        connect(serve(wire.reply(b"[1]", headers=encoded)).url).get_json("/x")


def test_bytes_come_as_they_are(connect, serve, wire):
    assert connect(serve(wire.reply(b"\x00\xff")).url).get_bytes("/x") == b"\x00\xff"


def test_garbage_instead_of_http_is_a_broken_connection(connect, serve, wire):
    with pytest.raises(AnswerLost):
        connect(serve(wire.hang_up_after(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")).url).get("/x")


# ---------------------------------------------------------------- what goes out, and where


@pytest.mark.failure_mode(number=30)
def test_what_a_request_looks_like(connect, serve, wire):
    server = serve(wire.reply(1))
    params = {"mine": True, "limit": 5, "cursor": None, "ids": ["a", "b"], "q": "x y&z"}
    connect(server.url + "/api/").get("/v2/x", params=params)
    sent = server.requests[0]
    assert sent.path == "/api/v2/x"
    assert sent.query == [("mine", "true"), ("limit", "5"), ("ids", "a"), ("ids", "b"), ("q", "x y&z")]
    assert sent.headers["user-agent"] == user_agent()
    assert user_agent().startswith("pytest-evalharness/")
    assert sent.headers["authorization"] == "Bearer s3cret-t0ken"


def test_a_call_without_query_has_no_question_mark(connect, serve, wire):
    server = serve(wire.reply(1))
    connect(server.url).get("/x")
    assert server.requests[0].target == "/x"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_token_does_not_follow_a_redirect(connect, serve, wire, status):
    thief = serve(wire.reply({"gotcha": 1}))
    server = serve(wire.reply("", status, [("Location", f"{thief.url}/steal?x=\x1b[31m")]))
    with pytest.raises(Redirected) as caught:
        connect(server.url).get_json("/x")
    assert thief.requests == []
    assert thief.url in caught.value.location
    assert caught.value.location.isprintable()


def test_loopback_never_goes_through_a_proxy(connect, serve, wire):
    proxy, server = serve(wire.reply("proxied")), serve(wire.reply("direct"))
    everywhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), proxy.url)
    assert connect(server.url, environ=everywhere).get("/x").body == b"direct"
    assert (
        connect(server.url.replace("127.0.0.1", "localhost"), environ=everywhere).get("/x").body == b"direct"
    )
    assert proxy.requests == []


@pytest.mark.failure_mode(number=40)
def test_the_process_environment_s_proxies_do_not_count_for_loopback(connect, serve, wire, monkeypatch):
    proxy, server = serve(wire.reply("proxied")), serve(wire.reply("direct"))
    monkeypatch.setenv("http_proxy", proxy.url)
    assert connect(server.url, environ=None).get("/x").body == b"direct"
    assert proxy.requests == []


def test_other_hosts_go_through_the_proxy(connect, serve, wire):
    proxy = serve(wire.reply("proxied"))
    environ = {"http_proxy": proxy.url.replace("http://", "http://me:pass-w0rd@")}
    assert connect("http://league.invalid/api", environ=environ).get("/x").body == b"proxied"
    assert proxy.requests[0].target == "http://league.invalid/api/x"
    assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")


def test_a_dead_proxy_is_a_failed_connection(connect, nobody):
    with pytest.raises(ConnectFailed):
        connect("https://league.invalid", environ={"https_proxy": nobody.url}, limits=Limits(tries=1)).get(
            "/x"
        )


def test_a_proxy_that_refuses_the_tunnel_is_a_failed_connection(connect, serve, wire):
    proxy = serve(wire.reply("no", 403))
    environ = {"https_proxy": proxy.url}
    with pytest.raises(ConnectFailed, match="403"):
        connect("https://league.invalid", environ=environ, limits=Limits(tries=1)).get("/x")
    assert proxy.requests[0].method == "CONNECT"
    assert "authorization" not in proxy.requests[0].headers


@pytest.mark.parametrize("url", ["ftp://x", "not a url", "http://", "//x", "http://[::1", ""])
def test_an_address_that_cannot_be_used(connect, url):
    with pytest.raises(ValueError, match=r".+"):
        connect(url)


def test_a_proxy_that_cannot_be_used(connect):
    with pytest.raises(ValueError, match="proxies"):
        connect("http://league.invalid", environ={"http_proxy": "socks5://me:pass-w0rd@x:1"})


# -------------------------------------------------------------------------- threads, secrets


def test_many_threads_share_it(connect, serve, wire):
    server = serve(script=lambda request: wire.reply(request.path))
    transport = connect(server.url, limits=Limits())
    paths = [f"/{number}" for number in range(200)]
    with ThreadPoolExecutor(32) as pool:
        assert [body.decode() for body in pool.map(transport.get_bytes, paths)] == paths


def test_the_deadline_of_one_thread_does_not_cut_another(connect, serve, wire, clock):
    def script(request):
        return wire.silent if request.path == "/silent" else wire.reply(1)

    server = serve(script=script)
    transport = connect(server.url, limits=Limits(read=60))
    with ThreadPoolExecutor(2) as pool:
        hanging = pool.submit(transport.get, "/silent", deadline=Deadline.after(clock, 0.5))
        assert transport.get_json("/x") == 1
        with pytest.raises(DeadlineExceeded):
            hanging.result()
    assert transport.get_json("/x") == 1


def test_no_text_shows_the_token(connect, serve, wire):
    from pytest_evalharness.base.text import redact

    redact.hide("s3cret-t0ken")
    echo = wire.reply({"detail": "bad header Bearer s3cret-t0ken"}, 400, [("X-Request-Id", "s3cret-t0ken")])
    transport = connect(serve(echo).url)
    with pytest.raises(HttpStatus) as caught:
        transport.get("/s3cret-t0ken")
    for text in (str(caught.value), repr(caught.value), repr(transport), repr(vars(caught.value)["text"])):
        assert "s3cret" not in text


def test_a_header_that_cannot_be_sent_is_not_quoted(connect, serve, wire):
    transport = connect(serve(wire.reply(1)).url, headers={"Authorization": "Bearer bad\nt0ken-xyz"})
    with pytest.raises(Exception, match="could not be sent") as caught:
        transport.get("/x")
    assert "t0ken" not in str(caught.value)


def test_limits_are_plain_data():
    assert dataclasses.asdict(Limits())["total"] == 60


def test_a_body_that_is_nested_too_deeply_is_no_json():
    with pytest.raises(NotJson, match="nested too deeply"):
        Answer(200, {"content-type": "application/json"}, b"[" * 200_000).json()
