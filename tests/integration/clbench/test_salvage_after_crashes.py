"""A campaign that is killed anywhere, salvaged and finished with --missing-only, equals one that was never killed."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench import trust
from pytest_evalharness.clbench.campaign.ended_folder import open_folder
from pytest_evalharness.clbench.campaign.salvage import prepare_missing_only, salvage
from pytest_evalharness.clbench.campaign.salvage_plan import Source, TaskState
from pytest_evalharness.clbench.campaign.strays import strays
from pytest_evalharness.clbench.run_folder import read_run
from pytest_evalharness.cli import main
from pytest_evalharness.errors import StillRunning

LOOKUP, SHOP = "mini_ledger_lookup", "mini_shop_forecast"
TASKS = [LOOKUP, SHOP]
ARGUMENTS = ("--system", "notebook", "--task", *TASKS, "--per-task-parallelism", "2", "--runs", "2")
SUMS = (
    "mean_reward_by_index", "mean_gain_by_index", "mean_cost_by_index", "baseline_reward_by_index", "baseline_cost_by_index",
    "runs_total", "runs_completed", "runs_blocked", "score",
)  # fmt: skip
HEADLINES = ("cumulative_gain", "total_reward", "total_cost_usd")
PATIENCE = 180.0


def began(miniature, *more, **environment):
    return miniature.start("run-all", "--name", "mine", *more, *ARGUMENTS, **environment)


def kill(process):
    """SIGKILL to run-all and its children; their pool workers and engines are in that group too."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def alive(folder):
    return [str(one) for one in strays(folder)]


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def quiet(folder):
    until(lambda: not alive(open_folder(folder)), "processes of the campaign go on")


def salvaged(miniature):
    return salvage(miniature.run_folder("mine"), clock=SystemClock(), alive=alive)


def passed(trace):
    if trace is None:
        return None
    outcomes = [
        tuple(one.get(key) for key in ("instance_id", "instance_index", "reward", "success", "cost_usd"))
        for one in trace["result"]["instance_outcomes"]
    ]
    return trace["status"], trace["execution"]["usage"]["interaction"]["cost_usd"], outcomes


def measured(checkout, name):
    """Everything that a run measured, without what tells when."""
    found = {}
    for task in TASKS:
        told = checkout.artifact(task, name)
        head = told["summary"]
        found[task] = {
            "baseline": passed(told["baseline_trace"]),
            "rollouts": [(one["run_index"], passed(one["trace"])) for one in told["run_traces"]],
            "sums": {key: head["aggregate"][key] for key in SUMS},
            "head": {
                key: head[key]
                for key in ("status", "task", "system", "schedule", "run_count", "run_mode", "max_workers")
            },
        }
    return found


def require_equal(miniature, submitted):
    """The salvaged and finished run is the one that never crashed, for the benchmark and for our scorer."""
    assert measured(miniature, "mine") == measured(submitted, "whole")
    mine, whole = miniature.manifest("mine"), submitted.manifest("whole")
    assert mine["status"] == "completed"
    assert sorted(one["task"] for one in mine["tasks"]) == TASKS
    theirs = {one["task"]: one for one in whole["tasks"]}
    for entry in mine["tasks"]:
        assert entry["status"] == "ok"
        for key in HEADLINES:
            assert entry["headline"][key] == pytest.approx(theirs[entry["task"]]["headline"][key], abs=2e-6)
    read = read_run(miniature.run_folder("mine"))
    assert {one.name for one in trust.checks(read) if one.state != "ok"} == {"coverage"}
    assert read.metadata is not None
    together = miniature.run_folder("mine") / "task_artifacts.json.gz"
    shutil.rmtree(miniature.run_folder("mine") / "tasks")
    assert together.exists()
    assert read_run(miniature.run_folder("mine")).tasks == read.tasks


