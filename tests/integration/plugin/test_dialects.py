"""Whole runs against both generations of the service, what their reports say of it, and what changes between them."""

import signal
import subprocess
import sys

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.observatory.embedded import EmbeddedServer
from tests.integration.plugin.conftest import CREW, League, Project

OPEN = """
import pytest

@pytest.mark.league_ab(role="imposter", episodes=6, claim="better")
def test_open(ab):
    ab.require()
"""
POOL = """
import pytest

@pytest.mark.league_pool(configs=[{"role": "crew", "episodes": 8}, {"role": "imposter", "episodes": 8}], claim="better")
def test_pool(pool):
    pool.require()
"""


@pytest.fixture(scope="module")
def old_league(tmp_path_factory):
    server = EmbeddedServer(tmp_path_factory.mktemp("june"), seed=2026, dialect="2026-06")
    server.start()
    yield League(server)
    server.stop()


@pytest.fixture
def old(request, pytester, old_league, monkeypatch):
    """A project whose league speaks as in June 2026."""
    old_league.heal()
    yield Project(pytester, old_league, request.node.name).environment(monkeypatch).cases(CREW)
    old_league.heal()


def told(result):
    return result.stdout.str()


# ------------------------------------------------------------------- whole runs


def test_a_run_on_the_league_of_june(old, workers):
    result = old.judge_here("-v", *workers)
    assert result.ret == 0, told(result)
    assert old.posted == 2
    result.stdout.fnmatch_lines(
        [
            "server API: 2026-06: Observatory (embedded) 2026.6, sha256 *; X-Auth-Token, offsets, artifacts of jobs, cannot *",
            "*candidate      : keeper:v2, mean seat score * (reward points), kills *",
        ]
    )
    report = old.results()
    assert report["service"]["dialect"] == "2026-06"
    assert report["service"]["auth"] == "X-Auth-Token"
    assert report["service"]["participants_have_kind"] is False
    [found] = report["cases"][0]["results"]
    assert found["score_regime"] == "reward points"
    assert found["judgement"]["verified"] == ["seats"]
    candidate, baseline = (found["judgement"][side] for side in ("candidate", "baseline"))
    assert candidate["mean_score"] > baseline["mean_score"] > 3, "points, and not wins"
    assert [arm["finished"] for arm in (candidate, baseline)] == [30, 30]


@pytest.mark.slow
def test_a_run_on_the_league_of_today(project, workers):
    result = project.judge_here("-v", *workers)
    assert result.ret == 0, told(result)
    result.stdout.fnmatch_lines(
        [
            "server API: current: Observatory (embedded) 2026.9, sha256 *; Bearer, cursors, artifacts of episodes, can cancel"
        ]
    )
    report = project.results()
    assert (report["service"]["dialect"], report["service"]["cancels"]) == ("current", True)
    assert report["cases"][0]["results"][0]["score_regime"] == "3/1/0"


@pytest.mark.slow
def test_a_pool_on_the_league_of_june(old):
    result = old.cases(POOL).judge_here()
    assert result.ret in {0, 1, 10}, told(result)
    [found] = old.results()["cases"][0]["results"]
    assert found["judgement"]["verdict"] != "untrustworthy"
    assert {part["score_regime"] for part in found["strata"].values()} == {"reward points"}


@pytest.mark.slow
def test_a_description_that_is_forbidden_is_told_and_no_obstacle(project):
    project.league.fault("hidden-description")
    result = project.judge_here()
    assert result.ret == 0, told(result)
    result.stdout.fnmatch_lines(
        [
            "server API: not described (HTTP 403); assumed: Bearer, whatever comes, artifacts of episodes, cancel unknown",
            "note: the server's description could not be used (HTTP 403): it is taken for *",
        ]
    )
    assert project.results()["service"]["dialect"] == "assumed"


@pytest.mark.slow
def test_a_web_page_in_its_place(project):
    project.league.fault("html=1")
    result = project.judge_here()
    assert result.ret == 0, told(result)
    assert "not described (it is none" in told(result)


# ------------------------------------------------------------------ no cancel


@pytest.mark.slow
@pytest.mark.failure_mode(number=15)
def test_a_wedged_arm_that_cannot_be_cancelled_is_said_to_go_on(old, baseline_is_well):
    old.league.fault("wedged-seat=0:keeper:v2")
    result = old.judge_here("--eval-stall-grace=0.5")
    assert result.ret == 11
    assert "the candidate arm" in told(result)
    assert "the request could not be cancelled and goes on" in told(result)


@pytest.mark.slow
def test_what_cannot_be_cancelled_goes_on_and_is_said_to(old, workers, capfd):
    old.league.fault("closed-queue")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *old.command(*workers)],
        cwd=old.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    old.until_noted(process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2, output
    assert "still running on the server: candidate keeper:v2 " in output
    run = old.results()["run_id"]
    assert len(old.results()["still_running"]) == 2
    capfd.readouterr()
    assert main(["runs", "cancel", run, "--home", str(old.home)]) == 1
    said = capfd.readouterr().out
    assert said.count("goes on: this server cannot cancel requests") == 2
    old.league.heal()
    assert old.judge(*workers).ret == 0
    assert old.posted == 2


# ----------------------------------------------------- a service that changes


@pytest.fixture
def grown(project):
    """A run on an embedded league of June that could not tell; then the league as it is today, on the same state."""
    result = project.cases(OPEN).judge_here("--eval-arena-dialect=2026-06", server="embedded")
    assert result.ret == 10, told(result)
    run = project.results()["run_id"]
    server = EmbeddedServer(project.home, seed=2026, dialect="current")
    server.start()
    yield run
    server.stop()


@pytest.mark.slow
@pytest.mark.failure_mode(number=13)
def test_games_of_two_regimes_are_never_added_up(project, grown, capfd):
    """The service changed between the games and those that extended them."""
    assert main(["runs", "show", grown, "--home", str(project.home)]) == 0
    assert "server API: 2026-06: Observatory (embedded) 2026.6, " in capfd.readouterr().out
    assert main(["runs", "extend", grown, "--num", "6", "--home", str(project.home)]) == 11
    out, errors = capfd.readouterr()
    assert "UNTRUSTWORTHY" in out
    assert "scores do not mean the same: candidate 6 games by " in out
    assert "games by reward points" in out
    assert "games by 3/1/0" in out
    assert f"note: the server's API has changed since run {grown} of " in errors
    assert "note: API change: requests can be cancelled now; before, requests cannot be cancelled" in errors


@pytest.mark.slow
@pytest.mark.failure_mode(number=6)
def test_drift_since_the_last_run_is_told_and_fails_nothing(project):
    first = project.judge_here("--eval-arena-dialect=2026-06", server="embedded")
    assert first.ret == 0, told(first)
    assert "API has changed" not in told(first)
    run = project.results()["run_id"]
    second = project.judge_here("--eval-fresh", server="embedded")
    assert second.ret == 0, told(second)
    second.stdout.fnmatch_lines(
        [
            f"note: the server's API has changed since run {run} of *:",
            "note: API change: the token is sent as Authorization: Bearer, before as X-Auth-Token",
            "note: API change: lists are asked for by cursors, before by offsets",
            "note: API change: results are read from artifacts of episodes, before from artifacts of jobs",
            "note: API change: requests can be cancelled now; before, requests cannot be cancelled",
        ]
    )
    assert [text for text in project.results()["notices"] if text.startswith("API change: ")]
    third = project.judge_here("--eval-fresh", server="embedded")
    assert "API change" not in told(third)
