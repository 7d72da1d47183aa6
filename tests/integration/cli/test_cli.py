"""The console command: what it says, what it exits with, what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

COMMAND = [sys.executable, "-m", "pytest_evalharness.cli"]


def run(*arguments, **words):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False, **words
    )


@pytest.mark.parametrize(
    "arguments", [(), ("nonsense",), ("arena",), ("arena", "serve", "--port", "many"), ("demo", "--no-such")]
)
def test_usage_errors_exit_with_4_and_name_the_help(arguments):
    result = run(*arguments)
    assert result.returncode == 4
    assert "--help" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_reads_well():
    result = run("--help")
    assert result.returncode == 0
    for word in (
        "arena",
        "calibrate",
        "demo",
        "power",
        "Exit codes: 0 done",
        "pytest evals/ --candidate=NAME:vN",
    ):
        assert word in result.stdout


def test_version():
    assert run("--version").stdout.startswith("evalharness 0.")


def test_the_demo_comes_out_as_announced(tmp_path):
    result = run("demo", "--home", "played", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    for words in (
        "--> BETTER, exit 0, as announced",
        "--> WORSE, exit 1, as",
        "--> UNTRUSTWORTHY, exit 11, as",
    ):
        assert words in result.stdout
    reports = [json.loads(p.read_text()) for p in sorted(tmp_path.glob("played/run/runs/*/results.json"))]
    assert [report["exit_code"] for report in reports] == [0, 1, 11]
    assert len(list(tmp_path.glob("played/*.xml"))) == 3


def test_the_demo_takes_a_fresh_folder(tmp_path):
    (tmp_path / "played").mkdir()
    from pytest_evalharness.cli.demo import fresh_home

    assert fresh_home(tmp_path / "played") == tmp_path / "played-2"


@pytest.fixture
def serving(tmp_path):
    """`evalharness arena serve` in a process group of its own, and the lines it greets with."""
    process = subprocess.Popen(
        [*COMMAND, "arena", "serve", "--port", "0", "--home", str(tmp_path / "arena"), "--pace"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    greeting = [process.stdout.readline() for _ in range(4)]
    yield process, greeting
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_serving_greets_with_what_to_type_and_ends_in_order(serving):
    process, greeting = serving
    api = greeting[0].split("serves ")[1].split()[0]
    assert "export SOFTMAX_CONFIG_DIR=" in greeting[1]
    assert f"--eval-server={api}" in greeting[2]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(api.removesuffix("/api") + "/_arena/health", timeout=20) as answer:
        assert answer.status == 200
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "the same --home goes on where it was" in output
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_told(serving, tmp_path):
    _, greeting = serving
    port = greeting[0].split("127.0.0.1:")[1].split("/")[0]
    result = run("arena", "serve", "--port", port, "--home", str(tmp_path / "other"))
    assert result.returncode != 0
    assert port in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_fault_is_told(tmp_path):
    result = run("arena", "serve", "--port", "0", "--home", str(tmp_path / "a"), "--fault", "bad-luck")
    assert result.returncode == 4
    assert "bad-luck" in result.stderr