def test_children_that_outlive_run_all_are_waited_for_and_nothing_is_paid_twice(miniature, submitted):
    miniature.set_faults(f"stall={LOOKUP}:1:9")
    process = began(miniature)
    folder = miniature.run_folder("mine")
    live = [miniature.root / "results" / task / "live" for task in TASKS]
    until(lambda: all(any(one.glob("*/run_1.json")) for one in live), "no rollout began")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with pytest.raises(StillRunning, match="runs mini_"):
        salvaged(miniature)
    miniature.set_faults()
    quiet(folder)
    found = salvaged(miniature)
    done = [one for one in found.tasks if one.state is TaskState.WHOLE]
    # Whatever had begun when run-all died has come to its end.
    assert len(done) == len(TASKS)
    assert {one.source for one in done} == {Source.COPIED}
    resumed = miniature.run("run-all", "--name", "mine", "--missing-only", *ARGUMENTS)
    assert (resumed.returncode, "No tasks to run" in resumed.stdout) == (0, True)
    require_equal(miniature, submitted)


def test_a_task_that_died_keeps_its_completed_rollout_until_it_is_run_again(miniature, submitted, capsys):
    """The process of one task dies in its second rollout; the others end, and are not run again."""
    # Whoever plays that rollout would play it to its end without its program: it is held up until it ends by itself.
    faults = f"kill_run={LOOKUP}:1:9,stall={LOOKUP}:1:9"
    done = miniature.run("run-all", "--name", "mine", *ARGUMENTS, CLBENCH_MINIATURE_FAULTS=faults)
    assert done.returncode == 1
    folder = miniature.run_folder("mine")
    quiet(folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "tasks").iterdir()}
    assert main(["clbench", "salvage", str(folder)]) == 1
    told = capsys.readouterr().out
    left = {one.task: one for one in salvaged(miniature).tasks}[LOOKUP]
    assert [one.run_index for one in left.written_off] == [one for one in (0, 1) if one not in left.complete]
    assert 1 not in left.complete
    assert "written off: lookup, rollout 1:" in told
    assert "to be run again" in told.splitlines()[0]
    assert left.rerun.cost > 0.0
    if left.complete:
        partial = {one.name: one for one in trust.checks(read_run(folder))}["salvage"]
        assert (partial.state, "lookup: partial, 1 of 2 rollouts" in partial.seen) == ("incomplete", True)
    resumed = miniature.run("run-all", "--name", "mine", "--missing-only", *ARGUMENTS)
    assert resumed.returncode == 0, resumed.stderr
    assert "1 task" in resumed.stdout
    assert {path: path.stat().st_mtime_ns for path in before} == before
    require_equal(miniature, submitted)


# ------------------------------------------------- killed at a point of its way


def started(miniature):
    return (miniature.run_folder("mine") / "manifest.json").exists()


def rollouts_under_way(miniature):
    return len(list((miniature.root / "results").glob("*/live/*/run_2.json"))) >= 2


def one_task_ended(miniature):
    return any((miniature.root / "results").glob("*/traces/*/run_0001.json"))


def every_artifact_written(miniature):
    return len(list((miniature.root / "results").glob("*/viewer_artifact_*.json.gz"))) == len(TASKS)


def first_copied(miniature):
    return any(miniature.run_folder("mine").glob("tasks/*.json.gz"))


def all_copied(miniature):
    return (miniature.run_folder("mine") / "task_artifacts.json.gz").exists()


POINTS = (started, rollouts_under_way, one_task_ended, every_artifact_written, first_copied, all_copied)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_campaign_killed_at_a_point_of_its_way_is_finished_as_if_it_never_was(miniature, submitted, point):
    process = began(miniature)
    until(lambda: point(miniature) or process.poll() is not None, point.__name__)
    kill(process)
    finished(miniature, submitted)


