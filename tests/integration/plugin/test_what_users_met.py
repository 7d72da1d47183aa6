"""What users of other tools met, tried here. Each test names the thread it comes from."""

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def with_timeout(project, *more):
    """The command with pytest-timeout, which these tests otherwise leave out."""
    words = project.command(*more)
    at = words.index("no:timeout")
    return words[: at - 1] + words[at + 1 :]


@pytest.mark.thread(row=8)
@pytest.mark.parametrize("method", ["signal", "thread"])
def test_a_timeout_in_a_fixture_loses_nothing(project, method):
    """pytest-timeout#98, #72: fixture time is charged to a test; what was posted is found again."""
    project.league.fault("closed-queue")
    for seconds in (4, 16, 64):  # a busy machine may not have posted anything after so few
        result = project.pytester.runpytest_subprocess(
            *with_timeout(project, f"--timeout={seconds}", f"--timeout-method={method}"), timeout=300
        )
        assert result.ret != 0
        assert "Timeout" in said(result)
        if project.posted == 2:
            break
    if method == "signal":  # the other one ends the process on the spot
        assert project.junit.exists()
    project.league.heal()
    again = project.judge()
    assert again.ret == 0
    assert "nothing was posted again" in said(again)
    assert project.posted == 2


@pytest.mark.thread(row=8)
@pytest.mark.slow
def test_a_timeout_that_kills_workers_posts_once(project):
    """pytest-timeout#186: each kill starts a new worker, and each of those would launch the arms again."""
    project.cases(
        "import pytest\n@pytest.mark.league_ab(claim='better')\n@pytest.mark.parametrize('case', range(3))\n"
        "def test_crew(ab, case):\n    ab.require()\n"
    )
    project.league.fault("closed-queue")
    command = with_timeout(project, "-n", "2", "--timeout=4", "--timeout-method=thread")
    first = project.pytester.runpytest_subprocess(*command, timeout=300)
    assert first.ret == 11
    assert {case["outcome"] for case in project.results()["cases"]} == {"error"}
    assert "crashed while running" in said(first)
    assert project.junit.exists()
    project.league.heal()
    again = project.judge("-n", "2")
    assert again.ret == 0
    again.assert_outcomes(passed=3)
    assert project.posted == 2


@pytest.mark.thread(row=10)
def test_reruns_count_one_case_in_the_xml(project, workers):
    """pytest-rerunfailures#76: as many test cases as tests, one verdict each."""
    assert project.judge("--reruns=2", *workers, candidate="keeper:v3").ret == 1
    suite = next(ET.parse(project.junit).iter("testsuite"))
    cases = list(suite.iter("testcase"))
    assert int(suite.get("tests")) == len(cases) == 1
    assert len(list(suite.iter("failure"))) == 1
    assert [p.get("value") for p in suite.iter("property") if p.get("name") == "evalharness.verdict"] == [
        "worse"
    ]
    assert project.posted == 2


@pytest.mark.thread(row=11)
def test_a_long_teardown_finds_the_journal_complete(project):
    """pytest-xdist#537: what comes after the games may be cut off."""
    project.pytester.makeconftest("""
        import os
        import pytest

        @pytest.fixture(autouse=True)
        def backend():
            yield
            os._exit(7)  # the grace is over in the middle of a teardown
    """)
    assert project.judge().ret != 0
    assert not list(project.home.glob("runs/*/results.json"))
    project.pytester.path.joinpath("conftest.py").unlink()
    again = project.judge()
    assert again.ret == 0
    assert project.posted == 2
    (found,) = project.results()["cases"][0]["results"]
    assert found["evidence_age_seconds"] is not None  # read, not waited for


@pytest.mark.thread(row=15)
def test_another_version_under_a_name_is_another_question(project, league):
    """lm-evaluation-harness#4063: a cache that is not keyed by the version reports the old one's results."""
    assert project.judge_here(candidate="keeper:v2").ret == 0
    assert project.judge_here(candidate="keeper:v3").ret == 1
    assert project.posted == 4
    assert project.judge_here(candidate="keeper:v2").ret == 0
    assert project.posted == 4


@pytest.mark.thread(row=14)
def test_a_crash_late_in_a_run_starts_nothing_from_zero(pytester, tmp_path):
    """lm-evaluation-harness#2533: killed when most games have ended, the next run reads the same requests."""
    pytester.makepyfile(
        test_evals="import pytest\n"
        "@pytest.mark.league_ab(role='crew', episodes=30, claim='better')\ndef test_crew(ab):\n    ab.require()\n"
    )
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--candidate=keeper:v2", "--baseline=keeper:v1",
        "--eval-server=embedded",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    events = pytester.path / ".evalharness" / "runs"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (late(events) and len(requests(events)) == 2):
        time.sleep(0.02)
    process.kill()
    process.communicate()
    before = requests(events)
    assert len(before) == 2
    again = subprocess.run(
        command, cwd=pytester.path, capture_output=True, text=True, timeout=300, check=False
    )
    assert again.returncode == 0, again.stdout
    assert requests(events) == before


def late(folder):
    """Whether most games of some arm have ended."""
    for event in told(folder):
        counts = event.get("counts") or {}
        if counts.get("completed", 0) >= 20 or event.get("what") == "finished":
            return True
    return False


def requests(folder):
    return {
        event["request"] for event in told(folder) if event.get("what") in {"posted", "adopted", "resumed"}
    }


def told(folder):
    for path in folder.glob("*/events.jsonl"):
        for line in path.read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # half a line: it is being written
