"""Several cases in one session: fixed together, judged together, whatever is selected, fails, or is read again."""

import json
import sqlite3

import pytest

SERIAL_AND_WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])

TWO = """
import pytest

@pytest.mark.league_ab(role="crew", episodes={episodes}, claim="better")
def test_mine(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", episodes={episodes}, claim="better", candidate_seats={{0: "{swap}"}})
def test_theirs(ab):
    ab.require()
"""
GUARD = """
@pytest.mark.league_ab(role="imposter", episodes=10, claim="noninferior", margin=0.9)
def test_guard(ab):
    ab.require()
"""
MANY = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=8, claim="better")
def test_mine(ab):
    ab.require()

@pytest.mark.parametrize("lift", [
    pytest.param(i, marks=pytest.mark.league_ab(role="crew", claim="better", target_lift=0.001 * i)) for i in range(1, 201)
])
def test_other(ab, lift):
    ab.require()
"""


def two(episodes=30, swap="rival:v3"):
    return TWO.format(episodes=episodes, swap=swap)


def judged(project):
    """Case's last name → its judgement, by results.json."""
    cases = project.results()["cases"]
    return {
        case["nodeid"].rpartition("::")[2]: case["results"][-1]["judgement"]
        for case in cases
        if case["results"]
    }


def notes(project):
    return "\n".join(project.results()["notices"])


def rows(project, sql):
    with sqlite3.connect(project.home / "ledger.sqlite") as file:
        return file.execute(sql).fetchall()


def families(project):
    """Every family that was fixed, oldest first."""
    return [
        json.loads(text)
        for (text,) in rows(project, "SELECT members_json FROM families ORDER BY fixed_at, rowid")
    ]


# ------------------------------------------------------------------ together


@SERIAL_AND_WORKERS
def test_two_claims_are_adjusted_for_each_other(project, workers):
    project.cases(two() + GUARD)
    result = project.judge_here(*workers, "-v")
    assert result.ret == 0
    assert project.posted == 5  # both claims are held against one baseline arm
    found = judged(project)
    pair = [found["test_mine"], found["test_theirs"]]
    assert [one["family"] for one in pair] == [2, 2]
    smaller, larger = sorted(pair, key=lambda one: one["p_gate"])
    assert smaller["p_adjusted"] == pytest.approx(2 * smaller["p_gate"])
    assert larger["p_adjusted"] == pytest.approx(max(larger["p_gate"], 2 * smaller["p_gate"]))
    guard = found["test_guard"]  # its margin is its own; a direction would have to stand beside all claims
    assert (guard["verdict"], guard["family"]) == ("equivalent", 3)
    assert guard["p_adjusted"] == min(1, 3 * guard["p_gate"])
    result.stdout.fnmatch_lines(["*family  *: raw p=*, adjusted p=* (Holm, 2 claims tested together)"])
    assert "family: 2 claims are tested together" in notes(project)
    assert "guards outside of the family, each must hold by itself: test_evals.py::test_guard" in notes(
        project
    )
    assert "a direction that a guard finds stands among 3 claims, the family's and the guards'" in notes(
        project
    )
    result.stdout.fnmatch_lines(["*family  *(Holm, 3 claims with the guards, for its direction only: *"])
    assert "deselected" not in notes(project)
    (family,) = families(project)
    assert [(one["cases"][0].rpartition("::")[2], one["standing"]) for one in family["members"]] == [
        ("test_mine", "member"),
        ("test_theirs", "member"),
        ("test_guard", "guard"),
    ]
    assert family["method"] == "holm"
    attached = rows(project, "SELECT comparison_id FROM comparisons WHERE family_id IS NOT NULL")
    assert {one["comparison"] for one in family["members"]} == {name for (name,) in attached}


def test_junit_has_raw_and_adjusted_p(project, workers):
    project.cases(two() + GUARD)
    project.judge_here(*workers)
    for properties in project.properties():
        shown = {
            name.removeprefix("evalharness."): properties[name]
            for name in properties
            if "evalharness" in name
        }
        if shown["claim"] == "noninferior":
            assert shown["family"] == "3"
            assert float(shown["p_adjusted"]) == pytest.approx(min(1, 3 * float(shown["p_gate"])), rel=1e-4)
        else:
            assert shown["family"] == "2"
            assert float(shown["p_gate"]) <= float(shown["p_adjusted"]) <= 2 * float(shown["p_gate"]) * 1.0001
            assert shown["p"] == shown["p_gate"]


