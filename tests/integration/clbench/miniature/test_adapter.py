"""The adapter in miniature: an engine and a folder for each rollout, and every way in which a question is lost or kept."""

import json
import os
import re
import signal
import stat
import time
from contextlib import suppress

import pytest

from pytest_evalharness.clbench.campaign.costs import elsewhere
from pytest_evalharness.clbench.campaign.process_table import process

PATIENCE = 180.0
LEDGER, DUEL, BANDS = "mini_ledger_lookup", "mini_coin_duel", "mini_band_scan"


class Adapter:
    """One rollout without a baseline, in one process beside its engine."""

    def __init__(self, miniature):
        self.miniature = miniature
        self.runs_root = miniature.root / "engines"
        miniature.environment |= {
            "OUROBOROS_BENCH_RUNS_ROOT": str(self.runs_root),
            "OUROBOROS_BENCH_SKIP_BASELINE": "1",
            "OPENROUTER_API_KEY": "sk-or-v1-invented",
        }

    def words(self, task, *more):
        return (
            "run",
            task,
            "--system",
            "ouroboros",
            "--schedule",
            "default",
            "--runs",
            "1",
            "--no-live-server",
            *more,
        )

    def play(self, task, *faults, params=None, expect=0, **environment):
        more = () if params is None else ("--system-params", json.dumps(params))
        environment["CLBENCH_MINIATURE_FAULTS"] = ",".join(faults)
        self.done = self.miniature.run(*self.words(task, *more), **environment)
        assert self.done.returncode == expect, self.done.stderr
        return self.done

    def outcomes(self, task):
        return self.miniature.artifact(task)["run_traces"][0]["trace"]["result"]["instance_outcomes"]

    def rewards(self, task):
        return [one["reward"] for one in self.outcomes(task)]

    @property
    def bridge(self):
        lines = self.done.stderr.splitlines()
        return [line.removeprefix("[live-bridge] ") for line in lines if line.startswith("[live-bridge] ")]

    @property
    def folder(self):
        [found] = self.runs_root.iterdir()
        return found

    def records(self):
        found = [
            json.loads(path.read_text()) for path in (self.folder / "data" / "task_results").glob("*.json")
        ]
        return sorted(found, key=lambda one: int(one["task_id"].split("-")[2]))

    def rows(self, kind, log="events.jsonl"):
        """Of the engine's log, none where it has not begun one; a line that is being written is none yet."""
        lines = [
            line
            for path in self.runs_root.glob(f"*/data/logs/{log}")
            for line in path.read_text().rpartition("\n")[0].splitlines()
        ]
        return [row for row in map(json.loads, lines) if row["type"] == kind]


@pytest.fixture
def adapter(miniature):
    return Adapter(miniature)


def test_a_rollout_has_one_engine_with_a_folder_of_the_known_layout(adapter):
    adapter.play(BANDS, params={"max_workers": 3, "final_answer_delivery": True})
    folder = adapter.folder
    assert folder.name.startswith("obo_clbench_")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    settings = folder / "data" / "settings.json"
    assert json.loads(settings.read_text())["OPENROUTER_API_KEY"] == "sk-or-v1-invented"
    assert settings.stat().st_mode & 0o044, "the defect that hygiene looks for"
    assert (folder / "clone" / ".git").is_dir()
    assert (folder / "data" / "state" / "skills" / "remote_work" / "shim_target.txt").exists()
    records = adapter.records()
    assert [one["status"] for one in records] == ["completed"] * 10
    assert all("channels" in json.loads(one["final_answer"]) for one in records)
    assert len([line for line in adapter.bridge if line.startswith("submitted live task")]) == 10
    assert "'max_workers': 3" in adapter.done.stdout


def test_what_a_question_cost_is_told_when_its_task_is_over(adapter):
    adapter.play(LEDGER)
    trace = adapter.miniature.artifact(LEDGER)["run_traces"][0]["trace"]
    assert adapter.miniature.artifact(LEDGER)["baseline_trace"] is None
    told = trace["execution"]["usage"]
    assert told["respond"]["call_count"] == 0
    assert set(told["observe"]["by_call_type"]) == {"ouroboros_engine_task"}
    paid = sum(one["cost_usd"] for one in adapter.records())
    assert told["interaction"]["cost_usd"] == pytest.approx(paid)
    ends = [turn["usage"]["interaction"]["cost_usd"] > 0.0 for turn in trace["interactions"]]
    assert ends == [turn["observation"]["instance_complete"] for turn in trace["interactions"]]


