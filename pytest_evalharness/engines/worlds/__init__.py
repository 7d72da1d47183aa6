"""Worlds with a known truth: simulated customers whose every value comes from dynamic programming."""

from __future__ import annotations

import difflib
from functools import cache

from pytest_evalharness.engines.worlds.world import World
from pytest_evalharness.errors import UsageError

NAMES = ("acme", "acme-small", "acme-phone")
"""The shipped worlds: 176 states and 8 moves, 24 and 4, and 16 and 8 whose states can be heard in what customers say."""


@cache
def named(name: str) -> World:
    """A shipped world.

    Raises:
        UsageError: no such world.
    """
    from pytest_evalharness.engines.worlds import customers

    if name == "acme":
        return customers.full()
    if name == "acme-small":
        return customers.small()
    if name == "acme-phone":
        return customers.heard()
    near = difflib.get_close_matches(name, NAMES, 1)
    raise UsageError(
        f"there is no simulated world {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        not_done="nothing was played",
        next_step=f"choose one of {', '.join(NAMES)}",
    )
