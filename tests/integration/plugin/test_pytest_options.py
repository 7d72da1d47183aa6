"""pytest's own options go on meaning what they mean: exit codes, POSTs, and who is told to have reported."""

import xml.etree.ElementTree as ET

import pytest

THREE = """
import pytest

AB = pytest.mark.league_ab(role="crew", episodes=30, claim="better")

@AB
def test_good(ab):
    ab.require()

@AB
def test_bad(ab):
    ab.require("worse")

@AB
def test_later(ab):
    ab.require()
"""
GOOD, BAD, LATER = ("test_good", "passed"), ("test_bad", "failed"), ("test_later", "passed")


def name(nodeid):
    return nodeid.partition("::")[2]


def reported(project):
    """The cases of results.json, the same as in the JUnit file, and what became of them."""
    told = {(name(case["nodeid"]), case["outcome"]) for case in project.results()["cases"]}
    assert {case.get("name") for case in ET.parse(project.junit).iter("testcase")} == {one for one, _ in told}
    return told


def left_out(project):
    """Who is told to be missing, and who was not got to."""
    results = project.results()
    return list(map(name, results["missing"])), list(map(name, results["unfinished"]))


@pytest.mark.parametrize(
    "words",
    ["", "--maxfail=2", "-p no:cacheprovider", "-p no:terminal"],
    ids=lambda words: words or "none",
)
def test_options_that_leave_nothing_out(project, words, workers):
    result = project.cases(THREE).judge_here(*workers, *words.split())
    assert result.ret == 1
    assert project.posted == 2
    assert reported(project) == {GOOD, BAD, LATER}
    assert left_out(project) == ([], [])
    assert project.results()["exit_code"] == 1


def test_a_plugin_that_is_named_although_it_is_loaded_is_loaded_once(project):
    assert project.cases(THREE).judge_here("-p", "evalharness").ret == 1
    assert reported(project) == {GOOD, BAD, LATER}


def test_without_xdist(project):
    assert project.cases(THREE).judge_here("-p", "no:xdist").ret == 1
    assert project.posted == 2
    assert reported(project) == {GOOD, BAD, LATER}


@pytest.mark.parametrize(
    "words",
    [
        "-p evalharness",
        "-p pytest_evalharness.plugin",
        pytest.param("-p evalharness -p xdist -n 2", marks=pytest.mark.slow),
    ],
)
def test_without_autoloading_the_plugin_is_named(project, monkeypatch, words):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert project.cases(THREE).judge_here(*words.split()).ret == 1
    assert project.posted == 2
    assert reported(project) == {GOOD, BAD, LATER}


def test_x_is_told_as_a_stop_and_not_as_a_loss(project):
    result = project.cases(THREE).judge_here("-x")
    assert result.ret == 1
    assert project.posted == 2
    assert reported(project) == {GOOD, BAD}
    assert left_out(project) == ([], ["test_later"])
    result.stdout.fnmatch_lines(
        ["not judged, the run was stopped before: test_evals.py::test_later", "exit 1: *"]
    )
    result.stdout.no_fnmatch_line("*never reported*")
    (summary,) = project.home.glob("runs/*/summary.md")
    assert "stopped before" in summary.read_text()
    again = project.judge_here("-x")
    assert (again.ret, left_out(project)) == (1, ([], ["test_later"]))
    assert project.posted == 2


@pytest.mark.slow
def test_x_under_workers_loses_nobody(project):
    """How far the other worker gets is chance; that each case is on exactly one list is not."""
    project.cases(THREE + MORE)
    assert project.judge("-x", "-n", "2").ret == 1
    assert project.posted == 2
    missing, unfinished = left_out(project)
    told = [case for case, _ in reported(project)]
    assert missing == []
    assert BAD in reported(project)
    assert sorted(told + unfinished) == sorted(
        ["test_good", "test_bad", "test_later", *(f"test_more[{i}]" for i in range(30))]
    )


MORE = """
@AB
@pytest.mark.parametrize("case", range(30))
def test_more(ab, case):
    ab.require()
"""


def test_k_runs_what_it_names(project, workers):
    assert project.cases(THREE).judge_here("-k", "later", *workers).ret == 0
    assert project.posted == 2
    assert reported(project) == {LATER}
    assert left_out(project) == ([], [])


def test_lf_reads_the_evidence_of_what_failed(project, workers):
    assert project.cases(THREE).judge_here("--lf", *workers).ret == 1  # nothing failed yet: everything runs
    assert reported(project) == {GOOD, BAD, LATER}
    assert project.judge_here("--lf", *workers).ret == 1
    assert reported(project) == {BAD}
    assert left_out(project) == ([], [])
    assert project.posted == 2


def test_stepwise_stops_and_goes_on_with_the_case_that_failed(project):
    assert (
        project.cases(THREE).judge_here("--sw").ret == pytest.ExitCode.INTERRUPTED
    )  # pytest's own word for it
    assert reported(project) == {GOOD, BAD}
    assert left_out(project) == ([], ["test_later"])
    assert project.judge_here("--sw").ret == pytest.ExitCode.INTERRUPTED
    assert reported(project) == {BAD}
    assert left_out(project) == ([], ["test_later"])
    assert project.posted == 2


@pytest.mark.slow
def test_stepwise_under_workers_loses_nobody(project):
    assert project.cases(THREE).judge("--sw", "-n", "2").ret == pytest.ExitCode.INTERRUPTED
    missing, unfinished = left_out(project)
    assert missing == []
    assert BAD in reported(project)
    assert sorted([*(case for case, _ in reported(project)), *unfinished]) == [
        "test_bad",
        "test_good",
        "test_later",
    ]
    assert project.posted == 2
