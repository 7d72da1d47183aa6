"""Any number of processes, dying anywhere: nothing is posted twice and nothing that was accepted is lost.

A machine drives a real ledger file. Processes follow the protocol of a runner (post, adopt, poll) one ledger
call or server call at a time; between any two of them a process may be killed, may give up its lease, or may
be taken for dead although it lives. There is one block: blocks know nothing of one another. The server is a model: it may refuse, lose an answer, or hide a request
from its listing for a while.
"""

from __future__ import annotations

import inspect
import shutil
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from pytest_evalharness.errors import ArmFailed, ArmStalled, RequestRefused
from pytest_evalharness.ledger.journal import LeaseLost, Ledger
from pytest_evalharness.ledger.leases import Lease
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec, Block
from pytest_evalharness.ledger.states import TRANSITIONS, BlockState

SHARED_MEMORY = Path("/dev/shm")  # fsync costs nothing there
MOST_ALIVE = 3
FATES = ["answered", "answered", "answered", "answer lost", "never arrived", "refused", "not sent"]
ENDS = ["go on", "finish", "fail", "cancelled", "abandon"]


class Clock:
    time = 0.0

    def now(self) -> float:
        self.time += 1
        return self.time

    monotonic = now

    def wait(self, seconds, stop=None):
        return False


@dataclass
class Server:
    """Accepts requests. `knows_keys`: whether it answers a repeated idempotency key with the first request."""

    knows_keys: bool
    accepted: list[tuple[str, str, str]] = field(default_factory=list)  # id, token, idempotency key
    listed: set[str] = field(default_factory=set)

    def post(self, block: Block) -> str:
        known = [r for r, _, key in self.accepted if key == block.idempotency_key]
        if known and self.knows_keys:
            return known[0]
        request_id = f"xreq_{len(self.accepted)}"
        self.accepted.append((request_id, block.token, block.idempotency_key))
        return request_id

    def has(self, block: Block) -> list[str]:
        return [r for r, token, _ in self.accepted if token == block.token]

    def find(self, block: Block) -> list[str]:
        return [r for r in self.has(block) if r in self.listed]


Script = Generator[None, str, None]


def drive(server: Server, lease: Lease) -> Script:
    """What a runner does with a lease. Each `yield` is a place to die; it returns the next word of fate."""
    if lease.state is BlockState.PLANNED:
        lease.begin_post()
        fate = yield
        yield from send(server, lease, fate)
    elif lease.state is BlockState.POSTING:
        yield from adopt(server, lease)
    elif lease.state is BlockState.ABANDONED:
        lease.reopen()
        yield
    if lease.state is BlockState.RUNNING:
        yield from poll(lease)


def send(server: Server, lease: Lease, fate: str) -> Script:
    known = server.knows_keys and server.has(lease.block)
    if fate == "not sent" and not known:
        lease.not_sent()
    elif fate == "refused" and not known:
        lease.refused(RequestRefused("402"))
    elif fate == "never arrived":
        yield
        yield from adopt(server, lease)
    else:
        request_id = server.post(lease.block)
        yield  # the server has it, the journal does not
        if fate == "answer lost":
            yield from adopt(server, lease)
        else:
            lease.posted(request_id)
            yield


def adopt(server: Server, lease: Lease) -> Script:
    """Find out what became of a POST: by its token, else by its key if the server knows keys, else stop."""
    fate = yield
    found = server.find(lease.block)
    assert len(found) <= 1
    if found:
        lease.posted(found[0])
        yield
    elif server.knows_keys and fate == "answered":
        request_id = server.post(lease.block)
        yield
        lease.posted(request_id)
        yield


def poll(lease: Lease) -> Script:
    lease.running(lease.block.heartbeat_at)
    while True:
        end = yield
        if end == "finish":
            return void(lease.finish({"of": lease.block.request_id}))
        if end == "fail":
            return void(lease.fail(ArmFailed("crashed")))
        if end == "cancelled":
            return void(lease.cancelled(ArmStalled("wedged")))
        if end == "abandon":
            return void(lease.abandon(ArmStalled("too slow")))
        lease.heartbeat({"seen": 1})


def void(_: object) -> None:
    return None


@dataclass(eq=False)
class Process:
    ledger: Ledger
    lease: Lease | None = None
    script: Script | None = None


