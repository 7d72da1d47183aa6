"""Runs, comparisons, arms and verdicts."""

import pytest

from pytest_evalharness.errors import ArmFailed
from pytest_evalharness.ledger.keys import plan_key
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.ledger.states import BlockState

PLAN = {"role": "crew", "n": 30}


def test_a_run_is_noted_once(ledger, opened):
    ledger.start_run("r1", {"argv": ["a"]})
    opened(2).start_run("r1", {"argv": ["b"]})
    assert ledger.run_info("r1") == {"argv": ["a"]}
    assert ledger.run_info("r2") is None


def test_the_same_question_gets_the_same_comparison(ledger, opened, clock):
    first = ledger.open_comparison(PLAN, run_id="r1", case_name="test_crew")
    clock.time += 60
    again = opened(2).open_comparison(
        dict(reversed(PLAN.items())), run_id="r2", case_name="other", fresh=False
    )
    assert again == first
    assert (first.attempt, first.run_id, first.case_name, first.created_at) == (1, "r1", "test_crew", 1000)
    assert first.plan == PLAN
    assert first.plan_key == plan_key(PLAN)
    assert (first.frozen, first.arms, first.fresh) == (None, {}, False)
    assert ledger.comparison(first.id) == first


def test_a_run_that_goes_on_with_what_another_began_has_it_too(ledger, clock):
    """Interrupted again, it is still gone on with, cancelled and searched by its own name."""
    begun = ledger.open_comparison(PLAN, run_id="r1", case_name="c")
    arm = ledger.open_comparison({"single_arm": PLAN}, run_id="r1", case_name="d")
    for run_id in ("r1", "r2", "r20"):
        ledger.start_run(run_id, {})
        clock.time += 1
    for _ in range(2):
        ledger.open_comparison(PLAN, run_id="r2", case_name="c")
        ledger.open_comparison({"single_arm": PLAN}, run_id="r2", case_name="d")
    told = {run.id: (run.comparisons, run.arms) for run in ledger.runs.newest_first()}
    both = (begun.id,), (arm.id,)
    assert told == {"r1": both, "r2": both, "r20": ((), ())}


def test_another_question_gets_another(ledger):
    a = ledger.open_comparison(PLAN, run_id="r1", case_name="c")
    b = ledger.open_comparison({**PLAN, "n": 31}, run_id="r1", case_name="c")
    assert a.id != b.id


@pytest.fixture
def attempt(ledger):
    """Asks for an attempt and leaves its two arms in some state: `attempt("r2", "finished", "running")`."""

    def make(run_id, *states, fresh=True, plan=PLAN):
        comparison = ledger.open_comparison(plan, run_id=run_id, case_name="c", fresh=fresh)
        if states and comparison.frozen is None:
            arms = [ArmSpec(f"{comparison.id}-{side}", {}, [{}]) for side in ("a", "b")]
            comparison = ledger.freeze(
                comparison.id, {}, dict(zip(("candidate", "baseline"), arms, strict=True))
            )
        for side, state in zip(("candidate", "baseline"), states, strict=False):
            bring(ledger, ledger.blocks(comparison.arms[side])[0], state)
        return comparison

    return make


def bring(ledger, block, state):
    """Bring a planned block to a state, as a process does that then goes."""
    error = ArmFailed("it broke")
    if state == "planned":
        return
    with ledger.acquire(block.block_id) as lease:
        lease.begin_post()
        if state == "unknown":
            lease.unknown(error)
        elif state == "refused":
            lease.refused(error)
        elif state != "posting":
            lease.posted(f"xreq-{block.block_id}")
        if state == "finished":
            lease.finish({})
        elif state in {"failed", "cancelled", "abandoned"}:
            {"failed": lease.fail, "cancelled": lease.cancelled, "abandoned": lease.abandon}[state](error)


def test_fresh_begins_one_attempt_a_run(ledger, opened, attempt):
    attempt("r1", "finished", "finished", fresh=False)
    workers = [opened(n).open_comparison(PLAN, run_id="r2", case_name="c", fresh=True) for n in (2, 3, 4)]
    assert [w.attempt for w in workers] == [2, 2, 2]
    assert workers[0].fresh
    attempt("r2", "finished", "finished")
    # a slow worker of that run still gets the run's own, although it is over
    assert ledger.open_comparison(PLAN, run_id="r2", case_name="c", fresh=True).attempt == 2
    assert attempt("r3", "finished", "finished").attempt == 3
    assert ledger.open_comparison(PLAN, run_id="r2", case_name="c", fresh=True).attempt == 2
    assert ledger.open_comparison(PLAN, run_id="r4", case_name="c").attempt == 3
    assert [c.attempt for c in ledger.attempts(PLAN)] == [1, 2, 3]


