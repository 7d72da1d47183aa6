"""Working on a block: who may, and each step written down in one transaction before it is acted on."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any, Self

from pytest_evalharness.base.database import Run
from pytest_evalharness.errors import EvalHarnessError, JournalUnavailable
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.failures import stored
from pytest_evalharness.ledger.records import Block, as_block, dump
from pytest_evalharness.ledger.states import BlockState, IllegalTransition, LeaseLost, check

_BLOCK = "SELECT * FROM blocks WHERE block_id = ?"
_FREE: dict[str, Any] = {"lease": None, "owner_json": None, "heartbeat_at": None}


class Lease:
    """The right to work on one block, from `Ledger.acquire`. Use it in a `with` statement.

    Every step raises `LeaseLost` if somebody else has taken the block over meanwhile (then stop and read the
    journal), `IllegalTransition` if the table of states does not have it, and `JournalUnavailable` if it
    cannot be written down. The steps that end the work (`finish`, `fail`, `refused`, `cancelled`, `withdrawn`, `abandon`)
    end the lease too.
    """

    def __init__(self, access: Access, block: Block, lease_id: str, session: str) -> None:
        self._access = access
        self._block = block
        self._id = lease_id
        self._session = session

    @property
    def block(self) -> Block:
        """The block as this lease last saw it."""
        return self._block

    @property
    def state(self) -> BlockState:
        """Where the block stands, as this lease last saw it."""
        return self._block.state

    def begin_post(self) -> Block:
        """Write down that the POST is about to be sent: planned → posting. Send it only after this returns."""
        return self._step(BlockState.POSTING, posted_at=self._now())

    def posted(self, request_id: str) -> Block:
        """Write down that the server has accepted it: posting → running.

        What the server accepted is a fact, whoever holds the lease by now: if the block was taken over
        while the answer was on its way and still waits for one, this takes it back.
        """
        with self._access.storage.transaction() as run:
            row = run(_BLOCK, self._block.block_id)[0]
            state = BlockState(row["state"])
            if state is not BlockState.POSTING:
                self._held(run)
                raise self._illegal(state, f"{BlockState.RUNNING} by being accepted")
            held = {"lease": self._id, "owner_json": dump(self._access.owner.as_json())}
            facts = {"state": BlockState.RUNNING, "request_id": request_id, "accepted_at": self._now()}
            return self._write(run, {**held, **facts, "error_json": None, "heartbeat_at": self._now()})

    def unknown(self, error: EvalHarnessError) -> Block:
        """Note that nobody can tell what became of the POST: it stays posting, and the lease goes on."""
        return self._step(None, frm=BlockState.POSTING, error_json=dump(stored(error)))

    def not_sent(self) -> Block:
        """Write down that the POST provably never arrived: posting → planned. The lease goes on."""
        return self._step(BlockState.PLANNED, posted_at=None, error_json=None)

    def refused(self, error: EvalHarnessError) -> Block:
        """Write down that the server refused it and nothing exists there: posting → failed."""
        return self._end(BlockState.FAILED, frm=BlockState.POSTING, error=error)

    def running(self, at: float) -> Block:
        """Note when its first episode was first seen running; only the first note counts."""
        with self._access.storage.transaction() as run:
            row = self._held(run, BlockState.RUNNING, "seen running")
            first = row["running_at"] if row["running_at"] is not None else at
            return self._write(run, {"running_at": first, "heartbeat_at": self._now()})

    def heartbeat(self, progress: dict[str, Any] | None = None) -> None:
        """Say that this process is still at work, and how far it got."""
        columns: dict[str, Any] = {} if progress is None else {"progress_json": dump(progress)}
        self._step(None, **columns)

    def finish(self, evidence: dict[str, Any]) -> Block:
        """Save the results: running → finished."""
        return self._end(BlockState.FINISHED, evidence_json=dump(evidence), error_json=None)

    def fail(self, error: EvalHarnessError) -> Block:
        """Save why it ended without usable results: running → failed. It is never posted again."""
        return self._end(BlockState.FAILED, frm=BlockState.RUNNING, error=error)

    def cancelled(self, error: EvalHarnessError) -> Block:
        """Save that it was cancelled on the server: running → cancelled."""
        return self._end(BlockState.CANCELLED, frm=BlockState.RUNNING, error=error)

    def withdrawn(self, error: EvalHarnessError) -> Block:
        """Save that it is never to be posted: planned → cancelled."""
        return self._end(BlockState.CANCELLED, frm=BlockState.PLANNED, error=error)

    def abandon(self, error: EvalHarnessError) -> Block:
        """Stop waiting for it: running → abandoned. It may go on at the server; a later session may reopen it."""
        return self._end(BlockState.ABANDONED, error=error)

    def reopen(self) -> Block:
        """Wait again for what an earlier session abandoned: abandoned → running."""
        return self._step(
            BlockState.RUNNING,
            frm=BlockState.ABANDONED,
            error_json=None,
            ended_session=None,
            finished_at=None,
        )

    def release(self) -> None:
        """Let somebody else work on it, whatever its state; does nothing if the lease has ended.

        Never raises: it ends a block of code that may be on its way out with an error worth more. A lease
        that could not be given back ends when its process does, or falls silent.
        """
        with suppress(JournalUnavailable), self._access.storage.transaction() as run:
            rows = run(_BLOCK + " AND lease = ?", self._block.block_id, self._id)
            if rows:
                self._write(run, _FREE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _now(self) -> float:
        return self._access.clock.now()

    def _held(
        self, run: Run, frm: BlockState | None = None, want: BlockState | str | None = None
    ) -> sqlite3.Row:
        """The block's row, if it is still ours, and in a state that what is wanted can be reached from."""
        rows = run(_BLOCK + " AND lease = ?", self._block.block_id, self._id)
        if not rows:
            raise LeaseLost(self._block.block_id)
        have = BlockState(rows[0]["state"])
        if frm is not None and have is not frm:
            raise self._illegal(have, f"{want or 'noted'} (only from {frm})")
        return rows[0]

    def _illegal(self, have: BlockState, want: str) -> IllegalTransition:
        return IllegalTransition(f"block {self._block.block_id}", have, want)

    def _step(self, want: BlockState | None, *, frm: BlockState | None = None, **columns: Any) -> Block:
        """One transaction: still ours, an allowed step, written down.

        Args:
            want: the state to go to, if the table has the step; None stays.
            frm: the only state to come from, where several steps lead to one state.
            columns: what else to write.
        """
        with self._access.storage.transaction() as run:
            self._held(run, frm, want)
            if want is not None:
                columns["state"] = want
            return self._write(run, {"heartbeat_at": self._now(), **columns})

    def _end(
        self,
        want: BlockState,
        *,
        frm: BlockState | None = None,
        error: EvalHarnessError | None = None,
        **columns: Any,
    ) -> Block:
        if error is not None:
            columns |= {"error_json": dump(stored(error)), "ended_session": self._session}
        return self._step(want, frm=frm, finished_at=self._now(), **columns, **_FREE)

    def _write(self, run: Run, columns: dict[str, Any]) -> Block:
        self._block = change(run, self._block.block_id, columns)
        return self._block


