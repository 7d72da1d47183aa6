"""The episodes of a comparison as compact data for a page, and its seats in words. Pure.

A word that comes up in many rows is written once and named by its place in a table, so that thousands of rows stay small.
Of a comparison that cannot be believed no row says who won.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_evalharness.base.text import counted, printable
from pytest_evalharness.report.sentences import NAME

SIDES = ("candidate", "baseline")
_EFFECT = ("outcome", "score", "kills")
_PLAIN = ("arm", "number", "seats", "seed", "status", "cause", "id", "request", "links")
_AS_THEY_ARE = frozenset({"score", "kills", "seed"})
_WIDE = 120
_MOST_SEATS = 16
"""Positions that a matrix has room for; a server that tells of more is distrusted anyway."""
_MOST_MISPLACED = 24


@dataclass(frozen=True)
class Misplaced:
    """Who sat in a seat of an arm instead of whom, and how often."""

    side: str
    position: int
    tested: bool
    placed: str
    found: str
    episodes: int
    of: int


class Words:
    """Strings and the places they are named by."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """The place of a string; a new one if it was not seen before."""
        return self._places.setdefault(text, len(self._places))

    def to_json(self) -> list[str]:
        """All strings in the order of their places."""
        return list(self._places)


def table(episodes: Mapping[str, Any], words: Words, *, effect: bool) -> dict[str, Any]:
    """The rows of both arms for a page's one block of data.

    Args:
        episodes: a comparison's episodes, by side (`episodes_view`).
        words: the page's table of strings; it grows.
        effect: whether rows may say who won.

    Returns:
        `columns` names what each entry of a row is. Columns `arm`, `outcome`, `status`, `cause` and `request` hold places
        in the table of strings. `seats` is 0 where all is right, -1 where nobody ever sat, else pairs of a position and
        a string's place. `arms` has the matrix's seats: label and role by position.
    """
    columns = [*_PLAIN[:2], *(_EFFECT if effect else ()), *_PLAIN[2:]]
    arms = [(side, episodes[side]) for side in SIDES if side in episodes]
    return {
        "columns": columns,
        "arms": [_arm(side, arm, words) for side, arm in arms],
        "rows": [
            [_entry(column, row, words, side, number) for column in columns]
            for side, arm in arms
            for number, row in enumerate(arm["rows"], 1)
        ],
    }


def _arm(side: str, arm: Mapping[str, Any], words: Words) -> dict[str, Any]:
    return {
        "side": words.place(side),
        "tested": arm["tested_seat"],
        "seats": [
            [s["position"], words.place(printable(s["label"], NAME)), words.place(printable(s["role"]))]
            for s in arm["seats"]
        ],
    }


def _entry(column: str, row: Mapping[str, Any], words: Words, side: str, number: int) -> Any:
    if column == "number":
        return number
    if column in _AS_THEY_ARE:
        return row[column]
    if column == "seats":
        return _seats(row, words)
    if column == "links":
        return links(row.get("links"))
    text = side if column == "arm" else printable(row[column], _WIDE)
    return text if column == "id" else words.place(text)


def _seats(row: Mapping[str, Any], words: Words) -> Any:
    if not row["seated"]:
        return -1
    wrong = sorted((int(position), name) for position, name in row["wrong"].items())[:_MOST_SEATS]
    return [[position, words.place(printable(name, NAME))] for position, name in wrong] or 0


def links(told: Mapping[str, str] | None) -> list[list[str]]:
    """What an episode's record points to, as pairs of a word and an address: a replay, artifacts.

    Only web addresses and paths below the run's folder are followed; anything else is left out.
    """
    return [[printable(word, NAME), target] for word, target in (told or {}).items() if _followable(target)]


def _followable(target: str) -> bool:
    if printable(target, len(target)) != target:
        return False
    try:
        parts = urlsplit(target)
    except ValueError:
        return False
    if parts.scheme in {"http", "https"}:
        return bool(parts.netloc)
    return not (parts.scheme or parts.netloc or target.startswith(("/", "\\"))) and ".." not in target


def misplaced(episodes: Mapping[str, Any]) -> list[Misplaced]:
    """Every wrong seat of both arms, each kind once, in the order of arms and seats."""
    numbers: dict[tuple[str, int, str], int] = {}
    for side in SIDES:
        for row in episodes.get(side, {}).get("rows", ()):
            for position, name in row["wrong"].items():
                key = side, int(position), printable(name, NAME)
                numbers[key] = numbers.get(key, 0) + 1
    return [
        _misplaced(episodes[side], side, position, name, times)
        for (side, position, name), times in sorted(
            numbers.items(), key=lambda item: (SIDES.index(item[0][0]), *item[0][1:])
        )[:_MOST_MISPLACED]
    ]


def _misplaced(arm: Mapping[str, Any], side: str, position: int, found: str, times: int) -> Misplaced:
    placed = next((seat for seat in arm["seats"] if seat["position"] == position), None)
    if placed is None:
        wanted = "nobody"
    else:
        wanted = printable(placed["label"], NAME)
        wanted = f"{wanted} as {printable(placed['role'])}" if found.startswith("as ") else wanted
    return Misplaced(side, position, position == arm["tested_seat"], wanted, found, times, len(arm["rows"]))


def seats_words(episodes: Mapping[str, Any]) -> str:
    """The state of all seats in one line."""
    rows = [row for side in SIDES for row in episodes.get(side, {}).get("rows", ())]
    wrong = sum(bool(row["wrong"]) for row in rows)
    seated = sum(row["seated"] for row in rows)
    places = counted(seated, "episode")
    told = f"wrong in {wrong} of {places}" if wrong else f"as placed in {places}"
    return told if seated == len(rows) else f"{told}, {len(rows) - seated} never seated"
