"""What a crash left on disk, salvaged: whole results published, rollouts kept or written off, the manifest true."""

import contextlib
import gzip
import json
import os
import shutil

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench import trust
from pytest_evalharness.clbench.campaign import exchange as exchanging
from pytest_evalharness.clbench.campaign.rerun import Price
from pytest_evalharness.clbench.campaign.salvage import salvage
from pytest_evalharness.clbench.campaign.salvage_plan import Source, TaskState
from pytest_evalharness.clbench.domains import CODEBASE, DATABASE, SALES
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.cli import main
from pytest_evalharness.errors import NothingToSalvage, NotSalvaged, StillRunning

FIRST = "2026-07-20T08-00-00.000001Z_run-all"
SECOND = "2026-07-20T16-00-00.000002Z_run-all"


def nobody(_folder):
    return ()


def salvaged(laid, **more):
    return salvage(laid.folder, **{"clock": SystemClock(), "alive": nobody} | more)


def by_task(found):
    return {one.task: one for one in found.tasks}


def test_results_that_run_all_did_not_live_to_copy_are_published_to_the_byte(laid):
    for task in laid.tasks:
        laid.live(task)
        laid.status(task, "ok")
    written = {task: laid.written(task) for task in laid.tasks}
    found = salvaged(laid)
    assert found.complete
    assert found.cost == (None, True) or found.cost[0] in {None, 0.0}
    for task, path in written.items():
        assert (laid.folder / "tasks" / f"{task}.json.gz").read_bytes() == path.read_bytes()
        assert laid.line(task)["status"] == "ok"
        assert laid.line(task)["headline"] == {
            "cumulative_gain": 1.0, "total_reward": 2.0, "mean_latency_seconds": None, "total_cost_usd": 1.0,
        }  # fmt: skip
    assert laid.stored()["status"] == "completed"
    metadata = json.loads((laid.folder / "metadata.json").read_text())
    assert metadata["status"] == "completed"
    assert metadata["batches"][0]["tasks_passed"] == list(laid.tasks)
    together = json.loads(gzip.decompress((laid.folder / "task_artifacts.json.gz").read_bytes()))
    assert together == {task: laid.published(task) for task in laid.tasks}


def test_a_task_whose_passes_all_ended_is_put_together_as_the_benchmark_would_have(laid):
    laid.live(DATABASE)
    laid.status(DATABASE, "running")
    found = by_task(salvaged(laid))[DATABASE]
    assert (found.state, found.source, found.rerun) == (TaskState.WHOLE, Source.REBUILT, None)
    made, wanted = laid.published(DATABASE), laid.artifact(DATABASE)
    assert made["run_traces"] == wanted["run_traces"]
    assert made["baseline_trace"] == wanted["baseline_trace"]
    assert made["summary"]["status"] == "completed"
    aggregate = made["summary"]["aggregate"]
    # Rewards are 0.1 (k + 1) + 0.05 at; the baseline's 0.05 at.
    assert aggregate["mean_reward_by_index"] == [0.2, 0.25, 0.3, 0.35]
    assert aggregate["mean_gain_by_index"] == [0.2, 0.2, 0.2, 0.2]
    assert (aggregate["runs_total"], aggregate["runs_completed"], aggregate["runs_blocked"]) == (3, 3, 0)
    assert made["salvage"]["state"] == "whole"
    line = laid.line(DATABASE)
    assert line["status"] == "ok"
    assert line["headline"]["total_reward"] == pytest.approx(0.8 + 0.3)
    assert line["headline"]["total_cost_usd"] == pytest.approx(1.0)
    assert laid.line(SALES)["status"] == "pending"
    assert laid.stored()["status"] == "completed_with_failures"


