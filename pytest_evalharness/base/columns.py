"""Text in a terminal's columns: how wide it is, cut to fit, and broken at blanks. Expects printable lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_HANG = 2
_WIDE = frozenset({"W", "F"})
_LEAD = re.compile(r" *(?:[A-Z_]{4,} +|[0-9] (?:ok|not ok|unknown) +|\w+: |[\w() -]{14,15}: )?")
"""What stands before a line's own words: blanks, an outcome, a point's number and state, or a label, short or padded."""


def columns(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def fitted(text: str, width: int) -> str:
    """A text that takes at most so many columns; one that is cut ends with `…`."""
    if columns(text) <= width:
        return text
    taken, kept = 1, []
    for character in text:
        taken += _columns(character)
        if taken > width:
            break
        kept.append(character)
    return "".join(kept) + "…" if width > 0 else ""


def wrapped(text: str, width: int) -> Iterator[str]:
    """A line in pieces of at most so many columns, broken at blanks; a word that is longer stays whole.

    Further pieces stand under the words of the first, past its outcome or label, if that leaves them half of the width.
    """
    lead = _LEAD.match(text)
    hang = lead.end() if lead is not None and 0 < lead.end() <= width // 2 else _HANG
    piece, empty = "", True
    for word in re.findall(r" *[^ ]+", text):
        if empty or columns(piece) + columns(word) <= width:
            piece, empty = piece + word, False
            continue
        yield piece
        next_one = word.lstrip()
        piece = " " * max(0, min(hang, width - columns(next_one))) + next_one
    yield piece
