"""Death anywhere is survivable: the real runner, a real ledger, a real league, and processes that die at any step.

Whatever dies, each block makes one request at the most, no result is lost or changed, and the same command comes to what an
undisturbed run comes to; where a server cannot tell what became of a POST, it stops and says so.
"""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pytest_evalharness.errors import ArmStalled, RequestRefused, ServerUnreachable, SubmissionUnknown
from pytest_evalharness.ledger.states import TRANSITIONS, BlockState
from pytest_evalharness.verdict.claim import Declaration

POST = "POST /v2/experience-requests"
POLL = "GET /v2/experience-requests/ID"
RESULTS = "GET /v2/episode-requests/ID/artifacts/results"
PAIRS = {"declaration": Declaration("better", pairing="seed")}
LOOKS = {"declaration": Declaration("better", rule="group_sequential", looks=(1, 2), pairing="seed")}
ALONE = {"declaration": Declaration("better")}
"""Its seeds are the server's choice, so it has no equal in another ledger."""
MAY_STOP = (SubmissionUnknown, ServerUnreachable, RequestRefused, ArmStalled)
BOTH_COMMANDS = ("run the same command again", "--eval-fresh")


# -------------------------------------------------------------------- what must hold at any time


def check(house) -> None:
    """The server and the file, whatever has died so far."""
    for block in house.blocks():
        known = house.league.requests_with(block.token)
        assert len(known) <= 1, f"{block.block_id} was posted twice"
        assert block.request_id in {None, *known}
        facts_agree(block.state, block.request_id, block.evidence)
    for block_id, was, became, had_id, has_id, had_evidence, has_evidence in house.changes():
        step = BlockState(was), BlockState(became)
        assert was == became or step[1] in TRANSITIONS[step[0]], f"{block_id}: {was} -> {became}"
        assert had_id in {None, has_id}, f"{block_id} changed its request"
        assert had_evidence in {None, has_evidence}, f"{block_id} lost its results"
        facts_agree(step[1], has_id, has_evidence)


def facts_agree(state, request_id, evidence) -> None:
    """A state and what it says of the others are written together."""
    assert (evidence is not None) == (state is BlockState.FINISHED)
    if state in {BlockState.RUNNING, BlockState.FINISHED, BlockState.ABANDONED}:
        assert request_id is not None
    if state in {BlockState.PLANNED, BlockState.POSTING}:
        assert request_id is None


def check_end(house, process, plan) -> None:
    """What must hold once somebody has lived to the end."""
    check(house)
    for block in house.blocks():
        assert block.state is BlockState.FINISHED
        assert house.league.requests_with(block.token) == [block.request_id]
        assert block.owner is None
    if plan.declaration.pairing is not None:
        assert process.essence == house.league.undisturbed(plan)


@pytest.fixture
def house(mortal, league):
    household = mortal.Household(mortal.new_home(), league)
    yield household
    household.leave()


# ------------------------------------------------------------------------- the named moments

