"""Work that must happen once, however many processes ask for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import ArmStalled
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import dump, whole

_ROW = "SELECT * FROM once WHERE kind = ? AND key = ?"


def once(
    access: Access,
    kind: str,
    key: str,
    produce: Callable[[], dict[str, Any]],
    *,
    deadline: Deadline,
    poll: float,
) -> dict[str, Any]:
    """See `Ledger.once`."""
    while True:
        lease, row = _claim(access, kind, key)
        if lease is not None:
            return _produce(access, kind, key, produce, lease)
        if row["state"] == "done":
            return whole(row["value_json"])
        if deadline.expired:
            holder = Owner.from_json(whole(row["owner_json"]))
            raise ArmStalled(
                f"{kind}: {holder} has not finished it within {span(deadline.allowed)}",
                not_done="nothing was submitted by this process for what depends on it",
                next_step=f"see whether process {holder.pid} hangs; end it and run the same command again",
            )
        access.clock.wait(min(poll, deadline.remaining))


def _claim(access: Access, kind: str, key: str) -> tuple[str | None, sqlite3.Row]:
    """Claim the work if nobody alive does it and nobody has done it; returns our lease and the row."""
    with access.storage.transaction() as run:
        rows = run(_ROW, kind, key)
        # Nothing here sends heartbeats while it produces: only a process that is gone loses its claim.
        if rows and (rows[0]["state"] == "done" or access.held(rows[0], speaks=False)):
            return None, rows[0]
        lease = access.nonce()
        run(
            "INSERT OR REPLACE INTO once VALUES (?, ?, 'producing', ?, ?, ?, NULL)",
            kind,
            key,
            lease,
            dump(access.owner.as_json()),
            access.clock.now(),
        )
        return lease, run(_ROW, kind, key)[0]


def _produce(
    access: Access, kind: str, key: str, produce: Callable[[], dict[str, Any]], lease: str
) -> dict[str, Any]:
    try:
        text = dump(produce())
    except BaseException:
        with access.storage.transaction() as run:
            run("DELETE FROM once WHERE kind = ? AND key = ? AND lease = ?", kind, key, lease)
        raise
    with access.storage.transaction() as run:
        # If we were taken for dead there are two producers: the first to finish decides, both return that.
        run(
            "UPDATE once SET state = 'done', value_json = ?, lease = NULL, heartbeat_at = ? "
            "WHERE kind = ? AND key = ? AND state <> 'done'",
            text,
            access.clock.now(),
            kind,
            key,
        )
        return whole(run(_ROW, kind, key)[0]["value_json"])
