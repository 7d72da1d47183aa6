"""The games that the league hosts, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_evalharness.arena.game.crewrift import Crewrift
from pytest_evalharness.arena.game.flags.arena import CaptureTheFlag
from pytest_evalharness.arena.game.hosted import Hosted
from pytest_evalharness.arena.game.paint.arena import PaintArena

GAMES: Final[Mapping[str, Hosted]] = MappingProxyType(
    {game.name: game for game in (Crewrift(), PaintArena(), CaptureTheFlag())}
)
