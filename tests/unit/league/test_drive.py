import random
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_evalharness.errors import ArmStalled, CredentialsRejected, RequestRefused, SubmissionUnknown
from pytest_evalharness.league.cost import CostGuard
from pytest_evalharness.league.drive import ARRIVED, LOOK_FOR_LOST, BlockDriver
from pytest_evalharness.league.harvest import harvest
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.league.poll import NOT_YET
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory import AnswerLost, Conflict


class HandClock:
    def __init__(self):
        self.time = 1_000.0

    def now(self):
        return self.time

    monotonic = now

    def wait(self, seconds, stop=None):
        self.time += seconds
        return stop is not None and stop.is_set()


class Lease:
    """Remembers the steps."""

    def __init__(self, **block):
        self.block = SimpleNamespace(
            block_id="b", arm_key="a", position=0, running_at=None, token="evh-1", created_at=900.0, **block
        )
        self.state = self.block.state
        self.steps = []

    def __getattr__(self, step):
        return lambda *_: self.steps.append(step)


@pytest.fixture
def driver(make):
    def build(observatory, *, stop=False, **block):
        context = SimpleNamespace(
            observatory=SimpleNamespace(
                feed=SimpleNamespace(offered=False), dialect=SimpleNamespace(cancels=True), **observatory
            ),
            clock=HandClock(), stop=threading.Event(),
            events=SimpleNamespace(append=lambda *_, **__: None), deep=0, rng=random.Random(3), run_id="run-1",
        )  # fmt: skip
        context.guard = CostGuard(None, context.clock, context.events)
        if stop:
            context.stop.set()
        arm = make.arms()["candidate"]
        return BlockDriver(context, Lease(**block), arm, Budgets(1e6, 1e6, 1e6))

    return build


@pytest.fixture
def poll(driver, make):
    """Polls a request that the server does not show before some time; returns the lease."""

    def run(shown_at, accepted_at=1_000.0):
        def read(_request_id, *, fresh):
            assert fresh
            if clock.time < shown_at:
                raise SubmissionUnknown("the server knows no such thing")
            return make.request("failed", "failed")

        made = driver({"experience_request": read}, state=BlockState.RUNNING, accepted_at=accepted_at)
        clock = made.context.clock
        made.poll("xreq_1")
        return made.lease

    return run


def test_what_was_just_accepted_may_be_shown_late(poll):
    assert poll(shown_at=1_000 + NOT_YET - 10).steps[-1] == "finish"


@pytest.mark.parametrize("accepted_at", [1_000.0, 500.0, None])
def test_what_is_never_shown_ends_the_wait(poll, accepted_at):
    with pytest.raises(SubmissionUnknown):
        poll(shown_at=1e9, accepted_at=accepted_at)


@pytest.mark.parametrize(("found", "conclusive"), [([], False), (["xreq_1", "xreq_2"], True)])
@pytest.mark.parametrize("stop", [False, True])
def test_a_fate_that_nobody_can_tell_is_noted_unless_the_look_was_broken_off(driver, found, conclusive, stop):
    made = driver(asked(found, conclusive=conclusive), stop=stop, state=BlockState.POSTING, posted_at=950.0)
    made.run()
    assert isinstance(made.error, SubmissionUnknown)
    assert ("unknown" in made.lease.steps) is not stop


class Found(list):
    conclusive = True


def asked(found=(), *, conclusive=True, keys=False, create=None, **other):
    """A server that is asked what became of a POST."""
    rows = Found(SimpleNamespace(id=name) for name in found)
    rows.conclusive = conclusive
    return {
        "find_experience_requests": lambda *_: rows,
        "knows_idempotency_keys": lambda: keys,
        "create_experience_request": create,
        "credits": lambda **_: None,
        **other,
    }


@pytest.fixture
def adopt(driver):
    """Lets a driver find out what became of a POST; returns it with the bodies that it posted."""

    def run(answer, *, posted_at=950.0, state=BlockState.POSTING, **server):
        def create(body):
            bodies.append(body)
            if isinstance(answer, Exception):
                raise answer
            return SimpleNamespace(id=answer, cost_preview=None)

        bodies = []
        made = driver(
            asked(create=create, **server),
            state=state,
            posted_at=posted_at,
            body={"num_episodes": 1},
            idempotency_key="evh-key",
        )
        made.context.notes, made.context.revalidate = "", lambda: None
        made.poll = lambda request_id, **_: made.lease.polled(request_id)
        made.run()
        return made, bodies

    return run


@pytest.mark.parametrize("conclusive", [True, False])
def test_a_server_that_knows_keys_is_asked_by_the_key(adopt, conclusive):
    made, bodies = adopt("xreq_1", keys=True, conclusive=conclusive)
    assert [body["idempotency_key"] for body in bodies] == ["evh-key"]
    assert made.lease.steps[-3:] == ["posted", "polled", "release"]


@pytest.mark.parametrize(
    ("posted_at", "conclusive", "again"),
    [(1_000.0 - ARRIVED, True, True), (1_000.0 - ARRIVED, False, False), (950.0, True, False)],
)
def test_without_keys_only_what_would_be_listed_by_now_is_posted_again(adopt, posted_at, conclusive, again):
    made, bodies = adopt("xreq_1", posted_at=posted_at, conclusive=conclusive)
    assert len(bodies) == again
    if again:  # as another POST, with a time of its own from which the next look counts
        assert made.lease.steps[-5:] == ["not_sent", "begin_post", "posted", "polled", "release"]
    else:
        assert made.lease.steps[-2:] == ["unknown", "release"]


