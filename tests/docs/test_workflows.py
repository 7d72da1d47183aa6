"""Workflows and the composite action: they parse, a linter that knows GitHub's rules accepts them, and they keep ours."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_evalharness.report.github import Overall

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LINTER = shutil.which(
    "actionlint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
)
linted = pytest.mark.skipif(LINTER is None, reason="actionlint is not installed")


def lint(path):
    """What the linter says. Linters of other languages, which a machine may have or not, are left out."""
    return subprocess.run(
        [LINTER, "-no-color", "-shellcheck=", "-pyflakes=", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.fixture
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def whole_workflows(pages):
    """The pages' workflows that are meant to be copied as they are."""
    return [
        block
        for page in pages.values()
        for block in page.blocks("yaml")
        if re.search(r"^on:", block.text, re.MULTILINE)
    ]


@pytest.fixture
def gate(pages):
    """The page's workflow that runs pytest itself."""
    (found,) = [b.text for b in whole_workflows(pages) if "exec pytest" in b.text]
    return found


# --------------------------------------------------------------------- syntax


@linted
def test_the_linter_can_fail(tmp_path):
    path = tmp_path / "x.yml"
    path.write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: ${{ nothing.x }}\n"
    )
    assert "nothing" in lint(path)


@linted
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_our_workflows_are_sound(path):
    assert lint(path) == ""


@linted
def test_the_pages_workflows_are_sound(pages, tmp_path):
    found = whole_workflows(pages)
    assert found
    for number, block in enumerate(found):
        path = tmp_path / f"{number}.yml"
        path.write_text(block.text)
        assert lint(path) == "", block.page


@linted
def test_the_actions_steps_are_sound(action, tmp_path):
    """As steps of a workflow with the same inputs: the linter reads no actions."""
    inputs = {name: {"type": "string", "default": ""} for name in action["inputs"]}
    outputs = {name: {"value": "x"} for name in action["outputs"]}
    told = {f"out-{name}": entry["value"] for name, entry in action["outputs"].items()}
    workflow = {
        "on": {"workflow_call": {"inputs": inputs, "outputs": outputs}},
        "jobs": {"a": {"runs-on": "ubuntu-latest", "outputs": told, "steps": action["runs"]["steps"]}},
    }
    path = tmp_path / "action-as-workflow.yml"
    path.write_text(yaml.safe_dump(workflow))
    assert lint(path) == ""


def test_every_yaml_block_of_a_page_parses(pages):
    for page in pages.values():
        for block in page.blocks("yaml"):
            assert yaml.safe_load(block.text), block.page


# ------------------------------------------------------------------ our rules


def test_a_step_that_runs_pytest_becomes_it(pages, action):
    """Else a cancelled job reaches the shell around it only, and no report is written."""
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    scripts += [s["run"] for path in FILES for s in steps(yaml.safe_load(path.read_text())) if "run" in s]
    for page in pages.values():
        scripts += re.findall(r"run: (.*)", "\n".join(block.text for block in page.blocks("yaml")))
    lines = [line.strip() for script in scripts for line in script.splitlines()]
    started = [
        line for line in lines if re.search(r"\bpytest (?!-)", line) and "#" not in line.split("pytest")[0]
    ]
    assert len(started) > 2
    assert all(line.startswith("exec pytest") for line in started)


def test_the_ledger_is_saved_and_reports_are_kept_however_the_run_ends(action, gate):
    for name, found in (("action", action["runs"]["steps"]), ("page", steps(yaml.safe_load(gate)))):
        kept = {step["uses"].split("@")[0]: step for step in found if "uses" in step}
        for uses in ("actions/cache/save", "actions/upload-artifact"):
            assert kept[uses]["if"] == "always()", name
        restored, saved = kept["actions/cache/restore"]["with"], kept["actions/cache/save"]["with"]
        assert (restored["path"], restored["key"]) == (saved["path"], saved["key"])
        attempt = "-${{ github.run_attempt }}"
        assert saved["key"].endswith(attempt)
        nearest, other = restored["restore-keys"].splitlines()
        assert saved["key"] == f"{nearest}{attempt[1:]}", "a re-run begins with the attempt before it"
        assert nearest == f"{other}${{{{ github.run_id }}}}-"
        assert kept["actions/upload-artifact"]["with"]["include-hidden-files"] is True


def test_a_cache_is_never_written_by_two_runs_at_once(gate):
    for text in (gate, (ROOT / ".github" / "workflows" / "evals.yml").read_text()):
        assert yaml.safe_load(text)["concurrency"]["cancel-in-progress"] is False


def test_no_secret_reaches_a_strangers_code(pages):
    for text in [block.text for block in whole_workflows(pages)] + [path.read_text() for path in FILES]:
        assert "pull_request_target" not in text
        workflow = yaml.safe_load(text)
        assert workflow["permissions"] == {"contents": "read"}


def test_the_example_uses_the_inputs_that_there_are(action, pages):
    calls = [s for path in FILES for s in steps(yaml.safe_load(path.read_text())) if s.get("uses") == "./"]
    for block in whole_workflows(pages):
        calls += [s for s in steps(yaml.safe_load(block.text)) if "/pytest-evalharness@" in s.get("uses", "")]
    assert len(calls) == 2
    for call in calls:
        assert set(call["with"]) <= set(action["inputs"])


# ------------------------------------------------------------- what is promised


def test_every_word_and_every_output_is_described(pages, action):
    page = pages["docs/reference/files.md"]
    words = [row[0].strip("`") for row in page.table("verdict of a run")]
    assert words == list(Overall), "worst first"
    assert set(words) <= set(re.findall(r"\w+", action["outputs"]["verdict"]["description"]))
    assert [row[0].strip("`") for row in page.table("output")] == list(action["outputs"])
