"""Nothing is posted twice and nothing is lost: workers, kills, interrupts, second runs."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

SERIAL_AND_WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])

TWELVE = """
import pytest

@pytest.mark.league_ab(role="crew", claim="better")
@pytest.mark.parametrize("case", range(12))
def test_crew(ab, case):
    ab.require()
"""


def said(result):
    return "\n".join([*result.outlines, *result.errlines])


def test_the_same_command_reads_the_evidence_again(project):
    assert project.judge().ret == 0
    again = project.judge("-n", "2")
    assert again.ret == 0
    assert "read again" in said(again)
    assert "nothing was posted" in said(again)
    assert project.posted == 2


def test_fresh_is_another_attempt_shown_beside_the_first(project):
    assert project.judge().ret == 0
    fresh = project.judge("--eval-fresh", "-n", "2")
    assert project.posted == 4
    assert "attempt 2" in said(fresh)
    assert "earlier: better (attempt 1)" in said(fresh)


ATTEMPTS = """
import json, pathlib

def pytest_runtest_logreport(report):
    if report.when == "call":
        told = {name: value for name, value in report.user_properties if name.startswith("evalharness.")}
        with pathlib.Path("attempts.jsonl").open("a") as file:
            file.write(json.dumps(told, sort_keys=True) + "\\n")
"""


@pytest.mark.thread(row=9)
def test_reruns_read_the_same_evidence(project):
    """A rerun sets fixtures up again, and a verdict must not be rolled again: three attempts, one and the same evidence."""
    project.pytester.makeconftest(ATTEMPTS)
    result = project.judge("--reruns=2", candidate="keeper:v3")
    assert result.ret == 1
    assert project.posted == 2
    assert [case["outcome"] for case in project.results()["cases"]] == ["failed"]
    attempts = (project.pytester.path / "attempts.jsonl").read_text().splitlines()
    assert len(attempts) == 3
    assert len(set(attempts)) == 1
    told = json.loads(attempts[0])
    assert told["evalharness.verdict"] == "worse"
    assert told["evalharness.request_candidate"].startswith("xreq_")


KILLER = """
import os, pathlib, signal
from pytest_evalharness.ledger.leases import Lease

mark = pathlib.Path({mark!r})
original = Lease.{method}

def dies_once(self, *args):
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return original(self, *args)
    os.kill(os.getpid(), signal.SIGKILL)

Lease.{method} = dies_once
"""


@pytest.mark.thread(row=13)
@pytest.mark.parametrize("method", ["begin_post", "posted", "running", "finish"])
def test_a_worker_that_dies_at_any_step_costs_no_second_post(project, method):
    project.pytester.makeconftest(KILLER.format(mark=str(project.pytester.path / "died"), method=method))
    project.cases(TWELVE.replace("12", "4"))
    project.judge("-n", "2")
    assert (project.pytester.path / "died").exists()
    result = project.judge("-n", "2")
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    assert project.posted == 2


@pytest.mark.thread(row=13)
@pytest.mark.parametrize("method", ["begin_post", "posted", "running", "finish"])
def test_a_serial_run_that_dies_is_finished_by_the_same_command(project, method):
    project.pytester.makeconftest(KILLER.format(mark=str(project.pytester.path / "died"), method=method))
    assert project.judge().ret == -signal.SIGKILL
    assert project.judge().ret == 0
    assert project.posted == 2


@pytest.mark.thread(row=12)
@SERIAL_AND_WORKERS
def test_ctrl_c_and_the_same_command_again(project, workers):
    project.league.fault("closed-queue")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *project.command(*workers)],
        cwd=project.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    project.until_noted(process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 2, output
    assert "still running on the server: candidate keeper:v2 " in output
    assert "the same command goes on with these requests" in output
    assert project.junit.exists()
    told = project.results()
    assert (told["exit_code"], told["cases"], told["unfinished"]) == (2, [], ["test_evals.py::test_crew"])
    assert len(told["still_running"]) == 2
    assert not any(verdict in output for verdict in ("BETTER", "WORSE", "EQUIVALENT", "every claim was met"))
    project.league.heal()
    resumed = project.judge(*workers)
    assert resumed.ret == 0
    assert "nothing was posted again" in said(resumed)
    assert project.posted == 2


def test_a_ledger_that_cannot_be_written_is_known_before_anything_is_posted(project):
    project.home.mkdir()
    (project.home / "ledger.sqlite").write_text("this is no database, and has never been one " * 50)
    result = project.judge()
    assert result.ret == 11
    assert "EVH241" in said(result)
    assert project.posted == 0


def test_the_embedded_league_is_started_once_and_ends_with_the_run(project, monkeypatch):
    monkeypatch.delenv("SOFTMAX_CONFIG_DIR")
    result = project.judge("-n", "2", server="embedded")
    assert result.ret == 0
    assert "embedded league (seed 2026)" in said(result)
    (found,) = project.properties()
    assert found["evalharness.server"] == "embedded:2026"
    assert project.results()["embedded"] is True
    assert servers(project.home) == set()


def test_a_run_on_the_embedded_league_is_resumed_on_its_state(project, monkeypatch):
    monkeypatch.delenv("SOFTMAX_CONFIG_DIR")
    # Not before both arms are about to be finished: a busy machine may not have posted the other one when the first is.
    killer = KILLER.format(mark=str(project.pytester.path / "died"), method="finish")
    project.pytester.makeconftest(
        killer.replace("def dies_once", "both = threading.Barrier(2)\n\ndef dies_once")
        .replace("    try:", "    if not mark.exists():\n        both.wait(120)\n    try:")
        .replace("import os,", "import threading, os,")
    )
    assert project.judge(server="embedded").ret == -signal.SIGKILL
    result = project.judge(server="embedded")
    assert result.ret == 0
    assert "posted as" not in said(result), "the restarted server still had both requests"


def servers(home):
    """The embedded servers that run on a home, by pid."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"pytest_evalharness.arena" in words and str(home / "arena").encode() in words:
            found.add(folder.name)
    return found