def test_the_runbooks_recipe_needs_no_image(adapter):
    """`docker` alone, with the adapter's own image that nobody has: the process is the engine."""
    adapter.play(BANDS, params={"docker": True, "loop": "live", "final_answer_delivery": True})
    assert adapter.folder.name.startswith("obo_dockerclbench_")
    assert "booted as a process of this machine" in adapter.bridge[0]


@pytest.mark.slow
def test_each_instance_of_a_baseline_has_a_fresh_engine(adapter):
    adapter.miniature.environment["OUROBOROS_BENCH_SKIP_BASELINE"] = "0"
    done = adapter.miniature.run(*adapter.words(BANDS, "--max-workers", "2"))
    assert done.returncode == 0, done.stderr
    assert len(list(adapter.runs_root.iterdir())) == 11
    artifact = adapter.miniature.artifact(BANDS)
    assert artifact["baseline_trace"]["execution"]["coverage_ratio"] == 1.0
    told = elsewhere("ouroboros", embedded=True)[BANDS]
    spent = [artifact["run_traces"][0]["trace"], artifact["baseline_trace"]]
    for trace, expected in zip(spent, (told.rollout, told.baseline), strict=True):
        cost = trace["execution"]["usage"]["interaction"]["cost_usd"]
        assert 0.8 * expected < cost <= expected, "what a preflight expects is what is paid"


@pytest.mark.slow
def test_an_outage_holds_the_next_question_and_loses_none(adapter):
    adapter.play(LEDGER, "outage=mini_ledger_lookup:0:2@0.4")
    held = [line for line in adapter.bridge if "host network DOWN" in line]
    assert "nothing is sent yet" in held[0]
    waited = [re.match(r"host network back after ([\d.]+)s", line) for line in adapter.bridge]
    assert [float(one[1]) >= 0.4 for one in waited if one] == [True]
    assert len(adapter.outcomes(LEDGER)) == 12
    assert all(one["status"] == "completed" for one in adapter.records())


def test_an_outage_pauses_the_clock_of_a_question_that_is_under_way(adapter):
    adapter.miniature.set_faults("livelock=mini_ledger_lookup:0:1")  # it stays under way
    run = adapter.miniature.start(*adapter.words(LEDGER))
    live = adapter.miniature.root / "results" / LEDGER / "live"

    def turns():
        found = [json.loads(path.read_text())["interactions"] for path in live.glob("*/run_1.json")]
        return [turn for turn in (found[0] if found else []) if turn["query"]["instance_index"] == 1]

    wait_until(lambda: turns() and not turns()[-1]["observation"]["instance_complete"])
    adapter.miniature.set_faults("outage=mini_ledger_lookup")
    wait_until(lambda: adapter.rows("network_wait"))
    adapter.miniature.set_faults()
    _, said = run.communicate(timeout=PATIENCE)
    assert (run.returncode, "scope clock paused" in said) == (0, True)
    waits = adapter.rows("network_wait")
    assert waits[0]["phase"] == "entered"
    assert waits[-1]["phase"] == "recovered"
    assert {row["cost_usd"] for row in waits} == {0.0}


def wait_until(true):
    over = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < over
        time.sleep(0.02)


@pytest.mark.slow
def test_without_a_hold_the_question_is_given_up_and_forfeited(adapter):
    adapter.play(LEDGER, "outage=mini_ledger_lookup:0:2", OUROBOROS_NET_OUTAGE_HOLD_SEC="0")
    lost = adapter.outcomes(LEDGER)[2]
    assert (lost["reward"], lost["metadata"]["latency_timeout"]) == (0.0, True)
    trace = adapter.miniature.artifact(LEDGER)["run_traces"][0]["trace"]
    turns = [
        one["response"]["metadata"] for one in trace["interactions"] if one["query"]["instance_index"] == 2
    ]
    assert [turn.get("forfeit_reason") for turn in turns] == [None, None, "engine_unresponsive"]