def test_its_sums_are_those_that_the_benchmark_makes(laid):
    live = laid.live(DATABASE)
    for index in range(3):
        told = laid.trace(DATABASE, FIRST, index)
        for at, one in enumerate(told["result"]["instance_outcomes"]):
            one |= {"raw_metric_name": "regret", "raw_metric_value": float(at + index), "cost_usd": 0.5}
        told["result"] |= {
            "metrics": {"accuracy": 0.5 * index, "note": "words", "mixed": "words" if index else 1.0},
            "eval_metrics": {
                "optimal_performance": 4.0,
                "actual_performance": index,
                "loss_curve": [1.0, index],
            },
        }
        (live / f"run_{index + 1}.json").write_text(json.dumps(told))
    salvaged(laid)
    head = laid.published(DATABASE)["summary"]
    told = head["aggregate"]
    assert told["metrics"] == {"accuracy": {"mean": 0.5, "std": 0.5, "min": 0.0, "max": 1.0}}
    assert told["eval_metrics"]["cumulative_loss"] == {"mean": 2.0, "std": 1.0, "min": 1.0, "max": 3.0}
    assert (told["raw_metric_name"], told["mean_raw_metric_by_index"]) == ("regret", [1.0, 2.0, 3.0, 4.0])
    assert told["mean_cost_increase_by_index"] == [0.25] * 4
    first = head["runs"][0]
    assert first["aggregate"]["total_cost_increase"] == 1.0
    assert first["aggregate"]["gain_coverage_ratio"] == 1.0
    assert first["instance_outcomes"][1]["baseline_cost"] == 0.25
    assert [one["run_index"] for one in head["runs"]] == [0, 1, 2]


def test_where_only_the_baseline_is_missing_no_rollout_is_doubted(laid, capsys):
    laid.live(SALES, baseline=1)
    left = by_task(salvaged(laid))[SALES]
    assert (left.state, left.complete, left.rerun.lost) == (TaskState.PARTIAL, (0, 1, 2), ())
    assert main(["clbench", "salvage", str(laid.folder)]) == 1
    told = capsys.readouterr().out
    assert "only its baseline would be needed" in told
    assert "random sample" not in told
    check = {one.name: one for one in trust.checks(read_run(laid.folder))}["salvage"]
    assert check.seen == "sales: partial, 3 of 3 rollouts, no whole baseline"


def test_interrupted_rollouts_are_written_off_by_name_and_completed_ones_kept(laid):
    laid.live(SALES, rollouts=(4, 3, 4), baseline=2)
    laid.status(SALES, "running")
    found = salvaged(laid)
    left = by_task(found)[SALES]
    assert (left.state, left.complete) == (TaskState.PARTIAL, (0, 2))
    assert [
        (task, one.run_index, one.instances, one.expected, one.cost) for task, one in found.written_off
    ] == [(SALES, 1, 3, 4, 0.75)]
    assert left.unfinished_baseline.instances == 2
    made = laid.published(SALES)
    assert [one["run_index"] for one in made["run_traces"]] == [0, 2]
    assert made["baseline_trace"] is None
    assert made["summary"]["status"] == "partial"
    assert [one["run_index"] for one in made["salvage"]["written_off"]] == [1]
    assert laid.line(SALES)["status"] == "failed"
    # Three rollouts at a dollar each; two of four baseline instances cost half a dollar.
    assert (left.rerun.rollouts, left.rerun.lost, left.rerun.cost) == (3, (1,), 4.0)
    assert (laid.root / "results" / SALES / "live" / FIRST / "run_2.json").exists()


def test_a_baseline_that_calls_itself_completed_is_believed_by_its_coverage_only(laid):
    laid.live(DATABASE, baseline=3)
    left = by_task(salvaged(laid))[DATABASE]
    assert left.state is TaskState.PARTIAL
    assert left.baseline is None
    assert left.unfinished_baseline.words == "the baseline: 3 of 4 instances, $0.75 spent"


def test_a_system_without_baseline_needs_none(laid):
    laid.live(DATABASE, baseline=None)
    assert by_task(salvaged(laid))[DATABASE].state is TaskState.WHOLE


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"status": "running"}, "its status is running"),
        ({"result": None}, "it has no result"),
        ({"execution": {"run_index": 2}}, "it says that it is rollout 2"),
        ({"execution": {"run_group_id": "another"}}, "it belongs to the run group 'another'"),
        ({"task": {"name": "cohort_studies"}}, "it holds the task 'cohort_studies'"),
        ({"phase": "baseline"}, "its phase is 'baseline'"),
    ],
)
def test_a_snapshot_that_does_not_prove_its_end_is_no_rollout(laid, change, why):
    live = laid.live(DATABASE)
    told = laid.trace(DATABASE, FIRST, 1) | change
    (live / "run_2.json").write_text(json.dumps(told))
    left = by_task(salvaged(laid))[DATABASE]
    assert left.complete == (0, 2)
    assert [one.why for one in left.written_off] == [why]


