"""The composite action: its shell steps are run as a runner runs them, on the embedded league."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CASES = """
import pytest

@pytest.mark.league_ab(role="crew", episodes=30, claim="better")
def test_crew(ab):
    ab.require()
"""
STUB = """#!/usr/bin/env python3
import json, os, sys
told = {"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
open(os.environ["TOLD"], "w").write(json.dumps(told))
"""


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


class Job:
    """A job with a workspace, in which the action's shell steps run."""

    def __init__(self, action, folder):
        self.action = action
        self.workspace = folder / "work space"
        self.bin = folder / "bin"
        self.output = folder / "output"
        self.summary = folder / "summary"
        self.script = folder / "step.sh"
        self.environment = {}
        for path in (self.workspace / "evals", self.bin):
            path.mkdir(parents=True)
        (self.workspace / "evals" / "test_policy.py").write_text(CASES)
        self.executable(f'#!/bin/sh\nexec {sys.executable} -m pytest -p no:cacheprovider "$@"\n')

    def executable(self, text):
        """What the name `pytest` stands for."""
        (self.bin / "pytest").write_text(text)
        (self.bin / "pytest").chmod(0o755)

    def start(self, **inputs):
        """The only step with a script, as the runner starts it. Every attempt has files of its own."""
        (step,) = [step for step in self.action["runs"]["steps"] if "run" in step]
        given = {name: entry["default"] for name, entry in self.action["inputs"].items()} | inputs
        assert given.keys() == self.action["inputs"].keys()
        for path in (self.output, self.summary):
            path.write_text("")
        self.script.write_text(step["run"])
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("EVALHARNESS_", "PYTEST_", "GITHUB_"))
        }
        environment = {
            **kept,
            **self.environment,
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            **{name: filled(text, given) for name, text in step["env"].items()},
        }
        return subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(self.script)],
            cwd=self.workspace / filled(step["working-directory"], given),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, **inputs):
        process = self.start(**inputs)
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def outputs(self):
        """The action's outputs, by way of the step's."""
        written = dict(line.split("=", 1) for line in self.output.read_text().splitlines())
        return {
            name: re.sub(
                r"\$\{\{ steps\.run\.outputs\.([\w-]+) \}\}", lambda m: written[m[1]], entry["value"]
            )
            for name, entry in self.action["outputs"].items()
        }

    def events(self, what):
        found = list(self.workspace.glob(".evalharness/runs/*/events.jsonl"))
        return [
            e
            for path in found
            for e in map(
                json.loads, path.read_text().rpartition("\n")[0].splitlines()
            )  # the last may be under way
            if e.get("what") == what
        ]


def filled(text, given):
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], text)


@pytest.fixture
def job(action, tmp_path):
    return Job(action, tmp_path)


@pytest.fixture
def told(job, tmp_path, monkeypatch):
    """The action with something in pytest's place that tells how it was called."""
    monkeypatch.setenv("TOLD", str(tmp_path / "told.json"))
    job.executable(STUB.replace("/usr/bin/env python3", sys.executable))

    def call(**inputs):
        code, output = job.run(**inputs)
        assert code == 0, output
        return json.loads((tmp_path / "told.json").read_text())

    return call


# ------------------------------------------------------------------ the words


@pytest.mark.parametrize("name", ["candidate", "baseline", "server", "token", "path", "args", "home"])
def test_no_input_is_a_command(job, told, name):
    hostile = "$(touch hacked) `touch hacked` \"; touch hacked; ' && touch hacked #"
    said = told(**{name: hostile})
    assert not list(job.workspace.rglob("hacked"))
    assert any(hostile in text for text in [*said["words"], said["environment"].get("EVALHARNESS_TOKEN", "")])


def test_no_script_holds_an_expression(action):
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]


def test_an_input_that_is_not_given_is_no_word(job, told):
    home = job.workspace / ".evalharness"
    said = told()
    assert said["words"] == [f"--eval-home={home}", f"--junitxml={home}/junit.xml", "evals/"]
    assert "EVALHARNESS_TOKEN" not in said["environment"]


