"""What judged nothing is never green: cannot tell is seen as an outcome of its own, and no evidence as none."""

import re
import xml.etree.ElementTree as ET

import pytest

NO_EVIDENCE = {
    "skipped": "@pytest.mark.skip(reason='not today')",
    "expected to fail": "@pytest.mark.xfail(reason='as ever')",
    "skipped in its body": "",
}


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


@pytest.mark.thread(row=5)
@pytest.mark.parametrize(
    "words",
    ["", "-q", "-rA", "-rs", pytest.param("-n 2 -q -rA", marks=pytest.mark.slow)],
    ids=lambda words: words or "none",
)
def test_cannot_tell_has_a_letter_a_word_and_a_count(project, words):
    """pytest has no fourth outcome, and what is only skipped is overlooked: by -rs, by people, by readers of the file."""
    result = project.judge_here("--eval-num=4", *words.split())
    assert result.ret == 10
    assert [line for line in result.outlines if re.fullmatch(r"(test_evals\.py )?\?( +\[100%\])?", line)]
    assert re.search(r"\b1 inconclusive in", result.outlines[-1])
    assert not re.search("passed|skipped|xfailed", result.outlines[-1])
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE  A/B crew: INCONCLUSIVE, *", "*test_evals.py::test_crew", "exit 10: cannot tell"]
    )
    (suite,) = ET.parse(project.junit).iter("testsuite")
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("1", "1", "0")
    (properties,) = project.properties()
    assert properties["evalharness.verdict"] == properties["evalharness.outcome"] == "inconclusive"


@pytest.mark.thread(row=6)
@pytest.mark.parametrize("policy", ["exit", "pass"])
def test_no_finished_game_is_no_evidence_whatever_the_policy(project, policy):
    project.league.fault("fail-episodes=100")
    result = project.judge_here(f"--eval-inconclusive={policy}", "--eval-num=5")
    assert result.ret == 11
    assert "exit 11: untrustworthy" in said(result)
    (case,) = project.results()["cases"]
    assert case["outcome"] == "untrustworthy"


@pytest.mark.thread(row=6)
@pytest.mark.parametrize("how", NO_EVIDENCE)
def test_a_claim_that_nobody_judged_was_not_met(project, how):
    body = "pytest.skip('later')" if not NO_EVIDENCE[how] else "assert ab is None"
    project.cases(
        f"import pytest\n\n{NO_EVIDENCE[how]}\n@pytest.mark.league_ab(claim='better', episodes=4)\n"
        f"def test_crew(ab):\n    {body}\n"
    )
    assert project.judge_here().ret == 10


@pytest.mark.thread(row=6)
def test_a_selection_of_nothing_is_no_pass(project):
    assert project.judge_here("-k", "nothing").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.posted == 0
