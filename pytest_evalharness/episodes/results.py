"""`results.json`: what a game says of every seat. Pure.

All lists are one entry a seat. Only `scores` is common to all games; what a key holds that is not as its game documents it is
left out and named, because one malformed counter is no reason to lose a game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.episodes.untrusted import MIB, MOST_SEATS, number, object_of, text, whole

LARGEST = 64 * MIB
"""What the service itself publishes at most."""
TIMEOUTS = ("connect_timeout", "disconnect_timeout")
_COUNTERS = ("tasks", "kills", "vote_players", "vote_skip", "vote_timeout", *TIMEOUTS)
_OTHER_SPELLINGS = {"vote_timeouts": "vote_timeout"}
"""As the runbook writes it → as the game does."""
_OUTCOMES = frozenset({0.0, 1.0, 3.0})
_ROLES = ("crew", "imposter")
_LONGEST_ROLE = 40
_LONGEST_KEY = 80


def _win(value: Any) -> bool | None:
    """A win; games before results had a schema wrote 0 and 1."""
    if isinstance(value, bool):
        return value
    return {0: False, 1: True}.get(value) if isinstance(value, int) else None


def _flag(value: Any) -> int | None:
    return whole(int(value) if isinstance(value, bool) else value, 0, 1)


_PER_SEAT: Mapping[str, Callable[[Any], Any]] = {
    "scores": number,
    "win": _win,
    "imposter": _flag,
    "crew": _flag,
    "roles": lambda value: text(value, _LONGEST_ROLE),
    **dict.fromkeys(_COUNTERS, lambda value: whole(value, 0)),
}
"""Key → how an entry is read; None is malformed. Names are left out because players choose them."""
_MOST_OWN_KEYS = 64
"""Lists of a game's own that are kept, at most."""


@dataclass(frozen=True)
class Read:
    """A `results.json` as it was read.

    Attributes:
        kept: plain data: the well-formed lists, and `ticks` where the game tells its length. A game's own lists are among them
            if they hold a number a seat.
        malformed: keys that are not as they should be.
    """

    kept: Mapping[str, Any]
    malformed: tuple[str, ...]


def read_results(data: bytes | Mapping[str, Any]) -> Read:
    """A `results.json`, from its bytes or as parsed.

    Raises:
        ArtifactUnreadable: it is larger than 64 MiB, no JSON, or no object.
    """
    told = object_of(data, "results.json", LARGEST)
    kept: dict[str, Any] = {}
    malformed = []
    for key, value in told.items():
        name = _OTHER_SPELLINGS.get(key, key)
        if (name != key and name in told) or (name not in _PER_SEAT and name != "ticks"):
            continue
        if name == "roles" and not isinstance(value, list):
            continue  # one role for everybody says nothing of a seat
        entries = whole(value, 0) if name == "ticks" else _list(value, _PER_SEAT[name])
        if entries is None:
            malformed.append(key)
        else:
            kept[name] = entries
    return Read({**kept, **_own_lists(told, len(kept.get("scores", ())))}, tuple(malformed))


def _own_lists(told: Mapping[str, Any], seats: int) -> dict[str, Any]:
    """The lists of numbers that only this game has, one a seat; nobody knows what else they should be, so none is malformed."""
    own: dict[str, Any] = {}
    for key, value in told.items():
        known = key in _PER_SEAT or key in _OTHER_SPELLINGS
        if known or not isinstance(value, list) or not value or len(value) != seats:
            continue
        entries = _list(value, lambda one: one if isinstance(one, bool) else number(one))
        if entries is not None and len(own) < _MOST_OWN_KEYS:
            own[printable(key, _LONGEST_KEY)] = entries
    return own


def _list(value: Any, entry: Callable[[Any], Any]) -> list[Any] | None:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_SEATS:
        return None
    entries = [entry(one) for one in value]
    return None if None in entries else entries


