"""What a run leaves on GitHub's page: once, from the controller, and never a reason to fail."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

MANY = """
import pytest

@pytest.mark.league_ab(role="crew", claim="better")
@pytest.mark.parametrize("case", range(15))
def test_crew(ab, case):
    ab.require()
"""
WELL_FORMED = (
    r"::error file=test_evals\.py,line=3,title=evalharness%3A failed::A/B crew: WORSE, [^\x1b]*"
    r"%0Atest_evals\.py::test_crew\[(?P<case>\d+)\](%0Aand (?P<more>\d+) more: see the step summary)?"
)
COMMAND = re.compile(r"^::(?:error|warning|notice) ")


@pytest.fixture
def github(project, monkeypatch):
    """The project as a job of GitHub Actions sees it."""
    files = {name: project.pytester.path / f"{name}.txt" for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for name in list(os.environ):
        if name.startswith("GITHUB_"):
            monkeypatch.delenv(name)
    for name, path in files.items():
        path.touch()
        monkeypatch.setenv(name, str(path))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.pytester.path))
    project.summary, project.output = files.values()
    return project


def from_fork(project, monkeypatch, head="stranger/bot"):
    event = project.pytester.path / "event.json"
    repositories = {"head": {"repo": {"full_name": head}}, "base": {"repo": {"full_name": "team/bot"}}}
    event.write_text(json.dumps({"pull_request": repositories}))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("SOFTMAX_CONFIG_DIR", str(project.pytester.path / "nowhere"))


def outputs(project):
    return dict(line.split("=", 1) for line in project.output.read_text().splitlines())


def annotations(result):
    return [line for line in result.outlines if COMMAND.match(line)]


def test_outside_of_github_nothing_is_written(github, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS")
    result = github.judge_here(candidate="keeper:v3")
    assert result.ret == 1
    assert github.summary.read_text() == github.output.read_text() == ""
    assert annotations(result) == []


def test_without_eval_cases_nothing_is_written(github):
    github.cases("def test_fails():\n    assert False\n")
    result = github.judge_here()
    assert result.ret == 1
    assert github.summary.read_text() == github.output.read_text() == ""
    assert annotations(result) == []


@pytest.mark.parametrize("variable", ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"])
@pytest.mark.parametrize("broken", ["folder", "missing/parent.txt", "pipe"])
def test_what_cannot_be_written_is_a_note_and_no_failure(github, monkeypatch, variable, broken):
    path = github.pytester.path / broken
    if broken == "folder":
        path.mkdir()
    if broken == "pipe":
        os.mkfifo(path)
    monkeypatch.setenv(variable, str(path))
    result = github.judge_here()
    assert result.ret == 0
    (note,) = [line for line in result.outlines if "was not written" in line]
    assert note.startswith(f"evalharness: note: {variable} ")
    other = github.output if variable == "GITHUB_STEP_SUMMARY" else github.summary
    assert other.read_text()


def test_a_summary_that_is_full_already_is_left_alone(github):
    before = "x" * 1024 * 1024
    github.summary.write_text(before)
    result = github.judge_here()
    assert result.ret == 0
    assert "evalharness: note: GITHUB_STEP_SUMMARY was not written: it holds 1048576 bytes" in str(
        result.stdout
    )
    assert github.summary.read_text() == before


@pytest.mark.parametrize("missing", ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"])
def test_what_github_does_not_offer_is_not_missed(github, monkeypatch, missing):
    monkeypatch.delenv(missing)
    result = github.judge_here()
    assert result.ret == 0
    assert "was not written" not in str(result.stdout)


@pytest.mark.thread(row=25)
@pytest.mark.parametrize(
    "more", [(), ("-n", "2"), ("-q",), ("-n", "2", "-qq"), ("-p", "no:terminal"), ("-s",)], ids=" ".join
)
def test_a_failure_is_told_once_at_the_start_of_a_line_without_colour(github, more):
    colour = () if "no:terminal" in more else ("--color=yes",)
    result = github.judge(*colour, *more, candidate="keeper:v3")
    assert result.ret == 1
    (line,) = annotations(result)
    assert line.startswith("::error file=test_evals.py,line=3,title=evalharness%3A failed::A/B crew: WORSE, ")
    assert line.endswith("%0Atest_evals.py::test_crew")
    assert str(result.stdout).count("::error ") == 1
    assert github.summary.read_text().count("# Evaluation") == 1
    found = outputs(github)
    assert list(found) == ["verdict", "exit-code", "run-dir", "resume-command"]
    assert (found["verdict"], found["exit-code"]) == ("not_met", "1")
    assert (github.pytester.path / found["run-dir"] / "results.json").is_file()


@pytest.mark.thread(row=25)
def test_fifteen_failures_are_ten_annotations(github):
    github.cases(MANY)
    result = github.judge("-n", "2", "--color=yes", candidate="keeper:v3")
    assert result.ret == 1
    told = annotations(result)
    assert len(told) == 10
    shown = [re.fullmatch(WELL_FORMED, line) for line in told]
    assert all(shown), told
    assert len({one["case"] for one in shown}) == 10, "each is told once"
    assert [one["more"] for one in shown] == [None] * 9 + ["5"]
    assert str(result.stdout).count("::error ") == 10, "none stands elsewhere than at the start of its line"


@pytest.mark.parametrize(
    ("words", "more", "code", "verdict"),
    [
        ({}, (), 0, "met"),
        ({"candidate": "keeper:v4"}, (), 10, "inconclusive"),
        ({"candidate": "keeper:v4"}, ("--eval-inconclusive=pass",), 0, "inconclusive"),
        ({"candidate": "keeper:v1"}, (), 11, "untrustworthy"),
    ],
)
def test_a_run_has_one_word_and_its_exit_code(github, words, more, code, verdict):
    result = github.judge_here(*more, **words)
    assert result.ret == code
    found = outputs(github)
    assert (found["verdict"], found["exit-code"]) == (verdict, str(code))
    assert [line.split()[0] for line in annotations(result)] == {
        "met": [], "inconclusive": ["::warning"], "untrustworthy": ["::error"],
    }[verdict]  # fmt: skip


def test_the_resume_command_is_the_command(github, monkeypatch):
    monkeypatch.setenv("EVALHARNESS_TOKEN", "tok_this_is_secret_1234")
    notes = "it's $(late) tok_this_is_secret_1234"
    result = github.judge(f"--eval-notes={notes}", "-n", "1")
    assert result.ret == 11  # the server does not know the token
    words = shlex.split(outputs(github)["resume-command"])
    wanted = github.command(
        f"--eval-notes={notes.replace('tok_this_is_secret_1234', '[redacted]')}", "-n", "1"
    )
    assert words[:3] == ["python", "-m", "pytest"]
    assert [word for word in words if word in wanted] == wanted
    assert "secret" not in github.output.read_text() + github.summary.read_text()


def test_what_other_commands_wrote_stays(github):
    github.output.write_text("theirs=1")
    github.summary.write_text("| their | table |")
    assert github.judge_here().ret == 0
    assert outputs(github)["theirs"] == "1"
    assert github.summary.read_text().startswith("| their | table |\n# Evaluation")


def test_a_file_outside_of_the_repository_is_not_named(github, monkeypatch):
    elsewhere = github.pytester.mkdir("elsewhere")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(elsewhere))
    (line,) = annotations(github.judge_here(candidate="keeper:v3"))
    assert line.startswith("::error title=evalharness%3A failed::")


def test_files_are_named_from_the_root_of_the_repository(github, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(github.pytester.path.parent))
    (line,) = annotations(github.judge_here(candidate="keeper:v3"))
    assert line.startswith(f"::error file={github.pytester.path.name}/test_evals.py,line=3,")


def test_failures_are_left_to_a_plugin_that_annotates_them(github):
    github.pytester.makeconftest(
        "def pytest_configure(config):\n"
        "    config.pluginmanager.register(object(), 'pytest_github_actions_annotate_failures')\n"
    )
    result = github.judge_here(candidate="keeper:v3")
    assert result.ret == 1
    assert annotations(result) == []
    assert outputs(github)["verdict"] == "not_met"


def test_a_names_command_is_no_command(github):
    name = "::error::gotcha ##[add-mask]x"
    result = github.judge_here(candidate=f"{name}:v1")
    assert result.ret == 11
    found = [line for line in result.outlines if line.lstrip().startswith("::") or "##[" in line]
    assert len(found) == len(annotations(result)) == 1
    assert "gotcha" in github.summary.read_text()
    assert outputs(github)["verdict"] == "untrustworthy"


@pytest.mark.thread(row=25)
@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_fork_without_secrets_was_not_run_and_is_not_green(github, monkeypatch, more):
    from_fork(github, monkeypatch)
    github.cases(MANY.replace("15", "3"))
    result = github.judge_here(*more)
    assert result.ret == 11
    why = "not run: no credentials (a pull request from a fork has no secrets)"
    assert f"exit 11: {why}" in str(result.stdout)
    assert annotations(result) == [f"::error title=evalharness%3A not run::{why}: 3 cases"]
    assert why.replace("(", "\\(").replace(")", "\\)") in github.summary.read_text().replace("\\:", ":")
    assert outputs(github)["verdict"] == "not_run"
    assert {case["outcome"] for case in github.results()["cases"]} == {"not_run"}
    assert {found["evalharness.outcome"] for found in github.properties()} == {"not_run"}
    assert github.posted == 0


def test_a_fork_has_no_plan_either(github, monkeypatch):
    from_fork(github, monkeypatch)
    result = github.judge_here("--eval-dry-run")
    assert result.ret == 11
    assert "not run: no credentials" in str(result.stdout)
    assert "EVH205" in str(result.stdout)


def test_a_pull_request_of_the_repository_itself_has_made_a_mistake(github, monkeypatch):
    from_fork(github, monkeypatch, head="team/bot")
    result = github.judge_here()
    assert result.ret == 11
    assert outputs(github)["verdict"] == "untrustworthy"
    assert "EVH201" in str(result.stdout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_run_says_how_to_go_on(github, number):
    github.league.fault("closed-queue")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *github.command()],
        cwd=github.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    github.until_noted(process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2, output
    assert outputs(github)["verdict"] == "interrupted"
    (line,) = [line for line in output.splitlines() if COMMAND.match(line)]
    assert line.startswith("::warning title=evalharness%3A still running::")
    assert "candidate keeper:v2 xreq_" in line
    assert "still running on the server" in github.summary.read_text()
