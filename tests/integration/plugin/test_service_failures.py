"""Whole runs on a service that breaks in the ways it is known for, in both of its generations."""

import pytest

from pytest_evalharness.observatory.embedded import EmbeddedServer
from tests.integration.plugin.conftest import CREW, League, Project


@pytest.fixture(scope="module")
def june(tmp_path_factory):
    server = EmbeddedServer(tmp_path_factory.mktemp("june"), seed=2026, dialect="2026-06")
    server.start()
    yield League(server)
    server.stop()


@pytest.fixture(params=["current", "2026-06"])
def project(request, pytester, league, monkeypatch):
    """A project whose league speaks as today, or as in June 2026."""
    found = league if request.param == "current" else request.getfixturevalue("june")
    found.heal()
    yield Project(pytester, found, request.node.name).environment(monkeypatch).cases(CREW)
    found.heal()


def judged(project):
    [found] = project.results()["cases"][0]["results"]
    return found["judgement"]


@pytest.mark.failure_mode(number=17)
def test_episodes_that_fail_and_are_tried_again_are_played_games(project):
    """Twenty of sixty games are failed for a while: judged by then, or counted as failed, they would spoil the run."""
    project.league.fault("retried-episodes=10")
    result = project.judge_here()
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 2
    told = judged(project)
    assert [told[side]["finished"] for side in ("candidate", "baseline")] == [30, 30]


@pytest.mark.slow
@pytest.mark.failure_mode(number=3)
def test_a_burst_of_errors_of_every_kind_costs_nothing_but_time(project):
    for fault in ("server-errors=2:502", "throttled=1", "rate-limited=1", "overloaded=1"):
        project.league.fault(fault)
    result = project.judge_here()
    assert result.ret == 0, result.stdout.str()
    assert project.posted == 2


@pytest.mark.failure_mode(number=38)
@pytest.mark.parametrize("project", ["current"], indirect=True)
def test_a_place_in_the_feed_that_is_lost_loses_no_game(project):
    project.league.fault("lost-cursors=5")
    result = project.judge_here()
    assert result.ret == 0, result.stdout.str()
    told = judged(project)
    assert [told[side]["finished"] for side in ("candidate", "baseline")] == [30, 30]


@pytest.mark.failure_mode(number=41)
def test_a_backend_that_is_switched_off_is_a_refusal_and_no_other_one_is_taken(project):
    created = project.league.created
    result = project.judge_here("--eval-backend=antfarm")
    assert result.ret == 11, result.stdout.str()
    assert "execution_backend antfarm is not enabled" in result.stdout.str()
    assert project.league.created == created
