"""Whether all games that are held against each other, or added up, were scored by one rule. Pure.

The service changed twice what a score means, and with it who wins at the time limit. Nothing but the games tells which rule they
were scored by, and a single one often leaves it open; so what all of them together can be is what counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pytest_evalharness.base.text import counted
from pytest_evalharness.episodes.results import ANY, ScoreRegime, regime_of
from pytest_evalharness.league.records import ArmRecord, EpisodeRecord
from pytest_evalharness.verdict.evidence import Finding
from pytest_evalharness.verdict.words import Reason


def regime(records: Mapping[str, ArmRecord]) -> ScoreRegime:
    """What a score means in the games of both arms."""
    return regime_of(game.told for record in records.values() for game in _played(record.episodes))


def disagreement(groups: Mapping[str, Iterable[EpisodeRecord]]) -> Finding | None:
    """What is wrong if games were scored by different rules, within a group or between them; None if one rule fits all.

    Args:
        groups: the games, by what they are called: an arm, or a configuration of a pool.
    """
    played = {name: [(game, game.told.regimes) for game in _played(games)] for name, games in groups.items()}
    everything = [one for games in played.values() for one in games]
    if _fits(everything):
        return None
    told = [f"{name} {words}" for name, games in played.items() if (words := _words(games))]
    usual = Counter(possible for _, possible in everything if possible != ANY).most_common(1)[0][0]
    others = [game.id for game, possible in everything if not possible & usual]
    return Finding(Reason.VERSIONS, f"scores do not mean the same: {', '.join(told)}", episodes=tuple(others))


_Game = tuple[EpisodeRecord, frozenset[ScoreRegime]]


def _played(games: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    return [game for game in games if game.results]


def _fits(games: Iterable[_Game]) -> frozenset[ScoreRegime]:
    """The rules that all of the games can have been scored by."""
    left = ANY
    for _, possible in games:
        left &= possible
    return left


def _words(games: Sequence[_Game]) -> str:
    """The rule of a group; how many games can be of which where none fits all, and nothing where each does."""
    fitting = _fits(games)
    if fitting:
        return "" if fitting == ANY else f"by {_either(fitting)}"
    numbers = Counter(_either(possible) for _, possible in games if possible != ANY)
    return " and ".join(f"{counted(number, 'game')} by {word}" for word, number in numbers.most_common())


def _either(regimes: frozenset[ScoreRegime]) -> str:
    return " or ".join(sorted(one.value for one in regimes))
