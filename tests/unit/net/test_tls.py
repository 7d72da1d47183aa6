from __future__ import annotations

import shutil
import ssl
import subprocess

import pytest

from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.net import ConnectFailed, DeadlineExceeded, Limits, Streams

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture
def secure(serve, certificate):
    """A scripted server behind TLS."""

    def start(*answers):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server = serve(*answers)
        serve_one = server._serve

        def secured(connection):
            try:
                wrapped = context.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                return
            server._open.append(wrapped)
            serve_one(wrapped)

        server._serve = secured
        return f"https://127.0.0.1:{server.port}", server

    return start


@pytest.fixture
def trusted(certificate, monkeypatch):
    """The user vouches for the certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))


def test_a_server_without_tls(connect, serve, wire):
    server = serve(wire.hang_up_after(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    transport = connect(server.url.replace("http:", "https:"), limits=Limits(connect=0.3, tries=1))
    with pytest.raises(ConnectFailed):
        transport.post_json("/p", {})


@needs_openssl
def test_a_certificate_that_nobody_vouches_for(connect, secure, wire):
    url, server = secure(wire.reply(1))
    with pytest.raises(ConnectFailed, match="certificate verify failed"):
        connect(url, limits=Limits(connect=60, tries=1)).post_json("/p", {})
    assert server.requests == []


@needs_openssl
def test_a_certificate_that_the_user_vouches_for(connect, secure, wire, trusted):
    url, _ = secure(wire.reply({"ok": 1}))
    assert connect(url).get_json("/x") == {"ok": 1}


@needs_openssl
def test_deadlines_hold_under_tls(connect, secure, wire, trusted, clock):
    url, _ = secure(wire.reply("at once"), wire.drip(wire.reply("x" * 3000)))
    transport = connect(url)
    transport.get("/x")  # to agree on the keys may take a busy machine longer than the deadline
    with pytest.raises(DeadlineExceeded):
        transport.get("/x", deadline=Deadline.after(clock, 0.5))


@needs_openssl
def test_a_large_body_comes_whole_under_tls(secure, wire, trusted, clock):
    body = bytes(range(256)) * 4000
    url, server = secure(wire.reply(body))
    with Streams(url, headers={}, environ={}, connect=60.0, read=60.0) as streams:
        for _ in range(2):
            with streams.open("/x", deadline=Deadline.after(clock, 300.0)) as answer:
                assert b"".join(answer.chunks) == body
    assert server.connections == 1


@needs_openssl
def test_nothing_is_asked_of_a_stranger_under_tls(secure, wire, clock):
    url, server = secure(wire.reply(b"x"))
    with (
        Streams(url, headers={}, environ={}, connect=60.0) as streams,
        pytest.raises(ConnectFailed, match="certificate verify failed"),
        streams.open("/x", deadline=Deadline.after(clock, 300.0)),
    ):
        pass
    assert server.requests == []