class BlockMachine(RuleBasedStateMachine):
    processes = Bundle("processes")

    @initialize(knows_keys=st.booleans())
    def begin(self, knows_keys):
        where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self.home = Path(tempfile.mkdtemp(prefix="evalharness-ledger-", dir=where))
        self.clock = Clock()
        self.server = Server(knows_keys)
        self.given_up: set[int] = set()
        self.born = self.alive = 0
        self.started: list[Process] = []
        self.keeper = self.open("setup")
        comparison = self.keeper.open_comparison({"ask": 1}, run_id="r", case_name="c")
        arm = ArmSpec("arm", {}, [{"seed": 1}])
        self.keeper.freeze(comparison.id, {}, {"candidate": arm})
        self.before = {block.block_id: block for block in self.keeper.blocks("arm")}
        (self.name,) = self.before

    def open(self, session: str) -> Ledger:
        self.born += 1
        owner = Owner(self.born, str(self.born), "here", session)
        return Ledger.open(self.home, clock=self.clock, owner=owner, alive=self.is_alive)

    def is_alive(self, owner, silent, *, speaks):
        return owner.pid not in self.given_up

    def teardown(self):
        if not hasattr(self, "home"):
            return
        try:
            self.heal()
        finally:
            for process in self.started:
                process.ledger.close()
            self.keeper.close()
            shutil.rmtree(self.home)

    # ------------------------------------------------------------------ rules

    @precondition(lambda self: self.alive < MOST_ALIVE)
    @rule(
        target=processes,
        session=st.sampled_from(["monday", "tuesday", "wednesday"]),
    )
    def start(self, session):
        process = Process(self.open(session))
        self.started.append(process)
        self.alive += 1
        self.take(process)
        return process

    @rule(process=processes)
    def take(self, process):
        """Ask for a block. A living holder keeps it; settled work is not given out."""
        if process.script is not None:
            return
        before = self.keeper.block(self.name)
        lease = process.ledger.acquire(before.block_id)
        if before.owner is not None and before.owner.pid not in self.given_up:
            assert lease is None
        if before.state.final or (before.state is BlockState.FAILED and before.request_id):
            assert lease is None
        if before.ended_session == process.ledger.owner.session:
            assert lease is None
        if lease is not None:
            process.lease, process.script = lease, drive(self.server, lease)
            self.given_up.discard(process.ledger.owner.pid)
            assert lease.state is before.state or (before.refused and lease.state is BlockState.PLANNED)

    @rule(process=processes, words=st.lists(st.sampled_from(FATES + ENDS), min_size=1, max_size=8))
    def go_on(self, process, words):
        """A few more calls of the ledger or the server, each looked at."""
        for word in words:
            before = self.keeper.block(self.name)
            self.one_step(process, word)
            after = self.keeper.block(self.name)
            if before.owner is None or before.owner.pid != process.ledger.owner.pid:
                # It holds nothing, so it changes nothing, except that it may bring the server's answer.
                assert after == before or (before.state, after.state) == ("posting", "running")
            self.every_change_is_in_the_table()
            self.states_and_facts_agree()

    def one_step(self, process, fate):
        if process.script is None:
            return
        fresh = inspect.getgeneratorstate(process.script) == inspect.GEN_CREATED
        try:
            process.script.send(None if fresh else fate)
        except LeaseLost:
            # Either it was taken for dead, or one that had been came back with the server's answer.
            answered = process.lease.state is BlockState.POSTING and self.server.has(process.lease.block)
            assert process.ledger.owner.pid in self.given_up or answered
            process.script = process.lease = None
        except StopIteration:
            process.lease.release()
            process.script = process.lease = None

    @rule(process=consumes(processes))
    def kill(self, process):
        """Nothing is cleaned up: no `finally`, no release."""
        self.alive -= 1
        self.given_up.add(process.ledger.owner.pid)

    @rule(target=processes, process=consumes(processes))
    def interrupt(self, process):
        """Ctrl-C: the lease is given back, the work stays where it is."""
        if process.lease is not None:
            process.lease.release()
        process.lease = process.script = None
        return process

    @rule(process=processes)
    def take_for_dead(self, process):
        """It lives, but was silent for too long. What it does from now on must harm nobody."""
        self.given_up.add(process.ledger.owner.pid)

    @rule()
    def list_requests(self):
        """The server's listing catches up."""
        self.server.listed.update(request_id for request_id, _, _ in self.server.accepted)

    # ------------------------------------------------------------- invariants

    @invariant()
    def nothing_is_posted_twice(self):
        for block in self.before.values():
            assert len(self.server.has(block)) <= 1

    @invariant()
    def every_change_is_in_the_table(self):
        for block in self.keeper.blocks("arm"):
            old = self.before[block.block_id]
            assert block.state is old.state or block.state in TRANSITIONS[old.state], (old.state, block.state)
            assert (block.token, block.idempotency_key) == (old.token, old.idempotency_key)
            if old.request_id is not None:
                assert block.request_id == old.request_id
            if old.evidence is not None:
                assert block.evidence == old.evidence
            if old.running_at is not None:
                assert block.running_at == old.running_at
            self.before[block.block_id] = block

    @invariant()
    def states_and_facts_agree(self):
        known = {BlockState.RUNNING, BlockState.FINISHED, BlockState.CANCELLED, BlockState.ABANDONED}
        for block in self.keeper.blocks("arm"):
            if block.request_id is not None:
                assert self.server.has(block) == [block.request_id]
            if block.state in known:
                assert block.request_id is not None
            if block.state in {BlockState.PLANNED, BlockState.POSTING}:
                assert block.request_id is None
            assert (block.evidence is not None) == (block.state is BlockState.FINISHED)
            if block.state.final or block.state is BlockState.FAILED:
                assert block.owner is None

    def heal(self):
        """Everybody is dead; one more session with a listing that is complete. Nothing may be lost."""
        self.list_requests()
        self.given_up = set(range(self.born + 1))
        last = self.open("the last session")
        for block in last.blocks("arm"):
            lease = last.acquire(block.block_id)
            script = None if lease is None else drive(self.server, lease)
            word = None
            while script is not None:
                try:
                    script.send(word)
                except StopIteration:
                    break
                word = "finish" if lease.state is BlockState.RUNNING else "answered"
            if lease is not None:
                lease.release()
            self.every_change_is_sound(last.block(block.block_id))
        last.close()

    def every_change_is_sound(self, block: Block) -> None:
        accepted = self.server.has(block)
        assert len(accepted) <= 1
        if accepted:
            assert block.request_id == accepted[0]
            assert block.settled
        else:  # the POST vanished before a server that cannot tell: stopped, and said so
            assert block.state is BlockState.POSTING
            assert not self.server.knows_keys


TestBlockMachine = BlockMachine.TestCase
TestBlockMachine.settings = settings(
    max_examples=100,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