def test_a_worker_out_of_memory_is_seen_in_the_record_only(adapter):
    adapter.play(LEDGER, "oom=mini_ledger_lookup:0:2")
    [crashed] = [one for one in adapter.records() if one["status"] == "failed"]
    assert (crashed["crash_signal"], crashed["reason_code"]) == (9, "worker_crash_signal")
    assert "worker process crashed (signal 9)" in crashed["result"]
    told = [line for line in adapter.bridge if "terminal (failed) without a protocol action" in line]
    assert len(told) == 1
    assert "signal" not in told[0]
    assert len(adapter.records()) == 13, "the question's next turn had a task of its own"
    assert adapter.rewards(LEDGER)[2] > 0.0


@pytest.mark.slow
def test_three_crashes_turn_the_pool_off(adapter):
    adapter.play(BANDS, "oom=mini_band_scan:0:2-4")
    assert len(adapter.rows("crash_storm_detected", "supervisor.jsonl")) == 1
    assert len([line for line in adapter.bridge if "workers presumed dead" in line]) == 5
    assert adapter.rewards(BANDS)[2:] == [0.25] * 8


def test_a_spent_key_is_free_null_and_in_the_events(adapter):
    adapter.play(BANDS, OPENROUTER_API_KEY="sk-or-v1-spent")
    assert {(one["reward"], one["cost_usd"]) for one in adapter.outcomes(BANDS)} == {(0.25, 0)}
    rows = adapter.rows("llm_api_error")
    assert {row["status_code"] for row in rows} == {402}
    assert len(rows) == 10


def test_an_exchanged_key_holds_from_the_next_task_on(adapter):
    adapter.miniature.environment["OPENROUTER_API_KEY"] = "sk-or-v1-spent"
    adapter.miniature.set_faults("stall=mini_band_scan:0:3")
    run = adapter.miniature.start(*adapter.words(BANDS))
    wait_until(lambda: len(adapter.rows("llm_api_error")) == 3)
    settings = adapter.folder / "data" / "settings.json"
    told = json.loads(settings.read_text()) | {"OPENROUTER_API_KEY": "sk-or-v1-fresh"}
    beside = settings.with_suffix(".new")
    beside.write_text(json.dumps(told))
    beside.replace(settings)
    adapter.miniature.set_faults()
    run.communicate(timeout=PATIENCE)
    assert [one["cost_usd"] > 0.0 for one in adapter.outcomes(BANDS)] == [False] * 3 + [True] * 7


@pytest.mark.slow
def test_a_spent_budget_truncates_in_silence(adapter):
    adapter.play(BANDS, OUROBOROS_TOTAL_BUDGET="0.2")
    reasons = [one["reason_code"] for one in adapter.records()]
    assert reasons == [None] * 5 + ["budget_exhausted"] * 5
    assert adapter.rewards(BANDS)[5:] == [0.25] * 5


@pytest.mark.slow
def test_a_key_from_elsewhere_and_a_task_at_its_limit(adapter):
    adapter.play(BANDS, "truncated=mini_band_scan:0:3")
    assert [one["reason_code"] for one in adapter.records() if one["reason_code"]] == ["round_limit"]
    adapter.play(
        BANDS, "other_key=mini_band_scan", OUROBOROS_BENCH_RUNS_ROOT=str(adapter.runs_root / "other")
    )
    assert {(one["reward"], one["cost_usd"]) for one in adapter.outcomes(BANDS)} == {(0.25, 0)}


def test_attempts_of_a_call_leave_a_row_each(adapter):
    adapter.play(
        BANDS, "transport_death=mini_band_scan:0:1", "blip=mini_band_scan:0:3@2", "blip=mini_band_scan:0:5@99"
    )
    by_task = {}
    for row in adapter.rows("llm_api_error"):
        by_task.setdefault(int(row["task_id"].split("-")[2]), []).append(row)
    assert {task: len(rows) for task, rows in by_task.items()} == {2: 3, 4: 2, 6: 6}
    assert {row["error_kind"] for row in by_task[2]} == {"transport_death"}
    assert all(row["reserved_usd"] > 0.0 for row in by_task[2])
    assert [one["reason_code"] for one in adapter.records() if one["status"] == "failed"] == [
        "provider_unavailable"
    ]


