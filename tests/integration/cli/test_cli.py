"""The console command: what it says, what it exits with, what it leaves behind."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from pytest_evalharness.cli import main

COMMAND = [sys.executable, "-m", "pytest_evalharness.cli"]


def run(*arguments, **words):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=600, check=False, **words
    )


@pytest.mark.parametrize(
    "arguments",
    [(), ("nonsense",), ("arena",), ("arena", "serve", "--port", "many"), ("arena", "serve", "--dialect", "2026-07"),
     ("demo", "--no-such")],
)  # fmt: skip
def test_usage_errors_exit_with_4_and_name_the_help(arguments):
    result = run(*arguments)
    assert result.returncode == 4
    assert "--help" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "command", "told"),
    [
        (["ab", "--nums", "3"], "ab", "--nums 3; did you mean --num?"),
        (["ab", "--eval-nums=3"], "ab", "--eval-nums=3; did you mean --num?"),
        (["runs", "ls", "--verdct=worse"], "runs ls", "--verdct=worse; did you mean --verdict?"),
        (["episodes", "show", "eps", "--jsn"], "episodes show", "--jsn; did you mean --json?"),
        (["arena", "serve", "--zzz"], "arena serve", "--zzz\n"),
        (["ab", "keeper:v2"], "ab", "keeper:v2\n"),
        (["--zzz", "runs", "ls"], "", "--zzz\n"),
    ],
)
def test_what_a_command_does_not_know_is_told_with_its_own_help(words, command, told, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 4
    errors = capsys.readouterr().err
    name = f"evalharness {command}".rstrip()
    assert f"\n{name}: unrecognized arguments: {told}" in errors
    assert errors.endswith(f"\n  next:     {name} --help\n")


def test_help_reads_well():
    result = run("--help")
    assert result.returncode == 0
    for word in (
        "arena",
        "calibrate",
        "demo",
        "power",
        "pool",
        "runs",
        "Exit codes: 0 done",
        "pytest evals/ --candidate=NAME:vN",
    ):
        assert word in result.stdout


def test_version():
    assert run("--version").stdout.startswith("evalharness 0.")


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_demo_of_campaigns_comes_out_as_announced(tmp_path):
    result = run("clbench", "demo", "--folder", "played", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the chain works, 3 of 3 typed answers" in result.stdout
    for words in ("--> BETTER, exit 0, as", "--> WORSE, exit 1, as", "--> UNTRUSTWORTHY, exit 11, as"):
        assert words in result.stdout
    runs = tmp_path / "played/.evalharness/clbench/checkout/final_results/runs"
    assert {path.name for path in runs.iterdir()} == {"forgets", "remembers", "spoilt"}


def test_the_demo_takes_a_fresh_folder(tmp_path):
    (tmp_path / "played").mkdir()
    from pytest_evalharness.cli.demo import fresh_home

    assert fresh_home(tmp_path / "played") == tmp_path / "played-2"


@pytest.fixture
def serving(tmp_path, founded_league):
    """`evalharness arena serve` in a process group of its own, and the lines it greets with."""
    shutil.copytree(founded_league("2026-06"), tmp_path / "arena")
    process = subprocess.Popen(
        [
            *COMMAND,
            "arena",
            "serve",
            "--port",
            "0",
            "--home",
            str(tmp_path / "arena"),
            "--pace",
            "--dialect",
            "2026-06",
        ],
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
    assert "(seed 2026, API as of 2026-06)" in greeting[0]
    assert "export SOFTMAX_CONFIG_DIR=" in greeting[1]
    assert f"--eval-server={api}" in greeting[2]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(api.removesuffix("/api") + "/_arena/health", timeout=300) as answer:
        assert answer.status == 200
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "the same --home goes on where it was" in output
    assert "Traceback" not in errors


def left_behind(home, port=None):
    """What a server of this home still holds: its lock, its port."""
    held = []
    with (home / "arena.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held.append("lock")
    if port is not None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            held.append("port")
    return held


def wait_until_free(home, port=None):
    until = time.monotonic() + 300
    while left := left_behind(home, port):
        assert time.monotonic() < until, left
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_command_alone_leaves_nothing_behind(serving, tmp_path, number):
    process, greeting = serving
    port = int(greeting[0].split("127.0.0.1:")[1].split("/")[0])
    assert left_behind(tmp_path / "arena", port) == ["lock", "port"]
    process.send_signal(number)
    output, errors = process.communicate(timeout=300)
    assert "Traceback" not in errors
    if number == signal.SIGKILL:
        wait_until_free(tmp_path / "arena", port)
        return
    assert process.returncode == 0
    assert "the same --home goes on where it was" in output
    assert left_behind(tmp_path / "arena", port) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_by_a_command_that_was_still_starting(tmp_path, number):
    home = tmp_path / "arena"
    # As a script's background job, which ignores SIGINT.
    process = subprocess.Popen(
        [*COMMAND, "arena", "serve", "--port", "0", "--home", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
    )
    until = time.monotonic() + 300
    # The lock is not asked for before it is held: whoever asks takes it for a moment, and the server would find it taken.
    while not (home / "arena.sqlite").exists():
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.01)
    assert left_behind(home) == ["lock"]
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode == (-number if number == signal.SIGKILL else 0)
    wait_until_free(home)


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