MOMENTS = {
    "before anything is declared": ("begin declare", 1),
    "declared, not begun": ("committed declare", 1),
    "begun, not frozen": ("committed open_comparison", 1),
    "while the field is resolved": ("send GET /v2/rounds", 1),
    "frozen": ("committed freeze", 1),
    "taken, not announced": ("committed acquire", 1),
    "about to write down the POST": ("commit begin_post", 2),
    "before the POST": (f"send {POST}", 2),
    "after the POST, before its answer": (f"answer {POST}", 1),
    "after the answer, before the id is saved": ("commit posted", 2),
    "the id is saved": ("committed posted", 1),
    "while polling": (f"send {POLL}", 3),
    "seen running": ("commit running", 1),
    "while harvesting": (f"answer {RESULTS}", 1),
    "harvested, not saved": ("commit finish", 1),
    "one half saved": ("committed finish", 2),
    "judged, not written down": ("commit record_verdict", 1),
}
AROUND_A_POST = [f"send {POST}", f"answer {POST}", "begin posted", "commit posted"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_same_command_goes_on_wherever_the_first_one_died(house, mortal, moment):
    plan = mortal.plan()
    dead = house.process(plan, ends=mortal.when(*MOMENTS[moment])).end()
    assert dead.life.steps[-1] == MOMENTS[moment][0]
    assert dead.result is dead.error is None
    check(house)
    check_end(house, house.process(plan).lived(), plan)


@pytest.mark.parametrize("step", [f"answer {POST}", "committed posted", f"answer {RESULTS}"])
@pytest.mark.parametrize("together", [True, False], ids=["workers", "terminals"])
def test_whoever_lives_takes_over_from_whoever_died_beside_it(house, mortal, step, together):
    plan = mortal.plan()
    session = "both" if together else None
    dead = house.process(plan, ends=mortal.when(step), session=session)
    alive = house.process(plan, session=session)
    dead.start()
    alive.lived()
    assert dead.end().result is None or step not in dead.life.steps
    check_end(house, alive, plan)


@pytest.mark.slow
def test_the_same_command_goes_on_whichever_step_was_the_last(mortal, league):
    """Each step of a run, none left out."""
    plan = mortal.plan(episodes=1)
    number, died = 1, True
    while died:
        house = mortal.Household(mortal.new_home(), league)
        died = house.process(plan, ends=mortal.at(number)).end().result is None
        check(house)
        check_end(house, house.process(plan).lived(), plan)
        house.leave()
        number += 1
    assert number > 100


# ---------------------------------------------------------------- servers that cannot tell

CANNOT_TELL = ("ignored-key", "hidden-notes")


def test_a_server_that_cannot_tell_is_not_posted_to_again(house, mortal):
    house.league.heal(*CANNOT_TELL)
    plan = mortal.plan()
    house.process(plan, ends=mortal.when(f"answer {POST}", 1)).end()
    blocks = {block.block_id: house.league.requests_with(block.token) for block in house.blocks()}
    for _ in range(2):
        stopped = house.process(plan).end()
        assert isinstance(stopped.error, SubmissionUnknown)
        assert stopped.error.not_done == "it was not posted again"
        assert all(command in stopped.error.next_step for command in BOTH_COMMANDS)
        lost = [block for block in house.blocks() if block.state is BlockState.POSTING]
        assert lost
        assert [house.league.requests_with(b.token) for b in lost] == [blocks[b.block_id] for b in lost]
    house.league.heal()
    check_end(house, house.process(plan).lived(), plan)


@pytest.mark.parametrize("dialect", ["ignored-key", "hidden-notes"])
@pytest.mark.parametrize("step", [f"send {POST}", f"answer {POST}"])
def test_the_token_or_the_key_alone_is_enough(house, mortal, dialect, step):
    house.league.heal(dialect)
    plan = mortal.plan()
    house.process(plan, ends=mortal.when(step)).end()
    second = house.process(plan).end()
    if (
        second.error is not None
    ):  # an arm was never sent, the token cannot show that so soon, and there is no key
        assert isinstance(second.error, SubmissionUnknown)
        assert dialect == "ignored-key"
        lost = [block for block in house.blocks() if block.state is BlockState.POSTING]
        assert any(not house.league.requests_with(block.token) for block in lost)
        house.later = 400.0
        second = house.process(plan).lived()
    check_end(house, second, plan)


@pytest.mark.parametrize("dialect", ["ignored-key", "hidden-notes", "refused-duplicates"])
def test_answers_that_are_lost_are_found_in_the_same_run(house, mortal, dialect):
    house.league.heal(dialect, "reset-after-post=4")
    plan = mortal.plan()
    check_end(house, house.process(plan).lived(), plan)


def test_a_post_that_was_repeated_is_as_young_as_its_repeat(house, mortal):
    """Whether a list would show it by now counts from the last time it was sent."""
    house.league.heal("ignored-key")
    plan = mortal.plan(episodes=1)
    house.process(plan, ends=mortal.when(f"send {POST}")).end()
    house.later = 400.0
    house.league.heal("ignored-key", "not-visible=600")
    house.process(plan, ends=mortal.when(f"answer {POST}", 2)).end()
    stopped = house.process(plan).end()
    assert isinstance(stopped.error, SubmissionUnknown)
    assert [len(house.league.requests_with(block.token)) for block in house.blocks()] == [1, 1]


# ------------------------------------------------------------------------------- the machine

LONGEST_HIDDEN = 2
FAILURES = [
    "reset-after-post=1",
    "reset-after-post=3",
    "overloaded=2",
    "overloaded=9",
    "reject-body=422",
    "not-visible=0.1",
    f"not-visible={LONGEST_HIDDEN}",
    "slow-queue=0.3",
]


class CrashMachine(RuleBasedStateMachine):
    """Any number of runs of one command, one after the other or at one time, each to its own end."""

    def __init__(self, mortal, league, *, restarts: int) -> None:
        super().__init__()
        self.mortal = mortal
        self.league = league
        self.restarts = restarts
        self.house = None
        self.hidden = False

    @initialize(
        asked=st.sampled_from([PAIRS, LOOKS, ALONE]),
        dialect=st.sampled_from(
            [("ignored-key",), CANNOT_TELL, (), ("hidden-notes",), ("refused-duplicates",)]
        ),
        spec=st.sampled_from(FAILURES),
        step=st.sampled_from(AROUND_A_POST),
    )
    def begin(self, asked, dialect, spec, step):
        self.dialect = dialect
        self.plan = self.mortal.plan(**asked)
        if self.plan.declaration.pairing is not None:
            self.league.heal()
            self.league.undisturbed(self.plan)
        self.league.heal(*dialect, spec)
        self.house = self.mortal.Household(self.mortal.new_home(), self.league)
        self.found = None
        self.hidden = spec.startswith("not-visible")
        self.watch(self.house.process(self.plan, ends=self.mortal.when(step)))

    def teardown(self):
        if self.house is None:
            return
        try:
            self.go_on_to_the_end()
        finally:
            self.league.heal()
            self.house.leave()

    # ---------------------------------------------------------------- rules

    @rule(number=st.integers(1, 200), budget=st.sampled_from([1e5, 1e5, 2.0]))
    def die_at_a_step(self, number, budget):
        self.watch(self.house.process(self.plan, ends=self.mortal.at(number), queue_budget=budget))

    @rule(
        step=st.sampled_from([step for step, _ in MOMENTS.values()] + AROUND_A_POST),
        nth=st.integers(1, 4),
    )
    def die_at_a_moment(self, step, nth):
        self.watch(self.house.process(self.plan, ends=self.mortal.when(step, nth)))

    @rule(first=st.integers(1, 200), second=st.integers(1, 400), together=st.booleans())
    def two_at_one_time(self, first, second, together):
        """Workers of one run, or two terminals."""
        session = f"both-{len(self.house.lives)}" if together else None
        self.watch(
            *(
                self.house.process(self.plan, ends=self.mortal.at(number), session=session)
                for number in (first, second)
            )
        )

    @rule(spec=st.sampled_from(FAILURES))
    def something_fails(self, spec):
        self.hidden = self.hidden or spec.startswith("not-visible")
        self.league.fault(spec)

    @rule()
    def nothing_fails_any_more(self):
        self.league.heal(*self.dialect)

    @precondition(lambda self: self.restarts > 0)
    @rule()
    def the_league_dies_too(self):
        self.restarts -= 1
        self.league.kill_and_restart()
        self.league.heal(*self.dialect)

    @precondition(lambda self: self.house.later < 800)
    @rule()
    def time_passes(self):
        self.house.later += 400

    # --------------------------------------------------------------- looking

    def watch(self, *processes) -> None:
        """Let processes live, and look at what they leave behind."""
        for process in processes:
            process.start()
        for process in processes:
            process.end()
            last = process.life.steps[-1] if process.life.steps else "nothing"
            note(
                f"{process.name}: {len(process.life.steps)} steps to {last}; {process.error or process.result}"
            )
            if process.error is not None:
                self.stopped(process.error)
            elif process.result is not None:
                self.finished(process)
        check(self.house)

    def stopped(self, error) -> None:
        assert isinstance(error, MAY_STOP), error
        assert error.next_step
        if isinstance(error, SubmissionUnknown) and not error.what.startswith("cannot read the request"):
            # Else its id is known, and hours have passed while the server hid it for two seconds of its own.
            assert all(command in error.next_step for command in BOTH_COMMANDS)

    def finished(self, process) -> None:
        """All who come to an end come to the same."""
        check_end(self.house, process, self.plan)
        if self.found is None:
            self.found = process.essence
        assert process.essence == self.found

    def go_on_to_the_end(self) -> None:
        self.league.heal(*self.dialect)
        shown = time.monotonic() + LONGEST_HIDDEN
        self.watch(self.house.process(self.plan))
        # No server learns to know keys within the moment in which it still hides what it took in without them.
        while time.monotonic() < shown and self.hidden:
            threading.Event().wait(0.05)
        self.league.heal()
        self.house.process(self.plan).lived()
        self.watch(self.house.process(self.plan))
        assert self.found is not None


LIVELY = settings(
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.generate,
    ],  # a failure tells each process's last step; shrinking would take minutes
    suppress_health_check=list(HealthCheck),
)


def test_any_number_of_deaths(mortal, league):
    machine = settings(LIVELY, max_examples=8, stateful_step_count=5, derandomize=True)
    run_state_machine_as_test(lambda: CrashMachine(mortal, league, restarts=0), settings=machine)


@pytest.mark.slow
def test_any_number_of_deaths_of_processes_and_of_the_league(mortal, league):
    machine = settings(LIVELY, max_examples=24, stateful_step_count=8)
    run_state_machine_as_test(lambda: CrashMachine(mortal, league, restarts=1), settings=machine)
