"""A game as its manifest tells it: how many seats, which of them are a side, how it is won, and what its settings are called. Pure.

What a manifest leaves open is asked of the user, and nothing is guessed: a roster of the wrong length is refused, and one that
splits a policy over two sides is played without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.game import MAX_TICKS, Game, Roles, sides_of
from pytest_evalharness.verdict import wins

_SEATS = ("tokens", "players")
"""Settings that have an entry a seat."""
_COUNT, _LAYOUT = ("teamCount", "team_count"), ("teamLayout", "team_layout")
_LAYOUTS = {"interleaved": "parity", "parity": "parity", "blocks": "blocks"}
"""The service's words and ours → ours."""
_TWO, _MOST = 2, 64


@dataclass(frozen=True)
class Manifest:
    """What is told of a league's game.

    Attributes:
        name: the coworld's name.
        config: the properties of its settings' schema; None where the server does not show it.
        results: those of its results' schema.
        defaults: what its first variant sets.
        seating: how the league's own scheduler seats entrants; empty where that is not shown.
    """

    name: str
    config: Mapping[str, Any] | None
    results: Mapping[str, Any]
    defaults: Mapping[str, Any]
    seating: Mapping[str, Any]

    @classmethod
    def read(cls, name: str, answer: Mapping[str, Any] | None, settings: Any) -> Manifest:
        """A manifest as the server sends it.

        Args:
            name: the coworld's name.
            answer: `GET /v2/coworlds/{id}`; None where the server does not show it.
            settings: the league's settings, whatever they are.
        """
        told = _mapping(_mapping(answer).get("manifest"))
        game = _mapping(told.get("game"))
        config = _properties(game.get("config_schema"))
        variants = told.get("variants")
        first = _mapping(variants[0]) if isinstance(variants, list) and variants else {}
        return cls(
            name,
            config or None,
            _properties(game.get("results_schema")),
            _mapping(first.get("game_config")),
            _mapping(_mapping(_mapping(settings).get("ladder")).get("scheduler")),
        )

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The names of its settings; None where they are not told."""
        return None if self.config is None else tuple(self.config)

    def game(self, *, seats: int | None, teams: str | None, config: Mapping[str, Any]) -> Game:
        """The game.

        Args:
            seats: how many seats there are, where the user says it.
            teams: which seats are a side, where the user says it; as of `sides_of`.
            config: the settings that every game is to have.

        Raises:
            UsageError: seats or sides are not told by anybody, or contradict each other.
        """
        count = self._seats(seats)
        word, told = self._teams(teams, config)
        try:
            sides = sides_of(word, count)
        except ValueError as problem:
            raise _wrong(f"{printable(self.name)}: {problem}") from None
        return Game(
            self.name,
            sides,
            Roles.DEALT if "roles" in self.results else Roles.NONE,
            ticks=self.config is not None and MAX_TICKS in self.config,
            win=wins.LISTED if "win" in self.results else wins.HIGHEST,
            pinned={key: value for key, value in told.items() if key not in config},
            keys=self.keys,
            tells=tuple(self.results) or None,
        )

    def _seats(self, said: int | None) -> int:
        low, high = self._range()
        if said is not None:
            if low <= said <= high:
                return said
            raise _wrong(f"{printable(self.name)} has {low} to {high} seats, and {said} were asked for")
        if low == high:
            return low
        listed = [len(one) for key in _SEATS if isinstance(one := self.defaults.get(key), list)]
        if listed and low <= listed[0] <= high:
            return listed[0]
        raise _wrong(
            f"the manifest of {printable(self.name)} does not tell how many seats a game has",
            "say it: seats=N in the mark, or --eval-seats N",
        )

    def _range(self) -> tuple[int, int]:
        """The fewest and the most seats that the settings' schema allows."""
        low, high = 1, _MOST
        for key in _SEATS:
            schema = _mapping((self.config or {}).get(key))
            low, high = (
                max(low, _whole(schema.get("minItems"), low)),
                min(high, _whole(schema.get("maxItems"), high)),
            )
        return (low, high) if low <= high else (1, _MOST)

    def _teams(self, said: str | None, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The word for its sides, and the settings that make the game have them."""
        count, layout = self._key(_COUNT), self._key(_LAYOUT)
        if count is None and layout is None:
            return (said or self._scheduled() or "none"), {}
        named = [key for key in (count, layout) if key is not None]
        known = {key: config.get(key, self._default(key)) for key in named}
        told = {key: value for key, value in known.items() if value is not None}
        number = _whole(told.get(count or ""), _TWO)
        words = _LAYOUTS.get(str(told.get(layout or "", "interleaved")), "")
        found = f"{words}/{number}"
        if not words:
            if said is not None:
                return said, told
            raise _wrong(
                f"{printable(self.name)} seats its sides in a way that is not known ({printable(str(told))})",
                "say which seats are a side: teams='parity', 'blocks', either with a number of sides, or 'none'",
            )
        if said is None:
            return found, told
        if said not in (found, words if number == _TWO else found):
            raise _wrong(
                f"teams={said!r}, and the settings of {printable(self.name)} say {found!r}",
                f"set them in config ({printable(' and '.join(named))}); the sides follow from them",
            )
        return found, told

    def _scheduled(self) -> str:
        """The sides by the league's own scheduler; empty where it seats everybody for himself, or is not shown."""
        strategy, teams = self.seating.get("strategy"), _whole(self.seating.get("team_count"), _TWO)
        words = _LAYOUTS.get(str(self.seating.get("team_layout", "interleaved")), "parity")
        if self.seating.get("distinct_teammates") is True or strategy not in ("team_pair", "team_n"):
            return ""
        return f"{words}/{_TWO if strategy == 'team_pair' else teams}"

    def _key(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in (self.config or {})), None)

    def _default(self, key: str) -> Any:
        return self.defaults.get(key, _mapping((self.config or {}).get(key)).get("default"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _properties(schema: Any) -> Mapping[str, Any]:
    return _mapping(_mapping(schema).get("properties"))


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _wrong(
    what: str, next_step: str = "correct the mark or the option and run the same command again"
) -> UsageError:
    return UsageError(what, not_done="nothing was submitted", next_step=next_step)
