"""`evalharness runs resume | cancel`: an interrupted run brought to its end without pytest, or ended on purpose."""

import signal
import subprocess
import sys

import pytest

from pytest_evalharness.cli import main

TWO = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
def test_crew(ab):
    ab.require()

@pytest.mark.league_ab(role="imposter", episodes=10, claim="noninferior", margin=0.5)
def test_imposter(ab):
    ab.require()
"""


@pytest.fixture
def interrupted(project):
    """A run of two cases that was interrupted while its games stood in the queue; its id."""
    project.cases(TWO)
    return interrupt(project, 4)


def interrupt(project, posts):
    """Interrupt a run once it has posted so much, while its games stand in the queue; its id."""
    project.league.fault("closed-queue")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *project.command()],
        cwd=project.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    project.until_noted(process, posts)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 2, output
    return project.results()["run_id"]


def runs(capfd, project, *words):
    code = main(["runs", *words, "--home", str(project.home)])
    told = capfd.readouterr()
    return code, told.out, told.err


def test_resume_plays_it_to_its_end_and_posts_nothing_twice(project, interrupted, capfd):
    project.league.heal()
    code, out, errors = runs(capfd, project, "resume", interrupted)
    assert code == 0
    assert "A/B crew: BETTER" in out
    assert "A/B imposter: " in out
    assert out.splitlines()[-2] == "exit 0: every claim was met"
    assert out.splitlines()[-1].startswith("files: ")
    assert "nothing was posted again" in errors
    assert project.posted == 4
    again = project.judge_here()
    assert again.ret == 0
    assert project.posted == 4
    assert runs(capfd, project, "resume", interrupted)[0] == 0
    listed = runs(capfd, project, "ls")[1]
    assert listed.count("BETTER") >= 2


@pytest.mark.failure_mode(number=16)
def test_cancel_says_what_ends_and_what_goes_on(project, interrupted, capfd):
    code, out, _ = runs(capfd, project, "cancel", interrupted)
    assert code == 0
    assert out.count(" cancelled\n") == 4
    assert "played to their end" in out
    assert runs(capfd, project, "cancel", interrupted)[1].startswith("every request of this run has ended")
    assert runs(capfd, project, "ls")[1].count("  cancelled ") == 2
    project.league.heal()
    code, out, _ = runs(capfd, project, "resume", interrupted)
    assert code == 11
    assert "cancelled by hand" in out
    assert "exit 11: untrustworthy" in out
    assert project.posted == 4
    fresh = project.judge_here("--eval-fresh")
    assert fresh.ret == 0
    assert project.posted == 8


def test_where_nothing_can_be_cancelled_everything_goes_on(project, interrupted, capfd):
    project.league.fault("html")
    code, out, _ = runs(capfd, project, "cancel", interrupted)
    assert code == 1
    assert out.count(" goes on: ") == 4
    assert out.endswith("what goes on is played to its end, every episode of it\n")
    assert "no further one is started" not in out
    project.league.heal()
    assert runs(capfd, project, "resume", interrupted)[0] == 0
    assert project.posted == 4


@pytest.mark.parametrize("word", ["resume", "cancel"])
def test_a_run_that_does_not_exist_is_a_usage_error(project, capfd, word):
    code, _, errors = runs(capfd, project, word, "run-x")
    assert code == 4
    assert "next:" in errors


def test_what_was_never_posted_is_withdrawn(project, capfd):
    project.cases(TWO.replace('claim="better"', 'claim="better", rule="overlap", looks=[10, 30]', 1))
    run_id = interrupt(project, 4)
    code, out, _ = runs(capfd, project, "cancel", run_id)
    assert code == 0
    assert out.count(" withdrawn\n") == 2
    assert out.count(" cancelled\n") == 4
    assert project.posted == 4


@pytest.mark.slow
def test_episodes_that_run_on_are_counted_when_the_rest_is_cancelled(project, capfd, unhurried):
    project.league.fault("wedged-seat=3")
    stopped = project.judge_here("--eval-total-budget=0.5", "--eval-num=7")
    assert stopped.ret == 11
    code, out, _ = runs(capfd, project, "cancel", project.results()["run_id"])
    assert code == 1
    assert out.count(" cancelled, and episodes that run are played to their end: 7 of 7\n") == 2
