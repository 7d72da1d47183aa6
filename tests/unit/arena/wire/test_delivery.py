"""How fast an artifact is sent, and until when: no more is slept than its speed asks for, nothing is made for nobody."""

import asyncio
import itertools
from types import SimpleNamespace

import pytest

from pytest_evalharness.arena.faults.active import Faults
from pytest_evalharness.arena.wire import contents, delivery
from pytest_evalharness.arena.wire.storage import Storage


@pytest.fixture
def slept(monkeypatch):
    """How long was slept each time, by a clock that makes nobody wait."""
    times = []

    async def sleep(seconds):
        times.append(seconds)

    monkeypatch.setattr(delivery, "asyncio", SimpleNamespace(sleep=sleep))
    return times


def delivered(content, *faults, leaves_after=None):
    """The bytes that somebody got who asked for a content, or who left after so many parts of it."""
    house = SimpleNamespace(faults=Faults(faults), storage=Storage.of("http://127.0.0.1:1", "token"))
    got = []

    async def send(message):
        got.append(message.get("body", b""))

    def left():
        return leaves_after is not None and len(list(filter(None, got))) >= leaves_after

    scope = {"arena.transport": SimpleNamespace(is_closing=left)}
    asyncio.run(delivery.Delivery(house, content, SimpleNamespace(headers={}))(scope, None, send))
    return b"".join(got)


@pytest.mark.parametrize(
    ("size", "speed"),
    [(1_000, 4_000), (6_000_000, 60_000_000), (50_000_000, 200_000_000), (3_000_000, 1_000_000)],
)
def test_bytes_drip_as_fast_as_they_are_told_to(slept, size, speed):
    assert len(delivered(contents.of_lines(size, "text/plain"), f"slow-bodies={speed}")) == size
    assert sum(slept) == pytest.approx(size / speed, abs=0.05)


def test_the_smallest_body_takes_a_moment(slept):
    assert delivered(contents.of_bytes(b"x", "text/plain"), "slow-bodies=1000000") == b"x"
    assert sum(slept) >= 0.05


def test_nothing_is_slept_for_where_nothing_is_slow(slept):
    content = contents.of_lines(1_000_000, "text/plain")
    assert delivered(content) == content.whole()
    assert sum(slept) == 0


def test_the_rest_is_not_made_for_somebody_who_has_gone(slept):
    sizes = [
        len(part) for part in itertools.islice(contents.of_lines(10**9, "text/plain").parts(0, 10**9), 3)
    ]
    assert len(delivered(contents.of_lines(10**9, "text/plain"), leaves_after=3)) == sum(sizes)
    assert slept
