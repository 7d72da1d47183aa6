"""`evalharness clbench preflight` against the embedded miniature: go, doubts, no go, and exit codes."""

import json

import pytest

from pytest_evalharness.cli import main


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs the command; returns its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def called(*words):
        told = ("--checkout", "embedded", "--home", str(tmp_path / "home"))
        code = main(["clbench", "preflight", *told, *words])
        return code, capsys.readouterr()

    return called


def test_a_campaign_that_may_start(run, tmp_path):
    code, told = run("--system", "notebook", "--plan", "submission", "--task", "mini_coin_duel", "--json")
    assert (code, json.loads(told.out)["answer"]) == (1, "go, with doubts")
    code, told = run("--system", "notebook", "--plan", "seed", "--name", "first try")
    assert code == 0, told.out
    assert "embedded miniature" in told.out
    assert told.out.rstrip().rpartition("\n")[2].startswith("GO: ")
    program = f"{tmp_path}/home/clbench/checkout/bin/clbench"
    assert f"{program} run-all --name 'first try' --system notebook" in told.out
    assert (tmp_path / "home/clbench/campaigns/first-try/preflight.json").exists()
    assert not (tmp_path / "home/clbench/checkout/final_results").exists()  # nothing was run


def test_typos_stop_it(run):
    code, told = run("--system", "notebok", "--plan", "smoke")
    assert code == 11
    assert "did you mean notebook?" in told.out
    code, told = run("--system", "notebook", "--plan", "smoke", "--param", "page=3")
    assert code == 11
    assert "page is dropped without a word: did you mean pages?" in told.out
    code, told = run("--system", "notebook", "--plan", "seed", "--task", "mini_coin_dual")
    assert code == 4
    assert "did you mean mini_coin_duel?" in told.err


def test_seeds_without_an_order_of_their_own_stop_it(run, monkeypatch):
    monkeypatch.setenv("CLBENCH_MINIATURE_FAULTS", "same_order=mini_band_scan")
    code, told = run(
        "--system", "plain", "--plan", "submission", "--task", "mini_band_scan", "--task", "mini_coin_duel"
    )
    assert code == 11
    assert "mini_band_scan: seeds 0, 1, 2, 3, 4 would meet one and the same order" in told.out
    assert "mini_coin_duel: seeds" not in told.out


def test_a_folder_that_is_no_checkout(tmp_path, capsys):
    words = ("--system", "notebook", "--plan", "seed", "--checkout", str(tmp_path))
    assert main(["clbench", "preflight", *words]) == 11
    assert "EVH405" in capsys.readouterr().err
