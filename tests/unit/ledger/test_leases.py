"""Every step of a block, and everything that is refused."""

import pytest

from pytest_evalharness.errors import ArmFailed, ArmStalled, JournalUnavailable, RequestRefused
from pytest_evalharness.ledger.journal import LeaseLost
from pytest_evalharness.ledger.states import TRANSITIONS, BlockState, IllegalTransition

S = BlockState
REFUSAL = RequestRefused("402: no credits", not_done="nothing was submitted", next_step="top up")
STALL = ArmStalled("seat 3 hangs", not_done="nothing was judged", next_step="run again")

STEPS = {
    "begin_post": (lambda lease: lease.begin_post(), {S.PLANNED: S.POSTING}),
    "posted": (lambda lease: lease.posted("xreq_1"), {S.POSTING: S.RUNNING}),
    "not_sent": (lambda lease: lease.not_sent(), {S.POSTING: S.PLANNED}),
    "refused": (lambda lease: lease.refused(REFUSAL), {S.POSTING: S.FAILED}),
    "running": (lambda lease: lease.running(5.0), {S.RUNNING: S.RUNNING}),
    "finish": (lambda lease: lease.finish({"wins": 3}), {S.RUNNING: S.FINISHED}),
    "fail": (lambda lease: lease.fail(STALL), {S.RUNNING: S.FAILED}),
    "cancelled": (lambda lease: lease.cancelled(STALL), {S.RUNNING: S.CANCELLED}),
    "abandon": (lambda lease: lease.abandon(STALL), {S.RUNNING: S.ABANDONED}),
    "reopen": (lambda lease: lease.reopen(), {S.ABANDONED: S.RUNNING}),
}
HELD = [S.PLANNED, S.POSTING, S.RUNNING, S.ABANDONED]
ENDS = {S.FINISHED, S.FAILED, S.CANCELLED, S.ABANDONED}


@pytest.fixture
def lease_in(ledger, opened, block):
    """A lease on a block in a given state."""

    def make(state):
        lease = ledger.acquire(block.block_id)
        if state is S.PLANNED:
            return lease
        lease.begin_post()
        if state is S.POSTING:
            return lease
        lease.posted("xreq_1")
        if state is S.RUNNING:
            return lease
        lease.abandon(STALL)
        return opened(2, "tuesday").acquire(block.block_id)

    return make


@pytest.mark.parametrize("have", HELD)
@pytest.mark.parametrize("name", STEPS)
def test_each_step_from_each_state(ledger, block, lease_in, name, have):
    step, allowed = STEPS[name]
    lease = lease_in(have)
    assert lease.state is have
    if have in allowed:
        after = step(lease)
        assert after.state is lease.state is ledger.block(block.block_id).state is allowed[have]
        assert after == ledger.block(block.block_id)
        assert allowed[have] in TRANSITIONS[have] | {have}
    else:
        before = ledger.block(block.block_id)
        with pytest.raises(IllegalTransition):
            step(lease)
        assert ledger.block(block.block_id) == before


@pytest.mark.parametrize("name", [n for n, (_, to) in STEPS.items() if set(to.values()) & ENDS])
def test_a_step_that_ends_the_work_ends_the_lease(ledger, block, lease_in, name):
    step, allowed = STEPS[name]
    lease = lease_in(next(iter(allowed)))
    after = step(lease)
    assert after.owner is None
    assert after.heartbeat_at is None
    assert after.settled
    for again, _ in STEPS.values():
        with pytest.raises(LeaseLost):
            again(lease)
    with pytest.raises(LeaseLost):
        lease.heartbeat()
    lease.release()
    assert ledger.block(block.block_id) == after


def test_the_story_of_a_good_block(ledger, clock, block):
    assert block.state is S.PLANNED
    assert block.body == {"n": 1}
    assert block.token != block.idempotency_key
    with ledger.acquire(block.block_id) as lease:
        clock.time = 1010
        lease.begin_post()
        clock.time = 1011
        lease.posted("xreq_9")
        clock.time = 1030
        lease.running(1029.0)
        lease.running(1035.0)
        lease.heartbeat({"done": 1})
        lease.heartbeat()
        assert lease.block.progress == {"done": 1}
        clock.time = 1060
        lease.finish({"wins": [1, 0]})
    done = ledger.block(block.block_id)
    assert (done.created_at, done.posted_at, done.accepted_at) == (1000, 1010, 1011)
    assert (done.running_at, done.finished_at) == (1029, 1060)
    assert done.evidence == {"wins": [1, 0]}
    assert done.request_id == "xreq_9"
    assert done.failure is None
    assert ledger.acquire(block.block_id) is None


def test_one_holder_at_a_time(ledger, opened, block):
    first = ledger.acquire(block.block_id)
    assert first.block.owner == ledger.owner
    assert ledger.acquire(block.block_id) is None
    other = opened(2)
    assert other.acquire(block.block_id) is None
    first.release()
    first.release()
    assert ledger.block(block.block_id).owner is None
    assert other.acquire(block.block_id) is not None


@pytest.mark.parametrize("state", [S.PLANNED, S.POSTING, S.RUNNING])
def test_the_dead_are_taken_over_where_they_stood(opened, morgue, block, lease_in, state):
    lost = lease_in(state)
    morgue.dead.add(1)
    found = opened(2).acquire(block.block_id)
    assert found.state is state
    assert found.block.owner.pid == 2
    for name, (step, _) in STEPS.items():
        if name != "posted":
            with pytest.raises(LeaseLost):
                step(lost)
    lost.release()
    assert found.block == opened(3).block(block.block_id)