def test_results_hold_the_whole_evidence_trail(project):
    project.judge()
    (case,) = project.results()["cases"]
    (result,) = case["results"]
    assert json.dumps(result, allow_nan=False)
    assert {"judgement", "plan", "roster", "attempt"} <= set(result)


def test_a_league_that_dies_is_noticed_and_the_same_command_goes_on(project, monkeypatch):
    monkeypatch.delenv("SOFTMAX_CONFIG_DIR")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            *project.command("--eval-arena-fault=closed-queue", server="embedded"),
        ],
        cwd=project.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    project.until_noted(process)
    for pid in servers(project.home):
        os.kill(int(pid), signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 11, output
    assert "the embedded league was killed by signal 9" in output
    assert "while this run was waiting for it" in output
    assert project.judge(server="embedded").ret == 0


def test_fresh_after_an_interrupt_goes_on_with_what_it_had_posted(project, unhurried):
    project.league.fault("closed-queue")
    assert project.judge_here("--eval-fresh", "--eval-queue-budget=1").ret == 11
    assert project.posted == 2
    project.league.heal()
    again = project.judge("--eval-fresh")
    assert again.ret == 0
    assert "attempt 2" not in said(again)
    assert project.posted == 2


EVERY_STATE = pytest.mark.parametrize("method", ["begin_post", "posted", "running", "finish"])
"""Before the POST, before its id is saved, while polling, before the harvest is saved."""
KILLS = """
import os, pathlib, signal
from pytest_evalharness.ledger.leases import Lease

mark = pathlib.Path({mark!r})
original = Lease.{method}

def victims():
    {victims}

def kills_once(self, *args):
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return original(self, *args)
    for pid in victims():
        os.kill(pid, signal.SIGKILL)
    return original(self, *args)

Lease.{method} = kills_once
"""
THE_CONTROLLER = "return [os.getppid()]"
THE_ARENA = """
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\\0")
        except OSError:
            continue
        if b"pytest_evalharness.arena" in words and {arena!r}.encode() in words:
            found.append(int(folder.name))
    return found
"""


def kills(project, method, victims):
    mark = project.pytester.path / "killed"
    project.pytester.makeconftest(KILLS.format(mark=str(mark), method=method, victims=victims))
    return mark


@pytest.mark.thread(row=13)
@pytest.mark.slow
@EVERY_STATE
def test_a_controller_that_is_killed_at_any_state_costs_no_second_post(project, method):
    mark = kills(project, method, THE_CONTROLLER)
    project.cases(TWELVE.replace("12", "6"))
    assert project.judge("-n", "3").ret == -signal.SIGKILL
    assert mark.exists()
    again = project.judge("-n", "3")
    assert again.ret == 0
    again.assert_outcomes(passed=6)
    assert project.posted == 2


@pytest.mark.thread(row=13)
@pytest.mark.slow
@EVERY_STATE
def test_a_worker_of_three_that_is_killed_at_any_state_costs_no_second_post(project, method):
    mark = kills(project, method, "return [os.getpid()]")
    project.cases(TWELVE.replace("12", "6"))
    project.judge("-n", "3")
    assert mark.exists()
    again = project.judge("-n", "3")
    assert again.ret == 0
    again.assert_outcomes(passed=6)
    assert project.posted == 2


@pytest.mark.thread(row=13)
@pytest.mark.slow
@EVERY_STATE
@pytest.mark.parametrize("workers", [(), ("-n", "3")], ids=["serial", "n3"])
def test_an_arena_that_is_killed_at_any_state_goes_on_in_the_same_folder(
    project, monkeypatch, method, workers
):
    monkeypatch.delenv("SOFTMAX_CONFIG_DIR")
    mark = kills(project, method, THE_ARENA.format(arena=str(project.home / "arena")))
    project.cases(TWELVE.replace("12", "3"))
    first = project.judge(*workers, server="embedded")
    assert mark.exists()
    assert first.ret in {0, 11}, said(
        first
    )  # what had been read before the kill may be all there was to read
    again = project.judge(*workers, server="embedded")
    assert again.ret == 0, said(again)
    again.assert_outcomes(passed=3)
    assert requests_in(project.home / "arena") == 2


def requests_in(arena):
    """How many requests an arena ever took, by its own store."""
    with closing(sqlite3.connect(arena / "arena.sqlite")) as file:
        return file.execute("SELECT COUNT(*) FROM requests").fetchone()[0]
