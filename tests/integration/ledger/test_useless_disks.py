"""Read-only, full and limited disks, for real: each is told in words when the ledger is opened or written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ACTOR = Path(__file__).with_name("actor.py")


def can_mount():
    """Whether this user may mount things where nobody else sees them."""
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


mounts = pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small disk")


def on_a_disk(where, options, *, then="true", line=""):
    """What an actor says on a file system of its own, which ends with it."""
    script = (
        'mount -t tmpfs -o "$1" none "$2" && mkdir "$2/home" && '
        f'eval "$4" && exec "$3" {ACTOR} "$2/home" monday'
    )
    command = ["unshare", "--mount", "sh", "-c", script, "sh", options, str(where), sys.executable, then]
    return subprocess.run(command, input=line, capture_output=True, text=True, check=False, timeout=300)


@mounts
def test_a_full_disk(tmp_path):
    fill = f"cat /dev/zero > {tmp_path}/ballast 2>/dev/null; true"
    done = on_a_disk(tmp_path, "size=256k", then=fill)
    answer = json.loads(done.stdout)
    assert "is full" in answer["refused"]
    assert answer["code"] == "EVH241"


@mounts
def test_a_disk_that_is_all_but_full(tmp_path):
    """Room for the tables and nothing else: the probe notices."""
    told = []
    for size in (16, 48, 80, 112, 256):
        answer = json.loads(on_a_disk(tmp_path, f"size={size}k").stdout.splitlines()[0])
        told.append("ready" if answer == "ready" else answer["refused"])
    assert "is full" in told[0]
    assert told[-1] == "ready"
    assert all(word == "ready" or "is full" in word for word in told), told


@mounts
def test_a_disk_that_fills_up_later(tmp_path):
    done = on_a_disk(tmp_path, "size=512k", line='["churn"]\n')
    assert done.stdout.splitlines() == ['"ready"', '"churning"']
    assert "JournalUnavailable: ledger: the disk of" in done.stderr
    assert "make room" in done.stderr


@mounts
def test_a_read_only_file_system(tmp_path):
    done = on_a_disk(tmp_path, "size=1m", then=f"mount -o remount,ro {tmp_path}")
    assert "cannot be opened or made" in json.loads(done.stdout)["refused"]


@mounts
def test_a_ledger_that_became_read_only(tmp_path):
    first = f"{sys.executable} {ACTOR} {tmp_path}/home monday </dev/null >/dev/null"
    done = on_a_disk(tmp_path, "size=1m", then=f"{first} && mount -o remount,ro {tmp_path}")
    assert "cannot be" in json.loads(done.stdout)["refused"]


def without_privileges():
    """What to put before a command so that permissions hold for it, even if we are root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("permissions do not stop root, and setpriv is not here")
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.mark.parametrize(
    ("name", "words"), [("home", "cannot be opened or made"), ("home/b", "make the folder")]
)
def test_a_folder_without_permission(tmp_path, name, words):
    (tmp_path / "home").mkdir(mode=0o500)
    done = subprocess.run(
        [*without_privileges(), sys.executable, str(ACTOR), str(tmp_path / name), "monday"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert words in json.loads(done.stdout)["refused"]


def test_a_limit_on_the_size_of_files(tmp_path):
    """A quota of the poor: it needs no rights and ends like a failing disk."""
    script = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(ACTOR), str(tmp_path / "home"), "monday"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    answer = json.loads(done.stdout)
    assert "full" in answer["refused"]
    assert answer["code"] == "EVH241"
