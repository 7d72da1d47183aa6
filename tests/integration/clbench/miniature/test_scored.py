"""What the miniature publishes is read, believed and scored by the commands that read the benchmark's."""

import json

import pytest

from pytest_evalharness.clbench.campaign.costs import elsewhere
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.cli import main


def test_a_campaign_is_believed(submitted, capsys):
    assert main(["clbench", "check", str(submitted.run_folder("whole"))]) == 0
    told = capsys.readouterr().out
    assert "whole (embedded miniature): trust report" in told
    assert "by pass: 2, 2, 2" in told


def test_a_campaign_is_scored_against_a_named_run(submitted, capsys):
    folder = str(submitted.run_folder("whole"))
    assert main(["clbench", "score", folder, "--reference", folder, "--json"]) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    score = run["score"]
    assert (score["family"], score["missing"]) == ("embedded miniature", [])
    assert score["normalized_gain"]["mean"] > 0.0, "the notebook learns"


def test_a_campaign_costs_what_a_preflight_expects(submitted):
    expected = elsewhere("notebook", embedded=True)
    for task, artifact in read_run(submitted.run_folder("whole")).tasks.items():
        assert artifact.baseline.cost == pytest.approx(expected[task].baseline, rel=0.35)
        for one in artifact.rollouts:
            assert one.cost == pytest.approx(expected[task].rollout, rel=0.35)


def test_poison_in_a_campaign_is_found(miniature, capsys):
    words = ("run-all", "--name", "bad", "--system", "notebook", "--per-task-parallelism", "2", "--runs", "1")
    faults = "poison=mini_band_scan:0:4+"
    assert miniature.run(*words, "--task", "mini_band_scan", CLBENCH_MINIATURE_FAULTS=faults).returncode == 0
    assert main(["clbench", "check", str(miniature.run_folder("bad"))]) == 11
    told = capsys.readouterr().out
    assert "bands, rollout 0: of 10 instances 6 earned nothing at no cost, 6 of them in a row" in told
