"""Both questions to a provider, asked of a real server on this machine."""

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_evalharness.base.text import redact
from pytest_evalharness.clbench.campaign.key_truth import spendable
from pytest_evalharness.clbench.campaign.money import Known

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
MANAGEMENT = "sk-or-v1-fedcba9876543210fedcba9876543210"
GOOD = {"data": {"limit": 100, "limit_remaining": 74.5, "limit_reset": "monthly", "usage": 25.5}}
CREDITS = {"data": {"total_credits": 100.5, "total_usage": 25.75}}


class Hurried:
    """A clock whose waits take no time."""

    def __init__(self):
        self.at = 1_800_000_000.0

    def now(self):
        return self.at

    monotonic = now

    def wait(self, seconds, stop=None):
        self.at += seconds
        return False


@pytest.fixture
def provider():
    """A server that answers what it was told, by path, and remembers who asked."""
    answers = {"/api/v1/key": (200, GOOD), "/api/v1/credits": (200, CREDITS)}
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"]))
            status, told = answers[self.path]
            body = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/api/v1", answers, asked
    server.shutdown()
    thread.join()
    server.server_close()


def ask(url, key=KEY, **words):
    return spendable(key, clock=Hurried(), rng=random.Random(1), base_url=url, environ={}, **words)


def test_both_bounds_each_with_the_key_that_may_ask(provider):
    url, _, asked = provider
    told = ask(url, management_key=f" {MANAGEMENT}\n")
    assert (told.key.dollars, told.balance.dollars, told.dollars) == (74.5, 74.75, 74.5)
    assert asked == [("/api/v1/key", f"Bearer {KEY}"), ("/api/v1/credits", f"Bearer {MANAGEMENT}")]


def test_without_a_management_key_the_key_itself_is_tried(provider):
    url, _, asked = provider
    assert ask(url).balance.dollars == 74.75
    assert asked[1] == ("/api/v1/credits", f"Bearer {KEY}")


@pytest.mark.parametrize("status", [401, 403, 500])
def test_credits_that_only_management_keys_are_told(provider, status):
    url, answers, _ = provider
    answers["/api/v1/credits"] = (status, {"error": {"code": status, "message": "no"}})
    told = ask(url)
    assert told.balance.known is Known.UNKNOWN
    assert "credits are told to management keys only" in told.balance.words
    assert told.dollars == 74.5


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_spends_nothing(provider, status):
    url, answers, _ = provider
    answers["/api/v1/key"] = (status, {"error": {"code": status, "message": f"No such key {KEY}"}})
    told = ask(url)
    assert (told.key.known, told.dollars) == (Known.DOLLARS, 0.0)
    assert "the key is not accepted" in told.key.words
    assert KEY not in told.words


@pytest.mark.parametrize(
    ("status", "body"), [(503, b"later"), (404, b"{}"), (200, b"<html>"), (200, b""), (302, b"")]
)
def test_a_provider_that_does_not_tell(provider, status, body):
    url, answers, asked = provider
    answers["/api/v1/key"] = (status, body)
    told = ask(url)
    assert told.key.known is Known.UNKNOWN
    assert told.key.words.startswith("unknown: ")
    assert len(asked) == (4 if status == 503 else 2)


def test_nobody_there():
    told = ask("http://127.0.0.1:1/api/v1")
    assert told.dollars is None
    assert told.missing == ("key limit", "account balance")


@pytest.mark.parametrize("key", ["", "  ", "schlüssel", "two\nlines", "\x1b[31m"])
def test_a_key_that_is_none_is_sent_to_nobody(provider, key):
    url, _, asked = provider
    told = ask(url, key=key)
    assert (told.key.known, asked) == (Known.UNKNOWN, [])


def test_an_address_that_is_none(provider):
    told = ask("ftp://example.invalid")
    assert told.key.known is Known.UNKNOWN
    assert "http" in told.key.words


def test_a_key_is_never_printed_again(provider):
    ask(provider[0])
    assert KEY not in redact(f"the key {KEY} in a message")
