"""A small league, founded on made-up games: nothing here needs a process or HTTP."""

import random

import pytest

from pytest_evalharness.arena.game.hosted import Played
from pytest_evalharness.arena.league import season
from pytest_evalharness.arena.league.desk import Desk
from pytest_evalharness.arena.league.founding import Founding
from pytest_evalharness.arena.league.store import Store

CAST = [("keeper", [f"keeper-{n}" for n in range(1, 5)]), ("rival", ["rival-1", "rival-2", "rival-3"])] + [
    (f"player{n:02}", [f"player{n:02}-{v}" for v in range(1, 5)]) for n in range(20)
]


def _played(order, rng):
    imposters = set(rng.sample(range(8), 2))
    crew_won = rng.random() < 0.5
    scores = [
        (0 if crew_won else 3) if seat in imposters else (1 if crew_won else 0)
        for seat, _ in enumerate(order.seats)
    ]
    return Played({"scores": scores, "win": [score > 0 for score in scores]}, 5000)


@pytest.fixture
def play():
    return _played


@pytest.fixture(scope="session")
def found():
    """Founds a world from a seed."""

    def founder(seed=2026, cast=CAST, born=1_800_000_000.0):
        founding = Founding(seed, {"crewrift": cast}, born)
        plans = season.plan(founding)
        rng = random.Random(seed)
        return season.world(founding, plans, [_played(plan.order, rng) for plan in plans])

    return founder


@pytest.fixture(scope="session")
def world(found):
    return found()


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.at = 1_800_000_100.0

    def now(self):
        return self.at

    def monotonic(self):
        return self.at

    def wait(self, seconds, stop=None):
        self.at += seconds
        return False


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def open_desk(tmp_path, world, clock):
    """Opens a desk on a home; closes its file afterwards."""
    stores = []

    def opener(name="arena.sqlite", seed=2026):
        stores.append(Store(tmp_path / name))
        return Desk(seed, world, stores[-1], clock), stores[-1]

    yield opener
    for store in stores:
        store.close()