@pytest.mark.parametrize(
    "states",
    [
        (), ("planned", "planned"), ("posting", "planned"), ("running", "running"), ("running", "planned"),
        ("finished", "running"), ("finished", "planned"), ("finished", "posting"), ("abandoned", "running"),
        ("refused", "running"), ("abandoned", "finished"), ("abandoned", "abandoned"),
    ],
)  # fmt: skip
def test_fresh_goes_on_with_an_attempt_that_can_still_be_ended(ledger, attempt, states):
    first = attempt("r1", *states)
    assert ledger.open_comparison(PLAN, run_id="r2", case_name="c", fresh=True).id == first.id


@pytest.mark.parametrize(
    "states",
    [
        ("finished", "finished"), ("failed", "finished"), ("cancelled", "cancelled"),
        ("refused", "refused"), ("failed", "running"), ("cancelled", "running"), ("unknown", "running"),
    ],
)  # fmt: skip
def test_fresh_begins_another_beside_one_that_is_over(ledger, attempt, states):
    attempt("r1", *states)
    assert ledger.open_comparison(PLAN, run_id="r2", case_name="c", fresh=True).attempt == 2


def test_a_run_that_went_on_with_an_attempt_keeps_it_when_it_is_over(ledger, opened, attempt):
    attempt("r1", "running", "running")
    assert attempt("r2").attempt == 1
    for key in attempt("r2").arms.values():
        with ledger.acquire(ledger.blocks(key)[0].block_id) as lease:
            lease.finish({})
    assert opened(2).open_comparison(PLAN, run_id="r2", case_name="c", fresh=True).attempt == 1
    assert attempt("r3").attempt == 2


def test_what_was_unknown_and_is_found_after_all_is_no_error_any_more(ledger, attempt):
    comparison = attempt("r1", "unknown", "running")
    block = ledger.blocks(comparison.arms["candidate"])[0]
    assert (block.state, block.failure.what, block.lost) == (BlockState.POSTING, "it broke", True)
    with ledger.acquire(block.block_id) as lease:
        assert not ledger.block(block.block_id).lost
        lease.posted("xreq_1")
    assert ledger.block(block.block_id).failure is None


@pytest.mark.parametrize("fresh", [False, True])
def test_an_attempt_that_was_never_posted_is_superseded_once(ledger, opened, attempt, fresh):
    first = attempt("r1", "planned", "planned", fresh=fresh)
    workers = [
        opened(n).open_comparison(PLAN, run_id="r1", case_name="c", fresh=fresh, supersede=first.id)
        for n in (2, 3)
    ]
    assert [w.attempt for w in workers] == [2, 2]
    assert not workers[0].fresh
    assert attempt("r1", fresh=fresh).attempt == 2
    assert attempt("r2", fresh=fresh).attempt == 2


def test_what_somebody_has_taken_up_is_not_superseded(ledger, attempt):
    first = attempt("r1", "planned", "planned")
    with ledger.acquire(ledger.blocks(first.arms["baseline"])[0].block_id):
        again = ledger.open_comparison(PLAN, run_id="r2", case_name="c", supersede=first.id)
    assert again.id == first.id


def test_fresh_on_a_question_never_asked_is_the_first_attempt(ledger):
    assert ledger.open_comparison(PLAN, run_id="r1", case_name="c", fresh=True).attempt == 1
    assert ledger.open_comparison(PLAN, run_id="r1", case_name="c", fresh=True).attempt == 1


def test_a_run_that_resumed_and_is_then_asked_for_fresh_gets_fresh(attempt):
    attempt("r1", "finished", "finished", fresh=False)
    assert attempt("r1").attempt == 2


def test_when_a_run_began(ledger, clock):
    assert ledger.run_began("r1") is None
    ledger.start_run("r1", {})
    clock.time += 60
    ledger.start_run("r1", {})
    assert ledger.run_began("r1") == 1000.0


