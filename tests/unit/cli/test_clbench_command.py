"""`evalharness clbench score` and `check`: what they print, and their exit codes."""

import gzip
import json

import pytest

from pytest_evalharness.cli import main

SALES = "sales_prediction"


def one(name, rewards):
    return [
        {"instance_id": f"{name}{at}", "reward": reward, "cost_usd": 0.01}
        for at, reward in enumerate(rewards)
    ]


def write(folder, rewards, *, baseline=(0.1, 0.2, 0.3, 0.4)):
    """A run of one task."""
    told = {
        "summary": {"task": {"name": SALES, "params": {"expected_num_instances": 4}}},
        "baseline_trace": {"result": {"instance_outcomes": one("s", baseline)}},
        "run_traces": [{"trace": {"result": {"instance_outcomes": one("s", each)}}} for each in rewards],
    }
    (folder / "tasks").mkdir(parents=True)
    (folder / "tasks" / f"{SALES}.json.gz").write_bytes(gzip.compress(json.dumps(told).encode()))
    return str(folder)


@pytest.fixture
def mine(tmp_path):
    return write(tmp_path / "mine", [[0.5] * 4, [0.6] * 4, [0.9]])


@pytest.fixture
def reference(tmp_path):
    return write(tmp_path / "icl-gpt-5.4", [[0.5] * 4])


def test_a_score_tells_its_coverage_its_reference_and_what_is_left_out(mine, reference, capsys):
    assert main(["clbench", "score", mine]) == 1
    told = capsys.readouterr().out
    assert (
        "mine: normalised reward 0.4000 over 1 of 6 tasks, no rank: a rank takes all 6 tasks, and it has 1"
        in told
    )
    assert "normalised by the baselines of icl-gpt-5.4; cohort rewards: differences, all in bits" in told
    assert "excluded: sales, rollout 2: it has 1 of 4 outcomes" in told
    assert "missing: db, poker, bsm, cohort, code" in told
    assert "t [-0.4471, 1.2471]" in told  # 0.4 -+ 12.7062 x 0.0667


def test_several_runs_are_told_best_first(tmp_path, mine, reference, capsys):
    better = write(tmp_path / "better", [[0.7] * 4])
    assert main(["clbench", "score", mine, better, reference]) == 1
    rows = [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:4]]
    assert rows == ["better", "mine", "icl-gpt-5.4"]


def test_another_reference_is_said_to_be_another(tmp_path, mine, capsys):
    other = write(tmp_path / "other", [[0.5] * 4])
    assert main(["clbench", "score", mine, "--reference", other]) == 1
    assert "not comparable" in capsys.readouterr().out


def test_json_has_the_numbers(mine, reference, capsys):
    assert main(["clbench", "score", mine, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["scale"], told["reference"]) == ("bits", "icl-gpt-5.4")
    score = told["runs"][0]["score"]
    assert score["normalized_reward"]["mean"] == pytest.approx(0.4)
    assert score["tasks"][SALES]["excluded"][0]["run_index"] == 2


def test_without_a_reference_there_is_no_score(mine, capsys):
    assert main(["clbench", "score", mine]) == 11
    told = capsys.readouterr()
    assert told.out == ""
    assert "EVH402" in told.err


@pytest.mark.parametrize("command", ["score", "check"])
def test_a_folder_that_is_no_run_is_refused(tmp_path, command, capsys):
    assert main(["clbench", command, str(tmp_path)]) == 11
    assert "EVH401" in capsys.readouterr().err


def test_an_unknown_scale_is_a_usage_error(mine, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["clbench", "score", mine, "--scale", "nats"])
    assert caught.value.code == 4
    assert "'bits', 'pr9', 'prefix'" in capsys.readouterr().err


def test_a_report_says_seen_needed_and_how_to_mend(mine, capsys):
    assert (
        main(["clbench", "check", mine]) == 11
    )  # 4 instances are not the default schedule, and all seeds have one order
    told = capsys.readouterr().out
    assert "failed     schedule: sales: 4 instances, the default schedule has 12" in told
    assert "needed: the default schedule of each task, with all of its instances" in told
    assert "incomplete rollouts: sales, rollout 2: it has 1 of 4 outcomes" in told
    assert "missing    description: not seen in a run directory" in told
    assert "registration: the leaderboard's scripts know runs by name" in told


def test_a_report_is_json_too(mine, capsys):
    main(["clbench", "check", mine, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["run"] == "mine"
    assert {one["state"] for one in told["checks"]} <= {"ok", "incomplete", "failed", "unknown"}
    assert len(told["submission"]) == 12
