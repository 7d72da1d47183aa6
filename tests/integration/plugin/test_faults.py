"""What a league can do to a run, and what the run says then."""

import socket

import pytest


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


@pytest.mark.failure_mode(number=1)
def test_a_lost_answer_is_found_again_and_never_posted_twice(project):
    project.league.fault("reset-after-post=2")
    created = project.league.created
    result = project.judge_here()
    assert result.ret == 0
    assert "found its request" in said(result)
    assert project.posted == 2
    assert project.league.created == created + 2


@pytest.mark.failure_mode(number=15)
def test_a_wedged_seat_fails_loudly(project):
    project.league.fault("wedged-seat=3")
    result = project.judge_here("--eval-stall-grace=0.5")
    assert result.ret == 11
    assert "is wedged" in said(result)
    assert "one of its seats hangs" in said(result)
    assert "EVH231" in said(result)


def test_one_wedged_arm_ends_the_others_wait(project, baseline_is_well):
    project.league.fault("wedged-seat=0:keeper:v2")
    result = project.judge_here("--eval-stall-grace=0.5")
    assert result.ret == 11
    assert "the candidate arm" in said(result)
    assert "was cancelled" in said(result)


def test_shuffled_seats_make_the_run_untrustworthy(project):
    project.league.fault("shuffled-seats")
    result = project.judge_here("--eval-num=5")
    assert result.ret == 11
    assert "players did not sit where they were placed" in said(result)
    assert "seat 0 (the tested seat) holds" in said(result)
    assert "pp [" not in said(result), "an effect was told that cannot be believed"


@pytest.mark.failure_mode(number=25)
@pytest.mark.failure_mode(number=24)
def test_a_slow_queue_ends_the_wait_and_the_same_command_goes_on(project, unhurried):
    project.league.fault("closed-queue")
    result = project.judge_here("--eval-queue-budget=1")
    assert result.ret == 11
    assert "in the queue and no game has started" in said(result)
    assert "still running on the server" in said(result)
    assert project.posted == 2
    project.league.heal()
    assert project.judge_here().ret == 0
    assert project.posted == 2


@pytest.mark.failure_mode(number=7)
def test_a_refused_body_is_told_line_by_line(project):
    project.league.fault("reject-body=422")
    result = project.judge_here()
    assert result.ret == 11
    assert "EVH221" in said(result)
    project.league.heal()
    assert project.judge_here().ret == 0, "what was refused exists nowhere, so the same command may post it"


def test_a_server_that_answers_html(project):
    project.league.fault("html")
    result = project.judge_here()
    assert result.ret == 11
    assert "EVH204" in said(result)
    assert "nothing was submitted" in said(result)


@pytest.mark.failure_mode(number=26)
def test_missing_episodes_beyond_ten_percent_are_untrustworthy(project):
    project.league.fault("fail-episodes=4")
    result = project.judge_here()
    assert result.ret == 11
    assert "more than 10 %" in said(result)


def test_a_few_missing_episodes_are_counted(project):
    project.league.fault("fail-episodes=2")
    result = project.judge_here()
    assert result.ret == 0
    judged = project.results()["cases"][0]["results"][0]["judgement"]
    assert judged["candidate"]["finished"] == 28


def test_nobody_listens(project, monkeypatch):
    monkeypatch.setenv("EVALHARNESS_TOKEN", "tok_for_nobody")
    with socket.socket() as deaf:  # held and never listened on: nobody else can come to listen there
        deaf.bind(("127.0.0.1", 0))
        result = project.judge_here(server=f"http://127.0.0.1:{deaf.getsockname()[1]}/api")
    assert result.ret == 11
    assert "EVH203" in said(result)
    assert "nothing was submitted" in said(result)
    assert project.posted == 0


@pytest.mark.thread(row=6)
def test_no_credentials_for_this_server(project, monkeypatch):
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(project.pytester.path / "nowhere"))
    result = project.judge_here()
    assert result.ret == 11
    assert "softmax set-token TOKEN --server" in said(result)
    assert "EVH201" in said(result)
    assert project.posted == 0


@pytest.mark.failure_mode(number=35)
def test_a_rejected_token_is_never_shown(project, monkeypatch):
    monkeypatch.setenv("EVALHARNESS_TOKEN", "tok_this_is_secret_1234")
    result = project.judge_here()
    assert result.ret == 11
    assert "EVH202" in said(result)
    assert "tok_this_is_secret_1234" not in said(result)
    assert project.posted == 0


def test_a_total_budget_that_runs_out_leaves_the_request_running(project, unhurried):
    project.league.fault("slow-queue=0")
    project.league.fault("wedged-seat=3")
    result = project.judge_here("--eval-total-budget=0.4", "--eval-stall-grace=100")
    assert result.ret == 11
    assert "--eval-total-budget" in said(result)
    assert "still running on the server and was not posted again" in said(result)
    assert project.posted == 2


def test_an_embedded_league_without_its_extra_says_what_to_install(project, monkeypatch):
    shadow = project.pytester.mkdir("shadow")
    shadow.joinpath("fastapi.py").write_text("raise ImportError('No module named fastapi')\n")
    monkeypatch.setenv("PYTHONPATH", str(shadow))
    result = project.judge(server="embedded")
    assert result.ret == 11
    assert "the embedded league did not start" in said(result)
    assert "pytest-evalharness[arena]" in said(result)


def test_an_embedded_league_that_cannot_start_does_not_hang_the_workers(project, monkeypatch):
    shadow = project.pytester.mkdir("shadow")
    shadow.joinpath("fastapi.py").write_text("raise ImportError('No module named fastapi')\n")
    monkeypatch.setenv("PYTHONPATH", str(shadow))
    result = project.judge("-n", "2", server="embedded")
    assert result.ret == 11
    assert "EVH203" in said(result)


def test_a_request_that_is_not_visible_at_once_is_waited_for(project):
    project.league.fault("not-visible=8")
    assert project.judge_here().ret == 0
    assert project.posted == 2
