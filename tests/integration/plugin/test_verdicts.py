"""Each verdict, its outcome, its exit code and its place in the JUnit file: serial and with workers."""

import pytest

SERIAL_AND_WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])


@SERIAL_AND_WORKERS
def test_a_good_edit_passes(project, workers):
    result = project.judge_here(*workers)
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PASSED*A/B crew: BETTER, +*pp [[]+*], */30 vs */30, seats verified"])
    assert project.posted == 2


def test_a_bad_edit_fails_and_says_so_in_the_first_line(project, workers):
    result = project.judge_here(*workers, candidate="keeper:v3")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E   A/B crew: WORSE, -*", "FAILED test_evals.py::test_crew - A/B crew: WORSE, -*"]
    )
    result.stdout.no_fnmatch_line("*ConditionNotMet: A/B*")


@pytest.mark.failure_mode(number=11)
def test_a_copy_is_refused_before_anything_is_posted(project, workers):
    result = project.judge_here(*workers, candidate="keeper-alias:v1")
    assert result.ret == 11
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["E*are the same build under two names*", "E*not done: nothing was submitted"]
    )
    assert project.posted == 0


@pytest.mark.thread(row=5)
@pytest.mark.thread(row=6)
@SERIAL_AND_WORKERS
def test_cannot_tell_is_an_outcome_of_its_own(project, workers):
    result = project.judge_here(*workers, "--eval-num=4", "-v")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*INCONCLUSIVE*", "*1 inconclusive*"])
    assert "passed" not in result.outlines[-1]


@pytest.mark.parametrize(("policy", "code"), [("exit", 10), ("fail", 1), ("pass", 0)])
def test_what_cannot_tell_does_to_the_exit_code_is_a_choice(project, policy, code):
    assert project.judge_here("--eval-num=4", f"--eval-inconclusive={policy}").ret == code


@pytest.mark.failure_mode(number=39)
def test_inconclusive_prints_what_it_could_have_seen(project):
    result = project.judge_here("--eval-num=4")
    result.stdout.fnmatch_lines(
        [
            "*detectable*80 % power*",
            "*required_n*a true lift of 0.10*overlap rule*",
            "*cannot tell*difference between*",
        ]
    )


def test_the_same_version_twice_is_refused(project):
    result = project.judge_here(candidate="keeper:v1")
    assert result.ret == 11
    result.stdout.fnmatch_lines(["E*one and the same version*"])
    assert project.posted == 0


BOTH = """
import pytest

@pytest.mark.league_ab(role="crew", claim="{first}"{more})
def test_first(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", claim="better", candidate_seats={{0: "{swap}"}})
def test_second(ab):
    ab.require()
"""


def test_a_failure_outranks_untrustworthy(project, workers):
    project.cases(BOTH.format(first="better", more="", swap="keeper-alias:v1"))
    assert project.judge_here(*workers, candidate="keeper:v3").ret == 1


def test_untrustworthy_outranks_inconclusive(project, workers):
    project.cases(BOTH.format(first="better", more=", episodes=4", swap="keeper-alias:v1"))
    assert project.judge_here(*workers).ret == 11


def test_an_ordinary_failing_test_is_still_exit_1(project):
    project.cases("def test_plain():\n    assert 1 == 2\n")
    assert project.judge_here().ret == 1


def test_nothing_judged_is_no_pass(project):
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\ndef test_forgets(ab):\n    pass\n"
        "@pytest.mark.league_ab(claim='better')\ndef test_never_asks():\n    pass\n"
    )
    result = project.judge_here()
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*nothing was judged*"])
    assert result.parseoutcomes() == {"failed": 2}


def test_a_bare_assert_is_strict_and_explained(project):
    project.cases(
        "import pytest\nfrom pytest_evalharness import Verdict\n"
        "@pytest.mark.league_ab(claim='better', episodes=4)\n"
        "def test_bare(ab):\n    assert ab.verdict is Verdict.BETTER\n"
    )
    result = project.judge_here()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["E*assert A/B crew: INCONCLUSIVE*", "E*required_n*"])


def test_the_repr_is_the_whole_verdict(project):
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\n"
        "def test_repr(ab):\n    ab.require()\n    assert ab is None\n"
    )
    project.judge_here().stdout.fnmatch_lines(
        ["E*<A/B crew: BETTER, *seats verified; requests xreq_* xreq_*>*"]
    )


