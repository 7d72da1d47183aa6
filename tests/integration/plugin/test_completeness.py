"""Exit 0 means that every collected case reported. Whatever takes a worker or a report away, who is missing is named."""

import xml.etree.ElementTree as ET

import pytest

slow = pytest.mark.slow
SIX = """
import os, pathlib, signal

import numpy
import pytest

@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
@pytest.mark.parametrize("case", range(6))
def test_case(ab, case, record_property):
    if case == 2:
        {what}
    ab.require()
"""
EVERYBODY = [f"test_case[{number}]" for number in range(6)]
LOST = "test_case[2]"
LOSES = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if "[2]" in item.nodeid and report.when == "{when}":
        report.theirs = object()  # of another plugin: a worker cannot send it
    return report
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def name(nodeid):
    return nodeid.partition("::")[2]


def found(project):
    """What became of each case that reported, who is missing, and whom a stopped run did not get to."""
    told = project.results()
    reported = {name(case["nodeid"]): case["outcome"] for case in told["cases"]}
    return reported, list(map(name, told["missing"])), list(map(name, told["unfinished"]))


def missing_in_junit(project):
    (suite,) = ET.parse(project.junit).iter("testsuite")
    properties = suite.findall("properties/property")
    return [name(one.get("value")) for one in properties if one.get("name") == "evalharness.missing"]


@pytest.mark.thread(row=24)
@pytest.mark.parametrize(
    ("workers", "what"),
    [
        (2, "os._exit(0)"),
        pytest.param(3, "os._exit(0)", marks=slow),
        pytest.param(4, "os._exit(0)", marks=slow),
        pytest.param(2, "os.kill(os.getpid(), signal.SIGKILL)", marks=slow),
    ],
)
def test_a_case_that_takes_its_worker_along_is_named(project, workers, what):
    result = project.cases(SIX.format(what=what)).judge("-n", str(workers))
    assert result.ret == 11
    reported, missing, unfinished = found(project)
    assert missing == missing_in_junit(project) == [LOST]
    assert unfinished == []
    assert sorted(reported) == EVERYBODY
    assert reported.pop(LOST) == "error"
    assert set(reported.values()) == {"passed"}
    assert f"{LOST}: collected, and never reported" in said(result)
    assert "1 of 6 eval cases never reported" in said(result)
    assert project.posted == 2


@pytest.mark.thread(row=24)
@pytest.mark.parametrize(
    ("workers", "when"),
    [
        (2, "call"),
        pytest.param(3, "call", marks=slow),
        pytest.param(4, "call", marks=slow),
        pytest.param(2, "teardown", marks=slow),
    ],
)
def test_a_report_that_cannot_be_sent_is_never_a_pass_and_is_named(project, workers, when):
    """The worker ends with an internal error. With enough others, nothing else of the run tells that a case is gone."""
    project.pytester.makeconftest(LOSES.format(when=when))
    result = project.cases(SIX.format(what="pass")).judge("-n", str(workers))
    assert result.ret in {3, 11}  # as far as xdist gets before it notices
    reported, missing, unfinished = found(project)
    assert LOST in missing
    assert missing == missing_in_junit(project)
    assert unfinished == []
    assert sorted({*reported, *missing}) == EVERYBODY
    for case in missing:
        assert f"{case}: collected, and never reported" in said(result)
    assert f"{len(missing)} of 6 eval cases never reported" in said(result)
    assert project.posted == 2


@pytest.mark.thread(row=24)
@pytest.mark.parametrize(
    ("workers", "value"),
    [
        (2, "numpy.float64(0.5)"),
        *(pytest.param(n, "numpy.float64(0.5)", marks=slow) for n in (3, 4)),
    ],
)
def test_what_a_case_recorded_never_costs_it_its_report(project, workers, value):
    """A number of numpy cannot be sent to the controller: it goes there as the text that the file would show."""
    project.cases(SIX.format(what=f"record_property('mine', {value})"))
    result = project.judge("-n", str(workers), "-o", "junit_family=xunit1", candidate="keeper:v3")
    assert result.ret == 1
    assert found(project) == (dict.fromkeys(EVERYBODY, "failed"), [], [])
    mine = [properties["mine"] for properties in project.properties() if "mine" in properties]
    assert mine == ["0.5"]
    assert project.posted == 2


@pytest.mark.thread(row=24)
@pytest.mark.slow
@pytest.mark.parametrize("what", ["os._exit(0)", "raise SystemExit(0)"])
def test_a_stop_at_the_first_failure_names_everybody(project, what):
    """-x beside a dying worker: who was lost and whom the run did not get to are told apart, and nobody is forgotten."""
    result = project.cases(SIX.format(what=what)).judge("-x", "-n", "2")
    assert result.ret != 0
    reported, missing, unfinished = found(project)
    assert sorted({*reported, *missing, *unfinished}) == EVERYBODY
    assert not set(missing) & set(unfinished)
    assert LOST not in unfinished
    assert reported.get(LOST) != "passed"
    if "_exit" in what:
        assert missing == [LOST]
    assert project.posted == 2