@dataclass(frozen=True)
class SeatResults:
    """What is read off results seat by seat. Whatever is not there, or makes no sense, is nothing.

    What is asked of every seat again and again is read once.

    Attributes:
        told: the results as they were kept.
        own_scale: whether the scores are on a scale of the game's own, of which no regime is known.
    """

    told: Mapping[str, Any]
    own_scale: bool = False

    def _entry(self, key: str, seat: int) -> Any:
        values = self.told.get(key)
        return values[seat] if isinstance(values, list) and 0 <= seat < len(values) else None

    def won(self, seat: int) -> bool | None:
        """Whether a seat won; None where nothing tells it."""
        value = self._entry("win", seat)
        return None if value is None else bool(value)

    def score(self, seat: int) -> float | None:
        """A seat's score; None where there is no finite number."""
        return number(self._entry("scores", seat))

    def count(self, key: str, seat: int) -> int:
        """A seat's entry in a counter; 0 where there is no sensible one."""
        return whole(self._entry(key, seat), 0) or 0

    def role(self, seat: int) -> str | None:
        """The role a seat really played; None where the results name none, or both."""
        named = self._entry("roles", seat)
        return self._roles.get(seat) or (named if isinstance(named, str) and named else None)

    @cached_property
    def _roles(self) -> Mapping[int, str]:
        lists = [values for key in _ROLES if isinstance(values := self.told.get(key), list)]
        flags = {
            seat: [role for role in _ROLES if self.count(role, seat)]
            for seat in range(max(map(len, lists), default=0))
        }
        return {seat: roles[0] for seat, roles in flags.items() if len(roles) == 1}

    @cached_property
    def imposters(self) -> frozenset[int]:
        """The seats that were imposters."""
        return frozenset(seat for seat, role in self._roles.items() if role == "imposter")

    @property
    def tells_timeouts(self) -> bool:
        """Whether the game says at all who never connected and who dropped out."""
        return all(isinstance(self.told.get(key), list) for key in TIMEOUTS)

    @cached_property
    def timed_out(self) -> tuple[int, ...]:
        """The seats that never connected, or lost their connection for good."""
        lists = [values for key in TIMEOUTS if isinstance(values := self.told.get(key), list)]
        seats = range(max(map(len, lists), default=0))
        return tuple(seat for seat in seats if any(self.count(key, seat) for key in TIMEOUTS))

    @cached_property
    def regimes(self) -> frozenset[ScoreRegime]:
        """The regimes that its scores can be of; see `regimes_of`."""
        return ANY if self.own_scale else regimes_of(self)


class ScoreRegime(StrEnum):
    """What a seat's score means. It changed twice, and scores of two regimes are never held against each other.

    `REWARD`: points gathered in play, until the end of June 2026. `WIN`: 1 for a win, for a week after it. `OUTCOME`: 3 for an
    imposter's win, 1 for a crew's, since then. `UNDECIDED`: these games could be of several.
    """

    REWARD = "reward points"
    WIN = "1/0"
    OUTCOME = "3/1/0"
    UNDECIDED = "unknown"

    @property
    def words(self) -> str:
        """The regime as it stands beside a score."""
        return "regime unknown" if self is ScoreRegime.UNDECIDED else self.value


ANY = frozenset({ScoreRegime.REWARD, ScoreRegime.WIN, ScoreRegime.OUTCOME})


def regimes_of(game: SeatResults) -> frozenset[ScoreRegime]:
    """The regimes that a game's scores can be of; all of them where it tells nothing, or follows none that is known.

    Under the two newer ones whoever has not won scores 0. A winner of the first one has 100 points to begin with; where
    nobody won, as at the time limit in those days, all its scores may be as small as theirs.
    """
    scores = game.told.get("scores")
    told = [
        (score, game.won(seat), game.role(seat))
        for seat in range(len(scores) if isinstance(scores, list) else 0)
        if (score := game.score(seat)) is not None
    ]
    found = set()
    if any(score not in _OUTCOMES for score, _, _ in told) or not any(won for _, won, _ in told):
        found.add(ScoreRegime.REWARD)
    if all(score in _as_win(won=won) for score, won, _ in told):
        found.add(ScoreRegime.WIN)
    if all(score in _as_outcome(role, won=won) for score, won, role in told):
        found.add(ScoreRegime.OUTCOME)
    return frozenset(found) or ANY


def _as_win(*, won: bool | None) -> frozenset[float]:
    if won is None:
        return frozenset({0.0, 1.0})
    return frozenset({float(won)})


def _as_outcome(role: str | None, *, won: bool | None) -> frozenset[float]:
    if won is None:
        return _OUTCOMES
    if not won:
        return frozenset({0.0})
    return frozenset({3.0}) if role == "imposter" else frozenset({1.0, 3.0})


def regime_of(games: Iterable[SeatResults]) -> ScoreRegime:
    """The score regime of some games of one version; a game that can only be of the first decides for all of them."""
    left = ANY
    for game in games:
        possible = game.regimes
        if possible == {ScoreRegime.REWARD}:
            return ScoreRegime.REWARD
        left &= possible
    return next(iter(left)) if len(left) == 1 else ScoreRegime.UNDECIDED
