"""What was seen, what was declared before, and what a decided comparison leaves unposted."""

import pytest

from pytest_evalharness.ledger.questions import question_key
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.ledger.states import BlockState

PLAN = {"ask": 1, "declaration": {"claim": "better"}}
OTHER = {"ask": 1, "declaration": {"claim": "not_worse"}}


def begun(ledger, plan=PLAN, run_id="r1", arms=("a", "b"), **words):
    comparison = ledger.open_comparison(plan, run_id=run_id, case_name="c", **words)
    sides = dict(zip(("candidate", "baseline"), arms, strict=True))
    return ledger.freeze(
        comparison.id, {}, {side: ArmSpec(key, {}, [{}, {}, {}]) for side, key in sides.items()}
    )


def finish(ledger, arm_key, position):
    with ledger.acquire(ledger.blocks(arm_key)[position].block_id) as lease:
        lease.begin_post()
        lease.posted(f"x{arm_key}{position}")
        lease.finish({})


def test_a_planned_look_is_taken_once_by_whoever_comes_first(opened):
    ledger, other = opened(1), opened(2)
    comparison = begun(ledger)
    first = ledger.looks.take(comparison.id, 0, {"verdict": "better"}, decided=True, run_id="r1")
    again = other.looks.take(comparison.id, 0, {"verdict": "worse"}, decided=False, run_id="r2")
    assert first == again
    assert (again.decided, again.seen, again.run_id, again.looked_at) == (
        True,
        {"verdict": "better"},
        "r1",
        1000.0,
    )
    assert len(other.looks.of(comparison.id)) == 1


def test_unplanned_looks_are_all_kept_in_their_order(opened):
    ledger = opened(1)
    comparison = begun(ledger)
    ledger.looks.unplanned(comparison.id, {"games": 5}, run_id="r1")
    ledger.looks.take(comparison.id, 0, {}, decided=False, run_id="r1")
    ledger.looks.unplanned(comparison.id, {"games": 9}, run_id="r2")
    assert [(look.position, look.seen) for look in ledger.looks.of(comparison.id)] == [
        (None, {"games": 5}),
        (0, {}),
        (None, {"games": 9}),
    ]
    assert ledger.looks.of("nothing") == []


def test_what_a_decided_comparison_has_not_posted_is_cancelled(opened):
    ledger = opened(1)
    comparison = begun(ledger)
    for arm in ("a", "b"):
        finish(ledger, arm, 0)
    ledger.looks.take(comparison.id, 0, {}, decided=True, run_id="r1")
    assert ledger.stop(comparison.id) == 4
    assert ledger.stop(comparison.id) == 0
    states = [block.state for block in ledger.blocks("a")]
    assert states == [BlockState.FINISHED, BlockState.CANCELLED, BlockState.CANCELLED]
    assert ledger.acquire(ledger.blocks("a")[1].block_id) is None
    assert ledger.blocks("a")[1].settled


def test_what_somebody_posts_just_now_is_left_alone(opened):
    ledger = opened(1)
    comparison = begun(ledger)
    lease = ledger.acquire(ledger.blocks("a")[0].block_id)
    ledger.looks.take(comparison.id, 0, {}, decided=True, run_id="r1")
    assert ledger.stop(comparison.id) == 5
    assert lease.begin_post().state is BlockState.POSTING


def test_another_comparison_that_still_needs_an_arm_keeps_it(opened):
    ledger = opened(1)
    first, second = begun(ledger), begun(ledger, OTHER, arms=("a", "c"))
    ledger.looks.take(first.id, 0, {}, decided=True, run_id="r1")
    assert ledger.stop(first.id) == 3  # the arm b is nobody else's
    assert {block.state for block in ledger.blocks("a")} == {BlockState.PLANNED}
    ledger.looks.take(second.id, 0, {}, decided=True, run_id="r1")
    assert ledger.stop(second.id) == 6


def test_a_fresh_attempt_begins_beside_one_that_a_look_has_decided(opened):
    ledger = opened(1)
    comparison = begun(ledger)
    for arm in ("a", "b"):
        finish(ledger, arm, 0)
    assert begun(ledger, run_id="r2", fresh=True).id == comparison.id  # still on its way
    ledger.looks.take(comparison.id, 0, {}, decided=True, run_id="r1")
    assert ledger.open_comparison(PLAN, run_id="r3", case_name="c", fresh=True).attempt == 2


# ------------------------------------------------------------------- questions


def test_a_question_is_everything_but_the_declaration():
    assert question_key(PLAN) == question_key(OTHER)
    assert question_key(PLAN) != question_key({**PLAN, "ask": 2})
    assert question_key({"ask": 1}) == question_key(PLAN)


def test_a_pool_asks_the_same_in_any_order_and_under_any_name():
    one, two = {"name": "crew", "plan": {"ask": 1}}, {"name": "imposter", "plan": {"ask": 2}}
    asked = question_key({"strata": [one, two]})
    assert asked == question_key({"strata": [two, {**one, "name": "other"}]})
    assert asked != question_key({"strata": [one, {**two, "plan": {"ask": 3}}]})


def test_any_number_of_declarations_stand_before_a_result_is_seen(opened):
    ledger = opened(1)
    assert ledger.questions.declare(PLAN, run_id="r1") is None
    assert ledger.questions.declare(OTHER, run_id="r1") is None
    begun(ledger)
    assert ledger.questions.declare({**PLAN, "declaration": {"claim": "x"}}, run_id="r2") is None


@pytest.mark.parametrize("how", ["verdict", "planned look", "unplanned look"])
def test_no_other_declaration_stands_once_one_was_seen(opened, clock, how):
    ledger = opened(1)
    ledger.questions.declare(PLAN, run_id="r1")
    comparison = begun(ledger)
    if how == "verdict":
        ledger.record_verdict(comparison.id, "r1", {"verdict": "worse"})
    elif how == "planned look":
        ledger.looks.take(comparison.id, 0, {}, decided=False, run_id="r1")
    else:
        ledger.looks.unplanned(comparison.id, {}, run_id="r1")
    clock.time += 5
    assert ledger.questions.declare(PLAN, run_id="r2") is None  # its own stands for ever
    assert ledger.questions.declare(OTHER, run_id="r2") == {"claim": "better"}
    assert ledger.questions.declare(OTHER, run_id="r3") == {
        "claim": "better"
    }  # and asking twice does not help
    assert ledger.questions.declare({**OTHER, "ask": 2}, run_id="r2") is None  # another question


def test_a_fresh_record_may_be_declared_otherwise(opened, clock):
    ledger = opened(1)
    ledger.questions.declare(PLAN, run_id="r1")
    ledger.record_verdict(begun(ledger).id, "r1", {})
    clock.time += 5
    ledger.questions.declare_afresh(OTHER, run_id="r2")
    ledger.questions.declare_afresh(OTHER, run_id="r2")
    assert ledger.questions.declare(OTHER, run_id="r3") is None
    assert ledger.questions.declare({**PLAN, "declaration": {"claim": "x"}}, run_id="r3") == {
        "claim": "not_worse"
    }


def test_attempts_are_those_at_the_question(opened, clock):
    ledger = opened(1)
    first = begun(ledger)
    clock.time += 5
    second = begun(ledger, OTHER, arms=("c", "d"))
    assert [one.id for one in ledger.attempts(PLAN)] == [first.id, second.id]
