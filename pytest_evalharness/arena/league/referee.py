"""The referee: what worker processes run. An order names its game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_evalharness.arena.game.games import GAMES
from pytest_evalharness.arena.game.hosted import Order, Played, Recorded


def play(order: Order) -> Played:
    """Play a match."""
    return GAMES[order.game].play(order)


def play_many(orders: Sequence[Order]) -> list[Played]:
    """Play several matches in one go, for when nobody watches them one by one."""
    return [play(order) for order in orders]


def record(order: Order) -> Recorded:
    """Play a match for its record."""
    return GAMES[order.game].record(order)


def replay(order: Order, version: str, labels: Sequence[str], results: Mapping[str, Any] | None) -> bytes:
    """Play a match for its replay."""
    from pytest_evalharness.arena.game.replay import write

    return write(order, version, labels, results)


def casts() -> dict[str, list[tuple[str, list[str]]]]:
    """The players of every game, each with its builds, oldest first."""
    return {name: game.cast() for name, game in GAMES.items()}
