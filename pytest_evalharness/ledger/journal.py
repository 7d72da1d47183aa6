"""The ledger: what was asked, what was posted for it, who works on it, what came of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.closing import Closing
from pytest_evalharness.base.database import Run
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.ledger import claims, leases
from pytest_evalharness.ledger.access import Access
from pytest_evalharness.ledger.campaigns import Campaigns
from pytest_evalharness.ledger.extensions import Extensions
from pytest_evalharness.ledger.families import Families, inherit
from pytest_evalharness.ledger.keys import new_token, plan_key
from pytest_evalharness.ledger.known import Known
from pytest_evalharness.ledger.laying import lay
from pytest_evalharness.ledger.leases import Lease
from pytest_evalharness.ledger.looks import Looks, note
from pytest_evalharness.ledger.ownership import Liveness, Owner, ProcessLiveness
from pytest_evalharness.ledger.progress import Progress
from pytest_evalharness.ledger.proofs import Proofs
from pytest_evalharness.ledger.questions import Questions, question_key
from pytest_evalharness.ledger.records import (
    Arm,
    ArmSpec,
    Block,
    Comparison,
    RecordedVerdict,
    as_block,
    as_comparison,
    dump,
    whole,
)
from pytest_evalharness.ledger.runs import Runs, went_on
from pytest_evalharness.ledger.searches import Searches
from pytest_evalharness.ledger.services import Services
from pytest_evalharness.ledger.spending import Spending
from pytest_evalharness.ledger.states import BlockState, LeaseLost
from pytest_evalharness.ledger.storage import BUSY_SECONDS, Storage

__all__ = ["Lease", "LeaseLost", "Ledger", "extended_side"]

_GIVEN = "SELECT value_json FROM once WHERE kind = ? AND key = ?"
_GIVE = "INSERT OR REPLACE INTO once VALUES (?, ?, 'done', NULL, NULL, NULL, ?)"
"""Which attempt a run got that asked for a fresh one: its slower workers must get the same."""
_LATEST = "SELECT * FROM comparisons WHERE plan_key = ? ORDER BY attempt DESC LIMIT 1"


class Ledger(Closing):
    """The journal of one home folder, shared by all processes and threads of one machine. See `open`.

    Attributes:
        campaigns: what is run with an outside benchmark.
        looks: every time results were read.
        questions: what was declared, and when.
        extensions: what was laid down for comparisons later.
        families: which claims are tested together.
        known: what a server answers once and for all.
        progress: how far comparisons have come.
        proofs: what was found about the builds that are compared.
        runs: when each run began, and what it asked for.
        services: what each run's server said of itself.
        spending: what each run's requests are going to cost.
        searches: which search for hanging seats is the latest.

    Every method raises `JournalUnavailable` when the file cannot be read or written.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._storage = access.storage
        self.campaigns = Campaigns(access)
        self.looks = Looks(access)
        self.questions = Questions(access)
        self.extensions = Extensions(access)
        self.families = Families(access)
        self.known = Known(access)
        self.progress = Progress(access)
        self.proofs = Proofs(access)
        self.runs = Runs(access)
        self.services = Services(access)
        self.spending = Spending(access)
        self.searches = Searches(access)

    @classmethod
    def open(
        cls,
        home: Path,
        *,
        clock: Clock,
        owner: Owner,
        alive: Liveness | None = None,
        nonce: Callable[[], str] = new_token,
        busy: float = BUSY_SECONDS,
    ) -> Ledger:
        """Open `<home>/ledger.sqlite`, made if missing, and prove that it can be written.

        Args:
            home: the folder; made if missing.
            clock: tells the time for the records.
            owner: this process, see `Owner.current`.
            alive: tells who is still at work.
            nonce: makes tokens; no two may be equal.
            busy: seconds to wait for another process's lock.

        Raises:
            JournalUnavailable: read-only or full, locked, damaged, of a newer version, or on a file system
                that cannot hold it. Nothing was posted.
        """
        storage = Storage(home, clock.now(), busy=busy)
        return cls(Access(storage, clock, owner, alive or ProcessLiveness(owner.host), nonce))

    @property
    def path(self) -> Path:
        """The file."""
        return self._storage.path

    @property
    def owner(self) -> Owner:
        """The process this ledger was opened for."""
        return self._access.owner

    def close(self) -> None:
        """Close the file."""
        self._storage.close()

    # -------------------------------------------------------------------- runs

    def start_run(self, run_id: str, info: Mapping[str, Any]) -> None:
        """Note that a run has begun. The first note stays, however many workers and resumptions repeat it."""
        with self._storage.transaction() as run:
            sql = "INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            run(sql, run_id, self._access.clock.now(), dump(dict(info)))

    def run_began(self, run_id: str) -> float | None:
        """When a run began, in seconds since 1970; None if nobody noted it."""
        rows = self._storage.read("SELECT created_at FROM runs WHERE run_id = ?", run_id)
        return float(rows[0]["created_at"]) if rows else None

    def run_info(self, run_id: str) -> dict[str, Any] | None:
        """What was noted of a run when it began; None if there was none."""
        rows = self._storage.read("SELECT info_json FROM runs WHERE run_id = ?", run_id)
        return whole(rows[0]["info_json"]) if rows else None

    # ------------------------------------------------------------- comparisons

    def open_comparison(
        self,
        plan: Mapping[str, Any],
        *,
        run_id: str,
        case_name: str,
        fresh: bool = False,
        supersede: str | None = None,
    ) -> Comparison:
        """The latest attempt at a plan, or its first.

        Args:
            plan: what the user asked, JSON; `keys.plan_key` of it is its identity.
            run_id: the run that asks.
            case_name: the case that asks.
            fresh: begin another attempt beside a latest one that is over; one that can still be brought to its end
                is gone on with. All workers of a run that ask for it get one and the same.
            supersede: the id of an attempt of which nothing exists at the server: begin another in its place, unless somebody
                has begun one, or has taken up this one, meanwhile.
        """
        key = plan_key(plan)
        with self._storage.transaction() as run:
            found = run(_LATEST, key)
            latest = found[0]["comparison_id"] if found else None
            if supersede is not None:
                wanted = latest == supersede and all(block.unsent for block in _blocks(run, supersede))
            elif fresh:
                ours = run(_GIVEN, "fresh", f"{key}:{run_id}")
                if ours:
                    return _comparison(run, whole(ours[0]["value_json"])["comparison"])
                wanted = latest is None or _decided(run, latest) or _over(_blocks(run, latest))
            else:
                wanted = latest is None
            if not wanted:
                assert latest is not None
                name = latest
            else:
                attempt = found[0]["attempt"] + 1 if found else 1
                name = f"{key}.{attempt}"
                run(
                    "INSERT INTO comparisons (comparison_id, plan_key, attempt, fresh, run_id, case_name, plan_json, "
                    "created_at, question_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    name,
                    key,
                    attempt,
                    int(fresh and supersede is None),
                    run_id,
                    case_name,
                    dump(dict(plan)),
                    self._access.clock.now(),
                    question_key(plan),
                )
                if supersede is not None:
                    inherit(run, name, supersede)
            if fresh:
                given = dump({"comparison": name})
                run(_GIVE, "fresh", f"{key}:{run_id}", given)
            asked = _comparison(run, name)
            if asked.run_id != run_id:
                went_on(run, run_id, name)
            return asked

    def comparison(self, comparison_id: str) -> Comparison:
        """One comparison.

        Raises:
            KeyError: there is none of that name.
        """
        return _comparison(self._storage.read, comparison_id)

    def latest(self, plan: Mapping[str, Any]) -> Comparison | None:
        """The latest attempt at a plan; None if there is none. Writes nothing."""
        found = self._storage.read(_LATEST, plan_key(plan))
        return self.comparison(found[0]["comparison_id"]) if found else None

    def attempts(self, plan: Mapping[str, Any]) -> list[Comparison]:
        """All attempts at the question that a plan asks, under whatever declaration, oldest first."""
        sql = "SELECT comparison_id FROM comparisons WHERE question_key = ? ORDER BY created_at, attempt"
        return [self.comparison(row["comparison_id"]) for row in self._storage.read(sql, question_key(plan))]

    def stop(self, comparison_id: str) -> int:
        """Cancel what a decided comparison has not posted, unless another one still needs it.

        Returns:
            How many blocks were cancelled; the server knows nothing of them.

        Raises:
            JournalUnavailable: it cannot be written down.
        """
        ended = {"state": BlockState.CANCELLED, "finished_at": self._access.clock.now()}
        with self._storage.transaction() as run:
            unneeded = [row["block_id"] for row in run(_UNNEEDED, comparison_id)]
            for block_id in unneeded:
                leases.change(run, block_id, ended)
            return len(unneeded)

    def freeze(
        self, comparison_id: str, frozen: Mapping[str, Any], arms: Mapping[str, ArmSpec]
    ) -> Comparison:
        """Fix what a comparison runs on, and lay down its arms and their blocks. The first call decides.

        Arms whose key exists already are shared, with whatever they have done so far.

        Args:
            comparison_id: which one.
            frozen: what was resolved: roster, seeds, versions.
            arms: the arm of each side, `candidate` and `baseline`.

        Raises:
            KeyError: there is no such comparison.
        """
        with self._storage.transaction() as run:
            if _comparison(run, comparison_id).frozen is None:
                for side, arm in arms.items():
                    lay(self._access, run, arm)
                    run("INSERT INTO comparison_arms VALUES (?, ?, ?)", comparison_id, side, arm.arm_key)
                sql = "UPDATE comparisons SET frozen_json = ? WHERE comparison_id = ?"
                run(sql, dump(dict(frozen)), comparison_id)
            return _comparison(run, comparison_id)

    def extend(
        self,
        comparison_id: str,
        number: int,
        extension: Mapping[str, Any],
        arms: Mapping[str, ArmSpec],
        *,
        run_id: str,
    ) -> Comparison:
        """Lay down more games of a frozen comparison whose results were seen, and write that look down with them.

        Args:
            comparison_id: which one.
            number: how many extensions it has so far; if it has more by now, somebody was faster and nothing is done.
            extension: what it adds, JSON; kept with what was frozen.
            arms: the further arm of each side; it stands beside the first one as `candidate+1`, `baseline+1`, and so on.
            run_id: the run that asks.

        Raises:
            KeyError: there is no such comparison.
            JournalUnavailable: it cannot be written down; nothing is posted then.
        """
        with self._storage.transaction() as run:
            frozen = _comparison(run, comparison_id).frozen
            assert frozen is not None
            done = frozen.get("extensions", [])
            if len(done) == number:
                for side, arm in arms.items():
                    lay(self._access, run, arm)
                    sql = "INSERT INTO comparison_arms VALUES (?, ?, ?)"
                    run(sql, comparison_id, extended_side(side, number), arm.arm_key)
                told = dump({**frozen, "extensions": [*done, dict(extension)]})
                run("UPDATE comparisons SET frozen_json = ? WHERE comparison_id = ?", told, comparison_id)
                note(
                    run, comparison_id, {"extended_by": extension}, run_id=run_id, at=self._access.clock.now()
                )
            return _comparison(run, comparison_id)

    # ---------------------------------------------------------- arms and blocks

    def lay(self, arm: ArmSpec) -> list[Block]:
        """Lay down an arm that belongs to no comparison, if it is not there yet; its blocks."""
        with self._storage.transaction() as run:
            lay(self._access, run, arm)
        return self.blocks(arm.arm_key)

    def arm(self, arm_key: str) -> Arm:
        """One arm.

        Raises:
            KeyError: there is none of that key.
        """
        rows = self._storage.read("SELECT * FROM arms WHERE arm_key = ?", arm_key)
        if not rows:
            raise KeyError(arm_key)
        row = rows[0]
        return Arm(row["arm_key"], row["kind"], whole(row["spec_json"]), row["created_at"])

    def blocks(self, arm_key: str) -> list[Block]:
        """The blocks of an arm, in order; none if there is no such arm."""
        sql = "SELECT * FROM blocks WHERE arm_key = ? ORDER BY position"
        return [as_block(row) for row in self._storage.read(sql, arm_key)]

    def block(self, block_id: str) -> Block:
        """One block as it is now.

        Raises:
            KeyError: there is none of that name.
        """
        rows = self._storage.read("SELECT * FROM blocks WHERE block_id = ?", block_id)
        if not rows:
            raise KeyError(block_id)
        return as_block(rows[0])

    def acquire(self, block_id: str, *, session: str | None = None) -> Lease | None:
        """Take a block to work on.

        The state of the lease says what is left to do: `planned` (post it), `posting` (its owner died: find
        out what became of the POST, never post again blindly), `running` (poll), `abandoned` (reopen it).
        A block that the server refused in an earlier session comes back as `planned`.

        Args:
            block_id: which one.
            session: the session that asks; the owner's own if not given.

        Returns:
            None if somebody alive works on it, or there is nothing to do for this session: it is finished,
            cancelled, failed, or this session has failed at it or abandoned it. Read `block` to know which.

        Raises:
            KeyError: there is no such block.
        """
        return leases.acquire(self._access, block_id, self.owner.session if session is None else session)

    # --------------------------------------------------------------- done once

    def once(
        self,
        kind: str,
        key: str,
        produce: Callable[[], dict[str, Any]],
        *,
        deadline: Deadline,
        poll: float = 0.1,
    ) -> dict[str, Any]:
        """Have something produced by exactly one process; everybody gets its value.

        If the producer raises, its claim ends, the exception is its own, and those who wait try themselves.
        If it dies, the next one takes over. A producer that lives is never interrupted.

        Args:
            kind: what sort of work.
            key: which piece of it.
            produce: does the work; its value must be JSON.
            deadline: how long to wait for another process.
            poll: seconds between looks.

        Raises:
            ArmStalled: another process still worked on it at the deadline.
        """
        return claims.once(self._access, kind, key, produce, deadline=deadline, poll=poll)

    # ---------------------------------------------------------------- verdicts

    def record_verdict(self, comparison_id: str, run_id: str, judgement: Mapping[str, Any]) -> None:
        """Append what a run concluded. The same conclusion of the same run (a re-run case) is kept once."""
        text = dump(dict(judgement))
        with self._storage.transaction() as run:
            sql = "SELECT 1 FROM verdicts WHERE comparison_id = ? AND run_id = ? AND judgement_json = ?"
            if not run(sql, comparison_id, run_id, text):
                run(
                    "INSERT INTO verdicts (comparison_id, run_id, judgement_json, recorded_at) "
                    "VALUES (?, ?, ?, ?)",
                    comparison_id,
                    run_id,
                    text,
                    self._access.clock.now(),
                )

    def judged_in(self, run_id: str) -> list[tuple[Comparison, RecordedVerdict]]:
        """The comparisons that a run judged, each with the last verdict it came to, in the order of the first."""
        sql = (
            "SELECT comparison_id, MIN(verdict_id) AS first, MAX(verdict_id) AS last FROM verdicts WHERE run_id = ? "
            "GROUP BY comparison_id ORDER BY first"
        )
        found = []
        for row in self._storage.read(sql, run_id):
            last = self._storage.read("SELECT * FROM verdicts WHERE verdict_id = ?", row["last"])[0]
            found.append((self.comparison(row["comparison_id"]), _verdict(last)))
        return found

    def judged_before(self, at: float) -> list[tuple[Comparison, RecordedVerdict]]:
        """The comparisons that were begun before some time and have been judged, oldest first, with their last verdicts."""
        sql = (
            "SELECT comparison_id, MAX(verdict_id) AS last FROM comparisons JOIN verdicts USING (comparison_id) "
            "WHERE created_at < ? GROUP BY comparison_id ORDER BY created_at, comparison_id"
        )
        return [
            (
                self.comparison(row["comparison_id"]),
                _verdict(self._storage.read("SELECT * FROM verdicts WHERE verdict_id = ?", row["last"])[0]),
            )
            for row in self._storage.read(sql, at)
        ]

    def verdicts(self, comparison_id: str) -> list[RecordedVerdict]:
        """What was concluded from a comparison, oldest first."""
        sql = "SELECT * FROM verdicts WHERE comparison_id = ? ORDER BY verdict_id"
        return [_verdict(row) for row in self._storage.read(sql, comparison_id)]


