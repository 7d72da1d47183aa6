"""What was found about the builds of a comparison: each finding beside the earlier ones, none in place of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole

BUILDS = "builds"
"""The key of a frozen comparison, or of each configuration of a pool, under which the findings stand."""
_STRATA = "strata"


class Proofs:
    """The findings about the builds of one ledger's comparisons."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def add(
        self, comparison_id: str, configuration: int, finding: Mapping[str, Any], *, known: int
    ) -> dict[str, Any]:
        """Put a later finding beside the earlier ones of a frozen comparison.

        Args:
            comparison_id: which one.
            configuration: which one of a pool, from 0; 0 for two arms.
            finding: JSON.
            known: how many findings the caller has seen; if there are more, somebody was faster and nothing is done.

        Returns:
            What is frozen now.

        Raises:
            KeyError: there is no such comparison.
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            rows = run("SELECT frozen_json FROM comparisons WHERE comparison_id = ?", comparison_id)
            if not rows:
                raise KeyError(comparison_id)
            frozen = whole(rows[0]["frozen_json"])
            part = frozen[_STRATA][configuration] if _STRATA in frozen else frozen
            found = part.setdefault(BUILDS, [])
            if len(found) == known:
                found.append(dict(finding))
                sql = "UPDATE comparisons SET frozen_json = ? WHERE comparison_id = ?"
                run(sql, dump(frozen), comparison_id)
            return frozen

    def of_other_runs(self, run_id: str) -> list[tuple[str, str, dict[str, Any]]]:
        """The last finding of every frozen comparison of other runs, or of each configuration of a pool, newest first.

        Returns:
            The comparison's id, the run that began it, and the finding.
        """
        sql = (
            "SELECT comparison_id, run_id, frozen_json FROM comparisons WHERE frozen_json IS NOT NULL AND run_id <> ? "
            "ORDER BY created_at DESC, comparison_id DESC"
        )
        found = []
        for row in self._access.storage.read(sql, run_id):
            frozen = whole(row["frozen_json"])
            parts = frozen.get(_STRATA, [frozen])
            found += [
                (row["comparison_id"], row["run_id"], part[BUILDS][-1]) for part in parts if part.get(BUILDS)
            ]
        return found