@pytest.mark.parametrize("content", [b"", b'{"status": "comple', b"\x1f\x8b\x08nonsense", b"[]"])
def test_a_torn_snapshot_is_no_rollout(laid, content):
    live = laid.live(DATABASE)
    (live / "run_3.json").write_bytes(content)
    left = by_task(salvaged(laid))[DATABASE]
    assert left.complete == (0, 1)
    assert [one.run_index for one in left.written_off] == [2]


def test_an_instance_that_stands_twice_makes_no_whole_rollout(laid):
    live = laid.live(DATABASE)
    told = laid.trace(DATABASE, FIRST, 0)
    told["result"]["instance_outcomes"][3] = told["result"]["instance_outcomes"][0]
    (live / "run_1.json").write_text(json.dumps(told))
    assert by_task(salvaged(laid))[DATABASE].complete == (1, 2)


def test_the_final_trace_is_taken_before_the_live_one_since_it_has_the_memory(laid):
    laid.live(DATABASE)
    traces = laid.root / "results" / DATABASE / "traces" / FIRST
    traces.mkdir(parents=True)
    told = laid.trace(DATABASE, FIRST, 0, system_memory={"files": {"notes.md": "learnt"}})
    (traces / "run_0000.json").write_text(json.dumps(told))
    salvaged(laid)
    memories = [one["trace"]["system_memory"] for one in laid.published(DATABASE)["run_traces"]]
    assert memories == [{"files": {"notes.md": "learnt"}}, None, None]


def test_a_task_of_which_nothing_ended_is_named_and_gets_no_artifact(laid):
    laid.live(DATABASE, baseline=0, rollouts=(1, None, None))
    laid.status(DATABASE, "running")
    left = by_task(salvaged(laid))[DATABASE]
    assert (left.state, left.source) == (TaskState.LOST, Source.NONE)
    assert not (laid.folder / "tasks" / f"{DATABASE}.json.gz").exists()
    assert laid.line(DATABASE)["status"] == "failed"
    # A quarter of a dollar for one of four instances; the baseline has no instance to judge its price by.
    assert (left.rerun.cost, left.rerun.whole_cost) == (3.0, False)


def test_what_never_began_stays_pending_and_costs_what_it_costs_elsewhere(laid):
    found = salvaged(laid, prices={DATABASE: Price(25.0, 17.0)})
    left = by_task(found)
    assert {one.state for one in found.tasks} == {TaskState.NOT_BEGUN}
    assert laid.line(DATABASE)["status"] == "pending"
    assert left[SALES].rerun.cost is None
    assert (left[DATABASE].rerun.cost, left[DATABASE].rerun.whole_cost) == (17.0, False)
    (laid.root / "src/tasks" / DATABASE / "schedules").mkdir(parents=True)
    schedule = laid.root / "src/tasks" / DATABASE / "schedules/default.json"
    schedule.write_text(json.dumps({"id": "default", "run_defaults": {"runs": 5}}))
    left = by_task(salvaged(laid, prices={DATABASE: Price(25.0, 17.0)}))
    assert left[DATABASE].rerun.cost == 5 * 25.0 + 17.0


def test_running_it_twice_changes_nothing(laid):
    laid.live(DATABASE)
    laid.live(SALES, rollouts=(4, 2, None))
    laid.status(SALES, "running")
    first = salvaged(laid)
    before = laid.everything()
    second = salvaged(laid)
    assert laid.everything() == before
    assert (second.written, second.aside, second.backup) == ((), (), None)
    assert [(one.task, one.state, one.complete, one.rerun) for one in second.tasks] == [
        (one.task, one.state, one.complete, one.rerun) for one in first.tasks
    ]
    assert second.written_off == first.written_off


def test_what_is_replaced_is_kept_beside(laid):
    laid.live(DATABASE)
    laid.status(DATABASE, "ok")
    torn = laid.folder / "tasks" / f"{DATABASE}.json.gz"
    torn.write_bytes(laid.written(DATABASE).read_bytes()[:200])
    before = laid.everything()
    found = salvaged(laid)
    assert found.backup == laid.folder / "before-salvage-1"
    kept = {name: raw for name, raw in laid.everything().items() if name.startswith("before-salvage-1/")}
    assert kept == {
        f"before-salvage-1/{name}": before[name] for name in ("manifest.json", f"tasks/{DATABASE}.json.gz")
    }
    assert laid.published(DATABASE)["summary"]["status"] == "completed"