@pytest.mark.thread(row=4)
@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_junit_carries_the_verdict_without_a_warning(project, family, workers):
    result = project.judge_here(*workers, "-W", "error", "-o", f"junit_family={family}")
    assert result.ret == 0
    (found,) = project.properties()
    assert found["evalharness.verdict"] == "better"
    assert found["evalharness.server"] == project.league.api
    assert found["evalharness.request_candidate"].startswith("xreq_")
    assert int(found["evalharness.n_candidate"]) == 30
    assert (
        float(found["evalharness.ci_low"])
        <= float(found["evalharness.effect"])
        <= float(found["evalharness.ci_high"])
    )


@pytest.mark.thread(row=5)
def test_junit_of_an_inconclusive_case_is_skipped_with_the_verdict(project, workers):
    project.judge_here(*workers, "--eval-num=4")
    (found,) = project.properties()
    assert found["evalharness.verdict"] == "inconclusive"
    assert "<skipped" in project.junit.read_text()


def test_junit_of_a_refused_case_is_an_error_that_begins_with_the_reason(project):
    project.judge_here(candidate="keeper-alias:v1")
    text = project.junit.read_text()
    assert "<error" in text
    assert "<failure" not in text
    assert "keeper-alias:v1" in text


def test_the_files_of_a_run(project):
    project.judge_here()
    report = project.results()
    assert report["exit_code"] == 0
    assert report["cases"][0]["results"][0]["judgement"]["verdict"] == "better"
    summary = next(project.home.glob("runs/*/summary.md")).read_text()
    assert "BETTER" in summary
    assert "not a league rank" in summary


def test_a_run_leaves_a_page_for_people(project):
    result = project.judge_here("--eval-num=5", "--eval-inconclusive=pass")
    page = next(project.home.glob("runs/*/report.html")).read_text()
    assert "A/B crew" in page
    assert page.count("ereq_") == 10
    result.stdout.no_fnmatch_line("*was not written*")


def test_without_the_extra_a_run_says_once_how_to_get_its_page(project):
    project.pytester.makeconftest("import sys\nsys.modules['jinja2'] = None\n")
    result = project.judge("--eval-num=5", "--eval-inconclusive=pass")
    assert result.ret == 0
    said = [line for line in result.outlines if "report.html" in line]
    assert len(said) == 1
    assert said[0].startswith("files: ")
    assert said[0].endswith("(report.html was not written: pip install 'pytest-evalharness[html]')")
    assert list(project.home.glob("runs/*/results.json"))
    assert list(project.home.glob("runs/*/summary.md"))
    assert not list(project.home.glob("runs/*/report.html"))


def test_fixtures_show_the_arms_and_the_field(project):
    project.cases(
        """
import pytest

@pytest.mark.league_ab(claim="better", role="crew")
def test_fixtures(candidate, baseline, roster, observatory, ab):
    assert candidate.label == "keeper:v2" and candidate.image_digest != baseline.image_digest
    assert len(roster.opponents) == 7
    assert roster == ab.roster
    assert observatory.experience_request(ab.candidate.request_ids[0]).status.terminal
    ab.require()
"""
    )
    assert project.judge_here().ret == 0


def test_layouts_that_marks_cannot_express(project):
    project.cases(
        """
def test_two_seats(arm, compare):
    ours = arm({0: "keeper:v2", 5: "rival:v3"})
    theirs = arm({0: "keeper:v1", 5: "rival:v3"})
    found = compare(ours, theirs, seat=0, claim="better", episodes=30)
    assert found.plan.candidate[5] == "rival:v3"
    found.require()
"""
    )
    result = project.judge_here()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PASSED*A/B crew: BETTER*"])
    assert project.posted == 2


def test_a_layout_that_differs_beside_the_tested_seat_is_no_copy(project):
    project.cases(
        """
def test_neighbour(arm, compare):
    found = compare(arm({0: "keeper:v1", 5: "rival:v3"}), arm({0: "keeper:v1", 5: "rival:v2"}), seat=0, episodes=5)
    found.require("better", "worse", "equivalent", "inconclusive")
"""
    )
    result = project.judge_here("-s")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["evalharness: candidate keeper:v1: posted as xreq_*"])


def test_a_refused_layout_is_in_the_verdict_section(project):
    project.cases(
        """
def test_copy(arm, compare):
    compare(arm({0: "keeper:v1"}), arm({0: "keeper-alias:v1"}), seat=0).require()
"""
    )
    result = project.judge_here()
    assert result.ret == 11
    result.stdout.fnmatch_lines(["UNTRUSTWORTHY*are the same build under two names*", "exit 11*"])


