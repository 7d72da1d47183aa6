"""No comparison of builds that nobody proves different: on the command line, in every report, and when it is read again."""

import copy
import json
import subprocess

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.cli import main
from pytest_evalharness.league.evidence_file import export, verify
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.keys import digest
from pytest_evalharness.ledger.ownership import Owner

FEW = "--eval-num=5"
ALLOW = "--eval-unproven-builds=allow"


@pytest.fixture
def silent(project):
    """A server that tells no image digests."""
    project.league.fault("untold-images")
    return project


def judged(project, number=0):
    (case,) = project.results()["cases"]
    return case["results"][number]


def exported(project, run_id):
    with Ledger.open(project.home, clock=SystemClock(), owner=Owner.current("t", "")) as ledger:
        return json.loads(json.dumps(export(ledger, run_id), allow_nan=False))


def test_every_report_says_who_proved_it(project):
    result = project.judge_here(FEW, "-v")
    told = judged(project)["builds"]
    assert (told["conclusion"], told["source"], told["warnings"]) == ("different", "server", [])
    digests = [told["arms"][side]["digest"] for side in ("candidate", "baseline")]
    sentence = f"proved different: the server's image digests, {digests[0][:19]} and {digests[1][:19]}"
    assert told["sentence"] == sentence
    result.stdout.fnmatch_lines([f"  *builds {sentence}", f"*builds         : {sentence}"])
    page = next(project.home.glob("runs/*/report.html")).read_text()
    assert digests[0] in page
    assert "proved different" in page


def test_a_silent_server_proves_nothing_so_nothing_is_posted(silent):
    result = silent.judge_here()
    assert result.ret == 11
    assert silent.posted == 0
    result.stdout.fnmatch_lines(
        [
            "E*nothing proves that candidate keeper:v2 and baseline keeper:v1 are different builds: the server tells no*",
            "E*not done: nothing was submitted*",
            "E*next:*--eval-candidate-image IMAGE --eval-baseline-image IMAGE*--eval-unproven-builds=allow",
            "E*EVH216",
            "UNTRUSTWORTHY*nothing proves that*",
        ]
    )
    assert "<error" in silent.junit.read_text()


def test_what_is_taken_on_trust_is_said_in_the_first_line_and_never_lent_to_others(silent):
    result = silent.judge_here(FEW, ALLOW)
    assert result.ret in {0, 10}
    result.stdout.fnmatch_lines(["*A/B crew: *seats verified, builds unproven (allowed)"])
    first, run_id = judged(silent), silent.results()["run_id"]
    assert first["builds"]["allowed"] is True
    assert first["builds"]["conclusion"] == "unproven"
    assert {"builds_unproven"} <= {reason["reason"] for reason in first["judgement"]["reasons"]}
    assert silent.properties()[0]["evalharness.reason"].find("builds_unproven") >= 0
    page = next(silent.home.glob("runs/*/report.html")).read_text()
    assert "taken on trust" in page

    assert (
        silent.judge_here(FEW).ret == 11
    )  # whoever reads it without that permission is not told the verdict
    again = silent.judge_here(FEW, ALLOW)
    again.stdout.fnmatch_lines(["*builds unproven (allowed)"])
    assert silent.posted == 2
    content = exported(silent, run_id)
    assert verify(content) == []
    forged = copy.deepcopy(content)
    forged["comparisons"][0]["frozen"]["builds"][0]["conclusion"] = "different"
    rest = {key: value for key, value in forged.items() if key != "sha256"}
    assert any(one.what.startswith("reasons") for one in verify({**rest, "sha256": digest(rest)}))


def test_a_proof_that_is_found_later_lifts_the_caveat_and_pays_nothing(silent):
    silent.judge_here(FEW, ALLOW)
    before = silent.results()["run_id"]
    silent.league.heal()
    result = silent.judge_here(FEW)
    assert result.ret in {0, 10}
    assert silent.posted == 2
    assert judged(silent)["builds"]["conclusion"] == "different"
    assert "unproven" not in judged(silent)["headline"]
    after = silent.results()["run_id"]
    assert verify(exported(silent, before)) == []  # what that run concluded followed from what it knew
    assert verify(exported(silent, after)) == []
    silent.league.fault("untold-images")
    assert silent.judge_here(FEW).ret == result.ret  # a version never changes: a proof stays one


