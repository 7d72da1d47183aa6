"""One agent turn of one call, as evidence documents hold it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

import msgspec

UNLABELLED = "unknown"
"""The move of a turn that nobody could label."""

Part = Literal["fit", "held_out"]


class Row(msgspec.Struct, kw_only=True, gc=False):
    """A transition.

    Attributes:
        episode_id: the call; in sets of real calls a keyed hash of its id.
        t: the agent's turn, which may skip where a turn was not labelled.
        state: before the turn, `stage:trust:objection`.
        move: what the agent did.
        reward: judged score of the turn; 0 in sets of real calls.
        penalty: what the turn's violations cost; an algorithm sees `r`.
        next_state: None on the last turn.
        terminal: the outcome's value, on the last kept turn only.
        done: the last kept turn.
        ret: the return from the turn on.
        propensity: how likely the acting agent was to make the move; None where it was not recorded, which is never 1.
        split: the side of the call, in sets of real calls.
    """

    episode_id: str = ""
    t: int = 0
    state: str
    move: str
    reward: float = 0.0
    penalty: float = 0.0
    next_state: str | None = None
    terminal: float = 0.0
    done: bool = False
    ret: float = 0.0
    propensity: float | None = None
    split: Part | None = None

    @property
    def r(self) -> float:
        """The reward that an algorithm sees."""
        return self.reward - self.penalty


def by_call(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows of each call in the order of their turns; calls in the order of their first row."""
    calls: dict[str, int] = {}
    numbered = sorted(((calls.setdefault(row.episode_id, len(calls)), row.t, at, row) for at, row in enumerate(rows)),
                      key=lambda one: one[:3])  # fmt: skip
    for _, group in groupby(numbered, key=lambda one: one[0]):
        yield [row for *_, row in group]


def labelled(call: Sequence[Row], moves: frozenset[str]) -> list[Row]:
    """The rows of one call whose move is one of the world's, with nothing of the call's worth lost.

    What an unlabelled turn earned goes to the labelled turn before it, and so does the end of the call: dropped with its
    last row, a won call would be worth 0. Unlabelled turns before the first labelled one are dropped.
    """
    kept: list[Row] = []
    for row in call:
        if row.move in moves:
            kept.append(row)
        elif kept:
            last = kept[-1]
            kept[-1] = msgspec.structs.replace(
                last,
                reward=last.reward + row.reward,
                penalty=last.penalty + row.penalty,
                terminal=last.terminal + row.terminal,
                done=last.done or row.done,
                next_state=row.next_state,
            )
    return kept
