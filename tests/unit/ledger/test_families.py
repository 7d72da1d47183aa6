"""Families in the ledger: fixed once, joined once, found again."""

import pytest

from pytest_evalharness.errors import RequestRefused
from pytest_evalharness.ledger.families import Member, Method, Standing
from pytest_evalharness.ledger.records import ArmSpec

PLAN = {"role": "crew", "n": 30}


def member(case, **changes):
    return Member((case,), "better", "score", 0.05, **changes)


def test_the_first_process_fixes_it_for_all(ledger, opened, clock):
    first = ledger.families.fix("r1", [member("a"), member("b", selected=False)], Method.HOLM)
    clock.time += 5
    second = opened(2).families.fix("r1", [member("a")], Method.NONE)
    assert second == first
    assert (first.run_id, first.method, first.fixed_at) == ("r1", Method.HOLM, 1000.0)


def test_every_field_of_a_member_survives(ledger):
    members = (
        Member(("a", "b"), "separated", "overlap", 0.01, Standing.MEMBER, selected=True, comparison="c-1"),
        Member(("c",), "noninferior", "score", 0.05, Standing.GUARD, selected=False),
        Member(("d",), "better", "bayes", 0.05, Standing.REPORT_ONLY),
        Member(("e",), None, None, None, selected=False),
    )
    family = ledger.families.fix("r1", members, Method.NONE)
    assert family.members == members
    assert family.tested == (members[0], members[3])
    assert family.cases == {"a", "b", "c", "d", "e"}


def test_a_member_is_found_by_its_evidence_before_its_name(ledger):
    one, other = member("a", comparison="c-1"), member("b", comparison="c-2")
    family = ledger.families.fix("r1", [one, other], Method.HOLM)
    assert family.member("c-2", "a") == other
    assert family.member("c-9", "a") == one
    assert family.member("c-9", "z") is None


@pytest.mark.parametrize(
    ("state", "stays"),
    [("planned", False), ("refused", False), ("leased", True), ("posting", True), ("posted", True)],
)
def test_a_comparison_stays_in_its_family_once_anything_of_that_was_posted(ledger, state, stays):
    ours, fellow = (ledger.open_comparison({**PLAN, "n": n}, run_id="r1", case_name="a").id for n in (30, 31))
    assert ledger.families.of_comparison(ours) is None
    ledger.freeze(ours, {}, {"candidate": ArmSpec("arm-1", {}, [{}])})
    ledger.freeze(fellow, {}, {"candidate": ArmSpec("arm-2", {}, [{}])})
    first = ledger.families.fix("r1", [member("a"), member("b")], Method.HOLM)
    second = ledger.families.fix("r2", [member("a")], Method.HOLM)
    ledger.families.join(first.id, [ours, fellow])
    if state != "planned":
        lease = ledger.acquire("arm-2.0")  # the other one's
        if state != "leased":
            lease.begin_post()
        if state == "posted":
            lease.posted("xreq_1")
        if state == "refused":
            lease.refused(RequestRefused("no"))
    ledger.families.join(second.id, [ours])
    assert ledger.families.of_comparison(ours) == (first if stays else second)


def test_a_fresh_attempt_is_in_no_family_yet_and_a_superseding_one_in_the_old(ledger):
    comparison = ledger.open_comparison(PLAN, run_id="r1", case_name="a")
    family = ledger.families.fix("r1", [member("a")], Method.HOLM)
    ledger.families.join(family.id, [comparison.id])
    instead = ledger.open_comparison(PLAN, run_id="r2", case_name="a", supersede=comparison.id)
    assert instead.id != comparison.id
    assert ledger.families.of_comparison(instead.id) == family
    other = ledger.open_comparison({**PLAN, "n": 31}, run_id="r2", case_name="a", fresh=True)
    assert ledger.families.of_comparison(other.id) is None


def test_nobody_knows_a_comparison_that_does_not_exist(ledger):
    family = ledger.families.fix("r1", [member("a")], Method.HOLM)
    ledger.families.join(family.id, ["no-such-comparison"])
    assert ledger.families.of_comparison("no-such-comparison") is None


@pytest.mark.parametrize(
    ("cases", "run"), [(["a"], "r3"), (["a", "b"], "r2"), (["a", "b", "c"], "r1"), (["z"], None), ([], "r3")]
)
def test_the_latest_family_with_these_cases(ledger, clock, cases, run):
    for number, names in enumerate(("abc", "ab", "a", "abcdefz"), start=1):
        clock.time += number < 3  # two of them at one moment: then the later row
        ledger.families.fix(f"r{number}", [member(name) for name in names], Method.HOLM)
    found = ledger.families.latest_with(cases, besides="r4")
    assert (None if found is None else found.run_id) == run
