import json

import numpy as np
import pytest

from pytest_evalharness.verdict.evidence import ArmEvidence, Finding
from pytest_evalharness.verdict.words import Reason


def test_missing_is_what_was_asked_for_and_did_not_come():
    arm = ArmEvidence("keeper:v2", 18, 28, 30, mean_score=1.5, kills=3, vote_timeouts=0, request_ids=["a"])
    assert (arm.missing, arm.posted, arm.rate) == (2, 30, 18 / 28)
    assert ArmEvidence("keeper:v2", 18, 28).missing == 0
    assert ArmEvidence("keeper:v2", 0, 0, 30).rate is None


def test_numbers_of_any_library_become_plain():
    arm = ArmEvidence(
        "x",
        np.int64(1),
        np.int64(2),
        np.int64(3),
        np.float64(0.5),
        np.int64(1),
        np.int64(0),
        distinct=np.int64(2),
    )
    plain = arm.to_json()
    assert {type(value) for value in plain.values()} == {str, int, float, list}
    assert ArmEvidence.from_json(json.loads(json.dumps(plain))) == arm


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "wins must not exceed games"),
        ((1, 3, 2), "finished must not exceed requested"),
        ((True, 2), "wins must be a whole number"),
        ((1, 2.0), "games must be a whole number"),
        ((1, 2, -3), "requested must not be negative"),
        ((1, 2, 2, float("nan")), "mean_score"),
        ((1, 2, 2, 0.5, -1), "kills"),
        ((1, 2, 2, 0.5, 1, 1.5), "vote_timeouts"),
    ],
    ids=str,
)
def test_counts_that_cannot_be_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        ArmEvidence("x", *arguments)


def test_a_finding_says_what_and_where():
    finding = Finding("seats", "seat 3 held by rival:v3", "candidate", ["ep1"])
    assert finding.reason is Reason.SEATS
    assert str(finding) == "players did not sit where they were placed (candidate: seat 3 held by rival:v3)"
    assert str(Finding(Reason.SEATS)) == "players did not sit where they were placed"
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding
    with pytest.raises(ValueError, match="reason must be one of"):
        Finding("moon")


def test_every_reason_has_a_sentence_of_its_own():
    sentences = [reason.sentence for reason in Reason]
    assert len(set(sentences)) == len(sentences)
    assert {reason for reason in Reason if reason.forbids_trust} >= {Reason.SAME_BUILD, Reason.SEATS}
    assert not Reason.SMALL_N.forbids_trust
