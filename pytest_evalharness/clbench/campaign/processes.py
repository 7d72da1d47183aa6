"""The processes of one campaign: found by fingerprint, and stopped, continued or ended; never anybody else's.

A process is ours if it carries the token of one of the campaign's starts in its environment, if the ledger knows it by pid *and*
start time, or if it descends from one of these. Names and command lines prove nothing. A pid may be given to somebody else between
looking and acting, so a signal goes through a handle that was taken before the last look, where the system has such handles.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_evalharness.base.clock import Clock
from pytest_evalharness.base.deadline import Deadline
from pytest_evalharness.clbench.campaign.process_table import Process, process, processes

Key = tuple[int, str]
_PAUSE = 0.1
_SETTLED = 3
"""Looks in a row that find nothing before everything is believed to have ended: between fork and exec there is no token yet."""
_ROUNDS = 20


@dataclass(frozen=True)
class Fingerprint:
    """By what the processes of a campaign are known.

    Attributes:
        tokens: of its starts.
        known: pid and start time of those that were seen on this machine.
        spared: pids that are never ours: the process that asks, its guardian.
    """

    tokens: frozenset[str]
    known: frozenset[Key] = frozenset()
    spared: frozenset[int] = field(default_factory=lambda: frozenset({os.getpid()}))

    def find(self) -> dict[int, Process]:
        """Every process of the campaign that is alive, by pid."""
        return ours(processes(self.tokens), self)


def ours(table: Mapping[int, Process], mark: Fingerprint) -> dict[int, Process]:
    """Those of a table that are the campaign's."""
    roots = {pid for pid, one in table.items() if one.tokens or one.key in mark.known}
    return {one.pid: one for one in trees(table, roots - mark.spared) if one.pid not in mark.spared}


def trees(table: Mapping[int, Process], roots: Collection[int]) -> list[Process]:
    """Some processes and whatever descends from them, parents before children."""
    children: dict[int, list[int]] = {}
    for one in table.values():
        children.setdefault(one.parent, []).append(one.pid)
    found: dict[int, Process] = {}
    # A child's pid may be the smaller one: they begin anew where they end.
    pending = sorted(roots, key=lambda pid: (_below(table, pid, roots), pid), reverse=True)
    while pending:
        pid = pending.pop()
        if pid in found or pid not in table:
            continue
        found[pid] = table[pid]
        pending += sorted(children.get(pid, ()), reverse=True)
    return list(found.values())


def _below(table: Mapping[int, Process], pid: int, roots: Collection[int]) -> bool:
    """Whether a process descends from another one of some."""
    seen = {pid}
    while (one := table.get(pid)) is not None and (pid := one.parent) not in seen:
        if pid in roots:
            return True
        seen.add(pid)
    return False


def domains(found: Mapping[int, Process], tasks: Collection[str]) -> dict[str, list[Process]]:
    """The process tree of each domain that runs: of the topmost processes that were started as `run TASK`."""
    top: dict[str, list[int]] = {}
    for one in found.values():
        task = task_of(one.argv, tasks)
        parent = found.get(one.parent)
        if task and (parent is None or task_of(parent.argv, tasks) != task):
            top.setdefault(task, []).append(one.pid)
    return {task: trees(found, pids) for task, pids in top.items()}


def task_of(argv: Sequence[str], tasks: Collection[str]) -> str:
    """Which task a command line runs; empty if none."""
    return next((task for word, task in itertools.pairwise(argv) if word == "run" and task in tasks), "")


def send(one: Process, number: signal.Signals) -> bool:
    """Send a signal to this very process; returns whether it was there to get it."""
    try:
        handle = os.pidfd_open(one.pid)
    except (AttributeError, OSError):
        handle = None  # no such handles here, or it has gone
    try:
        now = process(one.pid)
        if now is None or now.started != one.started:
            return False
        if handle is None:
            os.kill(one.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def stop(tree: Callable[[], Iterable[Process]]) -> list[Process]:
    """Make a tree stand still, parents first, again until nobody has started another one; returns who stands still."""
    stopped: dict[Key, Process] = {}
    for _ in range(_ROUNDS):
        new = [one for one in tree() if one.key not in stopped]
        if not new:
            break
        stopped |= {one.key: one for one in new if send(one, signal.SIGSTOP)}
    return list(stopped.values())


def go_on(tree: Iterable[Process]) -> int:
    """Let a tree go on, children first: their parents would time them. Returns how many were told."""
    return sum(send(one, signal.SIGCONT) for one in reversed(list(tree)))


@dataclass(frozen=True)
class Graces:
    """Seconds that processes have after each signal before the next one follows.

    Attributes:
        interrupt: after SIGINT, on which programs tidy up: containers are removed then. Short, since a pool whose program was
            interrupted goes on with what is queued until it is terminated.
        terminate: after SIGTERM.
        kill: after SIGKILL, until what is still there counts as beyond our reach.
    """

    interrupt: float = 10.0
    terminate: float = 10.0
    kill: float = 10.0

    def steps(self) -> Iterator[tuple[signal.Signals, float]]:
        """Each signal and its seconds."""
        yield signal.SIGINT, self.interrupt
        yield signal.SIGTERM, self.terminate
        yield signal.SIGKILL, self.kill


def end(
    find: Callable[[], Iterable[Process]],
    clock: Clock,
    graces: Graces | None = None,
    *,
    haste: Callable[[], int] = lambda: 0,
    on_signal: Callable[[signal.Signals, int], None] = lambda _signal, _count: None,
) -> list[Process]:
    """End processes: SIGINT, then SIGTERM, then SIGKILL, each with its grace; those that stand still are woken for it.

    Args:
        find: those that are to end and are alive, looked for again and again, since they may start others.
        clock: for the graces.
        graces: how long they have.
        haste: how many steps to skip: raised while this runs, the next signal follows at once.
        on_signal: told each signal before it is sent, and to how many.

    Returns:
        Those that are still alive: empty unless the system keeps them beyond SIGKILL.
    """
    for number, (signal_now, seconds) in enumerate((graces or Graces()).steps()):
        if haste() > number and signal_now is not signal.SIGKILL:
            continue
        told: set[Key] = set()
        quiet, deadline = 0, Deadline.after(clock, seconds)
        while quiet < _SETTLED:
            alive = list(find())
            quiet = 0 if alive else quiet + 1
            new = [one for one in alive if one.key not in told]
            if new:
                on_signal(signal_now, len(new))
                _tell(new, signal_now)
                told |= {one.key for one in new}
            if deadline.expired or (haste() > number and signal_now is not signal.SIGKILL):
                break
            clock.wait(_PAUSE)
        else:
            return []
    return list(find())


def _tell(some: Sequence[Process], number: signal.Signals) -> None:
    for one in some:
        send(one, number)
    # A signal waits until its process goes on: one that stands still, or is about to, would never hear of it.
    for one in some:
        send(one, signal.SIGCONT)
