"""Games paired by seed, and one seed for all: what must hold before they are believed, and what is lost on the way."""

import json
import signal
import sqlite3
from contextlib import closing

import pytest

PAIRED = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=12, claim="better", pairing="seed")
def test_crew(ab):
    ab.require()
"""
KILLER = """
import os, pathlib, signal, threading
from pytest_evalharness.ledger.leases import Lease

calls = pathlib.Path({calls!r})
one_by_one = threading.Lock()
original = Lease.{method}

def dies_once(self, *args):
    with one_by_one:
        with calls.open("a") as file:
            file.write("x")
        if calls.stat().st_size == {at}:
            os.kill(os.getpid(), signal.SIGKILL)
    return original(self, *args)

Lease.{method} = dies_once
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def judged(project):
    (case,) = project.results()["cases"]
    (found,) = case["results"]
    return found["judgement"]


def drawn(project):
    """The seeds that the ledger holds, by side, in the order of the pairs."""
    with closing(sqlite3.connect(project.home / "ledger.sqlite")) as file:
        (frozen,) = file.execute("SELECT frozen_json FROM comparisons").fetchone()
    return {side: [b["seed"] for b in arm["blocks"]] for side, arm in json.loads(frozen)["arms"].items()}


def seeds_of(project, ids):
    return [project.league.read(f"/v2/experience-requests/{one}")["episodes"][0]["seed"] for one in ids]


# -------------------------------------------------------------------- seeds


def test_a_server_that_ignores_seeds_has_played_no_pairs(project):
    project.cases(PAIRED)
    project.league.fault("ignored-seed")
    result = project.judge_here()
    assert result.ret == 11
    assert "games were not played with the seeds that were asked for" in said(result)
    assert "12 of 12 episodes, ereq_" in said(result)
    assert "pp [" not in said(result)
    assert {reason["reason"] for reason in judged(project)["reasons"]} == {"seeds"}


def test_pairs_share_their_seeds_and_are_judged_as_pairs(project, workers):
    project.cases(PAIRED)
    result = project.judge_here(*workers, "-v")
    assert result.ret == 0
    assert project.posted == 24
    found = judged(project)
    arms = [seeds_of(project, found[side]["request_ids"]) for side in ("candidate", "baseline")]
    assert arms[0] == arms[1]
    assert len(set(arms[0])) == 12
    assert found["verified"] == ["seats", "seeds"]
    assert sum(found["pairs"][kind] for kind in ("both", "only_b", "only_c", "neither")) == 12
    assert (found["candidate"]["distinct"], found["baseline"]["distinct"]) == (12, 12)
    result.stdout.fnmatch_lines(
        [
            "PASSED*A/B crew: BETTER*seats and seeds verified",
            "*score (Tango)*",
            "*played*paired by seed; 12 / 12 distinct games",
            "*12 requests, xreq_* … xreq_*",
        ]
    )


def test_progress_and_junit_stay_short(project):
    project.cases(PAIRED)
    result = project.judge_here("-s")
    assert result.ret == 0
    lines = [line for line in result.outlines if line.startswith("evalharness: ")]
    assert "evalharness: candidate keeper:v2: 12 of 12 pairs finished" in lines
    assert len(lines) <= 10
    (found,) = project.properties()
    assert found["evalharness.request_candidate"].startswith("12 requests, xreq_")


def test_the_same_question_in_a_fresh_home_plays_the_same_pairs_and_a_further_look_others(project):
    project.cases(PAIRED)
    project.judge_here()
    first = seeds_of(project, judged(project)["candidate"]["request_ids"])
    project.judge_here("--eval-home=elsewhere")
    other_home = max(project.pytester.path.glob("elsewhere/runs/*/results.json"))
    (case,) = json.loads(other_home.read_text())["cases"]
    again = case["results"][0]["judgement"]["candidate"]["request_ids"]
    assert seeds_of(project, again) == first
    project.judge_here("--eval-fresh")
    fresh = seeds_of(project, judged(project)["candidate"]["request_ids"])
    assert not set(fresh) & set(first)


def test_one_build_against_itself_on_the_same_seeds_shows_nothing(project):
    project.cases(PAIRED)
    result = project.judge_here("--eval-aa", candidate="keeper:v1")
    assert result.ret == 11
    assert "both arms of an A/A run hold the same games (12 matches)" in said(result)


ONE_SEED = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=30, claim="better", config={"seed": 7})
def test_crew(ab):
    ab.require()
