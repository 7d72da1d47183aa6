import pytest

from pytest_evalharness.report.checks import checks, forbids_trust, notes
from pytest_evalharness.verdict.words import Reason


@pytest.fixture
def judged(compared):
    return lambda *wins, **words: compared(*wins, **words)["judgement"]


def states(judged):
    return {check.name: check.state for check in checks(judged)}


def reason(word, detail="", arm=""):
    return {"reason": word, "detail": detail, "arm": arm, "episodes": []}


@pytest.mark.parametrize("failing", [reason for reason in Reason if reason.forbids_trust])
def test_every_reason_for_distrust_fails_exactly_one_check(judged, failing):
    spoilt = {**judged(), "reasons": [reason(failing.value, "what was found")]}
    failed = [check for check in checks(spoilt) if check.state == "failed"]
    assert len(failed) == 1
    assert failed[0].text == f"{failing.sentence} (what was found)"


def test_a_reason_of_a_later_release_is_a_failure_and_no_crash(judged):
    spoilt = {**judged(), "reasons": [reason("cosmic_rays", "a flipped bit")]}
    assert forbids_trust("cosmic_rays")
    assert checks(spoilt)[-1].text == "cosmic_rays (a flipped bit)"


def test_both_arms_failures_of_one_check_are_told(judged):
    spoilt = {
        **judged(),
        "reasons": [reason("seats", "1", "candidate"), reason("seats", "baseline: 2", "baseline")],
    }
    assert [check.text.partition(" (")[2] for check in checks(spoilt) if check.name == "Seats"] == [
        "candidate: 1)",
        "baseline: 2)",
    ]


def test_a_pass_that_nobody_vouches_for_is_none(judged):
    assert states({**judged(), "verified": []})["Seats"] == "left out"
    assert states(judged())["Seats"] == "passed"


def test_an_aa_run_leaves_the_builds_out(judged):
    assert states(judged((15, 15), aa=True))["Builds"] == "left out"
    assert states(judged())["Builds"] == "passed"


def test_seeds_are_checked_only_where_they_pair(judged):
    assert "Seeds" not in states(judged())
    paired = judged()
    paired["declaration"]["pairing"] = "seed"
    assert states(paired)["Seeds"] == "left out"
    assert states({**paired, "verified": ["seats", "seeds"]})["Seeds"] == "passed"


def test_what_forbids_no_trust_is_a_note(judged):
    found = judged((15, 15))
    assert notes(found) == [Reason.SPANS_ZERO.sentence]
    assert "failed" not in states(found).values()
    assert notes(judged(trusted=False)) == []


def test_details_from_outside_are_harmless_and_short(judged):
    spoilt = {**judged(), "reasons": [reason("seats", "\x1b[31m\u202e" + "x" * 9999, "candidate")]}
    text = checks(spoilt)[2].text
    assert len(text) < 450
    assert not set(text) & set("\x1b\u202e")


def test_a_game_without_roles_has_no_check_of_roles(judged):
    assert states(judged())["Roles"] == "passed"  # of an early release, which told nothing
    assert "Roles" not in states({**judged(), "checks": [{"name": "errors", "state": "ok", "seen": "none"}]})
    told = [{"name": "roles", "state": "ok", "seen": "crew in seat 0"}]
    assert states({**judged(), "checks": told})["Roles"] == "passed"
