"""A run's files are whole whatever happens while they are written."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

FILES = ("results.json", "summary.md", "report.html")
WRITER = """
import json, os, pathlib, signal, sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

from pytest_evalharness.base import files
from pytest_evalharness.report import folder
from pytest_evalharness.report.model import Report

room, *told = map(Path, sys.argv[1:])
reports = [Report.from_json(json.loads(one.read_text())) for one in told]
WATCHED = {files.__file__, pathlib.__file__}


def killed_at(number):
    # Before each line of what writes a file, and before each of its calls into the system: between any two of them.
    def step(frame):
        nonlocal number
        number -= frame.f_code.co_filename in WATCHED
        if number < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def lines(frame, event, _):
        if event == "line":
            step(frame)
        return lines

    def write(*args):
        sys.setprofile(lambda frame, event, _: step(frame) if event == "c_call" else None)
        sys.settrace(lambda frame, *_: lines if frame.f_code.co_filename in WATCHED else None)
        files.write_atomic(*args)
        sys.settrace(None)
        sys.setprofile(None)

    return write


def content():
    return {name: (room / name).read_bytes() if (room / name).exists() else None for name in NAMES}


NAMES = ("results.json", "summary.md", "report.html")
# Rendered once: what is tried is the writing.
pages = {id(one): folder.html.render(one) for one in reports}
folder.html = SimpleNamespace(render=lambda one: pages[id(one)])
whole = [content()]
for report in reports:
    folder.write(room, report)
    whole.append(content())
words = ["absent", "old", "new"]
found = []
for number in count():
    before = number % 2  # over the old files, or into an empty folder
    if before:
        folder.write(room, reports[0])
        assert content() == whole[1], "what a dead process left behind is in the way"
    else:
        for name in NAMES:
            (room / name).unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        folder.write_atomic = killed_at(number)
        folder.write(room, reports[1])
        os._exit(0)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    now = content()
    told = [next((w for w, files in zip(words, whole) if files[n] == now[n]), "torn") for n in NAMES]
    found.append([words[before], killed, told])
    if not killed:
        break
print(json.dumps(found))
"""


@pytest.fixture
def room():
    memory = Path("/dev/shm")  # fsync costs nothing there
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield made


@pytest.fixture
def written(tmp_path, room, report, case, compared):
    """What is left after a death before each step of what writes the files: before, whether it died, the files then."""
    paths = []
    for outcome in ("failed", "passed"):
        paths.append(tmp_path / f"{outcome}.json")
        made = report(case(compared(), outcome=outcome))
        paths[-1].write_text(json.dumps(made.to_json()))
    answer = subprocess.run(
        [sys.executable, "-c", WRITER, room, *paths],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_a_death_between_any_two_steps_leaves_the_old_file_or_the_new_one(written):
    for before, died, files in written:
        new = files.count("new")
        assert files == ["new"] * new + [before] * (len(FILES) - new), "one after the other, each as a whole"
        assert died or new == len(FILES)
    for before in ("absent", "old"):
        deaths = [files.count("new") for was, died, files in written if was == before and died]
        assert len(deaths) > 40
        assert set(deaths) == {0, 1, 2, 3}
        assert deaths == sorted(deaths)