def test_a_skipped_claim_is_no_met_claim(project):
    project.cases(
        "import pytest\n@pytest.mark.skip(reason='not today')\n@pytest.mark.league_ab(claim='better')\n"
        "def test_later(ab):\n    ab.require()\n"
    )
    assert project.judge_here().ret == 10
    assert project.posted == 0


def test_an_imposter_case_seats_an_imposter(project):
    project.cases(
        """
import pytest

@pytest.mark.league_ab(role="imposter", claim="not_worse", episodes=10)
def test_role(ab):
    roles = {e.role(ab.plan.tested_seat) for record in ab.records.values() for e in record.episodes}
    assert roles == {"imposter"}
    ab.require("better", "worse", "equivalent", "inconclusive")
"""
    )
    assert project.judge_here().ret == 0


def test_verbose_tells_the_numbers_of_what_passed(project):
    result = project.judge_here("-v")
    result.stdout.fnmatch_lines(
        [
            "A/B crew: BETTER, *",
            "*candidate  */30*(95 % Wilson)",
            "*wilson-overlap*",
            "*candidate      : keeper:v2, mean seat score *, kills *, vote timeouts *, request xreq_*",
            "*not a league rank*",
        ]
    )
    quiet = project.judge_here("-q")
    quiet.stdout.no_fnmatch_line("*wilson-overlap*")


def test_the_bayes_rule_reports_and_leaves_the_claim_open(project):
    result = project.judge_here("--eval-rule=bayes")
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [
            "*bayes*P(better) 1.000*decides nothing",
            "*note*the bayes rule is report only*",
            "*declare a rule that decides*",
        ]
    )
    (properties,) = project.properties()
    assert properties["evalharness.reason"] == "report_only"


@pytest.mark.parametrize(
    ("rule", "line"),
    [("newcombe", "newcombe *by the newcombe rule"), ("exact", "*exact p=*by the exact rule")],
)
def test_the_other_rules_decide_and_say_so(project, rule, line):
    result = project.judge_here(f"--eval-rule={rule}", candidate="keeper:v3")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"E*{line}"])


def test_a_comparison_that_nobody_looks_at_is_no_pass(project):
    project.cases(
        'def test_blind(arm, compare):\n    compare(arm({0: "keeper:v3"}), arm({0: "keeper:v1"}), seat=0, episodes=5)\n'
    )
    result = project.judge_here()
    assert result.ret == 11
    result.stdout.fnmatch_lines(["UNTRUSTWORTHY nothing was judged: *"])


def test_exit_0_says_met_only_where_every_declared_claim_was(project):
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\ndef test_other(ab):\n    ab.require('worse')\n"
    )
    result = project.judge_here(candidate="keeper:v3")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["exit 0: every case passed, and 1 of them decided otherwise*"])


def test_the_policy_fail_is_never_more_lenient_than_the_default(project):
    project.cases(
        "import pytest\n@pytest.mark.skip\n@pytest.mark.league_ab(claim='better')\ndef test_later(ab):\n    ab.require()\n"
    )
    assert project.judge_here("--eval-inconclusive=fail").ret == 1


def test_an_assert_is_explained_by_the_comparison_that_it_is_about(project):
    project.cases(
        """
from pytest_evalharness import Verdict

def test_two(arm, compare):
    good = compare(arm({0: "keeper:v2"}), arm({0: "keeper:v1"}), seat=0)
    bad = compare(arm({0: "keeper:v3"}), arm({0: "keeper:v1"}), seat=0)
    assert bad.verdict is Verdict.WORSE
    assert good.verdict is Verdict.WORSE

def test_unrelated():
    assert Verdict("better") is Verdict.WORSE
"""
    )
    result = project.judge_here()
    result.stdout.fnmatch_lines(["E*A/B crew: BETTER*", "E*A/B crew: WORSE*", "*test_unrelated*"])
    assert result.ret == 1


@pytest.mark.parametrize("flag", ["--setup-plan", "--setup-only", "--fixtures", "--collect-only"])
def test_looking_is_not_running(project, flag):
    result = project.judge(flag)
    assert project.posted == 0
    assert "every claim was met" not in "\n".join(result.outlines)


def test_stopping_at_the_first_failure_keeps_the_exit_code(project, workers):
    assert project.judge(*workers, "-x", candidate="keeper:v3").ret == 1


def test_a_refused_case_names_its_server_in_junit(project):
    project.judge_here(candidate="keeper-alias:v1")
    (found,) = project.properties()
    assert found["evalharness.server"] == project.league.api
