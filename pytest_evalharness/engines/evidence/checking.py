"""What types cannot tell of an evidence document: whether its numbers and sides can be true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalharness.base.text import printable
from pytest_evalharness.engines.evidence.rows import Row

if TYPE_CHECKING:
    from pytest_evalharness.engines.evidence.document import Document

_COLONS = 2
LARGEST = 1e15
"""Of an amount, in either direction: beyond it sums over calls are no longer exact to a unit, and soon overflow."""


def why_not(document: Document) -> str | None:
    """Why a document is no evidence, by its first contradiction; None if it has none."""
    if not document.transitions:
        return "it holds no transition"
    discount = document.mdp.get("discount", 1.0)
    if isinstance(discount, bool) or not isinstance(discount, int | float) or not 0.0 <= discount <= 1.0:
        return f"mdp.discount is between 0 and 1, not {discount!r}"
    twice = next((move for at, move in enumerate(document.moves) if move in document.moves[:at]), None)
    if twice is not None:
        return f"its moves name {printable(twice)!r} twice"
    return _of_rows(document)


def _of_rows(document: Document) -> str | None:
    moves, sides = frozenset(document.moves), dict[str, str | None]()
    for row in document.transitions:
        if sides.setdefault(row.episode_id, row.split) != row.split:
            return f"{_place(row)}: the call's turns stand on several sides, and a call is on one"
        if row.state.count(":") != _COLONS:
            return f"{_place(row)}: a state is stage:trust:objection, not {printable(row.state)!r}"
        for name in ("reward", "penalty", "terminal", "ret"):
            amount = getattr(row, name)
            if not -LARGEST <= amount <= LARGEST:  # nan too
                return f"{_place(row)}: {name} is a number up to {LARGEST:g}, not {amount!r}"
        likely = row.propensity
        if likely is not None and not 0.0 < likely <= 1.0 and (row.move in moves or not moves):
            return f"{_place(row)}: the propensity of a move that was made is above 0 and at most 1, not {likely!r}"
    return None


def _place(row: Row) -> str:
    return f"call {printable(row.episode_id)!r}, turn {row.t}"
