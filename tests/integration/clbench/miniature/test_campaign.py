"""`run-all` of the miniature leaves what the benchmark's leaves, and goes on as the benchmark's does."""

import json
import os
import re
import time
import urllib.request

import pytest

TASKS = ["mini_band_scan", "mini_coin_duel", "mini_ledger_lookup", "mini_shop_forecast"]
SIZES = dict(zip(TASKS, [10, 16, 12, 8], strict=True))
QUICK = ("--per-task-parallelism", "2", "--runs", "1")


def test_a_campaign_publishes_its_folder(submitted):
    folder = submitted.run_folder("whole")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    named = {f"tasks/{task}.json.gz" for task in TASKS} | {f"logs/{task}.log" for task in TASKS}
    assert files == named | {"manifest.json", "metadata.json", "task_artifacts.json.gz"}


def test_the_manifest_has_the_benchmarks_fields(submitted):
    told = submitted.manifest("whole")
    assert told["kind"] == "run_all_manifest"
    assert told["status"] == "completed"
    assert told["system_args"] == ["--runs", "2"]
    assert set(told) == {
        "kind", "run_name", "run_slug", "run_group_id", "system", "system_args", "started_at", "finished_at", "status",
        "poll_interval_ms", "manifest_path", "final_results_dir", "logs_dir", "current_batch_id", "tasks",
        "task_artifacts", "task_artifacts_path", "batches",
    }  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}Z_run-all", told["run_group_id"])
    for entry in told["tasks"]:
        assert set(entry) == {
            "task", "schedule", "status", "started_at", "finished_at", "exit_code", "duration_seconds", "log_path",
            "live_manifest_path", "summary_path", "final_artifact_path", "raw_summary_path", "batch_id", "headline",
        }  # fmt: skip
        assert (entry["status"], entry["exit_code"], entry["schedule"]) == ("ok", 0, "default")
        assert entry["headline"]["total_cost_usd"] > 0.0
        assert (submitted.root / entry["live_manifest_path"]).exists()


def test_metadata_is_that_of_the_whole_run(submitted):
    told = json.loads((submitted.run_folder("whole") / "metadata.json").read_text())
    assert (told["run_name"], told["system"], told["tasks_requested"]) == ("whole", "notebook", "all")
    assert told["tasks_run"] == TASKS
    [batch] = told["batches"]
    assert (batch["mode"], batch["tasks_passed"], batch["tasks_failed"]) == ("initial", TASKS, [])


@pytest.mark.parametrize("task", TASKS)
def test_an_artifact_has_every_pass_and_what_it_cost(submitted, task):
    told = submitted.artifact(task, "whole")
    assert told["kind"] == "viewer_artifact"
    assert told["summary"]["task"]["params"]["expected_num_instances"] == SIZES[task]
    assert [one["run_index"] for one in told["run_traces"]] == [0, 1]
    for trace in (told["baseline_trace"], *(one["trace"] for one in told["run_traces"])):
        outcomes = trace["result"]["instance_outcomes"]
        assert trace["status"] == "completed"
        assert len(outcomes) == len({one["instance_id"] for one in outcomes}) == SIZES[task]
        spent = sum(one.get("cost_usd", 0.0) for one in outcomes)
        assert trace["execution"]["usage"]["interaction"]["cost_usd"] == pytest.approx(spent)
    execution = told["baseline_trace"]["execution"]
    assert (execution["coverage_ratio"], execution["instances_blocked"], execution["run_index"]) == (
        1.0,
        0,
        None,
    )
    assert {one["instance_index"] for one in told["baseline_trace"]["result"]["instance_outcomes"]} == {0}


def test_rollouts_have_orders_of_their_own_except_a_time_series(submitted):
    for task in TASKS:
        told = submitted.artifact(task, "whole")
        traces = [told["baseline_trace"], *(one["trace"] for one in told["run_traces"])]
        prompts = [
            list(
                dict.fromkeys(one["query"]["prompt"].partition(" Reply")[0] for one in trace["interactions"])
            )
            for trace in traces
        ]
        assert prompts[0] == prompts[1]
        assert (prompts[1] == prompts[2]) == (task == "mini_shop_forecast")
        ids = [[one["instance_id"] for one in trace["result"]["instance_outcomes"]] for trace in traces[1:]]
        assert (ids[0] == ids[1]) == (task in {"mini_shop_forecast", "mini_band_scan"})


