"""A job that is cancelled: exit code 2, every report written, and the same command goes on."""

import signal
import subprocess
import sys
import time

import pytest

SERIAL_AND_WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
LONG_END = """
import pathlib, time
import pytest
from pytest_evalharness.plugin import signals

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    end = session.config.stash.get(signals._END, None)  # workers have none
    deadline = time.monotonic() + 120
    while end is not None and end._seen < {signals} and time.monotonic() < deadline:
        pathlib.Path(f"seen-{{end._seen}}").touch()
        time.sleep(0.01)
"""
"""Before its reports are written, a run waits until it has got so many signals, and tells how many it has."""


def until_it_ends(project, process, signals):
    """Wait until a run is on its way to its end, and has got so many signals."""
    told = project.pytester.path / f"seen-{signals}"
    deadline = time.monotonic() + 300
    while not told.exists():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def waiting(project):
    """A run in a process of its own whose games stay in the queue: `waiting(*options)`."""
    processes = []

    def start(*more):
        project.league.fault("closed-queue")
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *project.command(*more)],
            cwd=project.pytester.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        project.until_noted(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def ended(process):
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


@pytest.mark.thread(row=12)
@SERIAL_AND_WORKERS
def test_sigterm_is_an_interrupt(project, waiting, workers):
    process = waiting(*workers)
    process.send_signal(signal.SIGTERM)
    code, output = ended(process)
    assert code == 2, output
    assert "still running on the server: candidate keeper:v2 " in output
    assert project.junit.exists()
    assert project.results()["exit_code"] == 2
    project.league.heal()
    assert project.judge(*workers).ret == 0
    assert project.posted == 2


@pytest.mark.thread(row=12)
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_spoils_no_report(project, waiting, workers, second):
    project.pytester.makeconftest(LONG_END.format(signals=2))
    process = waiting(*workers)
    process.send_signal(signal.SIGINT)
    until_it_ends(project, process, 1)  # one that has ended dies of a signal as any process does
    process.send_signal(second)
    code, output = ended(process)
    assert code == 2, output
    assert "already ending, reports are being written" in output
    assert "still running on the server: candidate keeper:v2 " in output
    assert project.junit.exists()
    assert project.results()["exit_code"] == 2


def test_the_handlers_are_there_only_while_eval_cases_run(project):
    project.pytester.makeconftest("""
        import signal

        def pytest_sessionstart(session):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

        def pytest_runtest_teardown(item):
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    """)
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert project.judge_here().ret == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_third_signal_ends_it_at_once(project, waiting):
    project.pytester.makeconftest(LONG_END.format(signals=3))
    process = waiting("-p", "no:terminal")
    for sent in range(3):
        process.send_signal(signal.SIGTERM)
        if sent < 2:
            until_it_ends(project, process, sent + 1)
    code, _ = ended(process)
    assert code == -signal.SIGTERM