def test_a_proof_serves_a_fresh_attempt_too(project):
    project.judge_here(FEW)
    project.league.fault("untold-images")
    assert project.judge_here(FEW, "--eval-fresh").ret in {0, 10}
    assert judged(project)["builds"]["conclusion"] == "different"
    assert project.posted == 4


def test_builds_that_were_taken_on_trust_stay_so_for_every_command(silent, capsys):
    silent.judge_here(FEW, ALLOW)
    run, home = silent.results()["run_id"], ("--home", str(silent.home))
    assert main(["runs", "resume", run, *home]) in {0, 10}
    assert "builds unproven (allowed)" in capsys.readouterr().out
    assert main(["runs", "show", run, *home]) == 0
    shown = capsys.readouterr().out
    assert "builds unproven (allowed)" in shown
    assert "builds         : not proved different, taken on trust: the server tells no image digest" in shown
    silent.judge_here("--eval-num=6", ALLOW)
    main(["pool", run, silent.results()["run_id"], *home])
    assert "builds unproven (allowed)" in capsys.readouterr().out
    assert silent.posted == 4
    assert silent.properties()[0]["evalharness.builds"] == "unproven"


SWAP = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=5, claim="better", candidate_seats={0: "rival:v3"})
def test_swap(ab):
    ab.require("better", "worse", "equivalent", "inconclusive")
"""


def test_another_player_s_image_is_not_visible_and_its_version_suffices(project):
    project.cases(SWAP)
    result = project.judge_here("-v")
    assert result.ret == 0
    told = judged(project)
    assert told["builds"]["conclusion"] == "not_visible"
    assert "builds unproven" not in told["headline"]
    result.stdout.fnmatch_lines(
        [
            "*builds different policy versions, image not visible: rival:v3, another player's",
            "*note           : image not visible: *(rival:v3, another player's)",
        ]
    )


def test_a_pool_is_refused_by_the_configuration_that_nobody_proves(silent):
    silent.cases(
        'import pytest\n@pytest.mark.league_pool(configs=[{"role": "crew"}, {"role": "imposter"}], claim="better", episodes=5)\n'
        'def test_pool(pool):\n    pool.require("better", "worse", "equivalent", "inconclusive")\n'
    )
    assert silent.judge_here().ret == 11
    assert silent.posted == 0
    result = silent.judge_here(ALLOW, "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*A/B pool: *builds unproven (allowed)", "*builds not proved different, taken on trust: *"]
    )
    assert [one["builds"]["allowed"] for one in judged(silent)["strata"].values()] == [True, True]
    silent.league.heal()
    result = silent.judge_here()
    assert "unproven" not in judged(silent)["headline"]
    assert silent.posted == 4


def test_the_fixture_lets_a_case_ask_before_anything_is_posted(project):
    project.cases(
        """
import pytest

@pytest.mark.league_ab(role="crew", claim="better")
def test_builds(builds, ab):
    assert builds.conclusion == "different" and builds.different
    assert builds.candidate.label == "keeper:v2" and builds.candidate.owned
    assert builds.candidate.digest != builds.baseline.digest
    assert builds == ab.builds
    assert builds.files is None, "no images were named"

@pytest.mark.league_ab(role="crew", claim="better")
def test_nothing_was_posted(builds):
    assert builds.warnings == ()
