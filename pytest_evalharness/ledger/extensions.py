"""Extensions of comparisons that came to nothing: taken back, as long as the server knows nothing of them."""

from __future__ import annotations

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import dump, whole

_EXTENSIONS = "extensions"
_FROZEN = "SELECT frozen_json FROM comparisons WHERE comparison_id = ?"
_ARMS = "SELECT arm_key FROM comparison_arms WHERE comparison_id = ? AND side LIKE ?"
_KNOWN = """
SELECT 1 FROM blocks WHERE arm_key = ?
AND NOT (lease IS NULL AND request_id IS NULL AND state IN ('planned', 'failed', 'cancelled'))
"""


class Extensions:
    """The extensions of one ledger's comparisons."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def take_back(self, comparison_id: str) -> bool:
        """Forget the latest extension of a comparison if nothing of it exists at the server and nobody works on it.

        The look that it was stays: who extends has seen the results.

        Returns:
            Whether there was one, and it is forgotten.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        with self._access.storage.transaction() as run:
            rows = run(_FROZEN, comparison_id)
            frozen = whole(rows[0]["frozen_json"]) if rows and rows[0]["frozen_json"] else {}
            *kept, last = frozen.get(_EXTENSIONS) or [None]
            if last is None:
                return False
            arms = [row["arm_key"] for row in run(_ARMS, comparison_id, f"%+{len(kept) + 1}")]
            if any(run(_KNOWN, key) for key in arms):
                return False
            for key in arms:
                run("DELETE FROM comparison_arms WHERE arm_key = ?", key)
                run("DELETE FROM blocks WHERE arm_key = ?", key)
                run("DELETE FROM arms WHERE arm_key = ?", key)
            told = {key: value for key, value in frozen.items() if key != _EXTENSIONS}
            if kept:
                told[_EXTENSIONS] = kept
            run("UPDATE comparisons SET frozen_json = ? WHERE comparison_id = ?", dump(told), comparison_id)
            return True
