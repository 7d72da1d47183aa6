"""The JUnit file: what it says of the whole run, under workers too, and what a strict schema allows."""

import xml.etree.ElementTree as ET
from collections import Counter

import pytest

FOUR = """
import pytest

@pytest.mark.league_ab(role="crew", claim="better")
def test_met(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", claim="better")
def test_not_met(ab):
    ab.require("worse")

@pytest.mark.league_ab(role="crew", claim="better", episodes=4)
def test_cannot_tell(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", claim="better", candidate_seats={0: "keeper-alias:v1"})
def test_refused(ab):
    ab.require()
"""
STRICT = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"properties", "testcase", "system-out", "system-err"},
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
    ),
    "testcase": ({"skipped", "error", "failure", "system-out", "system-err"}, {"name", "classname", "time"}),
    "properties": ({"property"}, set()),
    "property": (set(), {"name", "value"}),
    **dict.fromkeys(("skipped", "error", "failure"), (set(), {"message", "type"})),
    **dict.fromkeys(("system-out", "system-err"), (set(), set())),
}
"""What the schema that report readers are strict about (xunit2) allows: an element's children and its attributes."""


def objections(element):
    """Where a file is not as the strict schema wants it."""
    children, attributes = STRICT[element.tag]
    for name in set(element.attrib) - attributes:
        yield f"{element.tag} has {name}"
    for child in element:
        if child.tag not in children:
            yield f"{element.tag} holds {child.tag}"
        else:
            yield from objections(child)


def suite_of(project):
    (suite,) = ET.parse(project.junit).iter("testsuite")
    return suite


def of_suite(project):
    """The properties of the suite, with all values of each."""
    found = {}
    for one in suite_of(project).findall("properties/property"):
        found.setdefault(one.get("name"), []).append(one.get("value"))
    return found


@pytest.mark.thread(row=3)
def test_the_suite_tells_the_run_and_counts_its_verdicts(project, workers):
    """pytest's record_testsuite_property says nothing under workers: what must be known comes from the controller."""
    assert project.cases(FOUR).judge_here(*workers).ret == 1
    told, results = of_suite(project), project.results()
    assert told["evalharness.run"] == [results["run_id"]]
    assert told["evalharness.server"] == [project.league.api]
    assert told["evalharness.exit_code"] == ["1"]
    assert told["evalharness.cases"] == ["4"]
    assert "evalharness.missing" not in told
    outcomes = Counter(case["outcome"] for case in results["cases"])
    assert outcomes == {"passed": 1, "failed": 1, "inconclusive": 1, "untrustworthy": 1}
    verdicts = Counter(one["judgement"]["verdict"] for case in results["cases"] for one in case["results"])
    assert verdicts == {"better": 2, "inconclusive": 1}
    for kind, counted in (("outcome", outcomes), ("verdict", verdicts)):
        said = {name.rpartition(".")[2]: int(v) for name, (v,) in told.items() if f".{kind}." in name}
        assert {word: count for word, count in said.items() if count} == counted
    assert {found["evalharness.run"] for found in project.properties()} == {results["run_id"]}


@pytest.mark.thread(row=3)
def test_the_suite_names_what_a_stopped_run_did_not_get_to(project):
    assert project.cases(FOUR).judge_here("-x").ret == 1
    assert of_suite(project)["evalharness.unfinished"] == [
        "test_evals.py::test_cannot_tell",
        "test_evals.py::test_refused",
    ]


@pytest.mark.thread(row=4)
@pytest.mark.parametrize(
    ("wanted", "left"),
    [("all", {"testcase holds properties"}), ("suite", set()), ("none", set())],
)
def test_a_strict_schema_can_be_obeyed(project, wanted, left):
    result = project.cases(FOUR).judge_here(
        "-W", "error", "-o", "junit_family=xunit2", f"--eval-junit-properties={wanted}"
    )
    assert result.ret == 1
    assert set(objections(ET.parse(project.junit).getroot())) == left
    assert bool(of_suite(project)) is (wanted != "none")
    cases = list(suite_of(project).iter("testcase"))
    assert len(cases) == int(suite_of(project).get("tests")) == 4


@pytest.mark.thread(row=4)
def test_without_our_properties_a_users_own_stay(project, workers):
    project.cases(FOUR + "\ndef test_plain(record_property):\n    record_property('mine', 'kept')\n")
    words = ("-o", "junit_family=xunit1", "--eval-junit-properties=none")
    assert project.judge_here(*words, *workers).ret == 1
    assert [found for found in project.properties() if found] == [{"mine": "kept"}]
    assert len(project.results()["cases"]) == 4


def test_an_interrupted_case_has_none_either(project):
    """What never came to its end is not yet written when properties are taken out."""
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\n"
        "def test_stops(ab):\n    ab.require()\n    raise KeyboardInterrupt\n"
    )
    assert project.judge("--eval-junit-properties=suite").ret == 2
    assert set(objections(ET.parse(project.junit).getroot())) == set()
    assert of_suite(project)["evalharness.unfinished"] == ["test_evals.py::test_stops"]


def test_a_file_without_eval_cases_is_pytests_own(project):
    project.cases("def test_plain(record_property):\n    record_property('mine', 'kept')\n")
    assert project.judge_here("-o", "junit_family=xunit1", "--eval-junit-properties=none").ret == 0
    assert of_suite(project) == {}
    assert project.properties() == [{"mine": "kept"}]
