"""What was declared about a question, and whether that was before its results could be seen.

A question is everything that was asked but the declaration: the same arms, played the same way. Whoever sees its results
and then declares another claim or rule for them could always find one that is met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.keys import digest
from pytest_evalharness.ledger.records import dump, whole

DECLARATION = "declaration"
"""The key of a plan under which its declaration stands."""
STRATA = "strata"
"""The key of a pool's plan under which its configurations stand, each with its name and its plan."""


def question_key(plan: Mapping[str, Any]) -> str:
    """The key of what a plan asks: its declaration left out, and the order and the names of a pool's configurations.

    Raises:
        ValueError, TypeError: as `keys.digest`.
    """
    asked = {key: value for key, value in plan.items() if key != DECLARATION}
    if STRATA in asked:
        asked[STRATA] = sorted(digest(stratum["plan"]) for stratum in asked[STRATA])
    return "question-" + digest(asked)[:32]


class Questions:
    """The declarations of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def declare(self, plan: Mapping[str, Any], *, run_id: str) -> dict[str, Any] | None:
        """Write down what a plan declares, unless results of its question were seen under other declarations only.

        Returns:
            None if it stands: it was declared before any result was seen, now or earlier. Otherwise the latest
            declaration that did stand; nothing was written down then.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        key, declared = question_key(plan), dict(plan.get(DECLARATION) or {})
        with self._access.storage.transaction() as run:
            mine = digest(declared)
            if run("SELECT 1 FROM declarations WHERE question_key = ? AND digest = ?", key, mine):
                return None
            if run(_SEEN, key, key):
                stood = run(_LATEST, key)
                if stood:
                    return whole(stood[0]["declaration_json"])
            sql = "INSERT INTO declarations VALUES (?, ?, ?, ?, ?)"
            run(sql, key, mine, dump(declared), run_id, self._access.clock.now())
            return None

    def declare_afresh(self, plan: Mapping[str, Any], *, run_id: str) -> None:
        """Write down what a plan declares for results that are yet to be played.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        key, declared = question_key(plan), dict(plan.get(DECLARATION) or {})
        with self._access.storage.transaction() as run:
            sql = "INSERT INTO declarations VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
            run(sql, key, digest(declared), dump(declared), run_id, self._access.clock.now())


_LATEST = "SELECT * FROM declarations WHERE question_key = ? ORDER BY declared_at DESC LIMIT 1"
_SEEN = """
SELECT 1 FROM comparisons JOIN verdicts USING (comparison_id) WHERE question_key = ?
UNION ALL
SELECT 1 FROM comparisons JOIN looks USING (comparison_id) WHERE question_key = ?
LIMIT 1
"""
