"""The process that ends a campaign when its supervisor dies: what it does, and what it leaves alone."""

import os
import secrets
import signal
import subprocess
import sys

import pytest

from pytest_evalharness.clbench.campaign.guardian import Guardian, Post
from pytest_evalharness.clbench.campaign.process_table import TOKEN, process
from pytest_evalharness.clbench.campaign.processes import Fingerprint, Graces

PATIENCE = 60.0
GRACES = Graces(PATIENCE, PATIENCE, PATIENCE)
"""Whoever is polite needs none of them, and a machine that is busy may take its time."""
# Ready before it is asked, and not by way of Python's handler: an interpreter that starts or ends slowly would meet SIGTERM too.
POLITE = (
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nprint(flush=True)\ntime.sleep(600)"
)


@pytest.fixture
def token():
    """One of this test's own: a guardian ends whoever carries its token, also beside the same tests of another run."""
    return f"evh-{secrets.token_hex(16)}"


@pytest.fixture
def mine(token):
    one = subprocess.Popen(
        [sys.executable, "-c", POLITE], env={**os.environ, TOKEN: token}, stdout=subprocess.PIPE
    )
    one.stdout.readline()
    yield one
    one.kill()
    one.communicate()


@pytest.fixture
def guarded(tmp_path, token):
    return lambda: Guardian.of(tmp_path / "home", "mine", token, GRACES)


def test_one_that_is_dismissed_ends_nothing(tmp_path, guarded, mine):
    one = guarded()
    assert one.alive
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a terminal that is closed ends it not
        os.kill(one.pid, number)
    assert one.alive
    one.dismiss()
    one.dismiss()
    assert not one.alive
    assert mine.poll() is None
    assert not (tmp_path / "home").exists()


def test_a_pipe_that_breaks_ends_whatever_carries_the_token(guarded, mine):
    one = guarded()
    one.abandon()
    assert mine.wait(PATIENCE) == -signal.SIGINT
    one._process.wait(PATIENCE)


def test_a_post_is_filled_again_and_left_only_when_nothing_is_there_to_guard(guarded, token, mine):
    mark = Fingerprint(frozenset({token}))
    with Post(guarded, lambda: bool(mark.find())) as post:
        first = post.pid
        os.kill(first, signal.SIGKILL)
        while process(first):
            pass
        assert not post.held
        post.fill()
        assert post.held
        assert post.pid != first
        last = post._guardian
    assert mine.wait(PATIENCE) == -signal.SIGINT, (
        "something was left when the post was: its guardian did its work"
    )
    last._process.wait(PATIENCE)


def test_a_guardian_that_cannot_begin_is_an_error_and_no_false_safety(guarded, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(OSError, match=r"did not start|Broken pipe"):
        guarded()