def finished(miniature, submitted):
    folder = miniature.run_folder("mine")
    quiet(folder)
    first = salvaged(miniature)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = prepare_missing_only(folder, clock=SystemClock(), alive=alive)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [(one.task, one.state) for one in again.tasks] == [(one.task, one.state) for one in first.tasks]
    resumed = miniature.run("run-all", "--name", "mine", "--missing-only", *ARGUMENTS)
    assert resumed.returncode == 0, resumed.stderr
    assert salvaged(miniature).complete
    require_equal(miniature, submitted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        f"kill={LOOKUP}:1:5",
        f"crash={SHOP}:baseline:6",
        f"full_disk={LOOKUP}:1:7",
        f"kill_suite={LOOKUP}:1:8",
    ],
)
def test_a_campaign_in_which_something_died_is_finished_as_if_nothing_had(miniature, submitted, fault):
    miniature.run("run-all", "--name", "mine", *ARGUMENTS, CLBENCH_MINIATURE_FAULTS=fault)
    finished(miniature, submitted)


@pytest.mark.slow
def test_a_campaign_killed_again_and_again_is_finished_as_if_it_never_was(miniature, submitted):
    """Rollouts of several starts come together; none of them is a continued one."""
    dice = random.Random(5)
    folder = miniature.run_folder("mine")
    process = began(miniature, CLBENCH_MINIATURE_PACE="0.02")
    for _ in range(4):
        kill_after(miniature, process, dice.randrange(60))
        quiet(folder)
        if prepare_missing_only(folder, clock=SystemClock(), alive=alive).complete:
            break
        process = began(miniature, "--missing-only", CLBENCH_MINIATURE_PACE="0.02")
    kill(process)
    finished(miniature, submitted)


def kill_after(miniature, process, count):
    """Kill a campaign that was begun when its rollouts have taken so many turns more, or have come to their end."""
    goal = turns(miniature) + count
    until(
        lambda: (started(miniature) and turns(miniature) >= goal) or process.poll() is not None,
        "no turn is taken",
    )
    kill(process)


def turns(miniature):
    """In all starts."""
    paths = (miniature.root / "results").glob("*/live/*/run_*.json")
    return sum(len(json.loads(path.read_text())["interactions"]) for path in paths)


# ---------------------------------------------------------------- full disks


def can_mount():
    """Whether this user may mount things where nobody else sees them."""
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small disk")
@pytest.mark.parametrize("left", [0, pytest.param(12, marks=pytest.mark.slow)])
def test_a_disk_that_is_full_leaves_the_earlier_state(submitted, tmp_path, left):
    """The campaign is on a small disk with so many KiB left; what is there before and after is compared on it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = shlex.join([sys.executable, "-m", "pytest_evalharness.cli", "clbench", "salvage", "$RUN"])
    command = command.replace("'$RUN'", '"$RUN"')
    script = f"""set -e
    mount -t tmpfs -o size=64m none "$DISK"; cp -r "$FROM" "$DISK/checkout"; RUN="$DISK/checkout/final_results/runs/whole"
    rm -r "$RUN"/tasks/* "$RUN"/metadata.json "$RUN"/task_artifacts.json.gz
    sums() {{ (cd "$RUN" && find . -type f ! -name .salvage.lock | sort | xargs sha256sum); }}
    sums > "$DISK/before"; touch "$DISK/after" "$RUN/.salvage.lock"
    cat /dev/zero > "$DISK/ballast" 2>/dev/null || true; truncate -s -{left}K "$DISK/ballast"
    set +e; {command}; echo "@@ $?"; set -e
    rm "$DISK/ballast"; sums > "$DISK/after"; cmp "$DISK/before" "$DISK/after" && echo same
    ls -A "$RUN"; {command}; echo "@@ $?"
    """
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        env={**os.environ, "DISK": str(disk), "FROM": str(submitted.root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "@@ 11\nsame\n" in done.stdout, done.stdout + done.stderr
    assert "was not salvaged: No space left on device" in done.stderr
    assert "EVH417" in done.stderr
    assert ".salvage-" not in done.stdout
    assert "4 of 4 tasks whole, nothing is to be run again" in done.stdout
    assert done.stdout.endswith("@@ 0\n")