def test_a_torn_artifact_that_nothing_replaces_is_not_passed_over_by_a_resume(laid):
    laid.status(DATABASE, "ok")
    (laid.folder / "tasks" / f"{DATABASE}.json.gz").write_bytes(b"\x1f\x8b\x08torn")
    left = by_task(salvaged(laid))[DATABASE]
    assert not left.state.stays
    assert not (laid.folder / "tasks" / f"{DATABASE}.json.gz").exists()
    assert (
        laid.folder / "before-salvage-1/tasks" / f"{DATABASE}.json.gz"
    ).read_bytes() == b"\x1f\x8b\x08torn"
    assert laid.line(DATABASE)["status"] == "failed"


def test_a_dry_run_tells_the_same_and_writes_nothing(laid):
    laid.live(DATABASE, rollouts=(4, 4, 1))
    laid.status(DATABASE, "running")
    before = laid.everything()
    dry = salvaged(laid, dry_run=True)
    assert laid.everything() == before
    wet = salvaged(laid)
    assert dry.written == wet.written != ()
    assert [one.words for _, one in dry.written_off] == [one.words for _, one in wet.written_off]
    assert dry.cost == wet.cost


def test_nothing_is_done_while_something_of_it_is_alive(laid):
    laid.live(DATABASE)
    before = laid.everything()
    with pytest.raises(StillRunning, match="process 4711 runs run-all"):
        salvaged(laid, alive=lambda _: ["process 4711 runs run-all"])
    assert laid.everything() == before


def test_a_campaign_that_comes_to_life_meanwhile_stops_it(laid):
    laid.live(DATABASE)
    before = laid.everything()
    answers = iter([[], ["process 4711 runs run-all"]])
    with pytest.raises(StillRunning):
        salvaged(laid, alive=lambda _: next(answers))
    assert {name: raw for name, raw in laid.everything().items() if name != ".salvage.lock"} == before


def test_a_snapshot_that_changes_meanwhile_stops_it(laid):
    live = laid.live(DATABASE)
    before = laid.everything()
    looks = []

    def alive(_folder):
        looks.append(0)
        if len(looks) == 2:
            os.utime(live / "run_1.json", ns=(1, 1))
        return ()

    with pytest.raises(NotSalvaged, match=r"run_1\.json changed while it was read"):
        salvaged(laid, alive=alive)
    assert {name: raw for name, raw in laid.everything().items() if name != ".salvage.lock"} == before


def test_two_at_once_do_not_meet(laid):
    laid.live(DATABASE)
    with exchanging.alone(laid.folder), pytest.raises(NotSalvaged, match="another process is salvaging"):
        salvaged(laid)


@pytest.mark.parametrize("after", range(6))
def test_a_death_at_any_step_leaves_a_state_from_which_it_goes_on(laid, monkeypatch, after):
    """Killed between any two renames, and then done again, it is as if it had been done once."""

    class Killed(BaseException):
        pass

    laid.live(DATABASE)
    laid.written(SALES)
    laid.status(SALES, "ok")
    (laid.folder / "tasks" / f"{SALES}.json.gz").write_bytes(b"\x1f\x8b\x08torn")
    steps = iter(range(100))
    real = exchanging.sync_folder

    def sync(folder):
        if next(steps) == after:
            raise Killed
        real(folder)

    monkeypatch.setattr(exchanging, "sync_folder", sync)
    monkeypatch.setattr(exchanging, "_put_back", lambda *_: None)
    rmtree = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    with contextlib.suppress(Killed):
        salvaged(laid)
    monkeypatch.setattr(exchanging, "sync_folder", real)
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    read_run(laid.folder).tasks  # noqa: B018 - whatever is there can be read
    found = salvaged(laid)
    assert {one.task: one.state for one in found.tasks}[DATABASE] is TaskState.WHOLE
    assert laid.published(DATABASE)["salvage"]["state"] == "whole"
    assert laid.published(SALES)["summary"]["status"] == "completed"
    assert (laid.line(DATABASE)["status"], laid.line(SALES)["status"]) == ("ok", "ok")
    torn = [path.read_bytes() for path in laid.folder.glob(f"before-salvage-*/tasks/{SALES}.json.gz")]
    assert b"\x1f\x8b\x08torn" in torn
    assert not list(laid.folder.glob(".salvage-*"))


