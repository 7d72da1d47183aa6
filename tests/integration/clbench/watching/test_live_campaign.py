"""A campaign of the miniature is watched while its files are being rewritten, and what it spoilt is put aside afterwards."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.campaign.live import LiveReader, PassState, checkout_of
from pytest_evalharness.clbench.campaign.quarantine import poisoned_passes, put_aside
from pytest_evalharness.clbench.campaign.salvage import salvage
from pytest_evalharness.clbench.campaign.salvage_plan import TaskState
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.status_lines import lines
from pytest_evalharness.clbench.campaign.watch import AlarmKind, Limits, watch
from pytest_evalharness.clbench.run_folder import read_run

LEDGER, DUEL, BANDS, SHOP = "mini_ledger_lookup", "mini_coin_duel", "mini_band_scan", "mini_shop_forecast"
PATIENCE = 180.0
IMPATIENT = Limits(stall_seconds=1.0, livelock_turns=40)


@contextmanager
def running(miniature, name, *faults, pace="0.01"):
    """A campaign in a session of its own, which is ended with it."""
    told = {"CLBENCH_MINIATURE_PACE": pace, "CLBENCH_MINIATURE_FAULTS": ",".join(faults)}
    words = ["--system", "notebook", "--runs", "2", "--per-task-parallelism", "2", "--task-parallelism", "4"]
    process = miniature.start("run-all", "--name", name, *words, **told)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def passes(snapshot):
    return {one.key: one for one in snapshot.passes()}


def test_every_look_at_a_campaign_that_runs_is_whole_and_none_goes_back(miniature):
    folder = miniature.run_folder("live")
    reader, watched, before, looks = LiveReader(miniature.root, folder), None, {}, 0
    miniature.set_faults(f"stall={BANDS}:1:5")  # it does not end before it was looked at
    with running(miniature, "live") as process:
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            snapshot = reader.read()
            watched = watch(snapshot, watched)
            assert not watched.alarms
            assert snapshot.problems == ()
            now = {key: {told.instance_id for told in one.outcomes} for key, one in passes(snapshot).items()}
            assert all(names <= now[key] for key, names in before.items())
            assert all(line.isprintable() for line in lines(Standing(snapshot)))
            before, looks = now, looks + any(now.values())
            if looks == 10:
                miniature.set_faults()
        assert process.wait(PATIENCE) == 0
    assert looks >= 10
    last = reader.read()
    assert {one.state for one in last.passes()} == {PassState.COMPLETE}
    assert checkout_of(folder) == miniature.root.resolve()
    published = read_run(folder)
    for one in last.passes():
        artifact = published.tasks[one.task]
        whole = next(
            told for told in (artifact.baseline, *artifact.rollouts) if told.run_index == one.run_index
        )
        assert [told.instance_id for told in one.outcomes] == [told.instance_id for told in whole.outcomes]
        assert (one.cost, one.interactions) == (whole.cost, sum(whole.turns.values()))


def test_livelock_stall_and_poison_are_told_while_they_go_on(miniature):
    faults = [
        f"livelock={LEDGER}:0:3+",
        f"stall={BANDS}:0:2+",
        f"poison={DUEL}:1:4-9",
        f"forfeit={SHOP}:0:2+",
    ]
    reader, watched = LiveReader(miniature.root, miniature.run_folder("bad")), None
    wanted = {
        (AlarmKind.LIVELOCK, LEDGER, 0),
        (AlarmKind.STALL, BANDS, 0),
        (AlarmKind.POISONED, DUEL, 1),
        (AlarmKind.POISONED, SHOP, 0),
    }
    with running(miniature, "bad", *faults):
        until, seen = time.monotonic() + PATIENCE, {}
        while not wanted <= seen.keys() and time.monotonic() < until:
            watched = watch(reader.read(), watched, IMPATIENT)
            seen |= {one.key: one for one in watched.alarms}
            time.sleep(0.05)
    assert wanted <= seen.keys()
    # A machine that is busy may let a domain wait for a second; an adapter that answers for the shop's engine may be seen at it.
    others = {key for key in seen.keys() - wanted if key[0] is not AlarmKind.STALL}
    assert others <= {(AlarmKind.LIVELOCK, SHOP, 0)}
    assert seen[AlarmKind.LIVELOCK, LEDGER, 0].pause
    assert not seen[AlarmKind.STALL, BANDS, 0].pause
    assert len(seen[AlarmKind.POISONED, DUEL, 1].instances) >= 3


def test_a_poisoned_rollout_is_put_aside_and_the_others_are_put_together_without_it(miniature):
    with running(miniature, "spoilt", f"poison={DUEL}:1:4-9", pace="0") as process:
        assert process.wait(PATIENCE) == 0
    folder, clock = miniature.run_folder("spoilt"), SystemClock()
    assert [one.run_index for one in read_run(folder).tasks[DUEL].rollouts] == [0, 1]
    (found,) = poisoned_passes(LiveReader(miniature.root, folder).read())
    assert found.live.key == (DUEL, 1)
    put_aside(miniature.root, folder, found, clock=clock)
    assert DUEL not in read_run(folder).tasks, "it is missing, not averaged in"
    told = salvage(folder, clock=clock, alive=lambda _: [], root=miniature.root)
    left = {one.task: one for one in told.tasks}
    assert (left[DUEL].state, left[DUEL].complete) == (TaskState.PARTIAL, (0,))
    assert {left[task].state for task in (LEDGER, BANDS, SHOP)} == {TaskState.WHOLE}
    again = read_run(folder).tasks[DUEL]
    assert [one.run_index for one in again.rollouts] == [0]
    assert again.baseline is not None
    states = {key: one.state for key, one in passes(LiveReader(miniature.root, folder).read()).items()}
    assert states[DUEL, 1] is PassState.QUARANTINED
    assert poisoned_passes(LiveReader(miniature.root, folder).read()) == ()


@pytest.mark.slow
def test_the_command_follows_a_campaign_to_its_end_and_ctrl_c_leaves_it_alone(miniature):
    command = [
        sys.executable,
        "-m",
        "pytest_evalharness.cli",
        "clbench",
        "status",
        "--follow",
        "--interval",
        "0.1",
    ]
    miniature.set_faults(f"stall={BANDS}:0:2")
    with running(miniature, "followed", pace="0") as process:
        folder = miniature.run_folder("followed")
        until = time.monotonic() + PATIENCE
        while not (folder / "manifest.json").exists() and time.monotonic() < until:
            time.sleep(0.02)
        with subprocess.Popen(
            [*command, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watcher:
            first = watcher.stdout.readline()
            watcher.send_signal(signal.SIGINT)
            rest, err = watcher.communicate(timeout=PATIENCE)
        assert (watcher.returncode, first.startswith("followed: running")) == (2, True), (rest, err)
        assert "left alone" in err
        assert "Traceback" not in err
        assert process.poll() is None
        miniature.set_faults()
        done = subprocess.run(
            [*command, str(folder)], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert done.returncode == 0, done.stdout
    assert "followed: completed, 138 of 138 instances" in done.stdout
    assert "embedded miniature" in done.stdout
