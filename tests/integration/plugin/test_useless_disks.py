"""Full, read-only and filling disks under a whole run: told in words before anything is posted, and nothing lost after."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from pytest_evalharness.cli import main


def can_mount():
    """Whether this user may mount things where nobody else sees them."""
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


mounts = pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small disk")
FULL = 'cat /dev/zero > "$HOME_/ballast" 2>/dev/null; true'
READ_ONLY = 'mount -o remount,ro "$HOME_"'
FILLS = """
import os, pathlib, threading
from pytest_evalharness.ledger.leases import Lease

original = Lease.{method}
both = threading.Barrier(2)

def fills(self, *args):
    both.wait(120)
    with pathlib.Path(os.environ["HOME_"], "ballast").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            pass
    return original(self, *args)

if os.environ.get("FILLING"):
    Lease.{method} = fills
"""
"""Fills the disk at a step that both arms have come to: one that comes to it late would find it full a step before."""


@pytest.fixture
def on_a_disk(project):
    """Runs shell commands, one after the other, with the home on a disk of its own; what each said, and its exit code.

    `$JUDGE` is the command that judges, `$RUNS` is `evalharness runs`.
    """

    def run(size, *commands):
        project.home.mkdir()
        judge = shlex.join([sys.executable, "-m", "pytest", *project.command()])
        runs = shlex.join([sys.executable, "-m", "pytest_evalharness.cli", "runs"])
        script = [
            'set -e; mount -t tmpfs -o "size=$1" none "$HOME_"; set +e',
            f"JUDGE={shlex.quote(judge)}; RUNS={shlex.quote(runs)}",
            *(f'{command}\necho "@@ $?"' for command in commands),
        ]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", "\n".join(script), "sh", size],
            env={**os.environ, "HOME_": str(project.home), "EVALHARNESS_HOME": str(project.home)},
            cwd=project.pytester.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        texts_and_codes = re.split(r"@@ (\d+)\n", done.stdout)
        return [
            (int(code), text) for text, code in zip(texts_and_codes[::2], texts_and_codes[1::2], strict=False)
        ]

    return run


def test_a_network_file_system_is_told_before_anything_is_posted(project, monkeypatch, capsys):
    monkeypatch.setattr("pytest_evalharness.ledger.storage.network_kind", lambda folder: "nfs4")
    result = project.judge_here()
    assert result.ret == 11
    assert "is on a network file system (nfs4)" in "\n".join(result.outlines)
    assert project.posted == 0
    (project.home / "ledger.sqlite").touch()
    capsys.readouterr()
    assert main(["runs", "ls", "--home", str(project.home)]) == 11
    assert "is on a network file system (nfs4)" in capsys.readouterr().err


@mounts
@pytest.mark.parametrize(
    ("useless", "words"),
    [
        (FULL, ("ledger.sqlite is full", "make room there, or use another folder: --eval-home DIR")),
        (READ_ONLY, ("cannot be opened or made (a read-only file system)", "use another folder: --eval-home DIR")),
    ],
    ids=["full", "read-only"],
)  # fmt: skip
def test_a_disk_that_is_of_no_use_is_told_before_anything_is_posted(project, on_a_disk, useless, words):
    _, (code, told) = on_a_disk("256k", useless, "$JUDGE")
    assert code == 11
    assert project.posted == 0
    for word in words:
        assert word in told
    assert "EVH241" in told
    assert "Traceback" not in told
    assert "contextlib" not in told  # frames that are not the user's explain nothing
    assert "the files were not written: " in told
    assert "\nfiles: " not in told


@mounts
@pytest.mark.slow
@pytest.mark.parametrize("method", ["begin_post", "posted", "finish"])
def test_a_disk_that_fills_up_during_a_run_loses_nothing(project, on_a_disk, method):
    project.pytester.makeconftest(FILLS.format(method=method))
    first, listed, _, again = on_a_disk("4m", "FILLING=1 $JUDGE", "$RUNS ls", 'rm "$HOME_/ballast"', "$JUDGE")
    assert first[0] == 11
    assert "ledger.sqlite is full" in first[1]
    assert "make room there and run the same command again" in first[1]
    assert "would post it again" in first[1]  # nobody is sent to a fresh home
    assert "--eval-home" not in first[1]
    assert "Traceback" not in first[1]
    # It waits for nothing that it could not see, as for a living process that says nothing: that takes two minutes.
    assert float(re.search(r"1 error in ([0-9.]+)s", first[1])[1]) < 110
    assert listed[0] == 0, listed[1]  # what stands in a full ledger can be read all the same
    assert "not finished   test_evals.py::test_crew" in listed[1]
    assert again[0] == 0, again[1]
    assert "BETTER" in again[1]
    assert project.posted == 2
    if method != "begin_post":
        assert "still running on the server: candidate keeper:v2" in first[1]
        assert again[1].count("nothing was posted again") == 2
