"""Lays an arm down: its row, and one block a request, to be posted or posted by somebody else already."""

from __future__ import annotations

from itertools import zip_longest

from pytest_evalharness.base.database import Run
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.records import ArmSpec, dump
from pytest_evalharness.ledger.states import BlockState


def lay(access: Access, run: Run, arm: ArmSpec) -> None:
    """Lay an arm down with its blocks, unless its key exists already.

    A block whose request exists at the server is `running` from the start, so that nothing can ever post it.
    """
    now = access.clock.now()
    sql = "INSERT INTO arms VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    if not run.changed(sql, arm.arm_key, arm.kind, dump(dict(arm.spec)), now):
        return
    for position, (body, request) in enumerate(zip_longest(arm.bodies, arm.requests)):
        run(
            "INSERT INTO blocks (block_id, arm_key, position, state, token, idempotency_key, body_json, request_id, "
            "accepted_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            f"{arm.arm_key}.{position}",
            arm.arm_key,
            position,
            BlockState.PLANNED if request is None else BlockState.RUNNING,
            access.nonce(),
            access.nonce(),
            dump(dict(body)),
            request,
            None if request is None else now,
            now,
        )
