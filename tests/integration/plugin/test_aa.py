"""A/A runs: one build meets itself, and nothing but that check is left out."""

import pytest


@pytest.mark.parametrize("candidate", ["keeper:v1", "keeper-alias:v1"])
def test_no_difference_passes_and_every_report_says_what_it_was(project, workers, candidate):
    result = project.judge_here("--eval-aa", *workers, candidate=candidate)
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "PASSED*A/A crew: INCONCLUSIVE, *, as an A/A run should, seats verified",
            "*an A/A run: one build meets itself*no edit was judged",
            "note: this is an A/A run (--eval-aa)*",
        ]
    )
    assert project.posted == 2  # the arms of one version are two arms, not one held against itself
    (properties,) = project.properties()
    assert properties["evalharness.kind"] == "A/A"
    results = project.results()
    (found,) = results["cases"][0]["results"]
    assert found["judgement"]["aa"] is True
    assert found["plan"]["aa"] is True
    assert results["settings"]["aa"] is True
    assert any("A/A run" in notice for notice in results["notices"])


def test_a_difference_is_an_alarm(project):
    result = project.judge_here("--eval-aa", candidate="keeper:v3")
    assert result.ret == 11
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["E*UNTRUSTWORTHY, an A/A run found a difference*worse by the score rule*", "E*next:*--eval-fresh*"]
    )
    (properties,) = project.properties()
    assert properties["evalharness.reason"] == "aa_alarm"
    assert properties["evalharness.effect"] == ""


def test_it_is_another_question_than_the_ordinary_one(project):
    assert project.judge_here("--eval-aa").ret == 11
    assert project.judge_here().ret == 0
    assert project.posted == 4
    again = project.judge_here("--eval-aa")
    assert again.ret == 11
    assert project.posted == 4  # read again


def test_too_few_games_for_an_alarm_and_a_verdict_named_by_hand_pass(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(role="crew", episodes=3, claim="not_worse")
        def test_crew(ab):
            ab.require("better")
    """)
    assert project.judge_here("--eval-aa", candidate="keeper:v1").ret == 0


def test_described_arms_take_part(project):
    project.cases("""
        def test_pair(arm, compare):
            one = arm({0: "keeper:v1", 4: "keeper:v1"})
            compare(one, one, seat=0, claim="better", episodes=6).require()
    """)
    assert project.judge_here("--eval-aa", candidate=None, baseline=None).ret == 0
    assert project.posted == 2


def test_a_rule_that_never_decides_is_refused(project):
    result = project.judge_here("--eval-aa", "--eval-rule=bayes")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*an A/A run under the bayes rule could never raise an alarm*"])


def test_a_dry_run_tells_the_chance_of_an_alarm(project):
    result = project.judge_here("--eval-aa", "--eval-dry-run", candidate="keeper:v1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*claim *none: an A/A run must tell no difference*", "*alarm 5.2%", "note: this is an A/A run*"]
    )
    assert project.posted == 0