"""


@pytest.mark.failure_mode(number=12)
def test_thirty_copies_of_one_game_are_one_observation(project):
    project.cases(ONE_SEED)
    result = project.judge_here()
    assert result.ret == 11
    assert "1 distinct game of 30: copies of one game are one observation" in said(result)
    assert "pp [" not in said(result)
    found = judged(project)
    assert (found["candidate"]["distinct"], found["baseline"]["distinct"]) == (1, 1)
    assert {reason["reason"] for reason in found["reasons"]} == {"duplicates"}


def test_a_seed_beside_drawn_ones_is_a_usage_error(project):
    project.cases(PAIRED.replace('pairing="seed"', 'pairing="seed", config={"seed": 7}'))
    result = project.judge_here()
    assert result.ret == 4
    assert "leave one of them out" in said(result)
    assert project.posted == 0


# ------------------------------------------------------------------ survival


@pytest.mark.parametrize(("method", "at"), [("begin_post", 9), ("posted", 9), ("finish", 9)])
def test_a_paired_run_that_dies_in_the_middle_posts_no_pair_twice_and_keeps_its_seeds(project, method, at):
    calls = str(project.pytester.path / "calls")
    project.pytester.makeconftest(KILLER.format(calls=calls, method=method, at=at))
    project.cases(PAIRED)
    assert project.judge().ret == -signal.SIGKILL
    before = drawn(project)
    # Blocks are posted side by side: the ninth may be reached before the server has counted the first. When the ninth has
    # ended, all may have been posted; then it is in reading them that it died.
    sent = project.league.posts - project.posted.before
    assert sent < 24 or (method == "finish" and sent == 24)
    result = project.judge()
    assert result.ret == 0
    assert project.posted == 24
    found = judged(project)
    for side in ("candidate", "baseline"):
        assert seeds_of(project, found[side]["request_ids"]) == before[side]


# ------------------------------------------------------------------- missing


def test_a_game_that_one_arm_lost_drops_its_pair(project):
    project.cases(PAIRED.replace("12", "20"))
    project.league.fault("fail-games=1:keeper:v1")
    result = project.judge_here("-v")
    assert result.ret == 0
    found = judged(project)
    candidate, baseline = found["candidate"], found["baseline"]
    assert (candidate["finished"], candidate["unpaired"]) == (19, 1)
    assert (baseline["finished"], baseline["unpaired"], baseline["unknown"]) == (19, 0, 0)
    result.stdout.fnmatch_lines(
        ["*missing        : 0 / 1 (1 infrastructure) (holds*", "*1 / 0 left out without their partner*"]
    )


def test_a_game_that_the_tested_policy_broke_is_its_loss(project):
    project.cases(PAIRED)
    project.league.fault("fail-games=2:keeper:v2:player_error")
    result = project.judge_here("-v")
    found = judged(project)
    assert (found["candidate"]["finished"], found["candidate"]["charged"]) == (12, 2)
    assert found["candidate"]["wins"] <= 10
    assert found["verdict"] != "untrustworthy"
    result.stdout.fnmatch_lines(["*2 / 0 lost by the tested policy's own failure*"])


CREW = PAIRED.replace('episodes=12, claim="better", pairing="seed"', 'episodes={games}, claim="better"{more}')


def crew(games=30, more=""):
    return CREW.format(games=games, more=more)


def test_missing_games_tell_their_causes(project):
    project.cases(crew())
    for spec in (
        "fail-games=1:keeper:v2",
        "fail-games=1:keeper:v2:gremlins",
        "fail-games=1:keeper:v1:players_missing",
    ):
        project.league.fault(spec)
    result = project.judge_here("-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*missing        : 2 (1 infrastructure, 1 unknown) / 1 (1 unknown) (holds*"])


def test_a_failure_of_another_seat_is_not_the_tested_policys(project):
    project.cases(crew())
    opponent = project.league.read("/v2/league-policy-memberships?active_only=true&limit=1000")
    label = next(
        f"{row['policy_version']['policy']['name']}:v{row['policy_version']['version']}"
        for row in opponent
        if row["policy_version"]["policy"]["name"] == "basilisk"
    )
    project.league.fault(f"fail-games=2:{label}:player_error")
    project.judge_here()
    found = judged(project)
    arms = found["candidate"], found["baseline"]
    assert sum(arm["charged"] for arm in arms) == 0
    assert sum(arm["unknown"] for arm in arms) == 0


def test_lopsided_losses_are_untrustworthy_though_few(project):
    project.cases(crew(100))
    project.league.fault("fail-games=9:keeper:v2")
    result = project.judge_here()
    assert result.ret == 11
    assert "one arm lost clearly more episodes than the other" in said(result)
    assert "9 of 100 and 0 of 100" in said(result)
    assert {reason["reason"] for reason in judged(project)["reasons"]} == {"missing_differs_between_arms"}


def test_losses_that_could_turn_the_result_around_are_untrustworthy(project):
    project.cases(crew())
    project.league.fault("fail-episodes=20")
    result = project.judge_here(candidate="keeper:v3", baseline="keeper:v2")
    assert result.ret == 11
    reasons = {reason["reason"] for reason in judged(project)["reasons"]}
    assert {"missing_over_limit", "missing_reverses"} <= reasons
    assert "the missing episodes could turn the result around" in said(result)


BOTH_POLICIES = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=10, claim="better")
def test_excluded(ab):
    ab.require()

@pytest.mark.league_ab(role="crew", episodes=10, claim="better", missing="strict")
def test_strict(ab):
    ab.require()
"""


def test_a_verdict_that_the_missing_games_would_weaken_stands_unless_the_policy_is_strict(project):
    project.ticks = 20_002  # such games that the worst case of one missing game an arm would not stand
    project.cases(BOTH_POLICIES)
    project.league.fault("fail-episodes=1")
    result = project.judge_here("-v", "--eval-multiplicity=none")  # each case by itself
    excluded, strict = (case["results"][0]["judgement"] for case in project.results()["cases"])
    assert excluded["sensitivity"] == strict["sensitivity"] == "weakens"
    assert (excluded["verdict"], strict["verdict"]) == ("better", "inconclusive")
    assert next(reason["reason"] for reason in strict["reasons"]) == "missing_strict"
    assert project.posted == 2
    assert result.ret == 10
    assert "the declared policy is strict" in said(result)
