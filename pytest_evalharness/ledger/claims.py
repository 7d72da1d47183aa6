"""Work that must happen once, however many processes ask for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.database import Run
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.errors import ArmStalled
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import dump, whole
from pytest_evalharness.ledger.states import ClaimState, check_claim

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
        if row["state"] == ClaimState.DONE:
            return whole(row["value_json"])
        if deadline.expired:
            holder = Owner.from_json(whole(row["owner_json"]))
            raise ArmStalled(
                f"{kind}: {holder} has not finished it within {span(deadline.allowed)}",
                not_done="nothing was submitted by this process for what depends on it",
                next_step=f"see whether process {holder.pid} hangs; end it and run the same command again",
            )
        access.clock.wait(min(poll, deadline.remaining))


@contextmanager
def turn(access: Access, kind: str, key: str, *, deadline: Deadline, poll: float = 0.1) -> Iterator[None]:
    """Do something while nobody else does something of this kind, in whichever process or thread.

    Raises:
        ArmStalled: somebody else was still at it at the deadline.
    """
    while True:
        lease, row = _claim(access, kind, key)
        if lease is not None:
            break
        if deadline.expired:
            holder = Owner.from_json(whole(row["owner_json"]))
            raise ArmStalled(
                f"{kind}: {holder} has held it for {span(deadline.allowed)}",
                not_done="nothing was submitted by this process meanwhile",
                next_step=f"see whether process {holder.pid} hangs; end it and run the same command again",
            )
        access.clock.wait(min(poll, deadline.remaining))
    try:
        yield
    finally:
        _unclaim(access, kind, key, lease)


def _unclaim(access: Access, kind: str, key: str, lease: str) -> None:
    """Let go of a claim, unless somebody took it over."""
    with access.storage.transaction() as run:
        if run(_ROW + " AND lease = ?", kind, key, lease):
            _change(run, kind, key, ClaimState.UNCLAIMED)


def _claim(access: Access, kind: str, key: str) -> tuple[str | None, sqlite3.Row]:
    """Claim the work if nobody alive does it and nobody has done it; returns our lease and the row."""
    with access.storage.transaction() as run:
        rows = run(_ROW, kind, key)
        # Nothing here sends heartbeats while it produces: only a process that is gone loses its claim.
        if rows and (rows[0]["state"] == ClaimState.DONE or access.held(rows[0], speaks=False)):
            return None, rows[0]
        lease = access.nonce()
        owner = dump(access.owner.as_json())
        _change(
            run,
            kind,
            key,
            ClaimState.PRODUCING,
            lease=lease,
            owner_json=owner,
            heartbeat_at=access.clock.now(),
        )
        return lease, run(_ROW, kind, key)[0]


def _produce(
    access: Access, kind: str, key: str, produce: Callable[[], dict[str, Any]], lease: str
) -> dict[str, Any]:
    try:
        text = dump(produce())
    except BaseException:
        _unclaim(access, kind, key, lease)
        raise
    with access.storage.transaction() as run:
        # If we were taken for dead there are two producers: the first to finish decides, both return that.
        if _state(run, kind, key) is not ClaimState.DONE:
            _change(run, kind, key, ClaimState.DONE, heartbeat_at=access.clock.now(), value_json=text)
        return whole(run(_ROW, kind, key)[0]["value_json"])


def _state(run: Run, kind: str, key: str) -> ClaimState:
    rows = run(_ROW, kind, key)
    return ClaimState(rows[0]["state"]) if rows else ClaimState.UNCLAIMED


def _change(run: Run, kind: str, key: str, want: ClaimState, **columns: Any) -> None:
    """Bring a claim to another state, if the table has the step.

    Args:
        run: the transaction.
        kind: what sort of work.
        key: which piece of it.
        want: the state to go to.
        columns: what the row says then; what is left out is empty.

    Raises:
        IllegalTransition: the table does not have it.
    """
    check_claim(f"{kind} {key}", _state(run, kind, key), want)
    if want is ClaimState.UNCLAIMED:
        run("DELETE FROM once WHERE kind = ? AND key = ?", kind, key)
        return
    row = {"lease": None, "owner_json": None, "heartbeat_at": None, "value_json": None, **columns}
    run("INSERT OR REPLACE INTO once VALUES (?, ?, ?, ?, ?, ?, ?)", kind, key, want, *row.values())
