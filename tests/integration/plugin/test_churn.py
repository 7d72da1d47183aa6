"""Versions that are replaced between freezing and posting: both arms meet one field, as it is then, and nothing is posted twice."""

import json
import sqlite3

import pytest

CASES = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=8, claim="better")
def test_better(ab):
    ab.require("better", "worse", "equivalent", "inconclusive")

@pytest.mark.league_ab(role="crew", episodes=8, claim="not_worse")
def test_not_worse(ab):
    ab.require("better", "worse", "equivalent", "inconclusive")
"""
REPLACED = "gantry:v4"


def accepted(project):
    """Each accepted request's roster, as the ledger has it posted: version ids by arm."""
    rows = sqlite3.connect(project.home / "ledger.sqlite").execute(
        "SELECT side, body_json FROM blocks JOIN comparison_arms USING (arm_key) WHERE request_id IS NOT NULL"
    )
    return {
        (side, tuple(entry["player"]["policy_ref"] for entry in json.loads(body)["roster"]))
        for side, body in rows
    }


@pytest.mark.failure_mode(number=8)
def test_a_version_that_is_replaced_right_before_the_post(project, workers):
    """The server refuses both arms; nothing exists there, so both are given the field as it is by then."""
    project.cases(CASES)
    before = project.league.created
    project.league.fault(f"replaced-version={REPLACED}")
    result = project.judge_here(*workers)
    assert result.ret == 0, result.stdout.str()
    result.assert_outcomes(passed=2)
    assert project.league.created - before == 2, "one request an arm, both cases share them"
    rosters = dict(accepted(project))
    assert len(accepted(project)) == len(rosters) == 2
    assert rosters["candidate"][1:] == rosters["baseline"][1:], "one field for both arms"
    report = project.results()
    for case in report["cases"]:
        [told] = case["results"]
        labels = [member["label"] for member in told["roster"]["opponents"]]
        assert "gantry:v5" in labels
        assert REPLACED not in labels
        assert {member["policy_version_id"] for member in told["roster"]["opponents"]} <= set(
            rosters["candidate"]
        )
    [notice] = {one for one in report["notices"] if "the field changed" in one}
    assert f"{REPLACED} (" in notice
    assert (
        "is no longer live; nothing had been submitted, and both arms were given the field as it was at "
        in notice
    )


def test_a_named_opponent_that_is_replaced_is_not_exchanged_for_another(project):
    """Whoever names a version means that version."""
    project.league.fault(f"replaced-version={REPLACED}")
    result = project.judge_here(f"--eval-opponent={REPLACED}")
    assert result.ret == 11
    assert project.posted == 0
    assert "did not match an active runnable policy" in result.stdout.str()
    assert f"the field could not be chosen anew: opponent '{REPLACED}' is not live" in result.stdout.str()


def test_a_refusal_for_another_reason_is_not_answered_with_another_field(project):
    project.league.fault("reject-body=422")
    result = project.judge_here()
    assert result.ret == 11
    assert project.posted == 0
    assert "the field changed" not in result.stdout.str()


def test_a_field_that_moves_on_again_and_again_is_not_played(project):
    """Every attempt meets a field that is gone by the time it is posted; after a few the run says so."""
    for number in range(4, 9):
        project.league.fault(f"replaced-version=gantry:v{number}")
    before = project.league.created
    result = project.judge_here()
    assert result.ret == 11
    assert project.league.created == before
    assert len([one for one in project.results()["notices"] if "the field changed" in one]) == 3
    assert "did not match an active runnable policy" in result.stdout.str()


def test_a_run_after_a_refusal_takes_the_field_as_it_is_then(project):
    """What nobody could post has no results: the same command simply goes on, with one request an arm."""
    for number in range(4, 9):
        project.league.fault(f"replaced-version=gantry:v{number}")
    assert project.judge_here().ret == 11
    before = project.league.created
    result = project.judge_here()
    assert result.ret == 0, result.stdout.str()
    assert project.league.created - before == 2


POOL = """
import pytest

@pytest.mark.league_pool(configs=[{"role": "crew", "episodes": 8}, {"role": "imposter", "episodes": 8}], claim="better")
def test_pool(pool):
    pool.require("better", "worse", "equivalent", "inconclusive")
"""


def test_all_configurations_of_a_pool_are_given_the_new_field(project):
    project.cases(POOL)
    before = project.league.created
    project.league.fault(f"replaced-version={REPLACED}")
    result = project.judge_here()
    assert result.ret == 0, result.stdout.str()
    assert project.league.created - before == 4
