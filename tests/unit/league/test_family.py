"""What each claim brings to the others, in whichever order and through whichever selection they are judged."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalharness.errors import ArmFailed, ServerUnreachable
from pytest_evalharness.league.family import FamilyJudge, FamilyPlan, standing_of
from pytest_evalharness.ledger.families import Member, Method, Standing
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.ledger.records import ArmSpec
from pytest_evalharness.stats.multiplicity import holm
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.words import Reason, Verdict

BETTER = Declaration("better")
CLEAR, MODERATE, NONE = 29, 23, 15  # wins of 30, against 15 of 30
BROKEN = (Finding(Reason.SEATS, "somebody sat elsewhere"),)


class Clock:
    time = 1_000.0

    def now(self):
        self.time += 1.0
        return self.time


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path, clock=Clock(), owner=Owner(1, "1", "here", "monday", "gw0")) as opened:
        yield opened


class Session:
    """Cases with made-up evidence on a real ledger: case → wins, a failure, or None for what cannot be prepared."""

    def __init__(self, ledger, run_id, evidence, **plan):
        self.ledger, self.run_id, self.evidence = ledger, run_id, evidence
        self.notes, self.waited = [], []
        members = plan.pop("members", None) or [member(case) for case in evidence]
        self.judge = FamilyJudge(
            ledger, run_id, FamilyPlan(tuple(members), **plan), self._wait, self.notes.append
        )
        self.ids = {
            case: ledger.open_comparison({"ask": case}, run_id=run_id, case_name=case, fresh=True).id
            for case, found in evidence.items()
            if found is not None
        }

    def fix(self, *, post=True):
        self.judge.fix(self.ids)
        for name in self.ids.values() if post else ():
            self.ledger.freeze(name, {}, {"candidate": ArmSpec(f"arm-{name}", {}, [{}])})
            (block,) = self.ledger.blocks(f"arm-{name}")
            if block.untouched:
                with self.ledger.acquire(block.block_id) as lease:
                    lease.begin_post()
                    lease.posted("xreq_1")
                    lease.finish({})
        return self

    def _wait(self, case):
        self.waited.append(case)
        found = self.evidence[case]
        if isinstance(found, ServerUnreachable):
            raise found
        return found if isinstance(found, Exception) else self.alone(case)

    def judged(self, case, others=None):
        found = self.evidence[case]
        wins, trust = found if isinstance(found, tuple) else (found, ())
        arms = ArmEvidence("new", wins, 30), ArmEvidence("old", 15, 30)
        return judge(BETTER, *arms, trust, others=others)

    def alone(self, case):
        return self.judged(case)

    def settle(self, case):
        settled = self.judge.settle(
            self.ids[case], case, self.alone(case), lambda others: self.judged(case, others)
        )
        self.ledger.record_verdict(self.ids[case], self.run_id, settled.judgement.to_json())
        return settled


def member(case, **changes):
    return Member((case,), "better", "score", 0.05, **changes)


# --------------------------------------------------------------- bringing nothing


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (ArmFailed("the arm\x1b[31m broke\nand more"), "it came to nothing: the arm\ufffd[31m broke"),
        (RuntimeError("a defect"), "it came to nothing: a defect"),
        ((CLEAR, BROKEN), "it is untrustworthy"),
        (None, "it could not be prepared"),
    ],
    ids=["failed", "defect", "untrustworthy", "unprepared"],
)
def test_what_brings_no_evidence_counts_as_1(ledger, found, why):
    session = Session(ledger, "r1", {"a": MODERATE, "b": found}).fix()
    settled = session.settle("a")
    assert settled.judgement.p_adjusted == pytest.approx(2 * settled.judgement.p_gate)
    assert settled.judgement.verdict is Verdict.INCONCLUSIVE
    assert [(one.p, one.why) for one in settled.together.others] == [(1.0, why)]
    assert f"b counts as p = 1 in the family: {why}" in session.notes


def test_the_deselected_count_as_1_and_nobody_waits_for_them(ledger):
    session = Session(ledger, "r1", {"a": CLEAR}, members=[member("a"), member("b", selected=False)]).fix()
    settled = session.settle("a")
    assert settled.judgement.p_adjusted == pytest.approx(2 * settled.judgement.p_gate)
    assert session.waited == []
    assert settled.together.to_json() == {
        "counted_as_1": {"deselected": 1}, "id": "family-r1", "run": "r1", "this_run": True, "method": "holm", "now": 2,
        "tested": 2,
    }  # fmt: skip
    assert session.notes[-1] == "deselected: not posted, p = 1 in the family: b"


def test_what_stops_this_process_from_waiting_is_no_p_value(ledger):
    session = Session(ledger, "r1", {"a": CLEAR, "b": ServerUnreachable("gone")}).fix()
    with pytest.raises(ServerUnreachable):
        session.settle("a")
    session.evidence["b"] = CLEAR
    assert session.settle("a").together.others[0].p < 1e-3  # nothing was kept of the first try


def test_what_cannot_be_believed_waits_for_nobody(ledger):
    session = Session(ledger, "r1", {"a": (CLEAR, BROKEN), "b": CLEAR}).fix()
    settled = session.settle("a")
    assert (settled.judgement.verdict, settled.judgement.p_adjusted) == (Verdict.UNTRUSTWORTHY, None)
    assert session.waited == []


def test_the_names_of_all_deselected_are_told_in_lines_that_can_be_read(ledger):
    names = [f"evals/test_a_rather_long_name.py::test_{i}" for i in range(40)]
    members = [member("a"), *(member(name, selected=False) for name in names)]
    session = Session(ledger, "r1", {"a": CLEAR}, members=members).fix()
    told = [note for note in session.notes if note.startswith("deselected")]
    assert len(told) > 5
    assert max(map(len, told)) < 300
    assert [
        name
        for note in told
        for name in note.removeprefix("deselected: not posted, p = 1 in the family: ").split(", ")
    ] == names


# -------------------------------------------------------------------- together


def test_the_order_of_the_cases_does_not_matter(tmp_path):
    wins = {"a": CLEAR, "b": MODERATE, "c": NONE, "d": 5}
    told = set()
    for number, order in enumerate(permutations(wins)):
        owner = Owner(1, "1", "here", "monday", "gw0")
        with Ledger.open(tmp_path / str(number), clock=Clock(), owner=owner) as ledger:
            session = Session(ledger, "r1", {case: wins[case] for case in order}).fix()
            found = {case: session.settle(case).judgement for case in reversed(order)}
            told.add(tuple((case, found[case].verdict, found[case].p_adjusted) for case in sorted(found)))
    assert len(told) == 1


@settings(max_examples=20)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=6))
def test_the_adjusted_p_values_are_holms_and_never_below_the_raw(tmp_path_factory, wins):
    owner = Owner(1, "1", "here", "monday", "gw0")
    with Ledger.open(tmp_path_factory.mktemp("home"), clock=Clock(), owner=owner) as ledger:
        session = Session(ledger, "r1", {f"case {i}": one for i, one in enumerate(wins)}).fix()
        found = [session.settle(case).judgement for case in session.evidence]
    assert [one.p_adjusted for one in found] == pytest.approx(holm([one.p_gate for one in found]))
    assert all(one.p_adjusted >= one.p_gate for one in found)


def test_each_member_is_waited_for_once(ledger):
    session = Session(ledger, "r1", {"a": CLEAR, "b": CLEAR, "c": CLEAR}).fix()
    for case in "aabbcc":
        session.settle(case)
    assert sorted(session.waited) == ["a", "b", "c"]


def test_a_family_of_one_changes_nothing(ledger):
    session = Session(ledger, "r1", {"a": MODERATE}).fix()
    alone, settled = session.alone("a"), session.settle("a").judgement
    assert (settled.verdict, settled.p_adjusted, settled.family) == (alone.verdict, alone.p_gate, 1)
    assert session.judge.assumed(session.ids["a"], "a") == []
    assert session.notes == []


def test_guards_and_reports_are_outside(ledger):
    members = [
        member("a"),
        Member(("g",), "noninferior", "score", 0.05, Standing.GUARD),
        Member(("r",), "better", "bayes", 0.05, Standing.REPORT_ONLY),
    ]
    session = Session(ledger, "r1", {"a": MODERATE, "g": MODERATE, "r": MODERATE}, members=members).fix()
    assert session.settle("a").judgement.family == 1
    for case in "gr":
        assert session.settle(case).together is None
        assert session.judge.assumed(session.ids[case], case) is None
    assert session.waited == []


@pytest.mark.parametrize(
    ("declared", "standing"),
    [
        (Declaration("better", margin=0.1), Standing.MEMBER),
        (Declaration("not_worse"), Standing.MEMBER),
        (Declaration("separated"), Standing.MEMBER),
        (Declaration("noninferior", margin=0.1), Standing.GUARD),
        (Declaration("equivalent", margin=0.1), Standing.GUARD),
        (Declaration("better", "bayes"), Standing.REPORT_ONLY),
    ],
)
def test_which_claims_are_adjusted(declared, standing):
    assert standing_of(declared) is standing


def test_without_adjustment_each_is_judged_alone_and_it_is_said(ledger):
    session = Session(ledger, "r1", {"a": MODERATE, "b": NONE}, method=Method.NONE).fix()
    settled = session.settle("a")
    assert (settled.judgement.verdict, settled.judgement.family) == (Verdict.BETTER, None)
    assert session.waited == []
    assert session.judge.size() == 1
    assert "--eval-multiplicity none: 2 claims" in session.notes[0]


def test_a_run_without_a_family_fixes_none(ledger):
    judged = FamilyJudge(ledger, "r1", None, lambda _: None)
    comparison = ledger.open_comparison({"ask": 1}, run_id="r1", case_name="a")
    judged.fix({"a": comparison.id})
    assert (judged.size(), judged.planned(), judged.notes()) == (1, (), [])
    assert not judged.concerns(comparison.id)


def test_what_is_told_before_the_others_have_ended_would_stand_whatever_they_bring(ledger):
    session = Session(ledger, "r1", {"a": MODERATE, "b": CLEAR, "c": (CLEAR, BROKEN)}).fix()
    for case, verdict in (("a", "inconclusive"), ("b", "better"), ("c", "untrustworthy")):
        told = session.judge.provisional(
            session.ids[case],
            case,
            session.alone(case),
            lambda others, case=case: session.judged(case, others),
        )
        assert told.verdict == verdict
    assert session.judge.assumed(session.ids["a"], "a") == [1.0, 1.0]
    assert session.waited == []


# ------------------------------------------------------------------- read again


def test_evidence_that_is_read_again_alone_keeps_what_the_others_brought(ledger):
    first = Session(ledger, "r1", {"a": MODERATE, "b": CLEAR, "c": (CLEAR, BROKEN)}).fix()
    told = {case: first.settle(case).judgement for case in "abc"}
    assert told["a"].verdict is Verdict.INCONCLUSIVE
    again = Session(ledger, "r2", {"a": MODERATE})
    again.ids = {"a": first.ids["a"]}
    settled = again.fix().settle("a")
    assert settled.judgement == told["a"]
    assert (settled.together.family.run_id, settled.together.this_run, settled.together.now) == (
        "r1",
        False,
        1,
    )
    assert again.waited == []
    assert again.notes[0].startswith(
        "a narrower path is a narrower family: this run collected 1 claim, run r1"
    )


def test_only_what_stays_in_another_family_is_said_to_stay_there(ledger):
    first = Session(ledger, "r1", {"a": CLEAR, "b": NONE}).fix()
    repeated = Session(ledger, "r2", {"a": CLEAR, "b": NONE})
    repeated.ids = first.ids
    assert [note for note in repeated.fix().notes if "another family" in note] == []
    wider = Session(ledger, "r3", {"a": CLEAR, "b": NONE, "c": NONE})
    wider.ids |= first.ids
    assert "2 claims of these were posted in another family, and stay judged in that one" in wider.fix().notes


def test_a_member_that_nobody_ever_judged_counts_as_1(ledger):
    first = Session(ledger, "r1", {"a": MODERATE, "b": CLEAR}).fix()
    again = Session(ledger, "r2", {"a": MODERATE})
    again.ids = {"a": first.ids["a"]}
    assert [one.why for one in again.fix().settle("a").together.others] == ["it was never judged"]


def test_another_attempt_takes_the_place_of_one_that_was_never_posted(ledger):
    first = Session(ledger, "r1", {"a": MODERATE, "b": CLEAR})
    first.fix(post=False)
    unposted = first.ids.pop("b")
    first.fix()
    instead = ledger.open_comparison({"ask": "b"}, run_id="r2", case_name="b", supersede=unposted)
    again = Session(ledger, "r2", {"a": MODERATE, "b": CLEAR})
    again.ids = {"a": first.ids["a"], "b": instead.id}
    settled = again.fix().settle("a")
    assert again.waited == ["b"]
    assert settled.together.others[0].p < 1e-3


def test_a_family_of_which_nothing_was_posted_binds_nobody(ledger):
    Session(ledger, "r1", {"a": MODERATE, "b": CLEAR}).fix(post=False)
    again = Session(ledger, "r2", {"a": MODERATE}).fix()
    assert again.settle("a").judgement.family == 1


def test_what_is_posted_later_is_judged_among_all_that_were_collected_then(ledger):
    first = Session(ledger, "r1", {"a": MODERATE}).fix()
    assert first.settle("a").judgement.verdict is Verdict.BETTER
    later = Session(ledger, "r2", {"a": MODERATE, "b": MODERATE})
    later.ids["a"] = first.ids["a"]
    later.fix()
    assert later.settle("a").judgement.family == 1
    assert later.settle("b").judgement.family == 2


# ------------------------------------------------------------- only what failed


def test_what_was_not_collected_is_taken_from_the_latest_family_that_has_the_rest(ledger):
    Session(ledger, "r1", {"a": MODERATE, "b": CLEAR, "z": CLEAR}).fix()
    guard = Member(("g",), "noninferior", "score", 0.05, Standing.GUARD, comparison="c-1")
    Session(ledger, "r2", {}, members=[member("a"), member("b"), guard]).fix()
    session = Session(ledger, "r3", {"a": MODERATE}, incomplete=True)
    assert session.judge.planned() == (
        member("a"),
        member("b", selected=False),
        replace(guard, selected=False, comparison=None),
    )
    assert session.judge.size() == 2
    session.fix()
    assert session.settle("a").judgement.family == 2
    assert "deselected: not posted, p = 1 in the family: b" in session.notes
    again = Session(ledger, "r4", {"a": MODERATE}, incomplete=True)
    assert len(again.judge.planned()) == 3


def test_without_any_such_family_what_was_collected_is_all_there_is(ledger):
    session = Session(ledger, "r1", {"a": MODERATE}, incomplete=True).fix()
    assert session.settle("a").judgement.family == 1


def test_the_paths_that_narrowed_a_collection_are_told(ledger):
    session = Session(ledger, "r1", {"a": CLEAR, "b": CLEAR}, collected_under="evals/a.py").fix()
    assert session.notes[-1] == (
        "the family is what was collected under evals/a.py (2 claims): a narrower path is a narrower family"
    )
