"""Every class of loss from its signature, with what became of the question; and nothing where nothing was lost."""

import json
import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.loss_classes import (
    CLOSURES,
    Count,
    Fate,
    Loss,
    LossClass,
    counted,
)
from pytest_evalharness.clbench.campaign.losses import losses_of
from pytest_evalharness.clbench.campaign.runroots import holds_answer, runroot_folders, runs_root_of
from pytest_evalharness.containers.events import Cause, Death
from pytest_evalharness.containers.state import Container, Mount
from tests.unit.clbench.left import Left, error, wait

ANSWER = 'FINAL ANSWER: {"content": "10.22"}'
OOM = {"status": "failed", "reason_code": "worker_crash_signal", "crash_signal": 9, "crash_exitcode": -9}


@pytest.fixture
def left(tmp_path):
    return Left(tmp_path)


def lost(left, **words):
    return losses_of(left.runs_root, left.logs, **words)


def found(left, **words):
    return [(one.kind, one.fate, one.question) for one in lost(left, **words)]


def container(left, **words):
    told = {
        "id": "c1", "name": "clbench-obo-7-8", "image": "i", "status": "running", "started": 1.0, "ended": None,
        "exit_code": None, "oom_killed": False, "memory": 0, "init": True, "removes_itself": True, "labels": {},
        "mounts": (Mount(str(left.folder / "data"), "/obo/data", writable=True),), **words,
    }  # fmt: skip
    return Container(**told)


def oom_event(at, name="clbench-obo-7-8", identity="c1"):
    return Death(Cause.CHILD_OOM, identity, name, int(at * 1e9), None)


def test_nothing_is_lost_where_all_is_well(left):
    left.submitted("cohort_studies", "t1", 3)
    left.says(
        "cohort_studies", "final-answer delivery: task t1 finalized item q_index=3 via typed final_answer"
    )
    left.task("t1", result=ANSWER, final_answer=ANSWER)
    left.task("t2", "running")
    left.events({"type": "llm_round", "task_id": "t1", "round": 1, "attempt": 1}, error("t1"))
    assert lost(left) == ()


def test_no_folders_at_all(tmp_path):
    assert losses_of(tmp_path / "no", tmp_path / "neither") == ()


# --------------------------------------------------------------- worker crashes


def test_a_worker_that_was_killed_is_placed_by_the_log(left):
    left.submitted("cohort_studies", "t1", 17)
    left.says("cohort_studies", "task t1 terminal (failed) without a protocol action — abandoning scope")
    where = left.task("t1", **OOM)
    (one,) = lost(left)
    assert (one.kind, one.fate, one.task, one.position) == (
        LossClass.WORKER_OOM,
        Fate.LOST,
        "cohort_studies",
        17,
    )
    assert (one.where, one.closure) == (where, CLOSURES[LossClass.WORKER_OOM].closure)
    assert one.words.endswith("without a limit of memory no event proves whose it was")


def test_the_signal_is_read_from_the_text_where_no_field_tells_it(left):
    left.task("t1", "failed", result="❌ worker process crashed (signal 9) while it ran")
    assert found(left) == [(LossClass.WORKER_OOM, Fate.LOST, "t1")]
    left.task("t1", "failed", result="worker process crashed (signal 11)")
    assert found(left) == [(LossClass.WORKER_CRASH, Fate.LOST, "t1")]


def test_an_oom_event_is_the_proof(left):
    at = left.task("t1", **OOM).stat().st_mtime
    for deaths, proved in (
        ([oom_event(at - 10)], True),
        ([oom_event(at - 100)], False),
        ([oom_event(at, name="postgres")], False),
        ([Death(Cause.VANISHED, "c1", "clbench-obo-7-8", int(at * 1e9), 137)], False),
    ):
        (one,) = lost(left, deaths=deaths)
        assert ("clbench-obo-7-8 was out of memory (oom event)" in one.words) == proved


def test_an_oom_event_of_another_container_proves_nothing_where_the_own_is_known(left):
    at = left.task("t1", **OOM).stat().st_mtime
    limited = container(left, memory=1 << 29)
    (one,) = lost(left, deaths=[oom_event(at, identity="c2")], containers=[limited])
    assert one.words == "its worker died of signal 9; no oom event of its container is known"
    (one,) = lost(left, deaths=[oom_event(at)], containers=[limited])
    assert "oom event" in one.words


