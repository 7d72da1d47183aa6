from collections.abc import Callable

import pytest

from pytest_evalharness.arena.game.cast import CAST, Tier
from pytest_evalharness.arena.game.config import GameConfig, parse_config
from pytest_evalharness.arena.game.match import SeatEntry

IMPOSTER_SEATS = (2, 3)


def roles(imposters=IMPOSTER_SEATS, players=8):
    return [{"role": "imposter" if seat in imposters else "crew"} for seat in range(players)]


@pytest.fixture
def forced() -> GameConfig:
    """The layout of a comparison: imposters at seats 2 and 3, all else at its default."""
    return parse_config({"slots": roles()})


@pytest.fixture
def with_overrides() -> Callable[..., GameConfig]:
    return lambda **overrides: parse_config({"slots": roles(), **overrides})


@pytest.fixture
def field() -> list[SeatEntry]:
    """The seven strong players in rank order, at their latest version."""
    strong = [player for player in CAST if player.tier is Tier.STRONG]
    return [SeatEntry(player.name, player.builds[-1]) for player in strong]


@pytest.fixture
def seated(field) -> Callable[..., list[SeatEntry]]:
    """The field around one tested build: crew at seat 0, imposter at seat 2."""

    def seat(build: str, role: str = "crew") -> list[SeatEntry]:
        seats = list(field)
        seats.insert(0 if role == "crew" else 2, SeatEntry("tested", build))
        return seats

    return seat
