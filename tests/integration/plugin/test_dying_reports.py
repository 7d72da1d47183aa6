"""A run that dies while its files are written: what was paid for is in the ledger, and the files can be had again."""

import json
import signal

from pytest_evalharness.cli import main

DIES = """
import os, signal, sys

def dies(event, args):
    if event == "os.rename" and str(args[1]).endswith("summary.md"):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(dies)
"""
FILES = ["report.html", "results.json", "summary.md"]


def written(folder):
    return [name for name in FILES if (folder / name).exists()]


def verdict(folder):
    (case,) = json.loads((folder / "results.json").read_text())["cases"]
    return case["results"][0]["judgement"]["verdict"]


def test_the_same_command_writes_what_a_dead_run_did_not(project, capsys):
    project.pytester.makeconftest(DIES)
    assert project.judge().ret == -signal.SIGKILL
    (dead,) = project.home.glob("runs/*")
    assert written(dead) == ["results.json"]

    project.pytester.makeconftest("")
    assert project.judge_here().ret == 0
    assert project.posted == 2
    (alive,) = set(project.home.glob("runs/*")) - {dead}
    assert written(alive) == FILES
    assert verdict(alive) == verdict(dead) == "better"

    assert main(["runs", "report", dead.name, "--home", str(project.home)]) == 0
    assert written(dead) == FILES
