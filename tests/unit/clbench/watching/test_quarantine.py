"""Poisoned passes are moved aside with their evidence, wherever they stand, and nothing else is."""

import errno
import gzip
import hashlib
import json
import os
import shutil
from dataclasses import replace

import pytest

from pytest_evalharness.clbench.campaign.live import PassState
from pytest_evalharness.clbench.campaign.quarantine import poisoned_passes, put_aside, quarantined
from pytest_evalharness.clbench.domains import DATABASE, SALES

GROUP = "2026-11-30T00-00-00.000001Z_run-all"


@pytest.fixture
def spoilt(campaign, made):
    """A database task that ended: its second rollout lost three instances to an outage. Every place where the passes stand."""
    campaign.task(DATABASE, status="ok")
    sound = [made.outcome(k) for k in range(4)]
    campaign.write(DATABASE, None, sound, execution={"instances_total": 4})
    campaign.write(DATABASE, 0, sound, status="completed")
    campaign.write(
        DATABASE, 1, [sound[0], *(made.outcome(k, 0.0, 0.0) for k in range(1, 4))], status="completed"
    )
    results = campaign.root / "results" / DATABASE
    campaign.store(results / "traces" / GROUP / "run_0000.json", {"of": 0})
    campaign.store(results / "traces" / GROUP / "run_0001.json", {"of": 1})
    artifact = {"kind": "viewer_artifact", "summary": {"run_group_id": GROUP}, "run_traces": []}
    packed = gzip.compress(json.dumps(artifact).encode())
    campaign.store(results / f"viewer_artifact_{GROUP}_20261130_010000.json.gz", packed)
    campaign.store(results / "viewer_artifact_another_20261130_010000.json.gz", packed)
    campaign.store(campaign.folder / "tasks" / f"{DATABASE}.json.gz", packed)
    campaign.store(campaign.folder / "tasks" / f"{SALES}.json.gz", packed)
    together = gzip.compress(json.dumps({DATABASE: artifact, SALES: None}).encode())
    campaign.store(campaign.folder / "task_artifacts.json.gz", together)
    return campaign


def files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def aside(campaign):
    (found,) = poisoned_passes(campaign.reader().read())
    return put_aside(campaign.root, campaign.folder, found, clock=campaign.clock)


def test_every_file_that_holds_the_pass_is_moved_and_no_other(spoilt):
    before = files(spoilt.root)
    told = aside(spoilt)
    now = files(spoilt.root)
    run = "final_results/runs/mine"
    assert {name for name in before if name not in now} == {
        f"results/{DATABASE}/live/{GROUP}/run_2.json",
        f"results/{DATABASE}/traces/{GROUP}/run_0001.json",
        f"results/{DATABASE}/viewer_artifact_{GROUP}_20261130_010000.json.gz",
        f"{run}/tasks/{DATABASE}.json.gz",
        f"{run}/task_artifacts.json.gz",
    }
    assert {name: now[name] for name in before if name in now} == {
        n: c for n, c in before.items() if n in now
    }
    folder = spoilt.folder / "quarantine" / DATABASE / GROUP
    for file in told.files:
        kept = (folder / file.name).read_bytes()
        assert kept == before[file.source]
        assert (hashlib.sha256(kept).hexdigest(), len(kept)) == (file.sha256, file.size)


def test_what_was_wrong_is_written_down(spoilt):
    told = aside(spoilt)
    assert quarantined(spoilt.folder) == (told,)
    assert (told.task, told.run_index, told.group, told.done) == (DATABASE, 1, GROUP, 4)
    assert told.instances == ["i1", "i2", "i3"]
    assert told.why == "3 instances in a row: 3 earned no more than an empty answer at no cost"
    assert (told.cost, told.at) == (0.01, "2026-06-01T12:01:00.000Z")


def test_a_quarantined_pass_is_told_as_such_and_its_money_stays_spent(spoilt):
    reader = spoilt.reader()
    reader.read()
    aside(spoilt)
    for look in (reader, spoilt.reader()):
        snapshot = look.read()
        one = {each.run_index: each for each in snapshot.tasks[0].passes}[1]
        assert (one.state, one.done, one.cost, one.problem) == (PassState.QUARANTINED, 0, 0.01, None)
        assert poisoned_passes(snapshot) == ()


