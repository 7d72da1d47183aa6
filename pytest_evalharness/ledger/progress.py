"""How far comparisons have come, by the states of their requests: without reading what those brought."""

from __future__ import annotations

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.states import BlockState


class Progress:
    """How far the comparisons of one ledger have come."""

    def __init__(self, access: Access) -> None:
        self._storage = access.storage

    def begun(self, comparison_id: str) -> bool:
        """Whether something of a comparison was posted, or is about to be."""
        return self._states(comparison_id) != {BlockState.PLANNED}

    def complete(self, comparison_id: str) -> bool:
        """Whether everything that a comparison is judged by is here.

        Every request has brought its results, or a planned look decided it with those that were posted.
        """
        states = self._states(comparison_id)
        if states == {BlockState.CANCELLED, BlockState.FINISHED}:
            sql = "SELECT 1 FROM looks WHERE comparison_id = ? AND decided = 1"
            return bool(self._storage.read(sql, comparison_id))
        return states == {BlockState.FINISHED}

    def _states(self, comparison_id: str) -> set[str]:
        sql = "SELECT DISTINCT state FROM blocks JOIN comparison_arms USING (arm_key) WHERE comparison_id = ?"
        return {row["state"] for row in self._storage.read(sql, comparison_id)}