def test_freezing_lays_down_arms_and_blocks(ledger):
    comparison = ledger.open_comparison(PLAN, run_id="r1", case_name="c")
    arms = {
        "candidate": ArmSpec("arm-a", {"label": "v2"}, [{"seed": 1}, {"seed": 2}]),
        "baseline": ArmSpec("arm-b", {"label": "v1"}, [{"seed": 3}], kind="benchmark"),
    }
    frozen = ledger.freeze(comparison.id, {"roster": ["x:v1"]}, arms)
    assert frozen.frozen == {"roster": ["x:v1"]}
    assert frozen.arms == {"candidate": "arm-a", "baseline": "arm-b"}
    assert ledger.attempts(comparison.plan) == [frozen]
    blocks = ledger.blocks("arm-a") + ledger.blocks("arm-b")
    assert [block.body["seed"] for block in blocks] == [1, 2, 3]
    assert [block.position for block in blocks] == [0, 1, 0]
    assert {block.state for block in blocks} == {BlockState.PLANNED}
    names = [name for block in blocks for name in (block.token, block.idempotency_key)]
    assert len(set(names)) == 6
    assert all(name.startswith("evh-") for name in names)
    assert (ledger.arm("arm-a").spec, ledger.arm("arm-b").kind) == ({"label": "v2"}, "benchmark")
    assert ledger.blocks("nothing") == []


def test_the_first_to_freeze_decides(ledger, opened):
    comparison = ledger.open_comparison(PLAN, run_id="r1", case_name="c")
    first = ledger.freeze(comparison.id, {"seed": 1}, {"candidate": ArmSpec("arm-a", {}, [{}])})
    late = opened(2).freeze(comparison.id, {"seed": 2}, {"candidate": ArmSpec("arm-z", {}, [{}])})
    assert late == first
    assert ledger.blocks("arm-z") == []


def test_arms_are_shared_with_all_they_have_done(ledger):
    a = ledger.open_comparison(PLAN, run_id="r1", case_name="a")
    b = ledger.open_comparison({**PLAN, "claim": "better"}, run_id="r1", case_name="b")
    arm = ArmSpec("arm-a", {}, [{"seed": 1}])
    ledger.freeze(a.id, {}, {"candidate": arm})
    (block,) = ledger.blocks("arm-a")
    with ledger.acquire(block.block_id) as lease:
        lease.begin_post()
    ledger.freeze(b.id, {}, {"candidate": arm, "baseline": ArmSpec("arm-b", {}, [{}])})
    (shared,) = ledger.blocks("arm-a")
    assert shared.token == block.token
    assert shared.state is BlockState.POSTING


def test_a_freeze_that_fails_leaves_nothing(ledger):
    comparison = ledger.open_comparison(PLAN, run_id="r1", case_name="c")
    bad = {"candidate": ArmSpec("arm-a", {}, [{}]), "baseline": ArmSpec("arm-b", {}, [{"x": float("nan")}])}
    with pytest.raises(ValueError):
        ledger.freeze(comparison.id, {}, bad)
    assert ledger.blocks("arm-a") == []
    assert ledger.comparison(comparison.id).frozen is None


def test_what_is_not_there(ledger):
    with pytest.raises(KeyError):
        ledger.freeze("nothing", {}, {})
    with pytest.raises(KeyError):
        ledger.comparison("nothing")
    with pytest.raises(KeyError):
        ledger.arm("nothing")
    assert ledger.attempts({"nothing": 1}) == []


def test_verdicts_are_only_added(ledger, clock):
    comparison = ledger.open_comparison(PLAN, run_id="r1", case_name="c")
    ledger.record_verdict(comparison.id, "r1", {"verdict": "worse"})
    clock.time += 1
    ledger.record_verdict(comparison.id, "r1", {"verdict": "worse"})  # a case that was run again
    ledger.record_verdict(comparison.id, "r1", {"verdict": "better"})
    ledger.record_verdict(comparison.id, "r2", {"verdict": "worse"})
    seen = [(v.run_id, v.judgement["verdict"], v.recorded_at) for v in ledger.verdicts(comparison.id)]
    assert seen == [("r1", "worse", 1000), ("r1", "better", 1001), ("r2", "worse", 1001)]


def test_a_ledger_is_a_context(opened):
    with opened() as ledger:
        assert ledger.path.name == "ledger.sqlite"
