"""What reports say of the builds: one sentence, every doubt, and all evidence on the page, whatever strangers wrote into it."""

import json

import pytest

from pytest_evalharness.base.files import readable_json
from pytest_evalharness.report import builds, html, terminal
from pytest_evalharness.report.checks import checks
from pytest_evalharness.report.junit import properties
from pytest_evalharness.report.model import remarks
from pytest_evalharness.report.page import comparison

HOSTILE = "<script>x</script>\x1b[2J\u202e"


def arm(label, **changes):
    said = {
        "label": label, "policy_version_id": f"id-{label}", "owned": True, "digest": None, "image": None, "commit": None,
        "evidence": [{"source": "server", "text": f"image digest of {label}"}],
    }  # fmt: skip
    return {**said, **changes}


def known(conclusion="different", **changes):
    said = {
        "conclusion": conclusion, "because": "digests", "source": "server", "sentence": "proved different: digests",
        "arms": {"candidate": arm("keeper:v2"), "baseline": arm("keeper:v1")}, "files": None, "warnings": [], "notes": [],
        "allowed": False, "at": 0.0,
    }  # fmt: skip
    return {**said, **changes}


@pytest.fixture
def told(compared):
    return lambda **changes: {**compared(), "builds": known(**changes)}


def test_the_sentence_is_under_every_headline_and_each_doubt_a_remark(told, case, report):
    result = told(warnings=["the tree was dirty", "the baseline is old"])
    lines = [text.strip() for _, text in terminal.lines(report(case(result)))]
    assert "builds proved different: digests" in lines
    assert lines.index("the tree was dirty") < lines.index("the baseline is old")
    assert remarks(result)[:2] == ["the tree was dirty", "the baseline is old"]


@pytest.mark.parametrize(
    ("conclusion", "state"),
    [("different", "passed"), ("not_visible", "passed"), ("unproven", "left out"), ("same", "left out")],
)
def test_the_check_tells_what_is_known(told, conclusion, state):
    result = told(conclusion=conclusion)
    (check,) = [one for one in checks(result["judgement"], builds.check(result)) if one.name == "Builds"]
    assert (check.state, check.text) == (state, "proved different: digests")
    assert ("evalharness.builds", conclusion) in properties(result, "run")


def test_a_comparison_of_an_older_release_says_as_much_as_it_did(compared):
    for result in (compared(), {**compared(), "builds": None}):
        assert builds.check(result) is None
        assert builds.sentences(result) == builds.warnings(result) == builds.evidence(result) == []
        assert ("evalharness.builds", "") in properties(result, "run")


def test_a_pool_tells_each_sentence_and_doubt_once_and_its_weakest_configuration(told):
    strata = {
        "a": told(warnings=["dirty"]), "b": told(warnings=["dirty"]),
        "c": told(conclusion="unproven", sentence="not proved different: x"),
    }  # fmt: skip
    pool = {"strata": strata}
    assert builds.sentences(pool) == ["proved different: digests", "not proved different: x"]
    assert builds.warnings(pool) == ["dirty"]
    assert builds.conclusions(pool) == ["different", "unproven"]
    assert builds.check(pool) == ("left out", "proved different: digests; not proved different: x")


def test_the_page_has_all_evidence_and_the_files(told):
    result = told(files=["bot/crew.py"], notes=["1 file differs"])
    view = comparison(json.loads(readable_json(result)), 0)
    assert view.builds == (
        ("candidate", "keeper:v2", "server", "image digest of keeper:v2"),
        ("baseline", "keeper:v1", "server", "image digest of keeper:v1"),
    )
    assert (view.build_facts, view.build_files) == (("1 file differs",), ("bot/crew.py",))


def test_very_many_files_are_counted(told):
    shown = comparison(told(files=[f"f{i}" for i in range(1000)]), 0).build_files
    assert len(shown) == 201
    assert shown[-1] == "and 800 more"


def test_nothing_hostile_gets_through(told, case, report):
    evil = arm(HOSTILE, evidence=[{"source": HOSTILE, "text": HOSTILE}])
    result = told(
        sentence=HOSTILE, warnings=[HOSTILE], notes=[HOSTILE], files=[HOSTILE], because=HOSTILE,
        arms={"candidate": evil, "baseline": evil},
    )  # fmt: skip
    page = html.render(report(case(result)))
    assert "<script>x" not in page
    for text in (page, *(line for _, line in terminal.lines(report(case(result))))):
        assert not {"\x1b", "\u202e"} & set(text)