def test_a_container_without_an_init_process_kills_its_own_workers(left):
    left.task("t1", **OOM)
    assert found(left, containers=[container(left, init=False)]) == [(LossClass.PID_ONE, Fate.LOST, "t1")]
    elsewhere = container(left, init=False, mounts=())
    assert found(left, containers=[elsewhere]) == [(LossClass.WORKER_OOM, Fate.LOST, "t1")]


def test_other_crashes_and_a_pool_that_was_switched_off(left):
    left.task("t1", "failed", reason_code="worker_crash_retry_exhausted")
    left.task(
        "t2", "failed", outcome_axes={"execution": {"reason_code": "worker_crash_retry_admission_blocked"}}
    )
    left.rows("supervisor.jsonl", {"type": "crash_storm_detected", "ts": "2026-11-30T01:00:00Z"})
    left.says(
        "cohort_studies",
        "task t3 still 'queued' after 240s — workers presumed dead; abandoning early (fail-fast)",
    )
    assert Counter(found(left)) == Counter(
        [
            (LossClass.WORKER_CRASH, Fate.LOST, "t1"),
            (LossClass.WORKER_CRASH, Fate.LOST, "t2"),
            (LossClass.WORKER_CRASH, Fate.UNKNOWN, ""),
            (LossClass.WORKER_CRASH, Fate.LOST, "t3"),
        ]
    )


def test_a_clone_that_was_swept_away(left):
    left.rows("server.log", "ModuleNotFoundError: No module named 'ouroboros.loop'", "another line")
    left.says(
        "cohort_studies",
        "task t3 still 'queued' after 240s — workers presumed dead; abandoning early (fail-fast)",
    )
    assert found(left) == [
        (LossClass.PARTIAL_MOUNT, Fate.UNKNOWN, ""),
        (LossClass.PARTIAL_MOUNT, Fate.LOST, "t3"),
    ]


# --------------------------------------------------------------------- network


@pytest.mark.parametrize(
    ("rows", "task", "fate"),
    [
        ([("entered", 0), ("waiting", 30), ("recovered", 45)], {"result": ANSWER}, Fate.SURVIVED),
        (
            [("entered", 0), ("ended", 90)],
            {"status": "failed", "reason_code": "provider_unavailable"},
            Fate.LOST,
        ),
        ([("entered", 0), ("ended", 90)], {"result": ANSWER}, Fate.SURVIVED),
        ([("entered", 0), ("waiting", 30)], {"status": "running"}, Fate.UNKNOWN),
    ],
)
def test_an_engine_that_waited_for_the_network(left, rows, task, fate):
    left.events(*(wait("t1", phase, elapsed) for phase, elapsed in rows))
    left.task("t1", **task)
    outages = [one for one in lost(left) if one.kind is LossClass.NETWORK_OUTAGE]
    assert [one.fate for one in outages] == [fate]
    assert outages[0].at == 1_800_000_000.0


def test_a_question_that_the_adapter_held(left):
    left.submitted("exploitable_poker", "t1", 4)
    left.says(
        "exploitable_poker",
        "host network DOWN — outage hold 0s/21600s (task=t1); question clock paused",
        "host network DOWN — outage hold 300s/21600s (task=t1); question clock paused",
        "host network DOWN — holding submit 600s/21600s",
    )
    told = lost(left)
    assert [(one.fate, one.question, one.position, one.words) for one in told] == [
        (Fate.SURVIVED, "", None, "the adapter held questions back, at least 10 min of 6 h"),
        (Fate.SURVIVED, "t1", 4, "the adapter held the question at least 5 min of 6 h"),
    ]
    left.says("exploitable_poker", "task t1 terminal (failed) without a protocol action — abandoning scope")
    assert [one.fate for one in lost(left)] == [Fate.SURVIVED, Fate.LOST]


def test_a_question_that_was_given_up_and_nothing_says_why(left):
    left.submitted("cohort_studies", "t1", 5)
    left.says(
        "cohort_studies",
        "no action after hard cap 1800s (task=t1); abandoning scope (respond() will fall back/escalate)",
    )
    (one,) = lost(left)
    assert (one.kind, one.fate, one.position) == (LossClass.UNEXPLAINED, Fate.LOST, 5)
    left.task("t1", "failed", reason_code="round_limit")
    assert [one.kind for one in lost(left)] == [LossClass.TRUNCATED]


