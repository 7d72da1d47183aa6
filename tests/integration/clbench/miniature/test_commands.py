"""The commands of the miniature take the benchmark's arguments and end with its exit codes."""

import json
import subprocess

import pytest

from pytest_evalharness.clbench.miniature.install import install
from pytest_evalharness.clbench.miniature.passes import RUN_PID, SUITE_PID
from pytest_evalharness.clbench.miniature.program import main

RUN = ("run", "mini_band_scan", "--system", "plain")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        ((), 1),
        (("--help",), 1),
        (("nonsense",), 1),
        (("list", "nonsense"), 2),
        (("doctor",), 0),
        (("setup",), 0),
        (("init", "system", "mine"), 1),
        (("inspect", "task", "poker"), 1),
        (RUN, 1),
        ((*RUN, "--schedule", "default", "--dry-run"), 0),
        ((*RUN, "--schedule", "nonsense", "--dry-run"), 0),
        ((*RUN, "--schedule", "nonsense"), 1),
        ((*RUN, "--schedule", "default", "--task.num-questions", "3"), 1),
        ((*RUN, "--schedule", "default", "--system.nonsense", "3"), 2),
        ((*RUN, "--schedule", "default", "--runs", "few"), 2),
        ((*RUN, "--schedule", "default", "--verbosity", "-1", "--dry-run"), 0),
        ((*RUN, "--schedule=default", "--dry-run"), 2),
        ((*RUN, "--schedule", "default", "--system-params", "[]"), 1),
        ((*RUN, "--schedule", "default", "--system-params", "{"), 1),
        (("run", "poker", "--system", "plain", "--schedule", "default"), 1),
        (("run", "mini_band_scan", "--system", "nobody", "--schedule", "default"), 1),
        (("run-all", "--system", "plain"), 2),
        (("run-all", "--name", "a", "--system", "nobody", "--dry-run"), 0),
        (("run-all", "--name", "a", "--system", "plain", "--task", "poker"), 1),
        (("run-all", "--name", "a", "--system", "plain", "--overwrite-task"), 2),
        (("run-all", "--name", "a", "--system", "plain", "--missing-only"), 2),
        (("run-all", "--name", "..", "--system", "plain"), 2),
        (("smoke", "mini_ledger_lookup", "--system", "notebook"), 0),
        (("smoke", "mini_ledger_lookup", "--system", "notebook", "--schedule", "nonsense"), 1),
    ],
    ids=lambda told: " ".join(told) if isinstance(told, tuple) else str(told),
)
def test_an_exit_code(program, argv, code):
    assert program(*argv)[0] == code


@pytest.fixture
def program(tmp_path, monkeypatch, capsys):
    """The program in this process: a command line and what it printed."""
    root = install(tmp_path / "checkout")
    monkeypatch.chdir(root)
    monkeypatch.delenv("CLBENCH_MINIATURE_FAULTS", raising=False)
    for told in (RUN_PID, SUITE_PID):
        # The program says here who it is, for its children: no other test is one.
        monkeypatch.setenv(told, "0")

    def run(*argv):
        try:
            code = main(argv, root)
        except SystemExit as stopped:
            code = stopped.code
        return code, capsys.readouterr()

    return run


def test_a_list_names_tasks_and_systems(program):
    assert program("list")[1].out.split() == [
        "Tasks:", "mini_band_scan", "mini_coin_duel", "mini_ledger_lookup", "mini_shop_forecast",
        "Systems:", "notebook", "ouroboros", "plain",
    ]  # fmt: skip


def test_inspecting_shows_parameters_and_schedules(program):
    told = program("inspect", "system", "ouroboros")[1].out
    assert "  - max_workers: int (default: 10)\n" in told
    told = program("inspect", "task", "mini_shop_forecast")[1].out
    assert "  - default: Default - " in told
    assert "[stages=2, runs=5, mode=replicate, max_workers=12]" in told


def test_unknown_keys_of_parameters_are_dropped_and_later_words_win(program):
    """A typo runs with the default, as upstream: whoever drives it has to look."""
    params = json.dumps({"max_worker": 3, "model": "in/json"})
    told = program(
        "run", "mini_coin_duel", "--system", "ouroboros", "--schedule", "default", "--schedule", "quick", "--runs", "9",
        "--system.model", "a/flag", "--system.docker", "no", "--runs", "4", "--system-params", params, "--dry-run",
    )[1].out  # fmt: skip
    assert "'max_workers': 10" in told
    assert "'model': 'in/json'" in told
    assert "'docker': False" in told
    assert "'schedule': 'quick'" in told
    assert "Runs: 4, max workers: 12, mode: permute" in told


def test_a_file_stands_between_defaults_and_the_command_line(program, tmp_path):
    path = tmp_path / "config.json"
    told = {
        "system": {"name": "notebook", "params": {"model": "in/file", "pages": 2}},
        "task": {"name": "mini_coin_duel", "params": {"schedule": "default"}},
        "runs": 3,
        "max_workers": 2,
    }
    path.write_text(json.dumps(told))
    shown = program("run", "--config", str(path), "--system.pages", "5", "--dry-run")[1].out
    assert "'model': 'in/file'" in shown
    assert "'pages': 5" in shown
    assert "Runs: 3, max workers: 2, mode: permute" in shown
    assert program("run", "--config", str(tmp_path / "none.json"))[0] == 1


def test_a_checkout_that_was_used_is_laid_out_again_without_loss(miniature):
    kept = miniature.root / "results" / "kept.json"
    kept.write_text("{}")
    script = miniature.root / "run_benchmark.py"
    script.write_text("broken")
    assert install(miniature.root) == miniature.root.resolve()
    assert kept.exists()
    assert "broken" not in script.read_text()


def test_the_program_on_the_path_is_that_of_its_own_checkout(miniature):
    done = miniature.run("list", "systems")
    assert done.stdout.split() == ["Systems:", "notebook", "ouroboros", "plain"]
    told = subprocess.run(
        ["clbench", "list", "tasks"],
        env=miniature.environ(),
        cwd=miniature.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "mini_coin_duel" in told.stdout
