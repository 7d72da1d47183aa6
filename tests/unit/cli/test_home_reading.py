"""Reading commands: on a ledger that nobody may write, into a pipe that nobody reads, of runs that the ledger never knew."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from pytest_evalharness.base.clock import SystemClock
from pytest_evalharness.cli import NOBODY_READS, home, main
from pytest_evalharness.errors import JournalUnavailable
from pytest_evalharness.ledger.journal import Ledger
from pytest_evalharness.ledger.ownership import Owner
from pytest_evalharness.report.model import Report


@pytest.fixture
def kept(tmp_path):
    """A home with one run, whose last words are still beside the ledger's main file."""
    with Ledger.open(tmp_path, clock=SystemClock(), owner=Owner.current("r")) as ledger:
        ledger.start_run("run-1", {"server": "embedded:1", "settings": {}})
    return tmp_path


@pytest.fixture
def read_only(kept, monkeypatch):
    """The same, where nothing may be written; these tests may run as root, whom modes do not stop."""
    monkeypatch.setattr(home, "_writable", lambda _: False)
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    yield kept
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


@pytest.mark.parametrize("words", [["ls"], ["ls", "--json"], ["show", "run-1"]])
def test_a_ledger_that_cannot_be_written_is_read(read_only, capsys, words):
    assert main(["runs", *words, "--home", str(read_only)]) == 0
    assert "run-1" in capsys.readouterr().out


def test_what_writes_does_not_work_on_a_copy(kept, monkeypatch):
    monkeypatch.setattr(home, "_writable", lambda _: False)
    with home.opened(kept) as ledger:
        assert ledger.path.parent == kept
    with home.opened(kept, reading=True) as ledger:
        assert ledger.path.parent != kept


def can_mount():
    """Whether this user may mount a disk of its own."""
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return shutil.which("unshare") and subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small disk")
def test_a_ledger_on_a_full_disk_is_read(kept, tmp_path_factory):
    disk = tmp_path_factory.mktemp("disk")
    script = (
        'mount -t tmpfs -o size=512k none "$1" && cp -r "$2" "$1/home" && '
        '{ cat /dev/zero > "$1/ballast" 2>/dev/null; "$3" -m pytest_evalharness.cli runs ls --home "$1/home"; }'
    )
    command = ["unshare", "--mount", "sh", "-c", script, "sh", disk, kept, sys.executable]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "run-1" in done.stdout


def test_a_ledger_that_cannot_be_read_either_is_told(read_only, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(home.shutil, "copyfile", refused)
    with (
        pytest.raises(JournalUnavailable, match="neither be written nor read"),
        home.opened(read_only, reading=True),
    ):
        pass


def test_who_may_write_is_asked_of_the_folder_and_of_every_file(kept, monkeypatch):
    assert home._writable(kept)
    closed = kept / "ledger.sqlite-wal"
    closed.touch()
    monkeypatch.setattr(os, "access", lambda path, _: path != closed)
    assert not home._writable(kept)


def test_a_run_that_was_refused_before_the_ledger_knew_it_shows_its_report(kept, capsys):
    report = Report(
        "run-0", "embedded:1", "2026-09-01T12:00:00Z", 11, (), ("test_evals.py::test_crew",), (), {}
    )
    folder = kept / "runs" / "run-0"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(report.to_json()))
    assert main(["runs", "show", "run-0", "--home", str(kept)]) == 0
    told = capsys.readouterr().out
    assert "run-0  embedded:1  (its report; the ledger knows nothing of it)" in told
    assert "exit 11" in told
    assert main(["runs", "show", "run-2", "--home", str(kept)]) == 4


def test_a_reader_who_has_gone_ends_it_quietly(kept):
    """The pipe is closed before anything is written: no trace, and no exit code that means a verdict."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest_evalharness.cli", "runs", "show", "run-1", "--home", str(kept)],
            stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=300,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (NOBODY_READS, "")