def test_a_hold_that_was_short_is_told_too(left):
    left.says(
        "sales_prediction", "host network DOWN — outage hold 0s/21600s (task=t1); question clock paused"
    )
    assert found(left) == [(LossClass.NETWORK_OUTAGE, Fate.SURVIVED, "t1")]


def test_an_item_that_ended_with_an_empty_answer_is_lost(left):
    left.task("t1", **OOM)
    left.says(
        "cohort_studies",
        "task t1 terminal (failed) without a protocol action - abandoning scope",
        "finalized item of task t1",
    )
    assert found(left) == [(LossClass.WORKER_OOM, Fate.LOST, "t1")]


def test_a_hold_that_was_used_up_lost_its_question(left):
    left.says(
        "sales_prediction", "host network DOWN — outage hold 600s/600s (task=t1); question clock paused"
    )
    assert found(left) == [(LossClass.NETWORK_OUTAGE, Fate.LOST, "t1")]


# ------------------------------------------------------------- shim and files


def test_a_shim_that_nobody_reaches(left):
    left.rows("tools.jsonl", {"tool": "run", "result": "curl: (7) Failed to connect: Connection refused"})
    assert found(left) == [(LossClass.SHIM_UNREACHABLE, Fate.UNKNOWN, "")]


def test_an_agent_that_is_refused_a_connection_of_its_own_lost_no_shim(left):
    left.rows(
        "tools.jsonl", {"tool": "run", "result": "psycopg2: Connection refused"}, {"tool": "remote_work"}
    )
    assert lost(left) == ()


def test_files_of_another_user(left):
    left.rows(
        "server.log",
        "PermissionError: [Errno 13] Permission denied: '/obo/data/state/skills/shim_target.txt'",
    )
    left.says("cohort_studies", "respond failed: PermissionError: [Errno 13] 'shim_target.txt'")
    assert [one.kind for one in lost(left)] == [LossClass.FOREIGN_FILES] * 2


# ------------------------------------------------------------------- answers


def test_prose_that_nobody_could_read(left):
    left.submitted("sales_prediction", "t1", 2)
    left.says(
        "sales_prediction", "final-answer delivery: task t1 no deliverable answer (no JSON) — falling back"
    )
    left.task("t1", result="75 predictions were saved to data/history.json")
    (one,) = lost(left)
    assert (one.kind, one.fate, one.words) == (
        LossClass.PROSE_FINAL,
        Fate.LOST,
        "no answer could be delivered",
    )
    assert (one.task, one.position) == ("sales_prediction", 2)


def test_prose_that_was_repaired_and_its_repair_is_no_question(left):
    left.says(
        "sales_prediction",
        "format-repair: task t1 (no JSON) -> repair task r1 submitted",
        "format-repair: task t1 REPAIRED via typed of repair task",
    )
    left.task("t1", result="I left it in the workspace")
    left.task("r1", result="")
    assert found(left) == [(LossClass.PROSE_FINAL, Fate.SURVIVED, "t1")]


def test_a_repair_that_is_broken_or_gives_nothing(left):
    left.says("sales_prediction", "respond failed: NameError: name '_rb' is not defined")
    left.says(
        "sales_prediction",
        "format-repair: task t1 (no JSON) -> repair task r1 submitted",
        "format-repair: task t1 repair produced no usable payload — falling back",
    )
    assert found(left) == [
        (LossClass.PROSE_FINAL, Fate.UNKNOWN, ""),
        (LossClass.PROSE_FINAL, Fate.LOST, "t1"),
    ]


def test_prose_that_was_read_all_the_same(left):
    left.says(
        "codebase_adaptation",
        "final-answer delivery: task t1 strict parse failed (no JSON) — COERCED from final text",
    )
    left.task("t1", result="the fix is in place")
    assert found(left) == [(LossClass.PROSE_FINAL, Fate.SURVIVED, "t1")]


def test_an_answer_that_came_before_its_task_failed(left):
    left.task("t1", "failed", reason_code="llm_api_error", final_answer=ANSWER)
    assert found(left) == [(LossClass.LATE_ERRORS, Fate.UNKNOWN, "t1")]
    left.says(
        "cohort_studies",
        "task t1 terminal (failed) but a typed FINAL ANSWER survived — salvaged instead of abandoning",
    )
    assert found(left) == [(LossClass.LATE_ERRORS, Fate.SURVIVED, "t1")]


