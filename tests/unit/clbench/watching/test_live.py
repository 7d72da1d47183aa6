"""A running campaign, read from its files."""

import gzip
import json

import pytest

from pytest_evalharness.clbench.campaign.live import LiveReader, PassState, checkout_of
from pytest_evalharness.clbench.domains import CODEBASE, DATABASE, POKER, SALES

STATES = PassState


def passes(snapshot, task=SALES):
    (found,) = [one for one in snapshot.tasks if one.task == task]
    return {one.run_index: one for one in found.passes}


def test_a_campaign_that_has_not_written_anything_is_about_to_begin(tmp_path, clock):
    snapshot = LiveReader(tmp_path, tmp_path / "not there", clock=clock).read()
    assert (snapshot.status, snapshot.tasks, snapshot.problems, snapshot.running) == (None, (), (), True)


def test_a_pass_tells_what_it_has_done_so_far(campaign, made):
    campaign.task(SALES)
    open_turns = [made.turn(2), made.turn(2, latency_timeout=True), made.turn(2)]
    campaign.write(
        SALES, 0, [made.outcome(0), made.outcome(1)], open_turns=open_turns, cost=0.5, seconds=90.0
    )
    one = passes(campaign.reader().read())[0]
    assert (one.done, one.expected, one.left, one.state) == (2, 4, 2, STATES.RUNNING)
    assert (one.interactions, one.open_turns, one.open_instance, one.open_forfeits) == (7, 3, "i2", 1)
    assert (one.cost, one.seconds, one.unpriced, one.forfeited) == (0.5, 90.0, False, {"i2"})


def test_files_count_rollouts_from_one_and_everything_else_from_zero(campaign, made):
    campaign.task(SALES)
    campaign.write(SALES, 1, [made.outcome(0)])
    found = passes(campaign.reader().read())
    assert list(found) == [None, 0, 1]
    assert {index: one.state for index, one in found.items()} == {
        None: STATES.WAITING,
        0: STATES.WAITING,
        1: STATES.RUNNING,
    }
    (campaign.live(SALES) / "manifest.json").unlink()
    assert list(passes(campaign.reader().read())) == [1], "without the live folder's manifest its files tell"


def test_a_baseline_that_calls_itself_completed_runs_until_it_has_all_its_instances(campaign, made):
    campaign.task(SALES)
    campaign.write(SALES, None, [made.outcome(0), made.outcome(1)], execution={"instances_total": 4})
    assert passes(campaign.reader().read())[None].state is STATES.RUNNING
    campaign.write(
        SALES,
        None,
        [made.outcome(k) for k in range(3)],
        execution={"instances_total": 4, "instances_blocked": 1},
    )
    assert passes(campaign.reader().read())[None].state is STATES.SHORT
    campaign.write(SALES, None, [made.outcome(k) for k in range(4)], execution={"instances_total": 4})
    assert passes(campaign.reader().read())[None].state is STATES.COMPLETE


