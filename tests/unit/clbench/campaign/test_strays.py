"""Which processes keep a campaign from being salvaged: run-all, its children, and workers that lost their owner."""

import json

import pytest

from pytest_evalharness.clbench.campaign.ended_folder import open_folder
from pytest_evalharness.clbench.campaign.process_table import TOKEN
from pytest_evalharness.clbench.campaign.strays import strays

GROUP = "2026-07-20T08-00-00.000001Z_run-all"
SUITE = ["python", "clbench", "run-all", "--name", "mine", "--system", "s"]
CHILD = ["python", "clbench", "run", "cohort_studies", "--schedule", "default", "--run-group-id", GROUP]
WORKER = ["python", "-c", "from multiprocessing.spawn import spawn_main; …", "--multiprocessing-fork"]


class Proc:
    """A /proc of made-up processes."""

    def __init__(self, root, cwd):
        self.root, self.cwd = root, cwd
        (root / "self").mkdir(parents=True)
        (root / "self" / "stat").write_text("")

    def add(self, pid, argv, parent=1, cwd=None, environment=()):
        place = self.root / str(pid)
        place.mkdir()
        (place / "stat").write_text(
            f"{pid} (py (x)) S {parent} {pid} " + " ".join(["0"] * 16 + ["77"]) + " 0 0"
        )
        (place / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
        (place / "environ").write_bytes(b"".join(word.encode() + b"\0" for word in environment))
        (place / "cwd").symlink_to(cwd or self.cwd)


@pytest.fixture
def folder(laid):
    laid.manifest["run_group_id"] = laid.manifest["current_batch_id"] = GROUP
    laid.store()
    return open_folder(laid.folder)


@pytest.fixture
def proc(tmp_path, folder):
    return Proc(tmp_path / "proc", folder.root)


def seen(folder, proc, **more):
    return [str(one) for one in strays(folder, proc=proc.root, **more)]


def test_run_all_and_its_children_are_named(folder, proc):
    proc.add(10, SUITE)
    proc.add(11, CHILD, parent=10)
    assert seen(folder, proc) == ["process 10 is its run-all", "process 11 runs cohort_studies"]


def test_a_child_that_outlived_run_all_counts_and_so_does_a_worker_that_outlived_its_child(folder, proc):
    proc.add(11, CHILD)
    proc.add(12, WORKER, parent=11)
    proc.add(13, WORKER, parent=1)
    assert [line.split()[1] for line in seen(folder, proc)] == ["11", "12", "13"]


def test_another_campaign_of_the_checkout_is_none_of_it(folder, proc):
    proc.add(20, [*SUITE[:4], "other"])
    proc.add(21, [*CHILD[:-1], "2026-07-21T08-00-00.000001Z_run-all"], parent=20)
    proc.add(22, WORKER, parent=21)
    assert seen(folder, proc) == []


def test_a_campaign_of_the_same_name_in_another_checkout_is_none_of_it(folder, proc, tmp_path):
    proc.add(10, SUITE, cwd=tmp_path)
    proc.add(11, CHILD, parent=10, cwd=tmp_path)
    proc.add(12, WORKER, cwd=tmp_path)
    assert seen(folder, proc) == []


def test_a_process_that_has_just_ended_counts_for_nothing(folder, proc):
    proc.add(10, SUITE)
    (proc.root / "10" / "cwd").unlink()
    assert seen(folder, proc) == []


def test_another_users_process_counts_where_its_command_line_names_the_campaign(folder, proc, monkeypatch):
    """Its folder may not be read: a pool worker may be anybody's, run-all of this name is not."""

    def refused(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.readlink", refused)
    proc.add(10, SUITE)
    proc.add(12, WORKER)
    assert seen(folder, proc) == ["process 10 is its run-all"]


def test_whatever_carries_a_token_of_the_campaign_is_its_own(folder, proc, tmp_path):
    proc.add(30, ["sleep", "9"], cwd=tmp_path, environment=[f"{TOKEN}=abc"])
    assert seen(folder, proc, tokens=frozenset({"abc"})) == [
        "process 30 carries the token of one of its starts"
    ]
    assert seen(folder, proc) == []


def test_a_manifest_that_names_no_group_matches_nothing_by_it(folder, proc, laid):
    told = laid.stored() | {"run_group_id": None, "current_batch_id": None, "tasks": []}
    (laid.folder / "manifest.json").write_text(json.dumps(told))
    proc.add(11, CHILD)
    assert seen(open_folder(laid.folder), proc) == []
