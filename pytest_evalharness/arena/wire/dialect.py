"""What differs between the generations of the wire contract, each thing in a place of its own.

A dialect says which routes there are, how long lists are cut, and how today's shapes are said in its words: routes render
what they know as today's service does, and the dialect translates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pytest_evalharness.arena.game.scoring import Scoring

if TYPE_CHECKING:
    from fastapi import APIRouter

    from pytest_evalharness.arena.wire.house import House
    from pytest_evalharness.arena.wire.listing import Listing

Said = Mapping[str, Any]
"""An object as it goes over the wire."""


class Name(StrEnum):
    """The dialects that can be spoken."""

    CURRENT = "current"
    JUNE_2026 = "2026-06"

    @property
    def scoring(self) -> Scoring:
        """How games were scored when this was spoken."""
        return Scoring.REWARD if self is Name.JUNE_2026 else Scoring.OUTCOME


def as_today(said: Any) -> Any:
    """What needs no translation."""
    return said


@dataclass(frozen=True)
class Dialect:
    """One generation of the wire contract.

    Attributes:
        name: its name.
        version: the version that its description gives.
        routes: what adds its routes, in order: of two that match, the first answers.
        pages: how lists in an envelope are cut.
        lists: how bare lists are cut.
        versions: how the look-up of policy versions is cut: it was a bare list once.
        leaderboard_shape: what its leaderboards look like, for the description.
        episode: an episode's row, from today's.
        results: a game's results.json, from today's.
        leaderboard: a leaderboard, from today's rows.
        security: the security schemes that its description names.
        describe: its description, from that of its routes.
        packs_replays: whether replays are kept compressed with zlib, all at public addresses.
    """

    name: Name
    version: str
    routes: Sequence[Callable[[APIRouter, House], None]]
    pages: Listing
    lists: Listing
    versions: Listing
    leaderboard_shape: Any
    security: Mapping[str, Said]
    episode: Callable[[Said], Said] = as_today
    results: Callable[[Said], Said] = as_today
    leaderboard: Callable[[Any], Any] = as_today
    describe: Callable[[dict[str, Any]], dict[str, Any]] = as_today
    packs_replays: bool = False
