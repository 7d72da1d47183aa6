"""Two pytest processes on one ledger, or on copies of one: they behave like workers of one run."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request

import pytest
import yaml

from pytest_evalharness.base.events import EventReader

FOUR = """
import pytest

@pytest.mark.league_ab(role="crew", claim="better")
@pytest.mark.parametrize("case", range(4))
def test_crew(ab, case):
    ab.require()
"""
WATCHED = """
import os, pathlib, time
from pytest_evalharness.ledger.ownership import ProcessLiveness
from pytest_evalharness.net import Transport

asked = pathlib.Path({asked!r})
original = Transport.get

def noted(self, path, **words):
    _, _, named = path.partition("/v2/experience-requests/")
    for request in [named] if named else (words.get("params") or {{}}).get("ids", ()):  # of the change feed
        with asked.open("a") as file:
            file.write(f"{{os.getpid()}} {{request}}\\n")
        while os.environ.get("HANGS") and pathlib.Path(os.environ["HANGS"]).exists():
            time.sleep(0.05)
    return original(self, path, **words)

Transport.get = noted

first = ProcessLiveness.__init__

def impatient(self, *args, **words):
    first(self, *args, **{{**words, "hung": {hung}}})

ProcessLiveness.__init__ = impatient
"""
"""Writes down who asks the server about which request, and sets after how many silent seconds a poller counts as hung.

In a process with HANGS in its environment such a call takes until that file is gone.
"""


@pytest.fixture
def started(project):
    """Starts the project's command in a process of its own, with a place of its own for its reports: `started(*options)`."""
    processes = []

    def start(*more, **environment):
        words = [word for word in project.command(*more) if not word.startswith("--junitxml")]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
            cwd=project.pytester.path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def watch(project, hung=120.0):
    asked = project.pytester.path / "asked.txt"
    asked.touch()
    project.pytester.makeconftest(WATCHED.format(asked=str(asked), hung=hung))
    return asked


def askers(asked):
    """Which processes asked about each request, in the order in which they first did."""
    found = {}
    for line in asked.read_text().splitlines():
        pid, request = line.split()
        found.setdefault(request, []).append(int(pid))
    return {request: list(dict.fromkeys(pids)) for request, pids in found.items()}


def verdicts(project):
    """Of every run in the home: its judgements, which hold every number."""
    reports = [json.loads(path.read_text()) for path in project.home.glob("runs/*/results.json")]
    return {
        report["run_id"]: [
            (r["judgement"], r["plan"], r["roster"]) for c in report["cases"] for r in c["results"]
        ]
        for report in reports
    }


def until(true, seconds=300.0):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert true()


@pytest.mark.thread(row=1)
def test_two_processes_at_the_same_time_post_once_and_say_the_same(project, started, workers):
    asked = watch(project.cases(FOUR))
    project.league.fault("closed-queue")
    both = [started(*workers), started(*workers)]
    until(lambda: project.posted == 2 and len(list(project.home.glob("runs/*"))) == 2)
    project.league.heal()
    for process in both:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
        assert "4 passed" in output
    assert project.posted == 2
    told = list(verdicts(project).values())
    assert len(told) == 2, "each writes a report of its own"
    assert told[0] == told[1]
    assert len(told[0]) == 4
    pollers = askers(asked)
    assert len(pollers) == 2
    assert all(len(pids) == 1 for pids in pollers.values()), "who waits reads the journal, not the server"


@pytest.mark.thread(row=13)
@pytest.mark.failure_mode(number=34)
def test_a_poller_that_falls_silent_is_taken_over_and_finds_the_end_in_the_journal(project, started):
    """It hangs and is not dead, as on a laptop that sleeps: it keeps its lease only as long as it is heard of."""
    asked = watch(project, hung=1.0)
    hangs = project.pytester.path / "hangs"
    hangs.touch()
    project.league.fault("closed-queue")
    silent = started(HANGS=str(hangs))
    until(lambda: len(askers(asked)) == 2)
    heir = started()
    until(lambda: [pids[-1] for pids in askers(asked).values()] == [heir.pid] * 2)
    project.league.heal()
    output, _ = heir.communicate(timeout=300)
    assert heir.returncode == 0, output
    hangs.unlink()
    output, _ = silent.communicate(timeout=300)
    assert silent.returncode == 0, output
    first, second = verdicts(project).values()
    assert first == second
    assert project.posted == 2


@pytest.mark.thread(row=25)
def test_a_copy_of_the_ledger_finds_what_the_original_posted(project):
    """Two jobs start from one cached ledger, and their requests carry one name: the second is refused, and looks."""
    project.league.fault("reject-body=422")
    assert project.judge_here().ret == 11  # now it is planned, with its names, and nothing is posted
    project.league.heal()
    copy = project.pytester.path / "copy"
    shutil.copytree(project.home, copy)
    created = project.league.created
    assert project.judge_here("--eval-notes=job one").ret == 0
    second = project.judge_here("--eval-notes=job two", f"--eval-home={copy}")
    assert second.ret == 0
    second.stdout.fnmatch_lines(["*candidate keeper:v2: found its request xreq_*; nothing was posted again"])
    assert project.league.created == created + 2


@pytest.mark.slow
def test_two_runs_on_the_embedded_league_of_one_home_take_turns_and_share_its_requests(
    pytester, tmp_path, workers
):
    pytester.makepyfile(test_evals=FOUR)
    home = tmp_path / "home"
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--candidate=keeper:v2", "--baseline=keeper:v1",
        "--eval-server=embedded", f"--eval-home={home}",
    ]  # fmt: skip

    def start(*more):
        return subprocess.Popen(
            [*command, *more],
            cwd=pytester.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    first = start("--eval-arena-fault=closed-queue")
    try:
        until(lambda: len(events(home, "posted")) == 2)
        second = start(*workers)
        until(lambda: events(home, "waits"))
        open_queue(home)
        told, _ = second.communicate(timeout=300)
        before, _ = first.communicate(timeout=300)
    finally:
        first.kill()
        first.communicate()
    assert first.returncode == second.returncode == 0, before + told
    assert told.count("another run on this home has the embedded league; waiting for its end") == 1
    assert len(events(home, "posted")) == 2


def open_queue(home):
    """Switch the faults of a home's embedded league off."""
    told = yaml.safe_load((home / "arena" / "credentials" / "credentials.yaml").read_text())
    (api,) = told["tokens"]
    heal = urllib.request.Request(f"{api.removesuffix('/api')}/_arena/faults", method="DELETE")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(heal, timeout=300).close()


def events(home, what):
    """What became of requests in all runs of a home, as their events tell it."""
    found = [event for path in home.glob("runs/*/events.jsonl") for event in EventReader(path).new()]
    return [event for event in found if event.get("what") == what]
