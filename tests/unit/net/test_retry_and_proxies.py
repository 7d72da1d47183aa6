from __future__ import annotations

import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.net.errors import HttpStatus, NetError, harmless
from pytest_evalharness.net.proxies import is_loopback, proxy_for
from pytest_evalharness.net.retry import backoff, pause, retry_after


@given(st.integers(1, 10_000), st.integers())
def test_a_pause_is_never_long_nor_negative(attempt, seed):
    assert 0 < backoff(attempt, random.Random(seed)) <= 8


@given(st.text(), st.floats(0, 4e9))
def test_any_retry_after_can_be_read(raw, now):
    found = retry_after({"retry-after": raw}, now)
    assert found is None or found >= 0


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [("0", 0), ("12", 12), (" 3 ", 3), ("2.5", 2.5), ("-1", 0), ("x", None), ("nan", None), ("inf", None)],
)
def test_retry_after_amounts(raw, seconds):
    assert retry_after({"retry-after": raw}, 0) == seconds


def test_retry_after_dates():
    now = 1_790_000_000
    assert retry_after({"retry-after": formatdate(now + 30, usegmt=True)}, now) == 30
    assert retry_after({"retry-after": formatdate(now - 30, usegmt=True)}, now) == 0
    assert retry_after({"retry-after": "Mon, 21 Sep 2026 13:33:20"}, 1_790_000_000 - 5) is not None


def test_what_the_server_asks_for_comes_first():
    asked = HttpStatus(429, None, {"retry-after": "20"})
    assert 20 <= pause(asked, 1, rng=random.Random(1), now=0) <= 20.25


@given(st.text(max_size=2000))
def test_errors_are_one_printable_line(text):
    shown = str(NetError(text, request="GET http://x"))
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert len(shown) < 500


def test_secrets_go_before_the_cut():
    from pytest_evalharness.base.text import redact

    redact.hide("0123456789abcdef-secret")
    assert "0123" not in harmless("x" * 395 + "0123456789abcdef-secret", 400)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"]
)
def test_this_machine(host):
    assert is_loopback(host)
    assert proxy_for("http", host, 80, {"HTTP_PROXY": "http://p", "ALL_PROXY": "http://p"}) is None


@pytest.mark.parametrize("host", ["localhost.example.org", "128.0.0.1", "::2", "softmax.com", ""])
def test_not_this_machine(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("environ", "scheme", "proxy"),
    [
        ({}, "http", None),
        ({"http_proxy": "http://a", "HTTP_PROXY": "http://b"}, "http", "http://a"),
        ({"http_proxy": "", "HTTP_PROXY": "http://b"}, "http", None),
        ({"HTTP_PROXY": "b:3128"}, "http", "http://b:3128"),
        ({"HTTPS_PROXY": "http://b"}, "http", None),
        ({"HTTPS_PROXY": "http://b"}, "https", "http://b"),
        ({"all_proxy": "http://c"}, "https", "http://c"),
        ({"HTTP_PROXY": "http://evil", "REQUEST_METHOD": "GET"}, "http", None),
        ({"HTTP_PROXY": "http://b", "NO_PROXY": "softmax.com"}, "http", None),
        ({"HTTP_PROXY": "http://b", "NO_PROXY": "other.org, .com"}, "http", None),
        ({"HTTP_PROXY": "http://b", "NO_PROXY": "*"}, "http", None),
        ({"HTTP_PROXY": "http://b", "NO_PROXY": "*.softmax.com"}, "http", None),
        ({"HTTP_PROXY": "http://b", "NO_PROXY": "softmax.com:8080"}, "http", "http://b"),
        ({"HTTP_PROXY": "http://b", "NO_PROXY": "max.com"}, "http", "http://b"),
    ],
)
def test_the_proxy_of_a_host(environ, scheme, proxy):
    assert proxy_for(scheme, "softmax.com", 80, environ) == proxy


def test_networks_without_proxy():
    environ = {"http_proxy": "http://b", "no_proxy": "10.0.0.0/8,nonsense/33"}
    assert proxy_for("http", "10.1.2.3", 80, environ) is None
    assert proxy_for("http", "11.1.2.3", 80, environ) == "http://b"
