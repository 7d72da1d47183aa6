"""Waiting for one request: three signatures that look alike and are not, and what a budget's end says of each."""

import random
import threading
from types import SimpleNamespace

import pytest

from pytest_evalharness.errors import ArmFailed, ArmStalled, EvalHarnessError, OverBudget, ServerUnreachable
from pytest_evalharness.league.cost import CostGuard
from pytest_evalharness.league.plan import Budgets
from pytest_evalharness.league.poll import JITTER, PUBLICATION, Poller
from pytest_evalharness.league.watch import SLOWEST_READING
from pytest_evalharness.ledger.states import BlockState
from pytest_evalharness.observatory.problems import Busy

RESULTS = {"scores": [1.0] * 8, "win": [True] * 8}


class Clock:
    def __init__(self):
        self.time = 1_000.0
        self.waits = []

    def now(self):
        return self.time

    monotonic = now

    def wait(self, seconds, stop=None):
        self.waits.append(seconds)
        self.time += seconds
        return stop is not None and stop.is_set()


@pytest.fixture
def wait(make):
    """Waits for a request that stands so, time after time (the last standing stays); returns what happened."""

    def run(
        *standings,
        cancel=True,
        results=RESULTS,
        patient=False,
        budgets=None,
        running_at=None,
        guard=None,
        run_id="monday",
    ):
        clock, steps, said, left = Clock(), [], [], list(standings)

        def read(_id, *, fresh):
            assert fresh
            now = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(now, Exception):
                raise now
            return now

        def results_of(_id, *, late_seconds):
            clock.time += late_seconds if results is None else 0.0
            return results

        def cancelled(_id):
            steps.append("asked to cancel")
            if isinstance(cancel, Exception):
                raise cancel
            return cancel

        observatory = SimpleNamespace(
            feed=SimpleNamespace(offered=False), experience_request=read, episode_results=results_of, cancel=cancelled,
            player_status=lambda *_, **__: None, dialect=SimpleNamespace(cancels=cancel is not None),
        )  # fmt: skip
        context = SimpleNamespace(
            observatory=observatory, clock=clock, stop=threading.Event(), deep=0, rng=random.Random(3), run_id=run_id,
        )  # fmt: skip
        events = SimpleNamespace(append=lambda *_, **__: None)
        context.guard = guard or CostGuard(None, clock, events)
        block = SimpleNamespace(position=0, running_at=running_at, accepted_at=1_000.0)
        lease = SimpleNamespace(block=block, state=BlockState.RUNNING)
        for step in ("heartbeat", "running", "finish", "abandon", "cancelled", "fail"):
            setattr(lease, step, lambda *_, step=step: steps.append(step))
        poller = Poller(
            context, lease, make.arms()["candidate"], budgets or Budgets(600.0, 300.0, 900.0), "xreq_1",
            say=lambda what, **fields: said.append((what, fields)), patient=patient,
        )  # fmt: skip
        error = None
        try:
            poller.run()
        except EvalHarnessError as problem:
            error = problem
        return SimpleNamespace(clock=clock, steps=steps, said=said, error=error)

    return run


def test_a_queue_is_waited_for_by_its_own_budget_and_is_no_wedge(wait, make):
    done = wait(make.request("pending", "pending", "submitted"))
    assert isinstance(done.error, ArmStalled)
    assert "in the queue and no game has started" in done.error.what
    assert "still running on the server" in done.error.not_done
    assert "--eval-queue-budget" in done.error.next_step
    assert 600 < done.clock.time - 1_000 < 600 + 2 * SLOWEST_READING
    assert "asked to cancel" not in done.steps


def test_the_stall_clock_starts_with_the_first_running_game(wait, make):
    queued, running = (
        make.request("pending", "pending", "pending"),
        make.request("running", "running", "pending"),
    )
    done = wait(*[queued] * 150, running, budgets=Budgets(1e6, 300.0, 900.0))
    assert "is wedged" in done.error.what
    assert "1 game running" in done.error.what
    began = 1_000 + sum(done.clock.waits[:150])
    assert began - 1_000 > 300, "the queue alone was longer than the grace"
    assert 300 < done.clock.time - began < 300 + 2 * SLOWEST_READING


@pytest.mark.parametrize(
    ("cancel", "told", "step"),
    [
        (
            True,
            "was cancelled: no further game of it starts, and games that run are not stopped",
            "cancelled",
        ),
        (None, "still running on the server", "fail"),
        (False, "still running on the server", "fail"),
        (ServerUnreachable("HTTP 503"), "still running on the server", "fail"),
    ],
)
def test_a_wedge_is_cancelled_where_that_is_possible_and_says_what_goes_on(wait, make, cancel, told, step):
    done = wait(make.request("running", "running", "running"), cancel=cancel)
    assert told in done.error.not_done
    assert done.steps[-2:] == ["asked to cancel", step]


def test_a_failed_game_is_no_finished_one_while_its_request_lives(wait, make):
    """It may be dispatched again: a hanging seat beside it is found all the same."""
    assert "is wedged" in wait(make.request("running", "failed", "running")).error.what


def test_where_no_game_runs_no_seat_hangs(wait, make):
    done = wait(make.request("running", "running", "pending"), make.request("running", "failed", "pending"))
    assert "is wedged" not in done.error.what
    assert "0 of 2 games have finished" in done.error.what
    assert "--eval-total-budget" in done.error.next_step


def test_one_finished_game_is_no_wedge(wait, make):
    done = wait(make.request("running", "completed", "running"))
    assert "has run for" in done.error.what
    assert done.clock.time - 1_000 > 900