def test_cases_that_ask_the_same_make_one_claim(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", claim="better")
        @pytest.mark.parametrize("case", range(5))
        def test_crew(ab, case):
            ab.require()
    """)
    assert project.judge_here().ret == 0
    assert {one["family"] for one in judged(project).values()} == {1}
    assert "tested together" not in notes(project)


def test_what_only_the_family_keeps_open_is_said_with_what_to_do(project):
    project.cases(MANY)
    result = project.judge_here("-k", "test_mine", "-v")
    assert result.ret == 10
    assert project.posted == 2
    found = judged(project)["test_mine"]
    assert found["family"] == 201
    assert found["p_gate"] < 0.05 < found["p_adjusted"] == pytest.approx(min(1.0, 201 * found["p_gate"]))
    assert [one["reason"] for one in found["reasons"]] == ["family"]
    result.stdout.fnmatch_lines(
        [
            "*A/B crew: INCONCLUSIVE, +*pp [[]+*",
            "*family *raw p=*adjusted p=*(Holm, 201 claims tested together)",
            "*cannot tell *alone, where p=* would have decided; among 201 claims tested together it is *",
            "*next: *--eval-num * asks again with more games (* among 201 claims), or declare fewer claims*--eval-fresh*",
        ]
    )
    assert notes(project).count("test_other[[") + notes(project).count("::test_other[") == 200
    alone = project.judge_here("-k", "test_mine", "--eval-num=30", "--eval-multiplicity=none")
    assert alone.ret == 0
    assert "each judged as if it were the only one" in notes(project)


# ----------------------------------------------------------------- selection


@pytest.mark.parametrize(
    "selection",
    [("-k", "mine"), ("--deselect", "test_evals.py::test_theirs")],
    ids=["k", "deselect"],
)
def test_the_deselected_count_as_1_are_named_and_not_posted(project, workers, selection):
    project.cases(two())
    result = project.judge_here(*workers, *selection)
    assert result.ret == 0
    assert project.posted == 2
    (found,) = judged(project).values()
    assert (found["family"], found["p_adjusted"]) == (2, pytest.approx(2 * found["p_gate"]))
    result.stdout.fnmatch_lines(
        ["note: deselected: not posted, p = 1 in the family: test_evals.py::test_theirs"]
    )
    (family,) = families(project)
    assert [one["selected"] for one in family["members"]] == [True, False]
    assert [one["comparison"] is None for one in family["members"]] == [False, True]


def test_a_deselected_case_may_lack_names_or_be_wrong(project):
    project.cases(
        two() + "\n@pytest.mark.league_ab(claim='best', episodes=0)\ndef test_wrong(ab):\n    pass\n"
    )
    assert project.judge_here("-k", "theirs", candidate=None).ret == 0
    (found,) = judged(project).values()
    assert found["family"] == 3
    assert [one["claim"] for one in families(project)[0]["members"]] == ["better", "better", None]


def test_a_narrower_path_is_a_narrower_family_and_says_so(project):
    project.cases(two())
    assert project.judge_here("test_evals.py::test_mine").ret == 0
    assert judged(project)["test_mine"]["family"] == 1
    assert (
        "the family is what was collected under test_evals.py::test_mine (1 claim): a narrower path is a narrower family"
        in notes(project)
    )
    assert project.judge_here("--eval-fresh").ret == 0
    assert project.judge_here("--eval-fresh", "test_evals.py::test_theirs").ret == 0
    assert judged(project)["test_theirs"]["family"] == 1
    assert "a narrower path is a narrower family: this run collected 1 claim, run" in notes(project)
    assert project.judge_here("--eval-fresh", "test_evals.py").ret == 0
    assert (
        "the family is what was collected under test_evals.py (2 claims): a narrower path is a narrower family"
        in notes(project)
    )


def test_evidence_keeps_its_family_whatever_it_is_read_through(project):
    project.cases(two())
    assert project.judge_here().ret == 0
    first = judged(project)["test_mine"]
    run = project.results()["run_id"]
    for narrowed in (
        ("test_evals.py::test_mine",),
        ("-k", "mine"),
        ("--eval-multiplicity=none",),
        ("-n", "2", "-k", "mine"),
    ):
        again = project.judge_here(*narrowed)
        assert again.ret == 0
        found = judged(project)["test_mine"]
        assert (found["family"], found["p_adjusted"]) == (2, first["p_adjusted"])
        again.stdout.fnmatch_lines([f"*judged in the family of 2 fixed when it was posted (run {run})"])
    assert project.posted == 3


def test_evidence_posted_without_adjustment_says_so_for_good(project):
    project.cases(two())
    assert project.judge_here("--eval-multiplicity=none").ret == 0
    assert judged(project)["test_mine"]["p_adjusted"] is None
    again = project.judge_here()
    assert judged(project)["test_mine"]["p_adjusted"] is None
    again.stdout.fnmatch_lines(["*posted with --eval-multiplicity none (run *): its p-value is not adjusted"])
    fresh = project.judge_here("--eval-fresh")
    assert fresh.ret == 0
    assert judged(project)["test_mine"]["family"] == 2
    fresh.stdout.no_fnmatch_line("*not adjusted*")


def test_only_what_failed_last_time_is_still_judged_among_all(project, workers):
    project.pytester.makepyfile(
        test_good="import pytest\n@pytest.mark.league_ab(role='crew', claim='better', candidate_seats={0: 'rival:v3'})\n"
        "def test_good(ab):\n    ab.require()\n"
    )
    cached = ("-p", "cacheprovider")
    first = project.judge_here(*cached, *workers, candidate="keeper:v3")
    assert first.ret == 1
    assert judged(project)["test_crew"]["family"] == 2
    again = project.judge_here(*cached, "--lf", "--eval-fresh", *workers, candidate="keeper:v3")
    assert again.ret == 1
    assert project.posted == 5
    assert list(judged(project)) == ["test_crew"]
    found = judged(project)["test_crew"]
    assert (found["family"], found["p_adjusted"]) == (2, pytest.approx(2 * found["p_gate"]))
    assert "deselected: not posted, p = 1 in the family: test_good.py::test_good" in notes(project)


# ----------------------------------------------------- members that bring nothing


def test_a_member_that_cannot_be_prepared_counts_as_1(project, workers):
    project.cases(two(swap="keeper-alias:v1"))
    assert project.judge_here(*workers).ret == 11
    assert project.posted == 2
    found = judged(project)["test_mine"]
    assert found["p_adjusted"] == pytest.approx(2 * found["p_gate"])
    assert "test_evals.py::test_theirs counts as p = 1 in the family: it could not be prepared" in notes(
        project
    )


PATIENT = """
from pytest_evalharness.league.poll import Poller

hangs = Poller._hangs

def only_theirs(self, standing):
    return self.arm.label == "rival:v3" and hangs(self, standing)

Poller._hangs = only_theirs
"""
"""On a busy machine an arm that is well may have no finished game either by the end of so short a grace."""


def test_a_member_whose_arm_failed_counts_as_1(project, workers):
    project.pytester.makeconftest(PATIENT)
    project.league.fault("wedged-seat=0:rival:v3")
    project.cases(two())
    result = project.judge(*workers, "--eval-stall-grace=0.5")
    assert result.ret == 11
    (found,) = judged(project).values()
    assert found["p_adjusted"] == pytest.approx(2 * found["p_gate"])
    assert "counts as p = 1 in the family: it came to nothing: " in notes(project)


def test_what_cannot_be_believed_has_no_p_value_at_all(project):
    project.cases(two())
    project.league.fault("shuffled-seats")
    result = project.judge_here()
    assert result.ret == 11
    assert {one["verdict"] for one in judged(project).values()} == {"untrustworthy"}
    assert {one["p_adjusted"] for one in judged(project).values()} == {None}


def test_a_case_that_breaks_before_it_asks_takes_part_all_the_same(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", claim="better")
        def test_breaks(ab):
            assert ab.candidate.kills < 0

        @pytest.mark.league_ab(role="crew", claim="better", candidate_seats={0: "rival:v3"})
        def test_stands(ab):
            ab.require()
    """)
    assert project.judge_here().ret == 1
    found = judged(project)
    assert found["test_stands"]["family"] == found["test_breaks"]["family"] == 2
    low, high = sorted(one["p_gate"] for one in found.values())
    assert sorted(one["p_adjusted"] for one in found.values()) == pytest.approx([2 * low, max(high, 2 * low)])


