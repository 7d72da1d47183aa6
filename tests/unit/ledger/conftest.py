"""A ledger in a fresh folder, a clock that moves by hand, processes that live and die on request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec, Block


class HandClock:
    def __init__(self) -> None:
        self.time = 1_000.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def wait(self, seconds, stop=None):
        self.waits.append(seconds)
        self.time += seconds
        return stop is not None and stop.is_set()


class Morgue:
    """Liveness by decree; remembers what it was asked."""

    def __init__(self) -> None:
        self.dead: set[int] = set()
        self.asked: list[tuple[int, float, bool]] = []

    def __call__(self, owner, silent, *, speaks):
        self.asked.append((owner.pid, silent, speaks))
        return owner.pid not in self.dead


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def morgue():
    return Morgue()


@pytest.fixture
def opened(tmp_path, clock, morgue):
    """Opens the one file as another process would: `opened(pid=2, session="b")`."""
    ledgers = []

    def open_as(pid: int = 1, session: str = "monday", worker: str = "gw0") -> Ledger:
        owner = Owner(pid, str(pid), "here", session, worker)
        ledger = Ledger.open(tmp_path, clock=clock, owner=owner, alive=morgue)
        ledgers.append(ledger)
        return ledger

    yield open_as
    for ledger in ledgers:
        ledger.close()


@pytest.fixture
def ledger(opened) -> Ledger:
    return opened()


@pytest.fixture
def lay(ledger) -> Callable[..., Block]:
    """Lays down a comparison with one arm of one block, and returns the block."""

    def make(name: str = "arm-1", body: dict | None = None) -> Block:
        comparison = ledger.open_comparison({"ask": name}, run_id="r1", case_name="case")
        ledger.freeze(comparison.id, {"roster": []}, {"candidate": ArmSpec(name, {}, [body or {"n": 1}])})
        return ledger.blocks(name)[0]

    return make


@pytest.fixture
def block(lay) -> Block:
    return lay()
