"""What was measured, end to end: every check's line in a real run, and what it does to the verdict."""

import json

import pytest

from pytest_evalharness.cli import main
from pytest_evalharness.episodes.results import ScoreRegime

FEW = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=10, claim="better")
def test_crew(ab):
    ab.require()
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def judged(project):
    return project.results()["cases"][0]["results"][0]["judgement"]


def checks(project):
    return {one["name"]: one for one in judged(project)["checks"]}


def states(project):
    return {name: one["state"] for name, one in checks(project).items()}


def test_a_sound_run_says_what_was_seen(project):
    result = project.judge_here()
    assert result.ret == 0
    assert states(project) == {
        "roles": "ok", "timeouts": "ok", "crashes": "ok", "errors": "ok", "game version": "ok", "adviser": "ok",
        "votes": "ok",
    }  # fmt: skip
    seen = {name: one["seen"] for name, one in checks(project).items()}
    assert seen["roles"] == "crew in seat 0, all as forced in 30 of 30 games"
    assert seen["timeouts"] == seen["crashes"] == "none in 30 games"
    assert seen["game version"] == f"crewrift 0.6.2, scores by {ScoreRegime.OUTCOME}"
    assert "in 3 of 30 games" in seen["adviser"], "a sample, where nobody asked for more"


@pytest.mark.failure_mode(number=23)
def test_failing_players_are_lost_missing_or_named(project):
    """The tested seat's failures are its losses, another seat's timeout is a missing game, and all are told."""
    project.cases(FEW.replace("episodes=10", "episodes=20"))
    opponent = next(
        seat["policy_version"]
        for seat in project.league.read(
            "/v2/league-policy-memberships?active_only=true&champions_only=true&limit=1000"
        )
        if seat["policy_version"]["policy"]["name"] == "aurora"
    )
    label = f"aurora:v{opponent['version']}"
    for spec in (
        "1:keeper:v2:connect",
        "1:keeper:v2:disconnect",
        "1:keeper:v2:crash",
        f"1:{label}:disconnect",
    ):
        project.league.fault(f"fail-players={spec}")
    project.judge_here()
    told, found = judged(project), checks(project)
    candidate = told["candidate"]
    assert (candidate["charged"], candidate["requested"]) == (3, 20)
    lost = {side: found["timeouts"]["counts"][side] for side in ("candidate", "baseline")}
    assert lost["candidate"]["tested_seat"] == 2
    assert lost["baseline"]["tested_seat"] == 0
    assert lost["candidate"]["other_seats"] + lost["baseline"]["other_seats"] == 1
    assert found["timeouts"]["state"] == found["crashes"]["state"] == "noted"
    assert "1 counted as lost (ereq_" in found["crashes"]["seen"]
    assert "exit code 1 Error" in found["crashes"]["seen"]
    missing = sum(told[side]["requested"] - told[side]["finished"] for side in ("candidate", "baseline"))
    assert missing == 1
    if told["verdict"] != "untrustworthy":
        assert "crashes" in {reason["reason"] for reason in told["reasons"]}


def test_every_error_type_is_told_with_whose_it_is(project):
    project.cases(FEW.replace("episodes=10", "episodes=40"))
    for spec in ("1:keeper:v2:player_error", "1:keeper:v2:episode_timeout", "1:keeper:v2:gremlins"):
        project.league.fault(f"fail-games={spec}")
    result = project.judge_here()
    assert result.ret in {0, 1, 10}
    found = checks(project)["errors"]
    assert found["state"] == "unknown"
    for words in (
        "1 player_error (the tested policy's: lost)",
        "1 episode_timeout (the game's: missing)",
        "1 gremlins (unknown: not counted)",
    ):
        assert words in found["seen"]
    candidate = judged(project)["candidate"]
    assert (candidate["charged"], candidate["unknown"], candidate["finished"]) == (1, 1, 38)