def change(run: Run, block_id: str, columns: dict[str, Any]) -> Block:
    """Write columns of one block; returns it as it is then.

    Every change of every block goes through here: no state follows another one that the table does not have.

    Raises:
        IllegalTransition: the step is not in the table; nothing was written.
    """
    if "state" in columns:
        have = run("SELECT state FROM blocks WHERE block_id = ?", block_id)[0]["state"]
        check(block_id, BlockState(have), columns["state"])
    assignments = ", ".join(f"{name} = ?" for name in columns)
    run(f"UPDATE blocks SET {assignments} WHERE block_id = ?", *columns.values(), block_id)  # noqa: S608
    return as_block(run(_BLOCK, block_id)[0])


def acquire(access: Access, block_id: str, session: str) -> Lease | None:
    """Take a block to work on, if there is work and nobody alive does it. See `Ledger.acquire`."""
    with access.storage.transaction() as run:
        rows = run(_BLOCK, block_id)
        if not rows:
            raise KeyError(block_id)
        block = as_block(rows[0])
        if not _workable(block, session):
            return None
        if access.held(rows[0], speaks=block.state is not BlockState.POSTING):
            return None
        lease_id = access.nonce()
        columns: dict[str, Any] = {
            "lease": lease_id,
            "owner_json": dump(access.owner.as_json()),
            "heartbeat_at": access.clock.now(),
        }
        if block.refused:
            columns |= {"state": BlockState.PLANNED, "error_json": None, "ended_session": None}
            columns |= {"posted_at": None, "finished_at": None}
        return Lease(access, change(run, block_id, columns), lease_id, session)


def _workable(block: Block, session: str) -> bool:
    """Whether there is anything left to do for this session."""
    if block.state in {BlockState.FINISHED, BlockState.CANCELLED}:
        return False
    if block.state is BlockState.FAILED and not block.refused:
        return False
    # One session gives one answer: what it saw fail or gave up stays so until somebody starts it again.
    return block.ended_session != session
