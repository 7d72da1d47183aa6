"""Under xdist: one arm whatever the distribution, one frozen field, and a journal that is complete before workers close."""

import json
import sqlite3
from contextlib import closing

import pytest

TWELVE = """
import pytest

@pytest.mark.league_ab(role="crew", claim="better")
@pytest.mark.parametrize("case", range(12))
def test_crew(ab, case):
    ab.require()
"""
slow = pytest.mark.slow


@pytest.mark.thread(row=1)
@pytest.mark.parametrize(
    "dist",
    [
        "load",
        "loadscope",
        "worksteal",
        *(pytest.param(mode, marks=slow) for mode in ("loadfile", "loadgroup", "no")),
    ],
)
def test_twelve_cases_on_four_workers_share_two_arms(project, dist):
    project.cases(TWELVE)
    result = project.judge("-n", "4", "--dist", dist)
    assert result.ret == 0
    result.assert_outcomes(passed=12)
    assert project.posted == 2


@pytest.mark.thread(row=1)
@slow
def test_every_case_in_every_worker_shares_two_arms(project):
    project.cases(TWELVE)
    result = project.judge("--dist", "each", "--tx", "3*popen")
    assert result.ret == 0
    result.assert_outcomes(passed=36)
    assert project.posted == 2
    assert len(project.results()["cases"]) == 12


GROUPS = """
import os, pathlib, pytest

def note(case):
    pathlib.Path(f"at-{case}.txt").write_text(os.environ["PYTEST_XDIST_WORKER"])

@pytest.mark.xdist_group("crew")
@pytest.mark.league_ab(role="crew", claim="not_worse", episodes=8)
@pytest.mark.parametrize("case", range(6))
def test_crew(ab, case):
    note(f"crew-{case}")
    ab.require("better", "worse", "equivalent", "inconclusive")

@pytest.mark.xdist_group("imposter")
@pytest.mark.league_ab(role="imposter", claim="not_worse", episodes=8)
@pytest.mark.parametrize("case", range(6))
def test_imposter(ab, case):
    note(f"imposter-{case}")
    ab.require("better", "worse", "equivalent", "inconclusive")
"""


@pytest.mark.thread(row=2)
@slow
def test_groups_that_are_not_kept_together_cost_no_second_post(project):
    """Released versions of pytest and xdist lose groups without a word. Nothing here may depend on where a case lands."""
    project.cases(GROUPS)
    result = project.judge("-n", "4", "--dist", "loadgroup")
    assert result.ret == 0
    result.assert_outcomes(passed=12)
    assert project.posted == 4
    at = {path.name: path.read_text() for path in project.pytester.path.glob("at-*.txt")}
    assert len(at) == 12
    assert len(set(at.values())) > 1, "one worker did everything, so nothing was shared"


FIELD = """
import json, os, pathlib, pytest

@pytest.mark.league_ab(role="crew", claim="not_worse", episodes=8)
@pytest.mark.parametrize("case", range(4))
def test_crew(ab, roster, case):
    pathlib.Path(f"field-{case}.json").write_text(json.dumps([os.getpid(), roster.to_json()]))
    ab.require("better", "worse", "equivalent", "inconclusive")  # whoever the field is
"""


def opponents(result):
    return [line for line in result.outlines if "opponent" in line or "seat " in line]


@pytest.mark.thread(row=7)
def test_a_field_that_moves_between_two_readings_is_one_field(project):
    project.cases(FIELD)
    project.league.fault("moving-scores")
    assert opponents(project.judge_here("--eval-dry-run")) != opponents(project.judge_here("--eval-dry-run"))
    result = project.judge("-n", "2")
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    assert project.posted == 2
    seen = [json.loads(path.read_text()) for path in project.pytester.path.glob("field-*.json")]
    assert len(seen) == 4
    assert len({pid for pid, _ in seen}) == 2
    frozen = seen[0][1]
    assert all(roster == frozen for _, roster in seen)
    for case in project.results()["cases"]:
        (found,) = case["results"]
        assert found["roster"] == frozen
        seats = {side: told["seats"] for side, told in found["episodes"].items()}
        assert seats["candidate"][1:] == seats["baseline"][1:]
        assert [seat["label"] for seat in seats["candidate"][1:]] == [
            one["label"] for one in frozen["opponents"]
        ]


LONG_CLOSE = """
import contextlib, os, pathlib, sqlite3, time
from pytest_evalharness.observatory.client import Observatory

def close(self):
    with contextlib.closing(sqlite3.connect({ledger!r})) as file:
        states = [state for (state,) in file.execute("SELECT state FROM blocks")]
    pathlib.Path(f"closing-{{os.getpid()}}.txt").write_text(" ".join(states))
    {then}

if "PYTEST_XDIST_WORKER" in os.environ:
    Observatory.close = close
"""


@pytest.mark.thread(row=11)
@pytest.mark.parametrize(
    "then", ["time.sleep(2)", pytest.param("os._exit(7)", marks=slow)], ids=["long", "cut off"]
)
def test_workers_that_are_slow_to_close_have_written_everything_before(project, then):
    """xdist waits only so long for the end of a worker: what must not be lost is in the journal by then."""
    conftest = LONG_CLOSE.format(ledger=str(project.home / "ledger.sqlite"), then=then)
    project.pytester.makeconftest(conftest)
    project.cases(TWELVE.replace("12", "4"))
    result = project.judge("-n", "2")
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    told = [path.read_text() for path in project.pytester.path.glob("closing-*.txt")]
    assert told
    assert set(told) == {"finished finished"}
    assert project.posted == 2
    with closing(sqlite3.connect(project.home / "ledger.sqlite")) as file:
        assert file.execute("SELECT COUNT(*) FROM blocks WHERE evidence_json IS NOT NULL").fetchone() == (2,)


DEAR = """
import pytest

@pytest.mark.league_ab(role="crew", claim="better", episodes=12)
def test_crew(ab):
    ab.require()

@pytest.mark.league_ab(role="imposter", claim="better", episodes=12)
def test_imposter(ab):
    ab.require()
"""


@slow
def test_workers_together_keep_one_budget(project):
    project.league.fault("closed-queue")
    project.cases(DEAR)
    result = project.judge("-n", "2", "--eval-budget=1500", "--eval-queue-budget=60")
    said = result.stdout.str()
    assert result.ret == 11
    assert "of the budget of 1500 are promised by now" in said
    assert 1 <= project.league.posts - project.posted.before <= 2, (
        "four were asked for, each worker would afford two"
    )
    assert "was cancelled" in said
