"""`python -m pytest_evalharness.clbench.campaign.guardian`: ends a campaign's processes when their supervisor dies.

A supervisor that is killed can do nothing more. This process holds a pipe to it and does nothing until that breaks: then whatever
the supervisor had started is ended, since nobody would watch what it spends. A supervisor that ends in order says so first.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from pytest_evalharness.base.clock import Clock, SystemClock
from pytest_evalharness.clbench.campaign.process_table import Process, process
from pytest_evalharness.clbench.campaign.processes import Fingerprint, Graces, end

_DONE = b"done\n"
_READY = b"ready\n"
_LOOK_SECONDS = 1.0
_READY_SECONDS = 60.0
_LEAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Watch:
    """What a guardian is told when it begins.

    Attributes:
        home: the ledger's, where it notes what it did.
        name: the campaign.
        token: of the start that it guards.
        pid: of the supervisor.
        started: that process's start time.
        graces: seconds after SIGINT, SIGTERM and SIGKILL.
    """

    home: str
    name: str
    token: str
    pid: int
    started: str
    graces: tuple[float, float, float]


class Guardian:
    """The supervisor's end of the pipe.

    Args:
        watch: what to guard.

    Raises:
        OSError: it could not be started, or did not answer in time.
    """

    def __init__(self, watch: Watch) -> None:
        told = json.dumps(watch.__dict__)  # an argument: it knows what to guard even if this process dies now
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a terminal's Ctrl-C is for the supervisor
        )
        try:
            self._await_ready()
        except OSError:
            self.dismiss()
            raise

    @classmethod
    def of(cls, home: Path, name: str, token: str, graces: Graces) -> Self:
        """The guardian of what this process is about to start."""
        me = process(os.getpid())
        told = (graces.interrupt, graces.terminate, graces.kill)
        return cls(Watch(str(home), name, token, os.getpid(), me.started if me else "", told))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is there."""
        return self._process.poll() is None

    def dismiss(self) -> None:
        """Say that all is in order; it leaves. Safe to call twice."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(_DONE)
            self._process.stdin.flush()
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def abandon(self) -> None:
        """Let the pipe break: it ends what is left of the start, in its own time."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _await_ready(self) -> None:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], _READY_SECONDS)[0]:
            raise TimeoutError(f"the guardian said nothing within {_READY_SECONDS:g} s")
        if self._process.stdout.readline() != _READY:
            raise OSError("the guardian did not start")


class Post:
    """The place of a guardian during one start. Use it in a `with` statement around everything that is started.

    Args:
        appoint: starts a guardian.
        alive: whether anything of the start is alive.

    Raises:
        OSError: the first guardian could not be started.
    """

    def __init__(self, appoint: Callable[[], Guardian], alive: Callable[[], bool]) -> None:
        self._appoint = appoint
        self._alive = alive
        self._guardian = appoint()

    @property
    def pid(self) -> int:
        """Whose place it is now."""
        return self._guardian.pid

    @property
    def held(self) -> bool:
        """Whether a guardian is there."""
        return self._guardian.alive

    def fill(self) -> None:
        """Appoint another guardian.

        Raises:
            OSError: none could be started.
        """
        self._guardian.dismiss()
        self._guardian = self._appoint()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """It may go only if nothing is left to guard."""
        if self._alive():
            self._guardian.abandon()
        else:
            self._guardian.dismiss()


# ------------------------------------------------------------------ its own process


def main() -> int:
    """Wait for the supervisor's word or its end; returns the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    told = json.loads(sys.argv[1])
    watch = Watch(**{**told, "graces": tuple(told["graces"])})
    with suppress(OSError):  # nobody may be there to hear it: then there is work to do
        os.write(sys.stdout.fileno(), _READY)
    clock = SystemClock()
    if _dismissed(sys.stdin.buffer, watch):
        return 0
    ended = _end(watch, clock)
    _leave_word(watch, ended, clock)
    return 0


def _dismissed(words: IO[bytes], watch: Watch) -> bool:
    """Wait until the supervisor says that it is done (True) or is gone (False).

    The end of the pipe tells it, unless something inherited the pipe's other end: so the process itself is looked at too.
    """
    while True:
        if select.select([words], [], [], _LOOK_SECONDS)[0]:
            return words.readline() == _DONE
        found = process(watch.pid)
        if found is None or (watch.started and found.started != watch.started):
            return False


def _end(watch: Watch, clock: Clock) -> int:
    """End everything that carries the token; returns how many there were."""
    mark = Fingerprint(frozenset({watch.token}))
    seen: set[tuple[int, str]] = set()

    def find() -> list[Process]:
        found = list(mark.find().values())
        seen.update(one.key for one in found)
        return found

    end(find, clock, Graces(*watch.graces))
    return len(seen)


def _leave_word(watch: Watch, ended: int, clock: Clock) -> None:
    """Leave a word in the ledger, and end the engines that it knows. Whoever starts next looks for both in any case."""
    from pytest_evalharness.clbench.campaign.leftover_engines import end_engines
    from pytest_evalharness.errors import EvalHarnessError
    from pytest_evalharness.ledger.journal import Ledger
    from pytest_evalharness.ledger.ownership import Owner

    with (
        suppress(EvalHarnessError, KeyError),
        Ledger.open(Path(watch.home), clock=clock, owner=Owner.current("guardian")) as ledger,
    ):
        ledger.campaigns.note(watch.name, "guardian", {"ended": ended, "supervisor": watch.pid})
        end_engines(ledger.campaigns, watch.name, ledger.owner.host, clock, lambda _: None)


if __name__ == "__main__":
    sys.exit(main())
