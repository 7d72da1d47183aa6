"""Which episodes are one and the same game: copies of an observation are no further observations. Pure.

A game is known by its content: who sat where, and what its results say of outcome, scores, actions and length. An
episode's id says nothing, because a server that plays a deterministic game thirty times gives it thirty ids.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evalharness.league.records import EpisodeRecord

_PLAY = ("tasks", "kills", "vote_players", "vote_skip", "vote_timeout", "ticks")
"""What results tell of a game beside who won it: without any of it, two games that look alike may well be two."""


def copies(episodes: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """The episodes that repeat an earlier one: under its id, or with its content.

    Equal content under two known seeds is chance: two short games may end alike. Under one seed, or where a seed is not
    told, it is one game.
    """
    ids: set[str] = set()
    seeds: dict[str, set[int | None]] = {}
    found = []
    for episode in episodes:
        content = _content(episode)
        known = seeds.setdefault(content, set()) if content is not None else set()
        played_before = bool(known) and (episode.seed is None or episode.seed in known or None in known)
        if episode.id in ids or played_before:
            found.append(episode)
        ids.add(episode.id)
        known.add(episode.seed)
    return found


def distinct(episodes: Sequence[EpisodeRecord]) -> int | None:
    """How many different games these are; None where the content of one that was played is not known."""
    played = [episode for episode in episodes if episode.results]
    if any(_content(episode) is None for episode in played):
        return None
    return len(played) - len(copies(played))


def shared(first: Sequence[EpisodeRecord], second: Sequence[EpisodeRecord]) -> int:
    """How many games of one arm are also in the other: by id, or by seed and results whoever sat in the tested seat."""
    ids, games = (
        ({one.id for one in arm} for arm in (first, second)),
        [_played(arm) for arm in (first, second)],
    )
    return len(set.intersection(*ids)) + len(games[0] & games[1])


def _played(episodes: Sequence[EpisodeRecord]) -> set[str]:
    return {_words([e.seed, dict(e.results)]) for e in episodes if e.seed is not None and e.results}


def _content(episode: EpisodeRecord) -> str | None:
    """What a game is known by; None without results, or where they tell too little for a game without a seed."""
    results = episode.results
    if not results:
        return None
    if episode.seed is None and (episode.anyone_dropped or not any(key in results for key in _PLAY)):
        return None
    seating = sorted((seat.position, seat.policy_version_id) for seat in episode.participants)
    return _words([seating, dict(results)])


def _words(content: object) -> str:
    """One spelling of plain data. Results may hold NaN, which is no number and as telling as one."""
    return json.dumps(content, sort_keys=True)