@pytest.mark.parametrize("rolls_after", [10, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.failure_mode(number=27)
def test_a_game_that_rolls_on_in_mid_run_makes_it_untrustworthy(project, rolls_after):
    project.cases(FEW)
    project.league.fault(f"rolled-version={rolls_after}:0.7.0")
    result = project.judge_here()
    assert result.ret == 11
    assert "the arms did not play the same version of the game" in said(result)
    assert "crewrift 0.7.0" in said(result)
    assert states(project)["game version"] == "failed"
    assert "pp [" not in said(result), "an effect was told that cannot be believed"
    assert "votes" not in said(result)


@pytest.mark.slow
def test_an_adviser_that_decides_is_held_to_the_rate_that_was_asked_for(project):
    project.cases(FEW.replace("episodes=10", "episodes=20"))
    result = project.judge_here("--eval-min-fire-rate=0.9")
    assert result.ret in {0, 10}
    found = checks(project)["adviser"]
    assert found["state"] == "ok"
    assert "in 20 of 20 games" in found["seen"], "all of them, where a rate was asked for"
    assert "90 % asked for" in found["seen"]
    assert judged(project)["declaration"]["min_fire_rate"] == 0.9


@pytest.mark.failure_mode(number=22)
def test_an_adviser_that_never_decides_is_untrustworthy_where_a_rate_was_asked_for(project):
    project.league.fault("silent-adviser=keeper:v2")
    project.cases(FEW.replace("episodes=10", "episodes=20"))
    result = project.judge_here("--eval-min-fire-rate=0.5")
    assert result.ret == 11
    assert "the tested policy's adviser did not decide as often as was asked for" in said(result)
    assert "(0 %), in 20 of 20 games" in said(result)
    assert "at least 50 % was asked for" in said(result)
    assert states(project)["adviser"] == "failed"


@pytest.mark.slow
def test_a_rate_that_is_asked_for_afterwards_is_another_declaration(project):
    project.cases(FEW)
    assert project.judge_here().ret in {0, 1, 10}
    late = project.judge_here("--eval-min-fire-rate=0.5")
    assert late.ret == 11
    assert "min_fire_rate none -> 0.5" in said(late)
    assert project.posted == 2
    fresh = project.judge_here("--eval-min-fire-rate=0.5", "--eval-fresh")
    assert fresh.ret in {0, 1, 10}
    assert project.posted == 4


@pytest.mark.slow
def test_a_rivals_telemetry_is_private(project):
    project.cases("""
        import pytest

        @pytest.mark.league_ab(candidate_seats={0: "rival:v3"}, episodes=10, claim="better")
        def test_their_bot(ab):
            ab.require()
    """)
    assert project.judge_here(candidate=None).ret in {0, 1, 10}
    found = checks(project)["adviser"]
    assert found["state"] == "unknown"
    assert found["seen"].startswith("no telemetry was read, in 0 of 10 games (not permitted) / decided ")
    asked = project.judge_here("--eval-min-fire-rate=0.5", "--eval-fresh", candidate=None)
    assert asked.ret == 11
    assert "no telemetry was read, in 0 of 10 games (not permitted)" in said(asked)


def test_the_checks_are_verified_from_the_evidence_file(project, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(project.pytester.path)
    project.league.fault("fail-players=1:keeper:v2:crash")
    project.cases(FEW)
    project.judge_here()
    run = project.results()["run_id"]
    out = tmp_path / "evidence.json"
    assert main(["runs", "export", run, "--home", str(project.home), "--output", str(out)]) == 0
    assert main(["runs", "verify", str(out)]) == 0
    told = json.loads(out.read_text())
    crashed = [
        episode
        for block in told["comparisons"][0]["blocks"]["candidate"]
        for episode in block["evidence"]["episodes"]
        if episode["players"][0]["exit_code"]
    ]
    assert len(crashed) == 1
    crashed[0]["players"][0]["exit_code"] = 0
    out.write_text(json.dumps(told))
    capsys.readouterr()
    assert main(["runs", "verify", str(out)]) == 11
    assert "candidate.charged is 1 in the file, 0 by its evidence" in capsys.readouterr().out