def test_prose_is_repaired_where_the_repair_is_not_broken(adapter):
    adapter.play(BANDS, "prose=mini_band_scan:0:2")
    assert any(" REPAIRED via " in line for line in adapter.bridge)
    assert len(adapter.records()) == 11
    assert adapter.rewards(BANDS)[2] > 0.25


@pytest.mark.slow
def test_a_repair_that_is_turned_off_loses_the_answer(adapter):
    adapter.play(BANDS, "prose=mini_band_scan:0:2", OUROBOROS_FORMAT_REPAIR="0")
    assert any("no deliverable answer" in line for line in adapter.bridge)
    assert adapter.rewards(BANDS)[2] == 0.25


@pytest.mark.slow
def test_a_broken_repair_ends_the_rollout(adapter):
    done = adapter.play(BANDS, "prose=mini_band_scan:0:2", "repair_broken=mini_band_scan", expect=1)
    assert "respond failed: NameError" in done.stderr


@pytest.mark.slow
def test_an_answer_whose_task_failed_afterwards_is_salvaged(adapter):
    adapter.play(BANDS, "late_error=mini_band_scan:0:2")
    assert len([line for line in adapter.bridge if "salvaged instead of abandoning" in line]) == 1
    assert adapter.records()[2]["status"] == "failed"
    assert adapter.rewards(BANDS)[2] > 0.25


@pytest.mark.slow
def test_an_engine_that_cannot_reach_the_benchmark_answers_blindly_and_is_paid(adapter):
    adapter.play(LEDGER, "no_shim=mini_ledger_lookup")
    outcomes = adapter.outcomes(LEDGER)
    assert {(one["reward"], one["metadata"]["num_queries"]) for one in outcomes} == {(0.0, 0)}
    assert all(one["cost_usd"] > 0.0 for one in outcomes)
    assert "Connection refused" in adapter.rows("tool_call", "tools.jsonl")[0]["result"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "params", "environment", "words"),
    [
        (["partial_mount=mini_band_scan"], {}, {}, "workers_total > 0, workers_alive = 0"),
        (["uid_clash=mini_band_scan"], {}, {}, "PermissionError"),
        ([], {"loop": "live"}, {}, "loop='live' needs docker=true"),
        ([], {"resume": True}, {}, "resume=True needs docker=true"),
        ([], {"final_answer_delivery": True, "conversation": "rollout"}, {}, "needs conversation='question'"),
        ([], {"mode": "sideways"}, {}, "mode must be one of"),
        ([], {"docker": True, "docker_image": "nobody/has-this:image"}, {}, "docker=true, and "),
        (
            [],
            {},
            {"OUROBOROS_BENCH_CLONE": "/nowhere/at/all"},
            "the engine's clone /nowhere/at/all is not there",
        ),
    ],
    ids=["partial mount", "uid clash", "loop", "resume", "delivery", "mode", "docker", "clone"],
)
def test_an_engine_that_cannot_start_ends_the_run(adapter, faults, params, environment, words):
    assert words in adapter.play(BANDS, *faults, params=params, expect=1, **environment).stderr


def test_an_engine_outlives_a_run_that_is_killed_but_not_for_ever(adapter):
    """As a container would; the miniature's own are merciful to the machine they are tested on."""
    adapter.miniature.set_faults("stall=mini_band_scan:0:2")
    run = adapter.miniature.start(*adapter.words(BANDS))
    wait_until(lambda: list(adapter.runs_root.glob("*/data/task_results/*-2.json")))
    name = (adapter.folder / "data" / "logs" / "server.log").read_text().split()
    pid = int(name[name.index("engine") + 1])
    handle = os.pidfd_open(pid)
    try:
        # Its mercy begins when it hears that nobody asks any more: it hears nothing until it goes on.
        signal.pidfd_send_signal(handle, signal.SIGSTOP)
        wait_until(lambda: process(pid).stopped)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=PATIENCE)
        assert process(pid)
        heard = time.monotonic()
        signal.pidfd_send_signal(handle, signal.SIGCONT)
        wait_until(lambda: not process(pid))
        assert time.monotonic() - heard >= 1.0
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
