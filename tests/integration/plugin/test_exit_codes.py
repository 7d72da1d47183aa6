"""Each exit code that is documented, brought about; and a refused request, which is an error at once."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/reference/exit-codes.md"
BROKEN = """
def pytest_runtest_logfinish(nodeid):
    raise RuntimeError("a hook of the user's is broken")
"""
WARNS = """
import warnings

import pytest

@pytest.mark.league_ab(role="crew", claim="better")
def test_crew(ab):
    warnings.warn("something old")
    ab.require()
"""
NONE = "def helper():\n    pass\n"
CODES = {
    0: ({}, (), {}),
    1: ({}, (), {"candidate": "keeper:v3"}),
    2: ({"test_broken": "import no_such_module_anywhere\n"}, (), {}),
    3: ({"conftest": BROKEN}, (), {}),
    4: ({}, ("--eval-num=0",), {}),
    5: ({"test_evals": NONE}, (), {}),
    6: ({"test_evals": WARNS}, ("-W", "default", "--max-warnings=0"), {}),
    10: ({}, ("--eval-num=4",), {}),
    11: ({}, (), {"candidate": "keeper-alias:v1"}),
}
"""A code to what brings it about: files, options, names."""
REPORTED = {0, 1, 3, 6, 10, 11}


@pytest.mark.thread(row=20)
def test_every_documented_code_is_brought_about():
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)}
    assert documented == set(CODES)


@pytest.mark.thread(row=20)
@pytest.mark.parametrize("code", CODES)
def test_each_code_has_one_cause(project, code):
    files, options, names = CODES[code]
    for name, text in files.items():
        (project.pytester.path / f"{name}.py").write_text(text)
    result = project.judge_here(*options, **names)
    assert result.ret == code
    reports = list(project.home.glob("runs/*/results.json"))
    assert bool(reports) is (code in REPORTED)
    for path in reports:
        assert json.loads(path.read_text())["exit_code"] == code, (
            "the report knows the code that the process ended with"
        )


@pytest.mark.thread(row=20)
@pytest.mark.thread(row=24)
def test_an_internal_error_names_who_never_reported(project):
    project.pytester.makepyfile(conftest=BROKEN)
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\n@pytest.mark.parametrize('case', range(3))\n"
        "def test_crew(ab, case):\n    ab.require()\n"
    )
    result = project.judge_here()
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert project.results()["missing"] == ["test_evals.py::test_crew[1]", "test_evals.py::test_crew[2]"]
    result.stdout.fnmatch_lines(
        ["test_evals.py::test_crew?1?: collected, and never reported", "2 of 3 eval cases never reported"]
    )


@pytest.mark.thread(row=20)
def test_a_refused_roster_is_an_error_at_once_and_no_failure(project, workers):
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\n@pytest.mark.parametrize('case', range(4))\n"
        "def test_crew(ab, case):\n    ab.require()\n"
    )
    project.league.fault("reject-body=422")
    created = project.league.created
    result = project.judge_here(*workers)
    assert result.ret == 11
    result.assert_outcomes(errors=4)
    text = project.junit.read_text()
    assert "roster: Field required" in text
    (suite,) = ET.parse(project.junit).iter("testsuite")
    assert (suite.get("errors"), suite.get("failures")) == ("4", "0")
    (events,) = project.home.glob("runs/*/events.jsonl")
    said = [event.get("what") for event in map(json.loads, events.read_text().splitlines())]
    assert said.count("refused") == said.count("posting") == 2, "each arm was tried once, whoever asks for it"
    assert "posted" not in said
    assert project.league.created == created
