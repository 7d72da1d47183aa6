"""`evalharness runs extend`: more games for what could not tell, counted as the look that it is."""

import json

import pytest

from pytest_evalharness.cli import main

OPEN = """
import pytest

@pytest.mark.league_ab(role="imposter", episodes=10, claim="better"{more})
def test_open(ab):
    ab.require()
"""


@pytest.fixture
def runs(project, capfd):
    def command(*words):
        capfd.readouterr()
        code = main(["runs", *words, "--home", str(project.home)])
        told = capfd.readouterr()
        return code, told.out, told.err

    return command


def judged(project, **more):
    """A run of one case that cannot tell; its id."""
    words = "".join(f", {key}={value!r}" for key, value in more.items())
    project.cases(OPEN.format(more=words))
    assert project.judge_here().ret == 10
    return project.results()["run_id"]


def test_more_games_are_judged_with_the_first_by_overlap_for_good(project, runs):
    run_id = judged(project)
    code, out, errors = runs("extend", run_id, "--num", "6")
    assert code == 10
    assert "this is a look, and it is counted" in errors
    assert "/16 vs " in out
    assert "by the overlap rule, not the declared score" in out
    assert "1 unplanned" in out
    assert project.posted == 4
    again = project.judge_here()
    assert again.ret == 10
    assert project.posted == 4
    (found,) = project.results()["cases"][0]["results"]
    assert found["judgement"]["candidate"]["requested"] == 16
    assert found["judgement"]["rule"] == "overlap"
    assert len(found["episodes"]["candidate"]["rows"]) == 16
    code, out, _ = runs("extend", run_id, "--num", "4")
    assert code == 10
    assert "/20 vs " in out
    assert "2 unplanned" in out
    assert project.posted == 6


@pytest.mark.parametrize("rule", ["overlap", "always_valid"])
def test_a_rule_that_stands_looks_stays(project, runs, rule):
    run_id = judged(project, rule=rule)
    code, out, _ = runs("extend", run_id, "--num", "5")
    assert code in (0, 1, 10)
    assert "not the declared" not in out
    assert "/15 vs " in out
    assert project.posted == 4


def test_pairs_are_extended_by_pairs_with_seeds_of_their_own(project, runs):
    run_id = judged(project, pairing="seed")
    code, out, _ = runs("extend", run_id, "--num", "3")
    assert code in (0, 1, 10)
    assert "paired by seed" in out
    assert "/13 vs " in out
    assert project.posted == 26


def test_evidence_of_before_and_after_both_verify(project, runs, capfd):
    run_id = judged(project)
    runs("extend", run_id, "--num", "5")
    runs("export", run_id)
    content = json.loads((project.home / "runs" / run_id / "evidence.json").read_text())
    (one,) = content["comparisons"]
    assert one["judgement"]["candidate"]["requested"] == 10
    newest = max(path.name for path in (project.home / "runs").iterdir())
    assert newest != run_id
    runs("export", newest)
    for name in (run_id, newest):
        assert main(["runs", "verify", str(project.home / "runs" / name / "evidence.json")]) == 0


def test_what_could_tell_is_not_extended(project, runs):
    project.judge_here(candidate="keeper:v3")
    run_id = project.results()["run_id"]
    code, _, errors = runs("extend", run_id)
    assert code == 4
    assert "has no inconclusive comparison" in errors
    code, _, errors = runs("extend", run_id, "--case", "test_evals.py::test_crew")
    assert code == 4
    assert "is WORSE: only a comparison that could not tell can be extended" in errors
    assert "--eval-fresh" in errors
    assert project.posted == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--num", "0"), "must"),
        (("--num", "101"), "1 to 100"),
        (("--case", "t.py::none"), "has no case t.py::none"),
    ],
    ids=["0", "101", "case"],
)
def test_what_cannot_be_is_a_usage_error(project, runs, words, told):
    run_id = judged(project)
    try:
        code, _, errors = runs("extend", run_id, *words)
    except SystemExit as left:
        code, errors = left.code, told
    assert code == 4
    assert told in errors
    assert project.posted == 2