ENDINGS = {
    ("completed", 4, "running"): STATES.COMPLETE,
    ("completed", 3, "running"): STATES.SHORT,
    ("blocked", 4, "running"): STATES.SHORT,
    ("running", 3, "failed"): STATES.INTERRUPTED,
    ("running", 3, "ok"): STATES.INTERRUPTED,
    ("completed", 4, "failed"): STATES.COMPLETE,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_a_rollout_ended_takes_its_own_word_its_instances_and_its_tasks_end(campaign, made, ending):
    status, count, task = ending
    campaign.task(SALES, status=task)
    campaign.write(SALES, 0, [made.outcome(k) for k in range(count)], status=status)
    assert passes(campaign.reader().read())[0].state is ENDINGS[ending]


def test_a_result_that_is_there_is_what_counts(campaign, made):
    campaign.task(SALES)
    campaign.write(
        SALES, 0, [made.outcome(0)], result={"instance_outcomes": [made.outcome(k) for k in range(4)]}
    )
    assert passes(campaign.reader().read())[0].done == 4


def test_what_has_not_begun_is_expected_as_the_schedule_and_the_arguments_say(campaign):
    campaign.task(DATABASE, status="pending")
    found = passes(campaign.reader().read(), DATABASE)
    assert {index: one.expected for index, one in found.items()} == {None: 40, 0: 40, 1: 40}
    campaign.manifest["system_args"] = ["--schedule", "quick", "--runs=3"]
    campaign.task(DATABASE, status="pending")
    found = passes(campaign.reader().read(), DATABASE)
    assert {index: one.expected for index, one in found.items()} == dict.fromkeys([None, 0, 1, 2])


def test_an_instance_that_was_seen_stays_whatever_becomes_of_its_file(campaign, made):
    campaign.task(SALES)
    reader = campaign.reader()
    path = campaign.write(SALES, 0, [made.outcome(0), made.outcome(1)])
    assert passes(reader.read())[0].done == 2
    campaign.store(path, path.read_bytes()[:-30] + b" " * 40)
    torn = passes(reader.read())[0]
    assert (torn.done, bool(torn.problem)) == (2, True)
    campaign.write(SALES, 0, [made.outcome(0)])  # an older copy, put back
    assert passes(reader.read())[0].done == 2
    path.unlink()
    gone = passes(reader.read())[0]
    assert (gone.done, gone.problem) == (2, "it is gone")
    campaign.write(SALES, 0, [made.outcome(k) for k in range(3)])
    assert (passes(reader.read())[0].done, passes(reader.read())[0].problem) == (3, None)


def test_a_pass_that_was_begun_anew_is_another_one(campaign, made):
    campaign.task(SALES)
    reader = campaign.reader()
    campaign.write(SALES, 0, [made.outcome(k) for k in range(3)])
    reader.read()
    campaign.write(SALES, 0, [made.outcome(0)], start="11:00")
    assert passes(reader.read())[0].done == 1
    campaign.task(SALES, group="later")
    campaign.write(SALES, 0, [], group="later", start="11:00")
    assert (passes(reader.read())[0].done, passes(reader.read())[0].group) == (0, "later")


def test_numbers_that_tell_nothing_are_none(campaign, made):
    campaign.task(SALES, expected=None)
    for lasted in (-5.0, 0.0, 1e300):
        campaign.write(SALES, 0, [made.outcome(0)], seconds=lasted)
        assert passes(campaign.reader().read())[0].seconds is None
    campaign.write(SALES, None, [made.outcome(0)], execution={"instances_total": -4, "instances_blocked": -1})
    assert passes(campaign.reader().read())[None].expected == 12, "that of the schedule"


@pytest.mark.parametrize("bad", [{"reward": 1e300}, {"cost_usd": -1.0}, {"reward": "much"}])
def test_numbers_that_no_run_earns_are_damage(campaign, made, bad):
    campaign.task(SALES)
    reader = campaign.reader()
    campaign.write(SALES, 0, [made.outcome(0)])
    reader.read()
    campaign.write(SALES, 0, [made.outcome(0), made.outcome(1, cost=0.0) | bad], cost=0.1)
    snapshot = reader.read()
    assert passes(snapshot)[0].done == 1
    assert [name for name, _ in snapshot.problems] == [f"{SALES}, rollout 0"]


def test_a_manifest_does_not_name_folders_elsewhere(campaign, made, tmp_path):
    elsewhere = tmp_path.parent / "elsewhere"
    campaign.task(SALES)
    for place in (
        f"../{elsewhere.name}/x/manifest.json",
        str(elsewhere / "x" / "manifest.json"),
        "results/manifest.json",
    ):
        campaign.manifest["tasks"][0]["live_manifest_path"] = place
        campaign.store(campaign.folder / "manifest.json", campaign.manifest)
        campaign.store(elsewhere / "x" / "run_1.json", {"instance_outcomes": [made.outcome(0)]})
        assert passes(campaign.reader().read())[0].done == 0
    campaign.manifest["tasks"] = [{"task": "../../x"}, {"task": ""}, {"task": CODEBASE}]
    campaign.store(campaign.folder / "manifest.json", campaign.manifest)
    assert [one.task for one in campaign.reader().read().tasks] == [CODEBASE]


def test_a_damaged_manifest_leaves_the_one_before(campaign, made):
    campaign.task(SALES)
    campaign.write(SALES, 0, [made.outcome(0)])
    reader = campaign.reader()
    reader.read()
    campaign.store(campaign.folder / "manifest.json", b'{"tasks": [')
    snapshot = reader.read()
    assert (passes(snapshot)[0].done, snapshot.problems[0][0]) == (1, "manifest.json")


def test_a_task_whose_live_folder_is_gone_is_told_from_its_artifact(campaign, clbench_files):
    campaign.task(SALES, status="ok", head=False)
    told = clbench_files.artifact(SALES, clbench_files.plain([0.1] * 3), [clbench_files.plain([0.2] * 3)])
    campaign.store(campaign.folder / "tasks" / f"{SALES}.json.gz", gzip.compress(json.dumps(told).encode()))
    found = passes(campaign.reader().read())
    assert {index: (one.done, one.state) for index, one in found.items()} == {
        None: (3, STATES.COMPLETE),
        0: (3, STATES.COMPLETE),
    }
    assert passes(LiveReader(None, campaign.folder).read())[0].cost == pytest.approx(0.03)


def test_only_what_changed_is_read_again(campaign, made):
    campaign.task(SALES)
    campaign.task(POKER)
    for task in (SALES, POKER):
        campaign.write(task, 0, [made.outcome(0)])
    reader = campaign.reader()
    campaign.clock.forward(10.0)
    reader.read()
    before = reader.files.bytes_read
    reader.read()
    assert reader.files.bytes_read == before
    changed = campaign.write(POKER, 0, [made.outcome(0), made.outcome(1)])
    reader.read()
    assert reader.files.bytes_read == before + changed.stat().st_size


def test_a_run_belongs_to_the_checkout_around_it(campaign, tmp_path):
    assert checkout_of(campaign.folder) == campaign.root.resolve()
    (tmp_path / "published").mkdir()
    assert checkout_of(tmp_path / "published") is None
    (tmp_path / "fresh" / "src" / "tasks").mkdir(parents=True)
    (tmp_path / "fresh" / "elsewhere" / "mine").mkdir(parents=True)
    assert checkout_of(tmp_path / "fresh" / "elsewhere" / "mine") == (tmp_path / "fresh").resolve(), (
        "before its first result"
    )
