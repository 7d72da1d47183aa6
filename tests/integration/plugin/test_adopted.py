"""Requests that somebody else created, judged by a case: nothing is posted, and nothing of them is cancelled."""

import http
import time
import urllib.error

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.settings import PAGE_LEAGUE

ROLES = [{"role": role} for role in ["crew", "crew", "imposter", "imposter", "crew", "crew", "crew", "crew"]]
CASE = """
def test_they_are_judged(arm, compare):
    result = compare(arm(request="{}"), arm(request={!r}), {})
    assert result.plan.tested_seat == 0
    result.require("better", "worse", "equivalent", "inconclusive")
"""


@pytest.fixture
def create(league):
    """Posts a request past the harness: one policy in seat 0, the same seven players in the others."""
    live = league.read(f"/v2/league-policy-memberships?active_only=true&league_id={PAGE_LEAGUE}&limit=1000")
    field = list({row["player"]["id"]: row["policy_version"]["id"] for row in live}.values())[2:9]

    def made(policy, *, games=6, **config):
        players = [policy, *field]
        body = {
            "target": {"league_id": PAGE_LEAGUE},
            "roster": [{"player": {"policy_ref": one}, "slot": at} for at, one in enumerate(players)],
            "num_episodes": games,
            "game_config_overrides": {
                "maxTicks": 2000, "imposterCount": 2, "autoImposterCount": False, "slots": ROLES, **config,
            },
        }  # fmt: skip
        name = league.write("/v2/experience-requests", body)["id"]
        shown(name)
        return name

    def shown(name):
        """Wait until the server shows a request: whoever waits for that within a budget may wait too long."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return league.read(f"/v2/experience-requests/{name}")
            except urllib.error.HTTPError as answer:
                with answer:
                    if answer.code != http.HTTPStatus.NOT_FOUND or time.monotonic() > deadline:
                        raise
                time.sleep(0.02)

    return made


def test_two_requests_are_judged_without_a_post(project, league, create):
    one, others = create("keeper:v2"), [create("keeper:v1"), create("keeper:v1", games=9)]
    posted = league.posts
    project.cases(CASE.format(one, others, 'claim="better"'))

    result = project.judge_here(candidate=None, baseline=None)
    assert result.ret == 0, result.stdout.str()
    assert "requests created elsewhere: the claim was declared after they were posted" in result.stdout.str()
    assert league.posts == posted
    [found] = project.results()["cases"][0]["results"]
    assert found["plan"]["adopted"]["requests"] == {"candidate": [one], "baseline": others}
    assert [found["judgement"][side]["finished"] for side in ("candidate", "baseline")] == [6, 15]
    assert "declared_after" in [reason["reason"] for reason in found["judgement"]["reasons"]]

    project.cases(CASE.format(one, others, 'claim="not_worse"'))
    changed = project.judge_here(candidate=None, baseline=None)
    assert changed.ret == 11
    assert "seen under another declaration" in changed.stdout.str()


def test_what_was_created_elsewhere_is_waited_for_and_never_cancelled(project, league, create):
    league.fault("closed-queue")
    one, other = create("keeper:v2"), create("keeper:v1")
    project.cases(CASE.format(one, other, 'claim="better"'))

    result = project.judge_here("--eval-queue-budget=1", candidate=None, baseline=None)
    assert result.ret == 11, result.stdout.str()
    assert "no game has started" in result.stdout.str()
    assert "evalharness runs cancel" not in result.stdout.str()
    [run] = [path.name for path in project.home.glob("runs/*")]
    assert main(["runs", "cancel", run, "--home", str(project.home)]) == 1
    assert league.read(f"/v2/experience-requests/{one}")["status"] in {"pending", "submitted"}
    league.heal()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ('pairing="seed", claim="better"', "looks and pairs are planned before games are played"),
        ('episodes=30, claim="better"', "has no 'episodes'"),
    ],
)
def test_what_plans_games_means_nothing_to_games_that_exist(project, create, words, told):
    project.cases(CASE.format("xreq_a", "xreq_b", words))
    result = project.judge_here(candidate=None, baseline=None)
    assert result.ret == 4
    assert told in result.stdout.str()


def test_one_arm_cannot_exist_while_the_other_is_posted(project, league):
    project.cases(
        'def test_it(arm, compare):\n    compare(arm(request="xreq_a"), arm({0: "keeper:v1"}), seat=0, claim="better")\n'
    )
    posted = league.posts
    result = project.judge_here(candidate=None, baseline=None)
    assert result.ret == 4
    assert "they were not played at one time" in result.stdout.str()
    assert league.posts == posted
