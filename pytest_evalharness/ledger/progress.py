"""How far comparisons have come, by the states of their requests: without reading what those brought."""

from __future__ import annotations

from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import Block, as_block
from pytest_evalharness.ledger.states import BlockState


class Progress:
    """How far the comparisons of one ledger have come."""

    def __init__(self, access: Access) -> None:
        self._storage = access.storage

    def begun(self, comparison_id: str) -> bool:
        """Whether something of a comparison was posted, or is about to be."""
        return self._states(comparison_id) != {BlockState.PLANNED}

    def superseded(self, comparison_id: str) -> bool:
        """Whether another attempt has taken the place of one of which nothing exists at the server."""
        sql = (
            "SELECT 1 FROM comparisons AS own JOIN comparisons AS later ON later.plan_key = own.plan_key "
            "AND later.attempt > own.attempt WHERE own.comparison_id = ?"
        )
        return bool(self._storage.read(sql, comparison_id)) and self.unsent(comparison_id)

    def unsent(self, comparison_id: str) -> bool:
        """Whether nothing of a comparison exists at the server, and nobody is about to send any of it."""
        return all(block.unsent for block in self._blocks(comparison_id))

    def sending(self, comparison_id: str) -> bool:
        """Whether nothing of a comparison is known to exist at the server, but somebody is about to send some of it."""
        blocks = self._blocks(comparison_id)
        return not any(block.request_id for block in blocks) and any(
            block.owner is not None for block in blocks
        )

    def _blocks(self, comparison_id: str) -> list[Block]:
        sql = "SELECT blocks.* FROM blocks JOIN comparison_arms USING (arm_key) WHERE comparison_id = ?"
        return [as_block(row) for row in self._storage.read(sql, comparison_id)]

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
