"""The processes of this machine, as far as they may be ours: from /proc, or from `ps` where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

TOKEN = "EVALHARNESS_CAMPAIGN"  # noqa: S105 - the name of a variable
"""The variable that every process of a campaign's start inherits. Adapters strip their own prefixes from it, not this one."""
_PROC = Path("/proc")
_STATE, _PARENT, _GROUP, _START = (
    0,
    1,
    2,
    19,
)  # fields 3, 4, 5 and 22 of /proc/<pid>/stat, from behind the name
_DEAD = frozenset("ZXx")
_STOPPED = frozenset("Tt")
_PS_SECONDS = 10.0
_PS_LINE = re.compile(
    r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})(?:\s+(.*))?"
)


@dataclass(frozen=True)
class Process:
    """One process that is alive.

    Attributes:
        pid: its id; with `started` it names one process for ever.
        started: its start time, see `ledger.ownership.Owner`.
        parent: its parent's id: 1, or a subreaper's, once that is gone.
        group: its process group.
        stopped: whether it stands still (SIGSTOP).
        argv: its command line; empty where it cannot be read.
        tokens: those of the asked campaign tokens that it carries in its environment.
    """

    pid: int
    started: str
    parent: int
    group: int
    stopped: bool
    argv: tuple[str, ...]
    tokens: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[int, str]:
        """What names it."""
        return self.pid, self.started


def processes(tokens: Collection[str], *, proc: Path = _PROC) -> dict[int, Process]:
    """Every process that is alive, by pid; those of other users without command line or tokens.

    Args:
        tokens: values of `TOKEN` to look for.
        proc: where process files are.
    """
    found = _by_proc(tokens, proc) if (proc / "self" / "stat").exists() else _by_ps(tokens)
    return {one.pid: one for one in found}


def process(pid: int, *, proc: Path = _PROC) -> Process | None:
    """One process; None if it is gone or a zombie."""
    if (proc / "self" / "stat").exists():
        return _read(proc / str(pid), frozenset())
    return next((one for one in _by_ps(()) if one.pid == pid), None)


def _by_proc(tokens: Collection[str], proc: Path) -> Iterator[Process]:
    wanted = frozenset(tokens)
    for name in os.listdir(proc):  # noqa: PTH208 - thousands of them, many times
        if name.isdecimal() and (found := _read(proc / name, wanted)) is not None:
            yield found


def _read(place: Path, tokens: frozenset[str]) -> Process | None:
    try:
        # The command's name stands in parentheses and may hold anything, parentheses and blanks included.
        fields = (place / "stat").read_bytes().decode("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    if len(fields) <= _START or fields[_STATE] in _DEAD:
        return None
    carried = frozenset[str]()
    if tokens:
        carried = tokens & set(_values(_content(place / "environ")))
    return Process(
        int(place.name),
        fields[_START],
        int(fields[_PARENT]),
        int(fields[_GROUP]),
        fields[_STATE] in _STOPPED,
        tuple(word.decode("utf-8", "replace") for word in _content(place / "cmdline").split(b"\0")[:-1]),
        carried,
    )


def _values(environment: bytes) -> Iterator[str]:
    begin = f"{TOKEN}=".encode()
    for one in environment.split(b"\0"):
        if one.startswith(begin):
            yield one[len(begin) :].decode("utf-8", "replace")


def _content(path: Path) -> bytes:
    """Another user's, or one that has just ended, is empty."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _by_ps(tokens: Collection[str]) -> Iterator[Process]:
    """`ps` puts the environment behind the command where it is asked to, and only for processes of one's own."""
    with_environment = "-E" if sys.platform == "darwin" else "e"
    marks = {token: f" {TOKEN}={token}" for token in tokens}
    for line in _ps(with_environment if tokens else "-A"):
        match = _PS_LINE.fullmatch(line)
        if match is None or match[4][0] in _DEAD:
            continue
        told = match[6] or ""
        yield Process(
            int(match[1]),
            " ".join(match[5].split()),
            int(match[2]),
            int(match[3]),
            match[4][0] in _STOPPED,
            tuple(told.split()),
            frozenset(token for token, mark in marks.items() if f"{mark} " in f"{told} "),
        )


def _ps(option: str) -> list[str]:
    command = ["ps", "axww", option, "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PS_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.decode("utf-8", "replace").splitlines()
