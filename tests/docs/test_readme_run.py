"""The README's case, run as the README runs it: the output that it shows is the output there is."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

RATES = "docs/explanation/true-rates.md"


@pytest.fixture(scope="module")
def shown(pages):
    """The README's command and the lines under it."""
    block = pages["README.md"].blocks("console")[0]
    command, *lines = block.text.splitlines()
    return shlex.split(command.removeprefix("$ ")), lines


@pytest.fixture(scope="module")
def run(pages, shown, tmp_path_factory):
    """One run in an empty project: its exit code, its output lines and its `results.json`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "evals").mkdir()
    (folder / "evals" / "test_policy.py").write_text(pages["README.md"].blocks("python")[0].text)
    command, _ = shown
    assert command[0] == "pytest"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EVALHARNESS_", "PYTEST_", "COVERAGE_"))}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *command[1:],
            "-p",
            "pytest_evalharness.plugin",
            "-p",
            "no:cacheprovider",
        ],
        cwd=folder,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    results = list(folder.glob(".evalharness/runs/*/results.json"))
    assert len(results) == 1, done.stdout + done.stderr
    return done.returncode, done.stdout.splitlines(), json.loads(results[0].read_text())


def without_ids(line):
    return re.sub(r"xreq_[0-9a-f-]{36}", "xreq_ID", line.rstrip())


def test_the_output_is_what_a_run_prints(run, shown):
    """Line by line and in this order; `…` stands for lines that are left out."""
    _, printed, _ = run
    rest = iter([without_ids(line) for line in printed])
    left_out = True
    for line in shown[1]:
        if line == "…":
            left_out = True
            continue
        wanted = without_ids(line)
        following = next((found for found in rest if found == wanted), None) if left_out else next(rest, None)
        assert following == wanted, "\n".join(printed)
        left_out = False


def test_the_exit_code_is_the_one_it_tells(run, shown):
    code, _, results = run
    assert code == results["exit_code"] == 1
    assert shown[1][-1].startswith(f"exit {code}: ")


def test_the_report_that_is_explained_is_this_one(run, pages):
    """The explanation of the verdict reads the same report, line by line."""
    block = next(b for b in pages["docs/explanation/verdict.md"].blocks("text") if b.text.startswith("A/B"))
    printed = [line.removeprefix("E   ") for line in run[1]]
    start = printed.index(block.text.splitlines()[0])
    lines = block.text.splitlines()
    assert printed[start : start + len(lines)] == lines


def test_the_field_of_the_true_rates_is_the_one_that_is_played(run, pages):
    around = re.findall(r"`(\w+:v\d)`", pages[RATES].text.partition("| build |")[0])
    roster = run[2]["cases"][0]["results"][0]["roster"]["opponents"]
    assert [member["label"] for member in roster] == around


def test_embedded_games_are_named_as_such(run):
    _, printed, results = run
    assert results["embedded"] is True
    assert any("embedded league" in line for line in printed)