def test_rounds_that_are_over_before_anybody_is_asked_cost_nothing_and_were_no_turn(submitted):
    for one in submitted.artifact("mini_coin_duel", "whole")["run_traces"]:
        trace = one["trace"]
        free = [outcome for outcome in trace["result"]["instance_outcomes"] if "cost_usd" not in outcome]
        asked = {turn["query"]["instance_id"] for turn in trace["interactions"]}
        assert [outcome["reward"] for outcome in free] == [1.0, 1.0]
        assert not {outcome["instance_id"] for outcome in free} & asked


def test_live_snapshots_are_numbered_from_one_and_traces_from_zero(submitted):
    task = "mini_ledger_lookup"
    live = submitted.live(task)
    assert set(live) == {"manifest", "baseline", "run_1", "run_2"}
    assert (live["manifest"]["status"], live["manifest"]["phase"]) == ("completed", "completed")
    [group] = (submitted.root / "results" / task / "traces").iterdir()
    traces = {path.name: json.loads(path.read_text()) for path in group.iterdir()}
    assert set(traces) == {"baseline.json", "run_0000.json", "run_0001.json"}
    for index in range(2):
        trace, snapshot = traces[f"run_{index:04d}.json"], live[f"run_{index + 1}"]
        apart = {"system_memory": None, "artifacts": None}  # a snapshot has neither, as upstream's
        assert trace | apart == snapshot | apart
        assert trace["system_memory"]["files"]


@pytest.mark.slow
def test_another_checkout_plays_the_same_seeds_the_same(submitted, miniature):
    assert miniature.run("run", "mini_ledger_lookup", "--system", "notebook", "--schedule", "default", "--runs", "2",
                         "--max-workers", "2", "--no-live-server").returncode == 0  # fmt: skip

    def earned(artifact):
        traces = [artifact["baseline_trace"], *(one["trace"] for one in artifact["run_traces"])]
        return [
            [(one["instance_id"], one["reward"]) for one in trace["result"]["instance_outcomes"]]
            for trace in traces
        ]

    task = "mini_ledger_lookup"
    assert earned(submitted.artifact(task, "whole")) == earned(miniature.artifact(task))


def test_a_name_is_taken_once_and_a_resume_compares_every_forwarded_word(submitted):
    whole = ("run-all", "--name", "whole", "--system", "notebook")
    assert submitted.run(*whole, "--runs", "2").returncode == 2
    assert submitted.run(*whole, "--runs", "2", "--dry-run").returncode == 0
    again = submitted.run(*whole, "--runs", "3", "--missing-only")
    assert (again.returncode, "different forwarded" in again.stderr) == (2, True)
    assert (
        submitted.run("run-all", "--name", "whole", "--system", "plain", "--runs", "2", "--append").returncode
        == 2
    )
    assert submitted.run(*whole, "--runs", "2", "--append").returncode == 2
    nothing = submitted.run(*whole, "--runs", "2", "--missing-only")
    assert (nothing.returncode, "No tasks to run." in nothing.stdout) == (0, True)


def test_a_task_that_failed_is_run_again_and_its_log_is_archived(miniature):
    words = ("run-all", "--name", "mended", "--system", "notebook", "--task", "mini_band_scan", *QUICK)
    done = miniature.run(*words, CLBENCH_MINIATURE_FAULTS="crash=mini_band_scan:0:3")
    assert (done.returncode, "ConnectionError" in done.stdout) == (1, True)
    assert miniature.manifest("mended")["status"] == "completed_with_failures"
    [failed] = (miniature.root / "results" / "mini_band_scan").glob("failed_default_*_run0_*.json")
    assert json.loads(failed.read_text())["error"]["error_type"] == "ConnectionError"
    again = miniature.run(*words, "--missing-only")
    assert again.returncode == 0
    told = miniature.manifest("mended")
    assert [entry["status"] for entry in told["tasks"]] == ["ok"]
    assert [batch["mode"] for batch in told["batches"]] == ["initial", "missing_only"]
    archived = {path.name for path in miniature.run_folder("mended").glob("archive/*/mini_band_scan/*")}
    assert archived == {"mini_band_scan.log", "archive_metadata.json"}


