"""The runs of one ledger: when each began, where it played, and which comparisons it asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import whole


@dataclass(frozen=True)
class RunRecord:
    """One run.

    Attributes:
        id: its name.
        began: seconds since 1970.
        info: what was noted of it when it began: the server, who asked, the settings.
        comparisons: the ids of the comparisons that it began or judged, oldest first.
        arms: the ids of the arms that it began to play by themselves, oldest first.
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
                self._comparisons(row["run_id"]),
                tuple(
                    one["comparison_id"] for one in self._access.storage.read(_ARMS_OF_A_RUN, row["run_id"])
                ),
            )
            for row in rows
        ]

    def _comparisons(self, run_id: str) -> tuple[str, ...]:
        rows = self._access.storage.read(_OF_A_RUN, run_id, run_id)
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


SINGLE_ARM = "single_arm"
"""The key by which the plan of an arm that is compared with nothing is known."""
_OF_A_RUN = """
SELECT comparison_id FROM comparisons WHERE instr(plan_json, '"single_arm"') = 0 AND (run_id = ?
OR comparison_id IN (SELECT comparison_id FROM verdicts WHERE run_id = ?))
ORDER BY created_at, rowid
"""
"""What a run began, and what it read again."""
_ARMS_OF_A_RUN = """
SELECT comparison_id FROM comparisons WHERE instr(plan_json, '"single_arm"') > 0 AND run_id = ? ORDER BY created_at, rowid
"""
_POSTED = """
SELECT run_id FROM blocks LEFT JOIN comparison_arms USING (arm_key) LEFT JOIN comparisons USING (comparison_id)
WHERE request_id = ? AND posted_at IS NOT NULL ORDER BY comparisons.created_at LIMIT 1
"""