"""
    )
    result = project.judge_here("-k", "nothing", FEW)
    assert project.posted == 0
    result.stdout.fnmatch_lines(["*nothing was judged*"])
    project.judge_here("-k", "test_builds", FEW)
    assert "AssertionError" not in project.junit.read_text()
    assert "builds_differ" not in project.junit.read_text()


def test_a_dry_run_tells_the_builds_and_refuses_as_the_run_would(project):
    result = project.judge_here("--eval-dry-run")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  builds     proved different: the server's image digests, sha256:*"])
    project.league.fault("untold-images")
    result = project.judge_here("--eval-dry-run")
    assert result.ret == 11
    result.stdout.fnmatch_lines(["*nothing proves that candidate keeper:v2*", "*0 cases*1 unresolved*"][:1])
    result = project.judge_here("--eval-dry-run", ALLOW)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  builds     not proved different, taken on trust: *"])
    assert project.posted == 0


def test_an_aa_run_of_two_builds_is_told_that_it_is_none(project):
    result = project.judge_here("--eval-aa", FEW)
    result.stdout.fnmatch_lines(["*this A/A run compares two builds that are proved different: *"])


def test_a_build_that_an_earlier_run_met_is_told_with_that_run(project):
    project.judge_here("--eval-num=30", candidate="keeper:v2", baseline="keeper:v3")
    run_id = project.results()["run_id"]
    project.judge_here(FEW, candidate="keeper:v3", baseline="keeper:v1")
    assert judged(project)["builds"]["warnings"] == []  # it was met before, under its own label
    other = project.results()["run_id"]
    result = project.judge_here(FEW, candidate="keeper:v2", baseline="keeper:v1")
    assert judged(project)["builds"]["warnings"] == []
    project.judge_here(FEW, candidate="keeper:v3", baseline="keeper-alias:v1")
    (equal,) = judged(project)["builds"]["warnings"]
    assert equal == (
        f"equals the builds judged in run {other} (keeper:v3 against keeper:v1: inconclusive, 5 episodes): "
        f"evalharness runs extend {other} adds games to those"
    )
    result = project.judge_here(FEW, candidate="keeper-alias:v1", baseline="keeper:v2")
    (met,) = judged(project)["builds"]["warnings"]
    assert met.startswith("the candidate's build is that of keeper:v1, the baseline of run ")
    assert "after a revert, that the revert is exact" in met
    result.stdout.fnmatch_lines(["*the candidate's build is that of keeper:v1, the baseline of run *"])
    assert run_id not in met


def test_the_very_builds_that_were_judged_need_no_games_where_they_were_played_alike(project):
    project.judge_here("--eval-num=30", candidate="keeper:v2", baseline="keeper:v1")
    run_id = project.results()["run_id"]
    result = project.judge_here("--eval-dry-run", candidate="keeper:v2", baseline="keeper-alias:v1")
    judged_then = f"run {run_id} (keeper:v2 against keeper:v1: better, 30 episodes)"
    result.stdout.fnmatch_lines(
        [f"  warning    equals the builds judged in {judged_then}: no need to re-run"]
    )
    project.ticks += 1
    result = project.judge_here("--eval-dry-run", candidate="keeper:v2", baseline="keeper-alias:v1")
    result.stdout.no_fnmatch_line("*no need to re-run*")


@pytest.mark.failure_mode(number=11)
def test_uncommitted_changes_and_our_own_home(project):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-C", str(project.pytester.path)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "test_evals.py"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "evals"], check=True)
    project.junit = project.home / "report.xml"
    project.judge_here(FEW, "-p", "no:cacheprovider")
    told = judged(project)["builds"]
    assert told["warnings"] == []
    assert told["notes"][0].startswith(f"this is the worktree {project.pytester.path} (main), at ")
    (project.pytester.path / "bot\x1b.py").write_text("edited")
    result = project.judge_here("--eval-num=6", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*this worktree holds 1 uncommitted change (bot\ufffd.py)*"])


def test_an_image_without_its_policy_is_told(project):
    project.cases("def test_plain(arm, compare):\n    compare(arm({0: 'keeper:v2'}), arm({0: 'keeper:v1'}), seat=0, episodes=5)"
                  ".require('better', 'worse', 'equivalent', 'inconclusive')\n")  # fmt: skip
    result = project.judge_here("--eval-candidate-image=bot:new", candidate=None)
    result.stdout.fnmatch_lines(
        ["note: --eval-candidate-image bot:new was not used: there is no --candidate*"]
    )