def test_the_same_call_finishes_what_a_crash_has_interrupted(spoilt, monkeypatch):
    before = files(spoilt.root)
    real, moves = os.replace, []

    def dying(source, target):
        if "quarantine" in str(target) and not str(target).endswith("record.json"):
            if len(moves) == 2:
                raise KeyboardInterrupt
            moves.append(target)
        real(source, target)

    (found,) = poisoned_passes(spoilt.reader().read())
    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        put_aside(spoilt.root, spoilt.folder, found, clock=spoilt.clock)
    monkeypatch.undo()
    spoilt.clock.forward(500.0)
    told = put_aside(spoilt.root, spoilt.folder, found, clock=spoilt.clock)
    assert sorted(file.source for file in told.files) == sorted(
        n for n in before if n not in files(spoilt.root)
    )
    assert told.at == "2026-06-01T12:01:00.000Z"
    still = files(spoilt.root)
    assert put_aside(spoilt.root, spoilt.folder, found, clock=spoilt.clock) == told
    assert files(spoilt.root) == still


def test_a_folder_on_another_disk_is_moved_to_as_well(spoilt, monkeypatch):
    real = os.replace

    def other_disk(source, target):
        if "quarantine" in str(target) and "quarantine" not in str(source):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(source, target)

    before = files(spoilt.root)
    monkeypatch.setattr(os, "replace", other_disk)
    told = aside(spoilt)
    now = files(spoilt.root)
    folder = f"final_results/runs/mine/quarantine/{DATABASE}/{GROUP}"
    assert {file.source: now[f"{folder}/{file.name}"] for file in told.files} == {
        file.source: before[file.source] for file in told.files
    }
    assert not any(file.source in now for file in told.files)
    assert not [name for name in now if name.endswith(".part")]


def test_a_full_disk_loses_nothing_and_the_same_call_goes_on(spoilt, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (found,) = poisoned_passes(spoilt.reader().read())
    before = files(spoilt.root)
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: real(a, b) if str(b).endswith("record.json") else full())
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space"):
        put_aside(spoilt.root, spoilt.folder, found, clock=spoilt.clock)
    now = files(spoilt.root)
    assert before.items() <= now.items()
    assert not [name for name in now if name.endswith(".part")]
    monkeypatch.undo()
    told = put_aside(spoilt.root, spoilt.folder, found, clock=spoilt.clock)
    assert sorted(file.source for file in told.files) == sorted(
        n for n in before if n not in files(spoilt.root)
    )


def test_an_artifact_of_a_later_run_group_stays(spoilt):
    later = {"summary": {"run_group_id": "later"}, "run_traces": []}
    path = spoilt.store(
        spoilt.folder / "tasks" / f"{DATABASE}.json.gz", gzip.compress(json.dumps(later).encode())
    )
    aside(spoilt)
    assert path.exists()


def test_an_artifact_that_salvage_put_together_of_that_run_group_goes(spoilt):
    made = {"summary": {"run_group_id": "later"}, "salvage": {"groups": [GROUP, "later"]}, "run_traces": []}
    path = spoilt.store(
        spoilt.folder / "tasks" / f"{DATABASE}.json.gz", gzip.compress(json.dumps(made).encode())
    )
    aside(spoilt)
    assert not path.exists()


def test_a_pass_that_goes_on_and_a_task_that_is_a_path_are_refused(spoilt):
    (found,) = poisoned_passes(spoilt.reader().read())
    before = files(spoilt.root)
    with pytest.raises(ValueError, match="still running"):
        put_aside(
            spoilt.root, spoilt.folder, replace(found, live=replace(found.live, state=PassState.RUNNING))
        )
    with pytest.raises(ValueError, match="no task's id"):
        put_aside(spoilt.root, spoilt.folder, replace(found, live=replace(found.live, task="../x")))
    assert files(spoilt.root) == before


def test_a_pass_that_runs_or_earned_nothing_at_a_price_is_not_to_be_moved(campaign, made):
    campaign.task(DATABASE)
    campaign.write(DATABASE, 0, [made.outcome(0), *(made.outcome(k, 0.0, 0.0) for k in range(1, 4))])
    campaign.write(DATABASE, 1, [made.outcome(k, 0.0, 0.3) for k in range(4)], status="completed")
    assert poisoned_passes(campaign.reader().read()) == ()


def test_where_nothing_ever_cost_anything_it_takes_to_be_known_that_it_does(campaign, made):
    campaign.task(DATABASE, status="ok", rollouts=1, baseline=False)
    campaign.write(DATABASE, 0, [made.outcome(k, 0.0, 0.0) for k in range(4)], status="completed")
    snapshot = campaign.reader().read()
    assert poisoned_passes(snapshot) == ()
    assert [one.live.key for one in poisoned_passes(snapshot, priced=True)] == [(DATABASE, 0)]


def test_a_damaged_record_hides_nothing_else(spoilt):
    told = aside(spoilt)
    (spoilt.folder / "quarantine" / DATABASE / GROUP / "run_1.record.json").write_text("{")
    assert quarantined(spoilt.folder) == (told,)