def test_stopping_at_the_first_failure_judges_it_among_all(project, workers):
    project.cases(two())
    result = project.judge_here(*workers, "-x", candidate="keeper:v3")
    assert result.ret == 1
    found = judged(project)["test_mine"]
    assert (found["verdict"], found["family"]) == ("worse", 2)
    assert project.posted == 3


def test_the_verdict_that_is_kept_is_the_adjusted_one(project):
    project.cases(MANY)
    project.judge_here("-k", "test_mine")
    kept = [json.loads(text) for (text,) in rows(project, "SELECT judgement_json FROM verdicts")]
    assert {one["verdict"] for one in kept} == {"inconclusive"}
    assert kept[-1] == judged(project)["test_mine"]


# ------------------------------------------------------------- outside, planned


def test_an_aa_run_has_no_family(project):
    project.cases(two(12, swap="keeper:v1"))
    assert project.judge_here("--eval-aa", candidate="keeper:v1").ret == 0
    assert families(project) == []
    assert {one["family"] for one in judged(project).values()} == {None}


def test_a_described_comparison_is_outside(project):
    project.cases(
        two() + "\ndef test_described(arm, compare):\n"
        "    compare(arm({0: 'keeper:v2', 5: 'rival:v3'}), arm({0: 'keeper:v1', 5: 'rival:v3'}), seat=0).require()\n"
    )
    assert project.judge_here().ret == 0
    assert {name: one["family"] for name, one in judged(project).items()} == {
        "test_mine": 2,
        "test_theirs": 2,
        "test_described": None,
    }