def test_a_resume_that_crashed_again_gives_its_rollouts_too_and_the_first_of_a_seed_counts(laid):
    laid.live(DATABASE, rollouts=(4, 2, 1))
    laid.status(DATABASE, "running")
    salvaged(laid)
    # What --missing-only does: the old artifact and log go into the archive, the line begins anew.
    archive = laid.folder / "archive" / SECOND / DATABASE
    archive.mkdir(parents=True)
    (laid.folder / "tasks" / f"{DATABASE}.json.gz").rename(archive / f"{DATABASE}.json.gz")
    (laid.folder / "logs" / f"{DATABASE}.log").rename(archive / f"{DATABASE}.log")
    laid.manifest = laid.stored() | {"status": "running", "current_batch_id": SECOND, "finished_at": None}
    laid.status(DATABASE, "running", SECOND)
    live = laid.live(DATABASE, SECOND, rollouts=(4, 4, 4), baseline=1)
    better = laid.trace(DATABASE, SECOND, 0)
    for one in better["result"]["instance_outcomes"]:
        one["reward"] = 1.0
    (live / "run_1.json").write_text(json.dumps(better))
    left = by_task(salvaged(laid))[DATABASE]
    assert left.state is TaskState.WHOLE
    assert [(one.run_index, one.group) for one in left.kept] == [(0, FIRST), (1, SECOND), (2, SECOND)]
    assert laid.published(DATABASE)["salvage"]["groups"] == [FIRST, SECOND]


def test_rollouts_of_other_parameters_are_no_seeds_of_the_same_task(laid):
    laid.live(DATABASE, FIRST, rollouts=(4, 4, 2), params={"max_queries": 9})
    laid.log(DATABASE, FIRST)
    archive = laid.folder / "archive" / SECOND / DATABASE
    archive.mkdir(parents=True)
    (laid.folder / "logs" / f"{DATABASE}.log").rename(archive / f"{DATABASE}.log")
    laid.status(DATABASE, "running", SECOND)
    laid.live(DATABASE, SECOND, rollouts=(1, 1, 4))
    assert by_task(salvaged(laid))[DATABASE].complete == (2,)


def test_what_was_replaced_on_purpose_does_not_come_back(laid):
    """--overwrite-task archives a whole result; the crash of what replaces it must not bring the old one back."""
    laid.live(DATABASE)
    archive = laid.folder / "archive" / SECOND / DATABASE
    archive.mkdir(parents=True)
    laid.written(DATABASE).rename(archive / f"{DATABASE}.json.gz")
    laid.log(DATABASE, FIRST)
    (laid.folder / "logs" / f"{DATABASE}.log").rename(archive / f"{DATABASE}.log")
    laid.status(DATABASE, "running", SECOND)
    laid.live(DATABASE, SECOND, rollouts=(4, 1, None), baseline=1)
    left = by_task(salvaged(laid))[DATABASE]
    assert (left.state, left.complete, left.groups) == (TaskState.PARTIAL, (0,), (SECOND,))


def test_a_task_to_run_again_is_set_aside_for_good(laid):
    for task in laid.tasks:
        laid.live(task)
        laid.written(task)
        laid.status(task, "ok")
    salvaged(laid)
    found = salvaged(laid, again=[SALES])
    assert [one.task for one in found.to_run] == [SALES]
    assert not (laid.folder / "tasks" / f"{SALES}.json.gz").exists()
    assert (laid.folder / "before-salvage-2/tasks" / f"{SALES}.json.gz").exists()
    assert laid.line(SALES)["status"] == "failed"
    again = by_task(salvaged(laid))
    assert again[SALES].state is TaskState.NOT_BEGUN
    assert again[DATABASE].state is TaskState.WHOLE


def blocked(laid, task, index, count):
    told = laid.trace(task, FIRST, index, count)
    outcomes = told["instance_outcomes"]
    return told | {"status": "blocked", "result": {"score": 0.0, "instance_outcomes": outcomes}}