def test_calls_that_failed_before_an_answer(left):
    left.task("t1", "failed", reason_code="llm_api_error")
    assert found(left) == [(LossClass.PROVIDER, Fate.LOST, "t1")]


# --------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("row", "lost_to_money"),
    [
        ({"status_code": 402}, True),
        ({"error_kind": "quota_exhausted"}, True),
        ({"status_code": 403, "provider_message": "Key limit exceeded (total limit)"}, True),
        ({"status_code": 403, "error": "insufficient credits"}, True),
        ({"status_code": 403, "error": "moderation"}, False),
        ({"status_code": 429}, False),
    ],
)
def test_calls_that_were_refused_for_want_of_money(left, row, lost_to_money):
    left.events(
        error("t1", **{"error_kind": "auth_error", **row})
        if "error_kind" not in row
        else error("t1", row["error_kind"])
    )
    left.task("t1", "failed", reason_code="llm_api_error")
    assert [one.kind for one in lost(left)] == [LossClass.KEY_LIMIT if lost_to_money else LossClass.PROVIDER]


def test_a_refusal_that_another_key_made_good_lost_nothing(left):
    left.events(
        error("t1", status_code=402), {"type": "llm_round", "task_id": "t1", "round": 1, "attempt": 2}
    )
    left.task("t1", result=ANSWER)
    assert lost(left) == ()


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("budget_exhausted", LossClass.BUDGET),
        ("round_limit", LossClass.TRUNCATED),
        ("deadline_local", LossClass.TRUNCATED),
        ("finalization_grace", LossClass.TRUNCATED),
        ("acceptance_fence_unavailable", LossClass.TRUNCATED),
        ("children_unabsorbed", LossClass.TRUNCATED),
        ("owner_requested_finalization", LossClass.TRUNCATED),
        ("provider_unavailable", LossClass.PROVIDER),
    ],
)
def test_a_task_that_was_cut_short_is_no_failure_of_the_agent(left, reason, kind):
    left.task("t1", "failed", reason_code=reason, cost_usd=1.5)
    (one,) = lost(left)
    assert (one.kind, one.fate) == (kind, Fate.LOST)
    assert reason == "budget_exhausted" or reason in one.words


def test_a_workspace_that_ended_by_itself_after_two_hours(left):
    def death(cause, lived, name="minisweagent-0a1b2c3d"):
        return Death(cause, "c9", name, 9_000_000_000_000, 0, lived)

    assert found(left, deaths=[death(Cause.ENDED, 7200.4)]) == [(LossClass.SANDBOX, Fate.UNKNOWN, "")]
    others = [
        death(Cause.ENDED, 100.0), death(Cause.STOPPED, 7300.0), death(Cause.ENDED, None), death(Cause.ENDED, 8000.0, "postgres"),
    ]  # fmt: skip
    assert found(left, deaths=others) == []


def test_a_workspace_that_is_gone_while_its_task_works(left):
    path = left.logs / "sales_prediction.log"
    path.write_text(
        "Error response from daemon: No such container: minisweagent-0a1b2c3d\nNo such container: db\n"
    )
    (one,) = lost(left)
    assert (one.kind, one.fate, one.task) == (LossClass.SANDBOX, Fate.LOST, "sales_prediction")


def test_rows_that_the_bridge_path_lacks(left):
    run = left.runs_root.parent / "bridge"
    (run / "runner_state").mkdir(parents=True)
    (run / "results.json").write_text(
        '{"conditions": {"stateful_noevo": {"missing_reward_indices": [3, 5]}, "x": null}}'
    )
    where = run / "traces" / "stateless" / "database_exploration" / "q007"
    where.mkdir(parents=True)
    (where / "absorb.json").write_text("{}\n")
    (where / "task_outcome.json").write_text('{"ouroboros_status": "missing_outcome"}')
    other = where.with_name("q008")
    other.mkdir()
    (other / "absorb.json").write_text('{"absorbed": 1}')
    (other / "task_outcome.json").write_text('{"ouroboros_status": "auto_resolved_no_agent_turn"}')
    for root in (run, run / "runner_state"):
        told = losses_of(root, left.logs)
        assert {one.kind for one in told} == {LossClass.MISSING_ROW}
        assert sorted(one.words for one in told) == [
            "stateful_noevo: the question 3 has no reward",
            "stateful_noevo: the question 5 has no reward",
            "stateless, q007: it has no outcome",
            "stateless, q007: nothing was absorbed",
        ]


