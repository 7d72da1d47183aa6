"""Which of several things a text speaks of, by phrases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

_WORD = re.compile(r"[\w']+")
_PLAIN = bytes(ord(chr(at).lower()) if _WORD.match(chr(at)) else ord(" ") for at in range(128)).ljust(256)
"""ASCII as small letters, and what is in no word as a space."""


def words(text: str) -> list[str]:
    """The words of a text, without case."""
    if text.isascii():
        return text.encode("ascii").translate(_PLAIN).decode("ascii").split()
    return _WORD.findall(text.replace("\u2019", "'").casefold())


class Cues:
    """Phrases by the number of what they speak of.

    Args:
        phrases: of each thing, by its position.
    """

    def __init__(self, phrases: Sequence[Sequence[str]]) -> None:
        # By its longest word, which is rarely said without the rest.
        by_word: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for at, cues in enumerate(phrases):
            for phrase in dict.fromkeys(tuple(words(cue)) for cue in cues):
                if phrase:
                    by_word[max(phrase, key=len)].append((f" {' '.join(phrase)} ", at, len(phrase)))
        self._by_word = dict(by_word)
        self._keys = frozenset(by_word)

    def met(self, said: Sequence[str]) -> dict[int, int]:
        """What words speak of, with how many words of its phrases they have."""
        begun = self._keys.intersection(said)
        if not begun:
            return {}
        text = f" {' '.join(said)} "
        found: dict[int, int] = {}
        for word in begun:
            for phrase, at, weight in self._by_word[word]:
                if phrase in text:
                    found[at] = found.get(at, 0) + weight
        return found


def heaviest(met: Mapping[int, int]) -> int:
    """The one with the most words; of several the last one listed."""
    return max(met, key=lambda at: (met[at], at))
