"""What a count and a level may be; everything else is a ValueError that names the value."""

from __future__ import annotations

import math
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex


def count(value: SupportsIndex, name: str) -> int:
    """A whole number of zero or more, as a plain `int`.

    Integers of any library are accepted. Booleans, floats (even whole ones), NaN and text are refused: a
    comparison or a parsed file that ended up here by mistake must not be judged.

    Raises:
        ValueError: The value is not a whole number, or is negative.
    """
    if isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, not the boolean {value!r}")  # noqa: TRY004 - one error for all
    try:
        whole = index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if whole < 0:
        raise ValueError(f"{name} must not be negative, got {whole}")
    return whole


def wins_of(wins: SupportsIndex, games: SupportsIndex, arm: str = "") -> tuple[int, int]:
    """The pair (wins, games) as plain integers with 0 <= wins <= games.

    Raises:
        ValueError: Either is no count, or there are more wins than games.
    """
    if type(wins) is int and type(games) is int and 0 <= wins <= games:
        return wins, games
    prefix = f"{arm} " if arm else ""
    won, played = count(wins, f"{prefix}wins"), count(games, f"{prefix}games")
    if won > played:
        raise ValueError(f"{prefix}wins must not exceed {prefix}games, got {won} of {played}")
    return won, played


def played(wins: SupportsIndex, games: SupportsIndex, arm: str) -> tuple[int, int]:
    """As `wins_of`, for methods that need at least one game.

    Raises:
        ValueError: As `wins_of`, or there are no games.
    """
    if type(wins) is int and type(games) is int and 0 <= wins <= games > 0:
        return wins, games
    won, total = wins_of(wins, games, arm)
    if total == 0:
        raise ValueError(f"{arm} games must be at least 1, got 0")
    return won, total


def level(alpha: float, name: str = "alpha") -> float:
    """An error level strictly between 0 and 1, as a plain `float`.

    Raises:
        ValueError: The level is not a number inside (0, 1).
    """
    if type(alpha) is float and 0.0 < alpha < 1.0:
        return alpha
    return _between(alpha, name, 0.0)


def shift(delta: float, name: str = "delta") -> float:
    """A difference of two proportions strictly between -1 and 1.

    Raises:
        ValueError: The difference is not a number inside (-1, 1).
    """
    return _between(delta, name, -1.0)


def proportion(p: float, name: str) -> float:
    """A probability from 0 to 1, both included.

    Raises:
        ValueError: The value is not a number inside [0, 1].
    """
    if type(p) is float and 0.0 <= p <= 1.0:
        return p
    number = _number(p, name)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {p!r}")
    return number


def _between(value: float, name: str, low: float) -> float:
    number = _number(value, name)
    if not low < number < 1.0:
        raise ValueError(f"{name} must lie strictly between {low:g} and 1, got {value!r}")
    return number


def _number(value: float, name: str) -> float:
    if isinstance(value, (bool, str)):
        raise ValueError(f"{name} must be a number, not {value!r}")  # noqa: TRY004 - as above
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, not {value!r}") from None
    if math.isnan(number):
        raise ValueError(f"{name} must be a number, not {value!r}")
    return number
