"""Each defect that a driver can meet is met, in the form in which the benchmark has it."""

import json
import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PATIENCE = 180.0
LEDGER, DUEL, BANDS, SHOP = "mini_ledger_lookup", "mini_coin_duel", "mini_band_scan", "mini_shop_forecast"


def played(miniature, task, *faults, system="notebook", runs=1, expect=0):
    """A run of one task, and its artifact if it wrote one."""
    done = miniature.run(
        "run", task, "--system", system, "--schedule", "default", "--runs", str(runs), "--max-workers", "2",
        "--no-live-server", CLBENCH_MINIATURE_FAULTS=",".join(faults),
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    return miniature.artifact(task) if expect == 0 else done


def outcomes(artifact, index=0):
    return artifact["run_traces"][index]["trace"]["result"]["instance_outcomes"]


def test_poison_is_free_null_and_dumb_and_a_null_rollout_is_paid_for(miniature):
    artifact = played(miniature, BANDS, "poison=mini_band_scan:0:4+", "null=mini_band_scan:1", runs=2)
    assert [(one["reward"], one["cost_usd"]) for one in outcomes(artifact)[4:]] == [(0.25, 0.0)] * 6
    assert all(one["cost_usd"] > 0.0 for one in outcomes(artifact)[:4])
    assert {one["reward"] for one in outcomes(artifact, 1)} == {0.25}
    assert all(one["cost_usd"] > 0.0 for one in outcomes(artifact, 1))
    turns = artifact["run_traces"][0]["trace"]["interactions"]
    assert not any("forfeit_reason" in one["response"]["metadata"] for one in turns)


@pytest.mark.slow
def test_calls_without_a_price_say_so(miniature):
    artifact = played(miniature, SHOP, "unpriced=mini_shop_forecast:0")
    told = artifact["run_traces"][0]["trace"]["execution"]["usage"]["interaction"]
    assert (told["cost_usd"], told["pricing_complete"]) == (0, False)
    assert told["unpriced_call_count"] == told["call_count"] > 0


def test_refusals_end_with_success(miniature):
    """A blocked rollout and a baseline with a gap are `ok` to whoever reads exit codes."""
    artifact = played(miniature, BANDS, "refused=mini_band_scan:0:3", "refused=mini_band_scan:baseline:2")
    trace = artifact["run_traces"][0]["trace"]
    assert (artifact["summary"]["status"], trace["status"], len(outcomes(artifact))) == (
        "all_blocked",
        "blocked",
        3,
    )
    execution = artifact["baseline_trace"]["execution"]
    assert (execution["instances_blocked"], execution["coverage_ratio"]) == (1, 0.9)
    assert artifact["baseline_trace"]["status"] == "completed_with_gaps"


def test_one_bad_rollout_discards_the_others_which_stand_in_the_live_snapshots(miniature):
    done = played(miniature, BANDS, "crash=mini_band_scan:1:5", runs=2, expect=1)
    assert "Run 2/2 failed" in done.stderr
    assert not any((miniature.root / "results" / BANDS).glob("viewer_artifact_*"))
    live = miniature.live(BANDS)
    assert live["run_1"]["status"] == "completed"
    assert len(live["run_1"]["result"]["instance_outcomes"]) == 10
    assert (live["run_2"]["status"], len(live["run_2"]["instance_outcomes"])) == ("running", 5)
    assert live["manifest"]["status"] == "running"


@pytest.mark.slow
def test_a_worker_that_is_killed_breaks_the_pool(miniature):
    assert "terminated abruptly" in played(miniature, BANDS, "kill=mini_band_scan:0:3", expect=1).stderr


@pytest.mark.slow
def test_a_full_disk_ends_the_task(miniature):
    assert (
        "No space left on device" in played(miniature, BANDS, "full_disk=mini_band_scan:0:3", expect=1).stderr
    )


@pytest.mark.slow
def test_a_prompt_that_is_too_long_for_a_command_line(miniature):
    assert (
        "Argument list too long" in played(miniature, BANDS, "long_argv=mini_band_scan:0:3", expect=1).stderr
    )


@contextmanager
def killed(miniature, **environment):
    """A run that the fourth question of its first rollout kills; whoever outlived it ends with the test."""
    words = (
        "run",
        BANDS,
        "--system",
        "notebook",
        "--schedule",
        "default",
        "--runs",
        "2",
        "--max-workers",
        "2",
    )
    fault = "kill_run=mini_band_scan:0:3"
    with miniature.start(*words, "--no-live-server", CLBENCH_MINIATURE_FAULTS=fault, **environment) as run:
        try:
            assert run.wait(PATIENCE) == -signal.SIGKILL
            yield lambda: [path for path in Path("/proc").glob("[0-9]*") if cwd(path) == miniature.root]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


def test_workers_outlive_a_run_that_is_killed(miniature):
    """Re-parented, they spend on, as the benchmark's do."""
    with killed(miniature, CLBENCH_MINIATURE_MERCY="600") as workers:
        assert workers()
        wait(lambda: miniature.live(BANDS)["run_1"]["status"] == "completed")


def test_workers_that_lost_their_run_end_after_a_while(miniature):
    with killed(miniature) as workers:
        wait(lambda: not workers())


def wait(true):
    over = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < over
        time.sleep(0.02)


def cwd(process):
    try:
        return (process / "cwd").readlink()
    except OSError:
        return None


@pytest.mark.slow
def test_orders_that_ignore_the_seed(miniature):
    artifact = played(miniature, LEDGER, "same_order=mini_ledger_lookup", runs=2)
    ids = [[one["instance_id"] for one in outcomes(artifact, index)] for index in range(2)]
    assert ids[0] == ids[1]


@pytest.mark.slow
def test_an_expired_workspace_and_a_wide_observation(miniature):
    artifact = played(miniature, SHOP, "sandbox=mini_shop_forecast:0:5+", "wide=mini_shop_forecast:0:0@5000")
    assert [one["metadata"]["timed_out"] for one in outcomes(artifact)] == [False] * 5 + [True] * 3
    turns = artifact["run_traces"][0]["trace"]["interactions"]
    assert len(turns[0]["observation"]["content"]) > 5000


def test_a_livelock_and_a_stall_last_until_the_fault_is_gone(miniature):
    """Interactions rise and outcomes do not; then nothing changes at all; then the pass goes on."""
    miniature.set_faults("livelock=mini_ledger_lookup:0:2")
    words = (
        "run",
        LEDGER,
        "--system",
        "notebook",
        "--schedule",
        "default",
        "--runs",
        "1",
        "--max-workers",
        "2",
    )
    run = miniature.start(*words, "--no-live-server")
    live = miniature.root / "results" / LEDGER / "live"

    def snapshot():
        found = [json.loads(path.read_text()) for path in live.glob("*/run_1.json")]
        return (len(found[0]["interactions"]), len(found[0]["instance_outcomes"])) if found else (0, 0)

    try:
        wait(lambda: snapshot()[0] > 30)
        assert snapshot()[1] == 2
        miniature.set_faults("stall=mini_ledger_lookup:0:2")
        looks = []

        def still():
            looks.append(snapshot())
            return looks[-15:] == [looks[-1]] * 15

        wait(still)
        assert snapshot()[1] == 2
    finally:
        miniature.set_faults()
        run.communicate(timeout=PATIENCE)
    assert run.returncode == 0
    assert len(outcomes(miniature.artifact(LEDGER))) == 12


@pytest.mark.parametrize("words", ["nope=mini_band_scan", "livelock=mini_shop_forecast"])
def test_a_fault_that_nobody_knows_is_refused_before_anything_runs(miniature, words):
    assert "BadFault" in played(miniature, BANDS, words, expect=1).stderr
    assert not any((miniature.root / "results").rglob("run_1.json"))