# ------------------------------------------------------------------- reading


def test_each_class_is_counted_by_what_became_of_its_questions(left):
    left.task("t1", **OOM)
    left.task("t2", **OOM)
    left.task("t3", "failed", reason_code="llm_api_error", final_answer=ANSWER)
    assert counted(lost(left)) == {
        LossClass.WORKER_OOM: Count(lost=2),
        LossClass.LATE_ERRORS: Count(unknown=1),
    }
    assert list(CLOSURES) == list(LossClass)


@pytest.mark.parametrize(
    ("told", "embedded", "root"),
    [
        ({"OUROBOROS_BENCH_RUNS_ROOT": "/runs"}, False, "/runs"),
        ({"OUROBOROS_BENCH_RUNS_ROOT": "runs"}, False, "/checkout/runs"),
        ({}, True, "/checkout/cl_bench_runs"),
        ({}, False, str(Path.home() / "cl_bench_runs")),
    ],
)
def test_where_engines_have_their_folders(told, embedded, root):
    assert str(runs_root_of(told, Path("/checkout"), embedded=embedded)) == root


def test_one_loss_that_two_files_tell_of_is_one(left):
    left.submitted("sales_prediction", "t1", 2)
    left.says(
        "sales_prediction", "final-answer delivery: task t1 no deliverable answer (no JSON) — falling back"
    )
    left.task("t1", result="prose")
    assert len(lost(left)) == 1


def given_up(left, name, position, **told):
    left.submitted("cohort_studies", name, position)
    left.task(name, **(told or OOM))
    left.says("cohort_studies", f"task {name} terminal (failed) without a protocol action — abandoning scope")


def test_a_question_that_was_asked_three_times_is_lost_once(left):
    for name in ("t1", "t2", "t3"):
        given_up(left, name, 5)
    given_up(left, "t4", 6)
    told = lost(left)
    assert [(one.fate, one.position) for one in told] == [(Fate.LOST, 5), (Fate.LOST, 6)]
    assert told[0].words.endswith("; 3 tasks of this question")


def test_a_question_that_was_asked_again_and_answered_is_not_lost(left):
    given_up(left, "t1", 5)
    left.submitted("cohort_studies", "t2", 5)
    left.task("t2", result=ANSWER)
    left.says("cohort_studies", "final-answer delivery: task t2 finalized item q_index=5 via final text")
    (one,) = lost(left)
    assert (one.fate, one.question) == (Fate.SURVIVED, "t1")
    assert one.words.endswith("; it was asked again, and answered")


def test_the_same_position_of_another_engine_is_another_question(left):
    given_up(left, "t1", 0)
    left.root("aaaa0002")
    given_up(left, "t2", 0)
    left.submitted("cohort_studies", "t3", 0)
    left.task("t3", result=ANSWER)
    left.says("cohort_studies", "final-answer delivery: task t3 finalized item q_index=0 via final text")
    assert found(left) == [
        (LossClass.WORKER_OOM, Fate.LOST, "t1"),
        (LossClass.WORKER_OOM, Fate.SURVIVED, "t2"),
    ]


def test_engines_of_an_earlier_campaign_are_left_out(left):
    left.task("t1", **OOM)
    for path in [left.folder / "data", *(left.folder / "data").rglob("*")]:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    left.root("aaaa0002", prefix="obo_clbench_")
    left.task("t2", **OOM)
    assert [one.question for one in lost(left, since=1_500_000_000)] == ["t2"]
    assert [one.question for one in lost(left)] == ["t1", "t2"]


@pytest.mark.parametrize(("behind", "counts"), [(0.004, True), (0.04, True), (0.1, False)])
def test_a_file_system_may_stamp_by_a_clock_that_is_a_little_behind(left, behind, counts):
    left.task("t1", **OOM)
    for path in [left.folder / "data", *(left.folder / "data").rglob("*")]:
        os.utime(path, (1_500_000_000 - behind, 1_500_000_000 - behind))
    assert bool(lost(left, since=1_500_000_000)) is counts


def test_only_engines_own_folders_are_read(left):
    (left.runs_root / "obo_dockerclbench_empty").mkdir()
    (left.runs_root / "other").mkdir()
    (left.runs_root / "obo_dockerclbench_link").symlink_to(left.folder)
    assert runroot_folders(left.runs_root) == [left.folder]