@pytest.mark.thread(row=25)
@pytest.mark.parametrize(
    ("found", "conclusive", "steps"),
    [
        (["xreq_1"], True, ["begin_post", "heartbeat", "posted", "polled", "release"]),
        ([], True, ["begin_post", "heartbeat", "refused", "release"]),  # it was refused for another reason
        ([], False, ["begin_post", "heartbeat", "unknown", "release"]),
    ],
)
def test_a_conflict_is_looked_into_before_it_is_a_refusal(adopt, found, conclusive, steps):
    """Who works on a copy of the ledger posts under the same key, and may have been faster."""
    conflict = Conflict("HTTP 409, idempotency_key was already used with a different body")
    made, bodies = adopt(conflict, state=BlockState.PLANNED, found=found, conclusive=conclusive)
    assert len(bodies) == 1
    assert list(dict.fromkeys(made.lease.steps)) == steps
    assert (made.error is None) is bool(found)


def test_a_server_whose_clock_is_far_behind_has_not_lost_the_request(adopt):
    """It lists the request as older than the POST that made it."""

    def find(_token, since):
        return Found([SimpleNamespace(id="xreq_1")] if since is None else [])

    made, bodies = adopt("xreq_2", posted_at=1_000.0 - ARRIVED, find_experience_requests=find)
    assert bodies == []
    assert made.lease.steps[-3:] == ["posted", "polled", "release"]


def test_an_answer_that_took_all_the_time_there_was_is_followed_by_another_look(driver):
    """The request was not shown yet when the first answer was made."""

    def find(_token, _since):
        looks.append(clock.time)
        clock.time += 2 * LOOK_FOR_LOST
        return Found([SimpleNamespace(id="xreq_1")] if len(looks) > 1 else [])

    looks = []
    made = driver(
        asked(find_experience_requests=find),
        state=BlockState.POSTING,
        posted_at=950.0,
        body={"num_episodes": 1},
    )
    clock = made.context.clock
    made.poll = lambda request_id, **_: made.lease.polled(request_id)
    made.run()
    assert made.lease.steps[-3:] == ["posted", "polled", "release"]


@pytest.mark.parametrize(
    "problem",
    [
        AnswerLost("the connection broke"),
        RequestRefused("HTTP 409, the key was already used"),
        RequestRefused("HTTP 402, no credits"),
        CredentialsRejected("HTTP 401"),
    ],
)
def test_what_becomes_of_the_repeat_tells_nothing_of_the_first(adopt, problem):
    made, bodies = adopt(problem, keys=True)
    assert len(bodies) == 1
    assert isinstance(made.error, SubmissionUnknown)
    assert problem.what in made.error.what
    assert made.error.not_done == "it was not posted again"
    assert "run the same command again" in made.error.next_step
    assert "--eval-fresh" in made.error.next_step
    assert made.lease.steps[-2:] == ["unknown", "release"]


def test_all_results_share_one_window(make):
    clock, windows = HandClock(), []

    def late(_episode, *, late_seconds):
        windows.append(late_seconds)
        clock.time += late_seconds

    detail = make.request("completed", *["completed"] * 20)
    observatory = SimpleNamespace(episode_results=late)
    harvest(observatory, detail, lambda _: None, threading.Event(), clock=clock)
    assert windows[0] == 30.0
    assert min(windows) == 0.0


@pytest.fixture
def hanging(driver, make):
    """A driver whose request runs for ever, with short budgets, seated next to somebody with a hostile name."""

    def build(*, stall, total, running_at=None, state=BlockState.RUNNING):
        detail = make.request("running", "running")
        calls = {"experience_request": lambda *_, **__: detail, "cancel": lambda _: True}
        made = driver(calls, state=state, accepted_at=1_000.0, request_id="xreq_1", body={})
        made.lease.block.running_at = running_at
        made.budgets = Budgets(queue=1e6, stall=stall, total=total)
        evil = replace(made.arm.seats[3], label="x\x1b[2J:v1")
        made.arm = replace(made.arm, seats=(*made.arm.seats[:3], evil, *made.arm.seats[4:]))
        return made

    return build


def test_a_wedge_names_its_seats_without_letting_them_write_on_the_terminal(hanging):
    with pytest.raises(ArmStalled) as caught:
        hanging(stall=5, total=100).poll("xreq_1")
    assert "is wedged" in caught.value.what
    assert caught.value.what.isprintable()


def test_a_takeover_does_not_restart_the_budgets(hanging):
    made = hanging(stall=1e6, total=100, running_at=1_000.0 - 95)
    with pytest.raises(ArmStalled, match="has run for"):
        made.poll("xreq_1")
    assert made.context.clock.time < 1_000.0 + 20


def test_the_same_command_after_a_budget_ran_out_waits_a_whole_budget_again(hanging):
    made = hanging(stall=1e6, total=100, running_at=1_000.0 - 500, state=BlockState.ABANDONED)
    made.run()
    assert isinstance(made.error, ArmStalled)
    assert made.context.clock.time >= 1_000.0 + 100