def test_a_rollout_that_was_refused_before_its_first_instance_has_ended_too(laid):
    live = laid.live(DATABASE)
    stub = {
        "status": "blocked",
        "phase": "run",
        "execution": {"run_group_id": FIRST, "run_index": 2},
        "interactions": [],
    }
    (live / "run_3.json").write_text(json.dumps(stub))
    left = by_task(salvaged(laid))[DATABASE]
    assert (left.state, left.complete) == (TaskState.GAPS, (0, 1))
    assert [one["status"] for one in laid.published(DATABASE)["summary"]["runs"]] == [
        "completed",
        "completed",
        "blocked",
    ]


@pytest.mark.parametrize("word", ["NaN", "-Infinity"])
def test_a_paid_result_with_what_is_no_number_in_it_is_not_paid_again(laid, word):
    """Python's own writer makes such files, and the benchmark reads them."""
    live = laid.live(DATABASE)
    told = json.dumps(laid.trace(DATABASE, FIRST, 0, note='NaN, "NaN" and NaN', ratio=0.12345))
    (live / "run_1.json").write_text(told.replace("0.12345", word))
    raw = json.dumps(laid.artifact(SALES)).replace("1.0", word, 1)
    path = laid.written(SALES)
    path.write_bytes(gzip.compress(raw.encode()))
    for _ in range(2):
        left = by_task(salvaged(laid))
        assert (left[DATABASE].state, left[SALES].state) == (TaskState.WHOLE, TaskState.WHOLE)
    assert (laid.folder / "tasks" / f"{SALES}.json.gz").read_bytes() == path.read_bytes()
    kept = laid.published(DATABASE)["run_traces"][0]["trace"]
    assert (str(kept["ratio"]), kept["note"]) == (str(float(word)), 'NaN, "NaN" and NaN')


def test_a_provider_that_refused_is_a_gap_and_not_paid_again_unasked(laid):
    live = laid.live(DATABASE)
    (live / "run_2.json").write_text(json.dumps(blocked(laid, DATABASE, 1, 2)))
    found = salvaged(laid)
    left = by_task(found)[DATABASE]
    assert (left.state, left.complete, left.rerun) == (TaskState.GAPS, (0, 2), None)
    assert laid.published(DATABASE)["summary"]["status"] == "completed_with_gaps"
    assert laid.line(DATABASE)["status"] == "ok"
    assert by_task(salvaged(laid))[DATABASE].state is TaskState.GAPS


def test_an_artifact_of_refusals_only_is_run_again(laid):
    """The benchmark calls it ok and complete: a resume would pass it over."""
    laid.status(CODEBASE, "ok")
    traces = [{"run_index": k, "trace": blocked(laid, CODEBASE, k, 0)} for k in range(3)]
    told = laid.artifact(CODEBASE, run_traces=traces)
    path = laid.folder / "tasks" / f"{CODEBASE}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(told).encode()))
    left = by_task(salvaged(laid))[CODEBASE]
    assert left.rerun is not None
    assert left.aside[1] == "a provider refused every rollout"
    assert laid.line(CODEBASE)["status"] == "failed"
    assert not path.exists()


def test_snapshots_that_are_gone_take_nothing_from_what_was_put_together(laid):
    laid.live(SALES, rollouts=(4, 4, 1), baseline=1)
    laid.status(SALES, "running")
    salvaged(laid)
    before = laid.published(SALES)
    shutil.rmtree(laid.root / "results" / SALES)
    left = by_task(salvaged(laid))[SALES]
    assert (left.state, left.complete) == (TaskState.PARTIAL, (0, 1))
    assert laid.published(SALES) == before


def test_names_in_the_manifest_lead_nowhere_else(laid):
    laid.manifest["run_group_id"] = "../../../../etc"
    laid.manifest["tasks"].append(laid.entry("../../evil", FIRST, "running"))
    laid.manifest["tasks"][0]["live_manifest_path"] = "/etc/passwd/../x/manifest.json"
    laid.store()
    laid.live(DATABASE)
    found = salvaged(laid)
    assert "../../evil" not in by_task(found)
    assert by_task(found)[DATABASE].groups == (FIRST,)


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"kind": "live_manifest"}'])
def test_a_folder_without_a_manifest_of_run_all_is_no_campaign(laid, content):
    path = laid.folder / "manifest.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(NothingToSalvage, match="nothing was changed") as refused:
        salvaged(laid)
    assert "nothing was changed" in str(refused.value)