def test_a_killed_suite_leaves_its_children_at_work_and_nothing_copied(miniature):
    """What an interrupted campaign has finished is finished again by `--missing-only`: nothing was copied yet."""
    words = ("run-all", "--name", "killed", "--system", "notebook", "--task", "mini_band_scan", *QUICK)
    done = miniature.run(*words, CLBENCH_MINIATURE_FAULTS="kill_suite=mini_band_scan:0:8")
    assert done.returncode == -9
    artifacts = miniature.root / "results" / "mini_band_scan"
    wait_until(lambda: any(artifacts.glob("viewer_artifact_*.json.gz")))
    told = miniature.manifest("killed")
    assert (told["status"], told["tasks"][0]["status"]) == ("running", "running")
    assert not any(miniature.run_folder("killed").glob("tasks/*"))
    dry = miniature.run(*words, "--missing-only", "--dry-run")
    assert "Tasks to run (1): mini_band_scan" in dry.stdout


def wait_until(true, seconds=180.0):
    over = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < over
        time.sleep(0.05)


def test_children_come_from_whichever_clbench_is_on_the_path(miniature, tmp_path):
    """Their results go to where they were started, and the log's first line is the only witness."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "clbench").write_text('#!/bin/sh\necho "not this checkout"\nexit 3\n')
    (other / "clbench").chmod(0o755)
    path = f"{other}{os.pathsep}{os.environ['PATH']}"
    done = miniature.run(
        "run-all", "--name", "foreign", "--system", "plain", "--task", "mini_band_scan", *QUICK, PATH=path
    )
    assert done.returncode == 1
    log = (miniature.run_folder("foreign") / "logs" / "mini_band_scan.log").read_text()
    assert log.startswith(
        f"$ {other}/clbench run mini_band_scan --system plain --schedule default --run-group-id "
    )


@pytest.mark.slow
def test_a_forwarded_schedule_runs_while_the_manifest_says_default(miniature):
    schedules = miniature.root / "src" / "tasks" / "mini_ledger_lookup" / "schedules"
    told = {
        "id": "smoke",
        "run_defaults": {"runs": 1, "max_workers": 1, "mode": "replicate"},
        "stages": [{"variant": None}],
    }
    (schedules / "smoke.json").write_text(json.dumps(told))
    done = miniature.run(
        "run-all", "--name", "smoke", "--system", "notebook", "--task", "mini_ledger_lookup", "--per-task-parallelism", "2",
        "--schedule", "smoke", "--task.num-questions", "3",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert miniature.manifest("smoke")["tasks"][0]["schedule"] == "default"
    artifact = miniature.artifact("mini_ledger_lookup", "smoke")
    assert artifact["summary"]["schedule"] == "smoke"
    assert len(artifact["run_traces"][0]["trace"]["result"]["instance_outcomes"]) == 3


def test_the_dashboard_serves_the_whole_checkout(miniature):
    (miniature.root / ".env").write_text("OPENROUTER_API_KEY=sk-or-v1-invented\n")
    miniature.set_faults("stall=mini_band_scan")
    process = miniature.start(
        "run", "mini_band_scan", "--system", "plain", "--schedule", "default", "--runs", "1"
    )
    try:
        lines = iter(process.stdout.readline, "")
        address = next(line.split()[-1] for line in lines if line.startswith("Live dashboard: "))
        with urllib.request.urlopen(f"{address}.env", timeout=60) as answer:
            assert b"sk-or-v1-invented" in answer.read()
    finally:
        os.killpg(process.pid, 15)
        process.communicate(timeout=60)
