"""Who works on something, and whether that process is still alive.

A process on this machine is known by its pid *and* its start time, since pids are used again; a zombie is
dead. Where its pid means nothing to us (another machine, another container, a system without /proc) its
heartbeats decide.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

_PROC = Path("/proc")
_STATE, _START = 0, 19  # fields 3 and 22 of /proc/<pid>/stat, counted from behind the command's name
_DEAD_STATES = frozenset("ZXx")


@dataclass(frozen=True)
class Owner:
    """One worker of one session in one process.

    Attributes:
        pid: its process id.
        started: the process's start time in clock ticks since boot; empty where there is no /proc.
        host: the machine, this boot of it, and the pid namespace: where equal, pids mean the same.
        session: the test session it belongs to; all workers of a run share it.
        worker: its name in that session (`gw1`), empty for the controller.
    """

    pid: int
    started: str
    host: str
    session: str
    worker: str = ""

    @classmethod
    def current(cls, session: str, worker: str = "", *, proc: Path = _PROC) -> Owner:
        """This very process. Ask again after a fork."""
        pid = os.getpid()
        found = _stat(proc, pid)
        return cls(pid, found[1] if found else "", _host(proc), session, worker)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Owner:
        """The owner that `as_json` described."""
        return cls(
            pid=int(record["pid"]),
            started=str(record["started"]),
            host=str(record["host"]),
            session=str(record["session"]),
            worker=str(record["worker"]),
        )

    def as_json(self) -> dict[str, Any]:
        """The owner as a plain record."""
        return asdict(self)

    def __str__(self) -> str:
        """For messages: `process 4711 (gw1) on build-3`."""
        name = f" ({self.worker})" if self.worker else ""
        return f"process {self.pid}{name} on {self.host.partition(' ')[0]}"


class Liveness(Protocol):
    """Tells whether an owner is still at work."""

    def __call__(self, owner: Owner, silent: float, *, speaks: bool) -> bool:
        """Whether to leave the work to it.

        Args:
            owner: who holds the work.
            silent: seconds since its last heartbeat (or since it took the work).
            speaks: whether this kind of work sends heartbeats. Polling does; a POST under way does not.
        """
        ...


@dataclass(frozen=True)
class ProcessLiveness:
    """The real thing, seen from one process.

    What cannot be done twice is treated with more patience than what can: a second poller costs nothing,
    a second POST costs money. So a process of this machine that is alive keeps a POST for as long as it
    lives, even if it is stopped or the laptop slept; a poller that has said nothing for `hung` seconds
    loses its work although it lives (its lease ends, it cannot write any more).

    Args:
        here: the host value of this process, see `Owner`.
        proc: where the process files are.
        remote: seconds of silence after which a poller elsewhere counts as dead.
        hung: seconds of silence after which a living poller on this machine counts as hung.
        mute: seconds after which work elsewhere that sends no heartbeats counts as dead. Must exceed the
            total deadline of a POST.
    """

    here: str
    proc: Path = _PROC
    remote: float = 30.0
    hung: float = 120.0
    mute: float = 300.0

    def __call__(self, owner: Owner, silent: float, *, speaks: bool) -> bool:
        """See `Liveness`."""
        if owner.host != self.here:
            return silent < (self.remote if speaks else self.mute)
        if not owner.started:  # same host, no /proc: a missing pid is proof, a present one is not
            return _exists(owner.pid) and silent < (self.remote if speaks else self.mute)
        found = _stat(self.proc, owner.pid)
        if found is None or found[0] in _DEAD_STATES or found[1] != owner.started:
            return False
        return silent < self.hung or not speaks


def _stat(proc: Path, pid: int) -> tuple[str, str] | None:
    """State letter and start time of a process; None if it is gone or there is no /proc."""
    try:
        text = (proc / str(pid) / "stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    # The command's name stands in parentheses and may hold anything, parentheses and blanks included.
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _START:
        return None
    return fields[_STATE], fields[_START]


def _host(proc: Path) -> str:
    """The name of the machine, its boot id and the pid namespace.

    A container that shares its host's name has other pids, and a reboot starts counting again: with these
    in the value, neither can be mistaken for a dead process of ours.
    """
    parts = [socket.gethostname().replace(" ", "_") or "localhost"]
    try:
        parts.append((proc / "sys/kernel/random/boot_id").read_text().strip()[:8])
        parts.append(os.readlink(proc / "self/ns/pid"))  # noqa: PTH115 - the link's target is no path
    except OSError:
        pass
    return " ".join(parts)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it belongs to somebody else: it exists
    return True
