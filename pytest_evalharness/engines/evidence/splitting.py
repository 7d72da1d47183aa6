"""Which side a call is on, and the preference pairs of a side."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from pytest_evalharness.engines.evidence.rows import Part, Row

HELD_OUT_SHARE = 0.2
_MOST = 0xFFFFFFFF
_SAME = 1e-9
"""Returns closer than this are no preference."""


def side(call: str, *, seed: int = 0, share: float = HELD_OUT_SHARE) -> Part:
    """The side of a call that no row tells: a hash of the seed and the call, so it is the same on any machine.

    SHA-1 of "seed:call", its first 32 bits over 2^32 - 1, held out where strictly below the share: the rule of the `levers9`
    SDK, so that both split alike.
    """
    digest = hashlib.sha1(f"{seed}:{call}".encode(), usedforsecurity=False).hexdigest()
    return "held_out" if int(digest[:8], 16) / _MOST < share else "fit"


class Pair(NamedTuple):
    """In a state, one move is preferred to another.

    Attributes:
        state: where.
        better: the preferred move.
        worse: the other one.
        weight: the fewer of the two moves' visits.
    """

    state: str
    better: str
    worse: str
    weight: int


def preferences(rows: Iterable[Row], *, min_visits: int = 1, best: bool = False) -> list[Pair]:
    """Preference pairs from the returns of the moves that were tried in a state.

    Mean returns are compared. The maximum, which `best` compares as the SDK does, makes pairs vanish as data grows: one
    lucky win makes any move as good as any other.

    Args:
        rows: of the fit calls.
        min_visits: a move tried less often in the state is in no pair.
        best: compare the best return in place of the mean.
    """
    seen: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        seen[row.state][row.move].append(row.ret)
    found = []
    for state, moves in seen.items():
        worth = {
            move: (max(returns) if best else sum(returns) / len(returns), len(returns))
            for move, returns in moves.items()
            if len(returns) >= min_visits
        }
        names = list(worth)
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                difference = worth[one][0] - worth[other][0]
                if abs(difference) > _SAME:
                    better, worse = (one, other) if difference > 0 else (other, one)
                    found.append(Pair(state, better, worse, min(worth[one][1], worth[other][1])))
    return found