def extended_side(side: str, number: int) -> str:
    """Under which name an extension's arm stands: the first one's `number` is 0."""
    return f"{side}+{number + 1}"


_UNNEEDED = """
SELECT block_id FROM blocks WHERE state = 'planned' AND lease IS NULL
AND arm_key IN (SELECT arm_key FROM comparison_arms WHERE comparison_id = ? AND instr(side, '+') = 0)
AND NOT EXISTS (
    SELECT 1 FROM comparison_arms AS other WHERE other.arm_key = blocks.arm_key
    AND NOT EXISTS (SELECT 1 FROM looks WHERE looks.comparison_id = other.comparison_id AND decided = 1)
)
"""


def _verdict(row: sqlite3.Row) -> RecordedVerdict:
    return RecordedVerdict(
        row["comparison_id"], row["run_id"], whole(row["judgement_json"]), row["recorded_at"]
    )


def _decided(run: Run, comparison_id: str) -> bool:
    """Whether a planned look ended the comparison before everything was posted."""
    return bool(run("SELECT 1 FROM looks WHERE comparison_id = ? AND decided = 1", comparison_id))


def _blocks(run: Run, comparison_id: str) -> list[Block]:
    sql = "SELECT blocks.* FROM blocks JOIN comparison_arms USING (arm_key) WHERE comparison_id = ?"
    return [as_block(row) for row in run(sql, comparison_id)]


def _over(blocks: list[Block]) -> bool:
    """Whether going on with an attempt is over: everything has ended, or something is lost for good.

    What was abandoned runs on at the server, and the same command goes on with it.
    """
    ended = all(block.settled and block.state is not BlockState.ABANDONED for block in blocks)
    return bool(blocks) and (ended or any(block.lost for block in blocks))


def _comparison(rows: Callable[..., list[sqlite3.Row]], comparison_id: str) -> Comparison:
    found = rows("SELECT * FROM comparisons WHERE comparison_id = ?", comparison_id)
    if not found:
        raise KeyError(comparison_id)
    arms = rows("SELECT side, arm_key FROM comparison_arms WHERE comparison_id = ?", comparison_id)
    return as_comparison(found[0], {row["side"]: row["arm_key"] for row in arms})