def test_posting_sends_no_heartbeats_and_polling_does(opened, clock, morgue, lease_in, block):
    lease = lease_in(S.POSTING)
    clock.time += 50
    other = opened(2)
    assert other.acquire(block.block_id) is None
    lease.posted("xreq_1")
    clock.time += 7
    assert other.acquire(block.block_id) is None
    lease.heartbeat()
    assert other.acquire(block.block_id) is None
    assert morgue.asked == [(1, 50, False), (1, 7, True), (1, 0, True)]


def test_a_clock_set_back_makes_nobody_silent(opened, clock, morgue, lease_in, block):
    lease_in(S.RUNNING)
    clock.time -= 500
    assert opened(2).acquire(block.block_id) is None
    assert morgue.asked == [(1, 0, True)]


def test_an_answer_that_comes_after_a_takeover_is_not_lost(opened, morgue, block, lease_in):
    late = lease_in(S.POSTING)
    morgue.dead.add(1)
    adopter = opened(2).acquire(block.block_id)
    after = late.posted("xreq_1")
    assert after.state is S.RUNNING
    assert after.owner.pid == 1
    for step, _ in STEPS.values():
        with pytest.raises(LeaseLost):
            step(adopter)
    late.finish({})


def test_an_answer_that_comes_after_the_adoption_leaves_it_alone(opened, morgue, block, lease_in):
    late = lease_in(S.POSTING)
    morgue.dead.add(1)
    adopter = opened(2).acquire(block.block_id)
    adopter.posted("xreq_1")
    with pytest.raises(LeaseLost):
        late.posted("xreq_1")
    adopter.finish({})


def test_not_sent_keeps_the_lease_and_the_names(ledger, block, lease_in):
    lease = lease_in(S.POSTING)
    lease.not_sent()
    assert lease.block.posted_at is None
    lease.begin_post()
    assert (lease.block.token, lease.block.idempotency_key) == (block.token, block.idempotency_key)


def test_a_refusal_is_final_in_its_session_and_planned_in_the_next(ledger, opened, block, lease_in):
    refused = lease_in(S.POSTING).refused(REFUSAL)
    assert refused.refused
    assert refused.settled
    assert type(refused.failure) is RequestRefused
    assert str(refused.failure) == str(REFUSAL)
    assert ledger.acquire(block.block_id) is None
    assert opened(2).acquire(block.block_id) is None  # another worker of the same session
    lease = opened(3, "tuesday").acquire(block.block_id)
    assert lease.state is S.PLANNED
    assert lease.block.failure is None
    assert lease.block.finished_at is None
    assert (lease.block.token, lease.block.idempotency_key) == (block.token, block.idempotency_key)
    lease.begin_post()


def test_what_ran_and_failed_is_never_posted_again(opened, block, lease_in):
    failed = lease_in(S.RUNNING).fail(ArmFailed("9 of 30 games crashed"))
    assert not failed.refused
    assert failed.request_id == "xreq_1"
    assert opened(2, "tuesday").acquire(block.block_id) is None


def test_what_was_cancelled_stays_so(opened, block, lease_in):
    lease_in(S.RUNNING).cancelled(STALL)
    assert opened(2, "tuesday").acquire(block.block_id) is None


def test_what_a_session_abandoned_only_a_later_one_takes_up(ledger, opened, block, lease_in):
    lease_in(S.RUNNING).abandon(STALL)
    assert type(ledger.block(block.block_id).failure) is ArmStalled
    assert ledger.acquire(block.block_id) is None
    assert ledger.acquire(block.block_id, session="tuesday") is not None
    assert opened(2, "wednesday").acquire(block.block_id) is None


def test_what_is_being_taken_up_again_is_not_settled(ledger, block, lease_in):
    assert lease_in(S.ABANDONED).block.settled is False
    assert ledger.block(block.block_id).settled is False


def test_reopening_forgets_the_failure_and_keeps_the_request(opened, clock, block, lease_in):
    lease = lease_in(S.ABANDONED)
    lease.reopen()
    assert lease.block.failure is None
    assert lease.block.request_id == "xreq_1"
    assert lease.block.finished_at is None
    lease.abandon(STALL)
    assert lease.block.ended_session == "tuesday"


def test_evidence_that_is_no_json_is_refused_and_nothing_changes(ledger, block, lease_in):
    lease = lease_in(S.RUNNING)
    with pytest.raises(ValueError):
        lease.finish({"share": float("nan")})
    assert ledger.block(block.block_id).state is S.RUNNING
    lease.finish({"name": "\ud800 \x00 🜁"})
    assert ledger.block(block.block_id).evidence == {"name": "\ud800 \x00 🜁"}


def test_a_block_that_is_not_there(ledger):
    with pytest.raises(KeyError):
        ledger.acquire("nothing")
    with pytest.raises(KeyError):
        ledger.block("nothing")


def test_giving_back_never_hides_the_error_that_led_to_it(ledger, block, monkeypatch):
    def broken():
        raise JournalUnavailable("ledger: the disk is full")

    lease = ledger.acquire(block.block_id)
    monkeypatch.setattr(ledger._storage, "transaction", broken)
    with pytest.raises(KeyError), lease:
        raise KeyError
    monkeypatch.undo()
    assert ledger.acquire(block.block_id) is None  # its own process still lives
