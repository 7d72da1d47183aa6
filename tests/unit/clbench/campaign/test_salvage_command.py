"""`evalharness clbench salvage`: which campaign is meant, what is told, and the exit codes."""

import json

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.clbench.domains import CODEBASE, DATABASE, SALES
from pytest_evalharness.cli import main
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner


@pytest.fixture
def crashed(laid):
    """One task whole, one partial, one not begun."""
    laid.live(DATABASE)
    laid.live(SALES, rollouts=(4, 3, 4), baseline=2)
    laid.status(DATABASE, "running")
    laid.status(SALES, "running")
    return laid


@pytest.fixture
def salvage(tmp_path, capsys):
    def run(*words):
        code = main(["clbench", "salvage", "--home", str(tmp_path / "home"), *map(str, words)])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_everything_is_told_with_names_and_dollars(crashed, salvage):
    code, told, _ = salvage(crashed.folder)
    assert code == 1
    lines = told.splitlines()
    assert lines[0] == "mine: 1 of 3 tasks whole, 1 partial, 2 to be run again, at least $4.00"
    assert "  whole            db: 3 of 3 rollouts complete, put together from its snapshots" in lines
    assert "  partial          sales: 2 of 3 rollouts complete, put together from its snapshots" in lines
    assert any("written off: sales, rollout 1: 3 of 4 instances, $0.75 spent" in one for one in lines)
    assert any("unfinished: sales, the baseline: 2 of 4 instances" in one for one in lines)
    assert "  written off in all: 1 interrupted rollout, $0.75" in lines
    again = next(one for one in lines if one.startswith("    sales: 3 rollouts and its baseline"))
    assert again.endswith(
        "about $4.00 (what it has cost here; what its instances have cost here); only rollout 1 would be needed"
    )
    assert any("no random sample" in one for one in lines)


def test_the_same_as_json(crashed, salvage):
    code, told, _ = salvage(crashed.folder, "--dry-run", "--json")
    data = json.loads(told)
    assert (code, data["dry_run"], data["complete"], data["backup"]) == (1, True, False, None)
    assert data["rerun_cost_usd"] == 4.0
    assert data["rerun_cost_is_whole"] is False
    states = {one["task"]: (one["state"], one["source"]) for one in data["tasks"]}
    assert states == {
        DATABASE: ("whole", "rebuilt"), SALES: ("partial", "rebuilt"), CODEBASE: ("not begun", "none"),
    }  # fmt: skip
    assert not list(crashed.folder.glob("tasks/*"))


def test_a_campaign_is_found_by_its_name(crashed, salvage, tmp_path, monkeypatch):
    for where, words in ((tmp_path, ["mine", "--checkout", crashed.root]), (crashed.root, ["mine"])):
        monkeypatch.chdir(where)
        assert salvage(*words, "--dry-run")[0] == 1
    monkeypatch.chdir(tmp_path)
    code, _, told = salvage("mine")
    assert (code, "there is no campaign 'mine'" in told) == (11, True)
    owner = Owner.current("test")
    with Ledger.open(tmp_path / "home", clock=SystemClock(), owner=owner) as ledger:
        where = {"run_folder": str(crashed.folder), "checkout": str(crashed.root)}
        ledger.campaigns.begin("the name in the ledger", where, {})
        assert salvage("the name in the ledger", "--dry-run")[0] == 1
        with ledger.campaigns.claim("the name in the ledger"):
            for words in (["the name in the ledger"], [crashed.folder]):
                code, _, told = salvage(*words)
                assert (code, "supervises it" in told, "EVH416" in told) == (11, True, True)
    assert salvage("the name in the ledger")[0] == 1


def test_a_whole_campaign_exits_with_0(laid, salvage):
    for task in laid.tasks:
        laid.written(task)
        laid.status(task, "ok")
    code, told, _ = salvage(laid.folder)
    assert (code, told.splitlines()[0]) == (0, "mine: 3 of 3 tasks whole, nothing is to be run again")
    assert f"nothing changed in {laid.folder}" in salvage(laid.folder)[1]


def test_a_task_to_run_again_that_there_is_not_is_refused_with_the_nearest(crashed, salvage):
    code, _, told = salvage(crashed.folder, "--again", "sales_predictions")
    assert (code, "did you mean sales_prediction?" in told) == (4, True)
    assert not list(crashed.folder.glob("tasks/*"))


def test_nothing_is_called_lost_in_a_checkout_where_it_never_ran(crashed, salvage, tmp_path):
    crashed.status(DATABASE, "ok")
    before = crashed.everything()
    (tmp_path / "other").mkdir()
    code, _, told = salvage(crashed.folder, "--checkout", tmp_path / "other")
    assert (code, "did not run in" in told) == (11, True)
    assert crashed.everything() == before


def test_hostile_names_reach_no_terminal(laid, salvage):
    laid.manifest["run_name"] = "mine\x1b[31m\n##[error]"
    laid.store()
    live = laid.live(DATABASE)
    told = laid.trace(DATABASE, "x", 0) | {"status": "\x1b[2Jdone"}
    told["execution"]["run_group_id"] = None
    (live / "run_1.json").write_text(json.dumps(told))
    out = salvage(laid.folder)[1]
    assert "\x1b" not in out
    assert "\n##[" not in out
