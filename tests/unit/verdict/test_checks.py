"""Checks as lines: one a check, with what was seen, and nothing of an effect where nothing can be believed."""

import json

import pytest

from pytest_evalharness.verdict.checks import Check, CheckState, lines, together
from pytest_evalharness.verdict.claim import Declaration
from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.judge import judge
from pytest_evalharness.verdict.judgement import Judgement
from pytest_evalharness.verdict.words import Reason

ROLES = Check("roles", "ok", "30 of 30", {"candidate": {"games": 30, "as_forced": 30}})
VOTES = Check("votes", "ok", "31 of 50 at an imposter (62 %)")


def judged(*trust, checks=(ROLES, VOTES)):
    arms = ArmEvidence("a", 20, 30), ArmEvidence("b", 15, 30)
    return judge(Declaration("better"), *arms, trust, checks=checks)


def test_a_line_each_under_the_numbers():
    told = judged().summary_lines()
    assert "roles          : ok, 30 of 30" in told
    assert "votes          : ok, 31 of 50 at an imposter (62 %)" in told


def test_what_cannot_be_believed_tells_its_checks_and_no_effect():
    told = judged(Finding(Reason.ROLES, "wrong")).summary_lines()
    assert "roles          : ok, 30 of 30" in told
    assert not any("votes" in line for line in told)


def test_a_judgement_without_checks_has_no_lines_and_survives_the_journal():
    assert lines(judged(checks=()).checks, trusted=True) == []
    whole = judged()
    assert Judgement.from_json(json.loads(json.dumps(whole.to_json()))) == whole
    old = {key: value for key, value in whole.to_json().items() if key != "checks"}
    assert Judgement.from_json(old).checks == ()


def test_a_state_that_does_not_exist():
    with pytest.raises(ValueError, match="state must be one of ok, noted, unknown, failed, got 'fine'"):
        Check("roles", "fine", "")


@pytest.mark.parametrize(
    ("states", "worst"),
    [
        (("ok", "ok"), "ok"),
        (("ok", "noted"), "noted"),
        (("unknown", "noted"), "unknown"),
        (("unknown", "failed"), "failed"),
    ],
)
def test_of_several_configurations_the_worst_counts_and_all_is_told(states, worst):
    parts = [
        (name, [Check("crashes", state, f"seen in {name}", {"candidate": {"games": 3}})])
        for name, state in zip(("crew", "imposter"), states, strict=True)
    ]
    (check,) = together(parts)
    assert check.state is CheckState(worst)
    assert check.seen == "crew: seen in crew; imposter: seen in imposter"
    assert check.counts == {"crew: candidate": {"games": 3}, "imposter: candidate": {"games": 3}}