def test_every_word_arrives_as_it_was(job, told):
    (job.workspace / "sub").mkdir()
    said = told(
        **{
            "candidate": "bot:v2", "baseline": "bot:v1", "server": "https://HOST/api", "home": "/some/where",
            "args": "-n\n2\n\n--eval-notes=two words 'and' \\ more", "path": "a b\nc", "working-directory": "sub",
        }
    )  # fmt: skip
    assert said["words"] == [
        "--eval-home=/some/where", "--junitxml=/some/where/junit.xml", "--candidate=bot:v2", "--baseline=bot:v1",
        "--eval-server=https://HOST/api", "-n", "2", "--eval-notes=two words 'and' \\ more", "a b", "c",
    ]  # fmt: skip
    assert said["folder"] == str(job.workspace / "sub")


def test_the_token_is_in_one_variable_and_in_no_word(told):
    said = told(token="tok_secret_1")
    assert [name for name, value in said["environment"].items() if "tok_secret_1" in value] == [
        "EVALHARNESS_TOKEN"
    ]
    assert "tok_secret_1" not in " ".join(said["words"])


def test_a_token_of_the_job_is_left_alone(job, told):
    job.environment["EVALHARNESS_TOKEN"] = "tok_of_the_job"
    assert told()["environment"]["EVALHARNESS_TOKEN"] == "tok_of_the_job"
    assert told(token="tok_given")["environment"]["EVALHARNESS_TOKEN"] == "tok_given"


# -------------------------------------------------------------------- the run


def test_a_usage_error_has_no_outputs(job):
    code, output = job.run(server="embedded")
    assert code == 4, output
    assert job.output.read_text() == ""


@pytest.mark.parametrize(
    ("candidate", "code", "verdict"), [("keeper:v3", 1, "not_met"), ("keeper:v2", 0, "met")]
)
def test_the_step_ends_as_pytest_does_and_has_its_outputs(job, founded_league, candidate, code, verdict):
    shutil.copytree(founded_league(), job.workspace / ".evalharness/arena")
    found, output = job.run(candidate=candidate, baseline="keeper:v1", server="embedded")
    assert found == code, output
    outputs = job.outputs()
    assert (outputs["verdict"], outputs["exit-code"]) == (verdict, str(code))
    assert (Path(outputs["run-dir"]) / "results.json").is_file()
    assert f"--candidate={candidate}" in outputs["resume-command"]
    assert (job.workspace / ".evalharness" / "junit.xml").is_file()
    assert job.summary.read_text().startswith("# Evaluation")
    told = [line for line in output.splitlines() if "::error" in line]
    assert len(told) == (1 if code else 0)
    assert all(line.startswith("::error file=evals/test_policy.py,line=4,") for line in told)


def test_a_cancelled_step_ends_in_order_and_the_next_attempt_goes_on(job, tmp_path):
    """The ledger comes back as the cache brings it: a copy, in the workspace of another machine.

    The first attempt meets a closed queue: it could wait for ever, and ends because it was told to.
    """
    asked = {"candidate": "keeper:v2", "baseline": "keeper:v1", "server": "embedded"}
    began = time.monotonic()
    process = job.start(**asked, args="--eval-arena-fault=closed-queue")
    deadline = began + 300
    while len(job.events("posted")) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(job.events("posted")) == 2
    told = time.monotonic()
    os.kill(process.pid, signal.SIGINT)  # to the step's own process alone, as a runner does it
    output, _ = process.communicate(timeout=300)
    took = time.monotonic() - told
    assert process.returncode == 2, output
    # A machine that is too busy for it was as busy a moment before, when the same step began.
    assert took < max(7.5, told - began), "the runner would have sent SIGTERM by now"
    assert job.outputs()["verdict"] == "interrupted"
    assert "still running on the server" in job.summary.read_text()
    requests = {event["request"] for event in job.events("posted")}

    saved = tmp_path / "cache"
    shutil.move(job.workspace / ".evalharness", saved)
    shutil.copytree(saved, job.workspace / ".evalharness")
    code, output = job.run(**asked)
    assert code == 0, output
    assert job.outputs()["verdict"] == "met"
    assert {event["request"] for event in job.events("resumed")} == requests
    assert {event["request"] for event in job.events("posted")} == requests