def test_what_cannot_be_read_breaks_nothing(left):
    left.task("t1", **OOM)
    (left.folder / "data" / "task_results" / "torn.json").write_text('{"task_id": "t')
    (left.folder / "data" / "task_results" / "list.json").write_text("[1]")
    (left.folder / "data" / "task_results" / "folder.json").mkdir()
    (left.logs / "empty.log").write_text("")
    (left.logs / "noise.log").write_bytes(b"[live-bridge] \xff\xfe submitted live task\n[live-bridge] task\n")
    assert found(left) == [(LossClass.WORKER_OOM, Fate.LOST, "t1")]


def test_a_second_reading_reads_only_what_changed(left):
    left.task("t1", **OOM)
    left.events(wait("t1", "recovered", 3))
    for path in left.runs_root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    files = ChangedFiles(lambda: 2_000_000_000.0)
    first = lost(left, files=files)
    read = files.readings
    assert read > 0
    assert lost(left, files=files) == first
    assert files.readings == read


@pytest.mark.parametrize(
    "told",
    [
        {"reason_code": "\x1b[31mred", "final_answer": ANSWER},
        {"reason_code": "worker_crash\x1b[31m"},
        {"reason_code": "\n", "crash_signal": 11},
        {"reason_code": "llm_api_error"},
    ],
)
def test_what_engines_say_cannot_steer_a_terminal(left, told):
    if told["reason_code"] == "llm_api_error":
        left.events(error("t1", status_code=402, provider_message="\x1b[31mno\nmoney"))
    left.task("t1", "failed", **told)
    (one,) = lost(left)
    assert one.words.isprintable()


_WORDS = st.sampled_from(
    [
        "t1", "failed", "completed", "worker_crash_signal", "budget_exhausted", "llm_api_error", "llm_round", "network_wait",
        "recovered", "entered", "crash_storm_detected", "worker process crashed (signal 9)", '{"a": 1}', "\x1b[31m", "",
    ]
)  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 500) | st.floats(allow_nan=False) | _WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_WORDS, inner, max_size=2),
    max_leaves=4,
)
_FIELDS = st.sampled_from(
    [
        "task_id", "status", "result", "final_answer", "reason_code", "outcome_axes", "crash_signal", "cost_usd", "type", "ts",
        "phase", "elapsed_sec", "error_kind", "status_code", "attempt", "round", "round_id", "error",
    ]
)  # fmt: skip
_RECORDS = st.dictionaries(_FIELDS, _VALUES, max_size=6)
_SAID = st.sampled_from(
    [
        "submitted live task t1 (scope=question, q_index=3)", "task t1 terminal (failed) - abandoning scope", "task  task=",
        "host network DOWN - outage hold 5s/60s (task=t1)", "format-repair: task t1 (x) -> repair task r1 submitted",
        "task t1 still 'queued' - workers presumed dead; abandoning", "finalized item of task t1", "respond failed: NameError: x",
        "PermissionError shim_target.txt", "host network DOWN 1s/x", "task t1 strict parse failed - COERCED from final text",
    ]
)  # fmt: skip


@given(st.lists(_RECORDS, max_size=4), st.lists(_RECORDS, max_size=6), st.lists(_SAID, max_size=6))
def test_whatever_engines_write_each_loss_is_one_that_can_be_printed(records, rows, said):
    with tempfile.TemporaryDirectory() as folder:
        left = Left(Path(folder))
        for number, record in enumerate(records):
            (left.folder / "data" / "task_results" / f"{number}.json").write_text(json.dumps(record))
        left.events(*rows)
        left.rows("supervisor.jsonl", *rows)
        left.says("cohort_studies", *said)
        told = lost(left)
    assert all(one.words.isprintable() and one.words for one in told)
    assert len({(one.kind, one.question, one.where if not one.question else "") for one in told}) == len(told)
    assert sum(count.total for count in counted(told).values()) == len(told)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", False), ("prose", False), ("{}", False), ("set {1, 2} and {x}", False), ('{"a": 1}', True),
        ('see { this } FINAL ANSWER: {"content": ""}', True), ("[1, 2]", False), ("{" * 5000, False),
    ],
)  # fmt: skip
def test_what_can_be_delivered(text, answer):
    assert holds_answer(text) is answer


def test_a_loss_knows_what_closes_it(tmp_path):
    assert "CLBENCH_SHIM_BIND" in Loss(LossClass.SHIM_UNREACHABLE, Fate.UNKNOWN, "", tmp_path).closure
