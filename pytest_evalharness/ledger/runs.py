"""The runs of one ledger: when each began, where it played, and which comparisons it asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.database import Run
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import whole


@dataclass(frozen=True)
class RunRecord:
    """One run.

    Attributes:
        id: its name.
        began: seconds since 1970.
        info: what was noted of it when it began: the server, who asked, the settings.
        comparisons: the ids of the comparisons that it began, went on with or judged, oldest first.
        arms: the ids of the arms that it began to play by themselves, or went on with, oldest first.
    """

    id: str
    began: float
    info: dict[str, Any]
    comparisons: tuple[str, ...]
    arms: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        """The server's identity (`embedded:2026`, or its URL)."""
        return str(self.info.get("server", ""))

    @property
    def dry(self) -> bool:
        """Whether it was a dry run, which compares nothing."""
        return bool((self.info.get("settings") or {}).get("dry_run"))


class Runs:
    """The runs of one ledger."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def newest_first(self) -> list[RunRecord]:
        """All runs."""
        rows = self._access.storage.read("SELECT * FROM runs ORDER BY created_at DESC, run_id DESC")
        return [
            RunRecord(
                row["run_id"],
                row["created_at"],
                whole(row["info_json"]),
                self._asked_by(row["run_id"], alone=False),
                self._asked_by(row["run_id"], alone=True),
            )
            for row in rows
        ]

    def _asked_by(self, run_id: str, *, alone: bool) -> tuple[str, ...]:
        """Ids of a run's comparisons, or of the arms that it played alone."""
        rows = self._access.storage.read(_OF_A_RUN, alone, run_id, run_id, run_id, _WENT_ON, run_id, run_id)
        return tuple(row["comparison_id"] for row in rows)

    def every_comparison(self) -> list[str]:
        """The ids of all comparisons, oldest first; arms that are compared with nothing are none."""
        rows = self._access.storage.read(
            "SELECT comparison_id FROM comparisons WHERE instr(plan_json, '\"single_arm\"') = 0 "
            "ORDER BY created_at, comparison_id"
        )
        return [row["comparison_id"] for row in rows]

    def posted(self, request_id: str) -> str | None:
        """The run whose case asked for a request that was posted from this ledger; empty where it belongs to no run.

        Returns:
            None if this ledger has not posted it.
        """
        rows = self._access.storage.read(_POSTED, request_id)
        return str(rows[0]["run_id"] or "") if rows else None


def went_on(run: Run, run_id: str, comparison_id: str) -> None:
    """Note that a run asked for a comparison that an earlier one began, whatever becomes of it."""
    run(_NOTE, _WENT_ON, f"{run_id}:{comparison_id}")


SINGLE_ARM = "single_arm"
"""The key by which the plan of an arm that is compared with nothing is known."""
_WENT_ON = "went on with"
_NOTE = "INSERT OR IGNORE INTO once VALUES (?, ?, 'done', NULL, NULL, NULL, NULL)"
_OF_A_RUN = """
SELECT comparison_id FROM comparisons WHERE (instr(plan_json, '"single_arm"') > 0) = ?
AND (run_id = ? OR comparison_id IN (SELECT comparison_id FROM verdicts WHERE run_id = ?) OR comparison_id IN
(SELECT substr(key, length(?) + 2) FROM once WHERE kind = ? AND key > ? || ':' AND key < ? || ';'))
ORDER BY created_at, rowid
"""
"""What a run began, what it read again, and what it went on with."""
_POSTED = """
SELECT run_id FROM blocks LEFT JOIN comparison_arms USING (arm_key) LEFT JOIN comparisons USING (comparison_id)
WHERE request_id = ? AND posted_at IS NOT NULL ORDER BY comparisons.created_at LIMIT 1
"""
