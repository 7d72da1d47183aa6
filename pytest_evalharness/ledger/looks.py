"""Every time results were read: the looks that were planned, each taken once, and those that were not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.database import Run
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole


@dataclass(frozen=True)
class Look:
    """One reading of a comparison's results.

    Attributes:
        comparison_id: which comparison.
        position: which planned look, from 0; None for one that nobody planned.
        decided: whether it ended the comparison.
        seen: what was seen, JSON.
        run_id: the run that looked.
        looked_at: seconds since 1970.
    """

    comparison_id: str
    position: int | None
    decided: bool
    seen: dict[str, Any]
    run_id: str
    looked_at: float


class Looks:
    """The looks of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def take(
        self, comparison_id: str, position: int, seen: Mapping[str, Any], *, decided: bool, run_id: str
    ) -> Look:
        """Write down a planned look. The first to take it decides; whoever takes it again gets what was written.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            sql = (
                "INSERT INTO looks (comparison_id, position, decided, seen_json, run_id, looked_at) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
            )
            run(
                sql, comparison_id, position, int(decided), dump(dict(seen)), run_id, self._access.clock.now()
            )
        return next(look for look in self.of(comparison_id) if look.position == position)

    def unplanned(self, comparison_id: str, seen: Mapping[str, Any], *, run_id: str) -> None:
        """Write down a look that nobody planned, before its results are shown.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            note(run, comparison_id, seen, run_id=run_id, at=self._access.clock.now())

    def of(self, comparison_id: str) -> list[Look]:
        """All looks at a comparison, oldest first."""
        sql = "SELECT * FROM looks WHERE comparison_id = ? ORDER BY look_id"
        return [
            Look(
                row["comparison_id"],
                row["position"],
                bool(row["decided"]),
                whole(row["seen_json"]),
                row["run_id"],
                row["looked_at"],
            )
            for row in self._access.storage.read(sql, comparison_id)
        ]


def note(run: Run, comparison_id: str, seen: Mapping[str, Any], *, run_id: str, at: float) -> None:
    """Write down a look that nobody planned, in a transaction that does more."""
    sql = (
        "INSERT INTO looks (comparison_id, position, decided, seen_json, run_id, looked_at) "
        "VALUES (?, NULL, 0, ?, ?, ?)"
    )
    run(sql, comparison_id, dump(dict(seen)), run_id, at)
