"""When a game counts as won. It is declared before the first game, as the claim is: whoever chooses it afterwards finds anything. Pure."""

from __future__ import annotations

import math
import re
from typing import Any

from pytest_evalharness.verdict.metrics import is_function, metric_of
from pytest_evalharness.verdict.metrics import words_of as words_of_function

LISTED = "win"
"""The results have a list `win`, a boolean a seat."""
HIGHEST = "highest"
"""The score is strictly above everybody else's; a tie is no win."""
_NAMES = {"win": LISTED, "win list": LISTED, "highest": HIGHEST, "highest score": HIGHEST}
_THRESHOLD = re.compile(r"score\s*(>=?)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)", re.ASCII)


def win_of(value: Any) -> str:
    """A definition of winning as it is declared: `win`, `highest`, a threshold such as `score > 400.0`, or a function's name.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(value, str):
        text = value.strip()
        if text in _NAMES:
            return _NAMES[text]
        found = _THRESHOLD.fullmatch(text)
        if found is not None:
            return f"score {found[1]} {_limit(found[2], value)!r}"
        if is_function(text):
            return metric_of(text)
    raise ValueError(
        "win must be 'win' (the results' own list), 'highest' (strictly highest score), 'score > X', 'score >= X', or a function's "
        f"name such as 'package.module:function', got {value!r}"
    )


def _limit(text: str, whole: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ValueError(f"win compares the score with a number, got {whole!r}")
    return limit


def reaches(win: str, score: float) -> bool:
    """Whether a score reaches the threshold of a definition.

    Raises:
        ValueError: the definition is no threshold.
    """
    found = _THRESHOLD.fullmatch(win)
    if found is None:
        raise ValueError(f"{win!r} is no threshold")
    limit = float(found[2])
    return score >= limit if found[1] == ">=" else score > limit


def is_threshold(win: str) -> bool:
    """Whether a definition is a threshold."""
    return _THRESHOLD.fullmatch(win) is not None


def words_of(win: str) -> str:
    """A definition as it is printed."""
    if win == HIGHEST:
        return "strictly highest score, a tie is no win"
    if win == LISTED:
        return "as the game's own list says"
    if is_threshold(win):
        return win.removesuffix(".0")
    return f"as {words_of_function(win)} says"