def test_results_that_come_late_are_no_hang_and_the_same_command_reads_them(wait, make):
    done = wait(make.request("completed", "completed", "completed"), results=None)
    assert "has ended, and the server has not published the results of 2 of its 2 games" in done.error.what
    assert "run the same command again" in done.error.next_step
    assert done.steps[-1] == "abandon"
    assert done.clock.time - 1_000 == PUBLICATION


def test_results_that_are_missing_even_then_are_missing(wait, make):
    done = wait(make.request("completed", "completed", "completed"), results=None, patient=True)
    assert done.error is None
    assert done.steps[-1] == "finish"


def test_failed_games_have_no_results_to_wait_for(wait, make):
    done = wait(make.request("failed", "failed", "failed"), results=None)
    assert done.error is None
    assert done.clock.time == 1_000.0


def test_pauses_are_jittered_around_their_growth(wait, make):
    waits = wait(make.request("pending", "pending")).clock.waits
    late = [pause for pause in waits if pause > SLOWEST_READING * (1 - JITTER)]
    assert len(set(late)) > 5
    assert max(waits) <= SLOWEST_READING * (1 + JITTER)


def test_a_pause_that_a_429_names_is_taken(wait, make):
    busy = Busy("HTTP 429")
    busy.seconds = 42.0
    done = wait(busy, make.request("failed", "failed"))
    assert done.error is None
    assert done.clock.waits == [42.0]
    assert done.steps[0] == "heartbeat"


def minded(budget=5.0, over=None):
    """A budget that somebody keeps."""
    return SimpleNamespace(budget=budget, over=over, look=lambda _: None)


def test_who_minds_the_cost_has_a_request_cancelled_that_never_left_the_queue(wait, make):
    done = wait(make.request("pending", "pending"), guard=minded())
    assert isinstance(done.error, ArmFailed), "no wedge: nobody is to search for a hanging seat"
    assert "in the queue and no game has started" in done.error.what
    assert "was cancelled before a game of it started" in done.error.not_done
    assert done.steps[-2:] == ["asked to cancel", "cancelled"]


@pytest.mark.parametrize("cancel", [None, False, ServerUnreachable("HTTP 503")])
def test_where_the_queue_cannot_be_left_the_request_is_said_to_run_on(wait, make, cancel):
    done = wait(make.request("pending", "pending"), guard=minded(), cancel=cancel)
    assert "still running on the server" in done.error.not_done
    assert done.steps[-2:] == ["asked to cancel", "abandon"]


@pytest.mark.parametrize(
    ("cancel", "told", "step"),
    [(True, "was cancelled", "cancelled"), (None, "still running on the server", "abandon")],
)
def test_a_spent_budget_stops_what_runs(wait, make, cancel, told, step):
    over = OverBudget("the run has cost 6 credits", next_step="raise it")
    done = wait(make.request("running", "running"), guard=minded(over=over), cancel=cancel)
    assert isinstance(done.error, OverBudget)
    assert told in done.error.not_done
    assert done.steps[-2:] == ["asked to cancel", step]


def test_what_had_ended_before_it_could_be_cancelled_is_paid_and_read(wait, make):
    over = OverBudget("the run has cost 6 credits", next_step="raise it")
    done = wait(make.request("completed", "completed"), guard=minded(over=over), cancel=False)
    assert done.error is None
    assert done.steps[-1] == "finish"
    late = wait(make.request("running", "running"), guard=minded(over=over), cancel=False)
    assert isinstance(late.error, OverBudget)
    assert late.steps[-1] == "abandon"


def kept(word):
    return Budgets(600.0, 300.0, 900.0, queue_exceeded=word)


@pytest.mark.parametrize("guard", [None, minded()])
def test_a_queue_may_be_left_whether_or_not_the_cost_is_minded(wait, make, guard):
    done = wait(make.request("pending", "pending"), guard=guard, budgets=kept("cancel"))
    assert done.steps[-2:] == ["asked to cancel", "cancelled"]
    assert "as --eval-queue-exceeded=cancel asks" in done.error.not_done


@pytest.mark.parametrize(("guard", "word"), [(None, None), (None, "keep"), (minded(), "keep")])
def test_a_queue_may_be_kept_although_the_cost_is_minded(wait, make, guard, word):
    done = wait(make.request("pending", "pending"), guard=guard, budgets=kept(word))
    assert "asked to cancel" not in done.steps
    assert done.steps[-1] == "abandon"
    assert "still running on the server" in done.error.not_done


@pytest.mark.parametrize(("cancel", "offered"), [(True, True), (None, False)])
def test_only_what_the_server_can_cancel_is_said_to_be_ended_by_hand(wait, make, cancel, offered):
    done = wait(make.request("pending", "pending"), cancel=cancel)
    assert ("evalharness runs cancel monday" in done.error.next_step) is offered


def test_what_no_run_is_cancelled_with_offers_no_such_command(wait, make):
    assert "runs cancel" not in wait(make.request("pending", "pending"), run_id=None).error.next_step


def test_a_wedge_is_searched_by_a_command_that_can_be_copied(wait, make):
    told = wait(make.request("running", "running"), budgets=kept(None)).error
    assert "is wedged" in told.what
    assert "evalharness ab --bisect-wedge monday --known-good" in told.next_step


@pytest.mark.parametrize("cancel", [None, ServerUnreachable("HTTP 503")])
def test_a_queue_that_cannot_be_left_is_told(wait, make, cancel):
    done = wait(make.request("pending", "pending"), cancel=cancel, budgets=kept("cancel"))
    assert "could not be cancelled" in done.error.what
    assert done.steps[-1] == "abandon"
