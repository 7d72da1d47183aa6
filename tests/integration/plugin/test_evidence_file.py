"""A run's evidence leaves the ledger in one file, and every verdict follows from it again."""

import copy
import json

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.errors import UsageError
from pytest_evalharness.league.evidence_file import export, verify
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import digest
from pytest_evalharness.ledger.ownership import Owner

THREE = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=12, claim="better")
def test_better(ab):
    ab.require()

@pytest.mark.league_ab(role="imposter", episodes=10, claim="not_worse", rule="overlap", looks=[5, 10])
def test_looks(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", episodes=6, claim="better", pairing="seed")
def test_pairs(ab):
    ab.require()
"""


@pytest.fixture
def exported(project):
    """What a run of three cases left, as another machine reads it."""
    project.cases(THREE)
    project.judge_here()
    run_id = project.results()["run_id"]
    with Ledger.open(project.home, clock=SystemClock(), owner=Owner.current("t", "")) as ledger:
        return json.loads(json.dumps(export(ledger, run_id), allow_nan=False))


def signed(content):
    """The file with a digest that fits, as a forger would leave it."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return {**rest, "sha256": digest(rest)}


def test_every_verdict_follows_from_the_evidence(exported):
    assert len(exported["comparisons"]) == 3
    assert {one["judgement"]["family"] for one in exported["comparisons"]} == {3}
    assert verify(exported) == []


def test_a_number_that_was_changed_is_found_with_the_one_it_should_be(exported):
    forged = copy.deepcopy(exported)
    judgement = forged["comparisons"][0]["judgement"]
    true = judgement["candidate"]["wins"]
    judgement["candidate"]["wins"] = true + 1
    (plain,) = verify(signed(forged))
    assert (plain.what, plain.written, plain.computed) == ("candidate.wins", true + 1, true)
    assert [one.what for one in verify(forged)] == ["sha256", "candidate.wins"]


def test_an_episode_that_was_turned_round_changes_what_is_computed(exported):
    forged = copy.deepcopy(exported)
    (block,) = forged["comparisons"][0]["blocks"]["candidate"]
    for episode in block["evidence"]["episodes"]:
        episode["results"]["win"] = [not won for won in episode["results"]["win"]]
    found = {one.what for one in verify(signed(forged))}
    assert "candidate.wins" in found
    assert "diff" in found


def without_evidence(content):
    first = {**content["comparisons"][0], "blocks": {"candidate": [], "baseline": [{}]}}
    return {**content, "comparisons": [first]}


SPOILT = {
    "a list": lambda _: [],
    "empty": lambda _: {},
    "another kind": lambda content: {**content, "kind": "letter"},
    "another schema": lambda content: {**content, "schema": 99},
    "an empty comparison": lambda content: {**content, "comparisons": [{}]},
    "no comparisons": lambda content: {**content, "comparisons": None},
    "no evidence": without_evidence,
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_is_no_evidence_file_is_a_usage_error(exported, how):
    with pytest.raises(UsageError, match="cannot be verified"):
        verify(SPOILT[how](exported))


@pytest.mark.parametrize("entry", ["judgement", "plan", "blocks", "judged_at"])
def test_what_was_removed_is_named_in_a_sentence(exported, entry):
    del exported["comparisons"][1][entry]
    with pytest.raises(UsageError) as caught:
        verify(signed(exported))
    assert f"test_evals.py::test_looks does not tell its {entry}: that was removed" in str(caught.value)
    assert "KeyError" not in str(caught.value)


def test_what_was_removed_further_in_is_named_too(exported):
    del exported["comparisons"][0]["frozen"]["arms"]
    with pytest.raises(UsageError, match="it does not tell arms: the entry was removed, or never written"):
        verify(signed(exported))


def test_a_run_that_judged_nothing_has_no_evidence(project):
    with (
        Ledger.open(project.home, clock=SystemClock(), owner=Owner.current("t", "")) as ledger,
        pytest.raises(UsageError, match="has judged nothing"),
    ):
        export(ledger, "20260101-000000-abcdef")
