"""Which of several things a text speaks of, by phrases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

_WORD = re.compile(r"[\w']+")


def words(text: str) -> list[str]:
    """The words of a text, without case."""
    return _WORD.findall(text.replace("\u2019", "'").casefold())


class Cues:
    """Phrases by name.

    Args:
        phrases: of each name; where several names are met, that with the most words wins, a tie goes to the last
            listed.
    """

    def __init__(self, phrases: Mapping[str, Sequence[str]]) -> None:
        self._names = list(phrases)
        # By first word: most texts hold few words that begin any phrase.
        self._by_word: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for at, cues in enumerate(phrases.values()):
            for phrase in dict.fromkeys(tuple(words(cue)) for cue in cues):
                if phrase:
                    self._by_word[phrase[0]].append((f" {' '.join(phrase)} ", at, len(phrase)))
        self._by_word.default_factory = None
        self._first = self._by_word.keys()

    def best(self, said: Sequence[str]) -> str | None:
        """The name that words speak of, None if of none."""
        begun = self._first & set(said)
        if not begun:
            return None
        text = f" {' '.join(said)} "
        weights: dict[int, int] = {}
        for word in begun:
            for phrase, at, weight in self._by_word[word]:
                if phrase in text:
                    weights[at] = weights.get(at, 0) + weight
        if not weights:
            return None
        return self._names[max(weights, key=lambda at: (weights[at], at))]

    def last(self, said: Sequence[str]) -> str | None:
        """The name that is listed last among those that words speak of, None if of none."""
        text = f" {' '.join(said)} "
        found = [
            at for word in self._first & set(said) for phrase, at, _ in self._by_word[word] if phrase in text
        ]
        return self._names[max(found)] if found else None
