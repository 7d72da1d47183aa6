"""Text that was typed, read into a value; a `ValueError` says in words what is wrong with it. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def text(raw: str) -> str:
    """Any text but an empty one, without spaces at its ends."""
    if not raw.strip():
        raise ValueError("must not be empty")
    return raw.strip()


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A whole number in its range."""

    def parse(raw: str) -> int:
        try:
            value = int(raw)
        except ValueError:
            raise ValueError("must be a whole number") from None
        if value < low or (high is not None and value > high):
            raise ValueError(f"must be {low} to {high}" if high is not None else f"must be {low} or more")
        return value

    return parse


def real(low: float, high: float, *, what: str) -> Callable[[str], float]:
    """A finite number between two others; `what` says so in words."""

    def parse(raw: str) -> float:
        try:
            value = float(raw)
        except ValueError:
            raise ValueError("must be a number") from None
        if not (low < value < high) or not math.isfinite(value):
            raise ValueError(f"must be {what}")
        return value

    return parse


def choice(*words: str) -> Callable[[str], str]:
    """One of these words."""

    def parse(raw: str) -> str:
        if raw not in words:
            meant = near(raw, words)
            hint = f" (did you mean {meant!r}?)" if meant else ""
            raise ValueError(f"must be one of {', '.join(words)}{hint}")
        return raw

    return parse


def near(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant, or an empty string."""
    import difflib  # only mistakes need it

    return next(iter(difflib.get_close_matches(word, known, 1)), "")


def yes(raw: str) -> bool:
    """Yes or no, in any of the usual words; nothing is no."""
    word = raw.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError("must be true or false")


def share(raw: str) -> float:
    """A share above 0, 1 included."""
    value = real(0.0, 2.0, what="above 0 and at most 1")(raw)
    if value > 1.0:
        raise ValueError("must be above 0 and at most 1")
    return value