def test_a_dry_run_tells_what_the_family_costs(project):
    project.cases(two() + GUARD)
    result = project.judge_here("--eval-dry-run", "-k", "mine or guard")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*family     2 claims tested together (Holm): under a true lift of 0.10 passes 12% alone, 7% among the others *",
            "note: family: 2 claims are tested together*",
            "note: deselected: not posted, p = 1 in the family: test_evals.py::test_theirs",
        ]
    )
    assert "\n".join(result.outlines).count("claims tested together") == 1
    assert families(project) == []


def test_a_case_that_stops_early_stands_whatever_the_others_bring(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=40, claim="better", rule="group_sequential")
        def test_crew(ab):
            ab.require()

        @pytest.mark.league_ab(role="crew", claim="better", candidate_seats={0: "keeper:v4"})
        def test_nothing(ab):
            ab.require()
    """)
    project.judge_here(candidate="keeper:v3")
    found = judged(project)["test_crew"]
    assert (found["verdict"], found["family"]) == ("worse", 2)
    assert found["p_adjusted"] <= 0.05


UNREACHABLE = """
from pytest_evalharness.errors import ServerUnreachable
from pytest_evalharness.league.family import FamilyJudge

def settle(self, *args):
    raise ServerUnreachable("the league is gone while the others were waited for")

FamilyJudge.settle = settle
"""


def test_others_that_cannot_be_waited_for_leave_no_verdict_and_break_no_report(project, workers):
    project.pytester.makeconftest(UNREACHABLE)
    project.cases(
        two() + "\n@pytest.mark.league_ab(role='crew', claim='better', target_lift=0.2)\n"
        "def test_breaks(ab):\n    assert ab.candidate.kills < 0\n"
    )
    result = project.judge(*workers)
    assert result.ret == 1
    assert result.parseoutcomes() == {"failed": 3}
    assert "INTERNALERROR" not in "\n".join(result.outlines)
    result.stdout.fnmatch_lines(["*the league is gone while the others were waited for*"])
    assert judged(project) == {}
    kept = [json.loads(text)["family"] for (text,) in rows(project, "SELECT judgement_json FROM verdicts")]
    assert kept == [3, 3, 3]  # what stands whatever the others bring: the evidence has been seen


def test_a_repeated_case_is_judged_as_before(project):
    project.cases(two())
    result = project.judge("--reruns=1", candidate="keeper:v3")
    assert result.ret == 1
    assert project.posted == 3
    found = judged(project)["test_mine"]
    assert (found["verdict"], found["family"]) == ("worse", 2)


def test_more_members_than_requests_at_one_time(project):
    project.cases("""
        import pytest

        @pytest.mark.parametrize("games", [pytest.param(n, marks=pytest.mark.league_ab(
            role="crew", claim="not_worse", episodes=n)) for n in range(10, 20)])
        def test_crew(ab, games):
            ab.require()
    """)
    assert project.judge_here().ret == 0
    assert project.posted == 20
    assert {one["family"] for one in judged(project).values()} == {10}
