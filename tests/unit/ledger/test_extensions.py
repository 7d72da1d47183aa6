"""Games laid down later: with the look that they are, needed whatever planned looks decided, and taken back if never posted."""

import pytest

from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.ledger.states import BlockState


@pytest.fixture
def comparison(ledger):
    """A frozen comparison of two arms with two requests each."""
    made = ledger.open_comparison({"ask": 1}, run_id="r1", case_name="case")
    arms = {side: ArmSpec(f"arm-{side}", {}, [{"n": 1}, {"n": 2}]) for side in ("candidate", "baseline")}
    return ledger.freeze(made.id, {"roster": []}, arms).id


def lay(ledger, comparison, number):
    arms = {side: ArmSpec(f"arm-{side}-{number}", {}, [{"n": 9}]) for side in ("candidate", "baseline")}
    return ledger.extend(comparison, number, {"blocks": [], "at": 1.0}, arms, run_id="r2")


def finish(ledger, key):
    for block in ledger.blocks(key):
        lease = ledger.acquire(block.block_id)
        lease.begin_post()
        lease.posted(f"x-{block.block_id}")
        lease.finish({"episodes": []})


def test_it_is_laid_down_once_with_its_look(ledger, opened, comparison):
    first = lay(ledger, comparison, 0)
    assert first.arms["candidate+1"] == "arm-candidate-0"
    again = lay(opened(pid=2), comparison, 0)
    assert again.frozen == first.frozen
    assert [look.position for look in ledger.looks.of(comparison)] == [None]


def test_a_decided_look_ends_what_looks_cut_and_leaves_what_was_added(ledger, comparison):
    ledger.looks.take(comparison, 0, {}, decided=True, run_id="r1")
    lay(ledger, comparison, 0)
    assert ledger.stop(comparison) == 4
    (added,) = ledger.blocks("arm-candidate-0")
    assert added.state is BlockState.PLANNED


def test_how_far_it_has_come_counts_what_was_added(ledger, comparison):
    assert not ledger.progress.begun(comparison)
    for side in ("candidate", "baseline"):
        finish(ledger, f"arm-{side}")
    assert ledger.progress.begun(comparison)
    assert ledger.progress.complete(comparison)
    lay(ledger, comparison, 0)
    assert not ledger.progress.complete(comparison)
    for side in ("candidate", "baseline"):
        finish(ledger, f"arm-{side}-0")
    assert ledger.progress.complete(comparison)


def test_one_that_a_look_decided_is_complete_without_the_rest(ledger, comparison):
    for side in ("candidate", "baseline"):
        lease = ledger.acquire(ledger.blocks(f"arm-{side}")[0].block_id)
        lease.begin_post()
        lease.posted(f"x-{side}")
        lease.finish({"episodes": []})
    assert not ledger.progress.complete(comparison)
    ledger.looks.take(comparison, 0, {}, decided=True, run_id="r1")
    ledger.stop(comparison)
    assert ledger.progress.complete(comparison)


def test_what_was_never_posted_is_taken_back_and_its_look_stays(ledger, comparison):
    lay(ledger, comparison, 0)
    lay(ledger, comparison, 1)
    assert ledger.extensions.take_back(comparison)
    left = ledger.comparison(comparison)
    assert len(left.frozen["extensions"]) == 1
    assert sorted(left.arms) == ["baseline", "baseline+1", "candidate", "candidate+1"]
    assert ledger.blocks("arm-candidate-1") == []
    assert ledger.extensions.take_back(comparison)
    assert "extensions" not in ledger.comparison(comparison).frozen
    assert not ledger.extensions.take_back(comparison)
    assert len(ledger.looks.of(comparison)) == 2
    assert len(ledger.blocks("arm-candidate")) == 2


@pytest.mark.parametrize("how", ["leased", "posting", "posted", "finished"])
def test_what_somebody_works_on_or_the_server_may_know_is_not_taken_back(ledger, comparison, how):
    lay(ledger, comparison, 0)
    (block,) = ledger.blocks("arm-baseline-0")
    lease = ledger.acquire(block.block_id)
    if how != "leased":
        lease.begin_post()
    if how in {"posted", "finished"}:
        lease.posted("x")
    if how == "finished":
        lease.finish({"episodes": []})
    assert not ledger.extensions.take_back(comparison)
    assert "candidate+1" in ledger.comparison(comparison).arms
