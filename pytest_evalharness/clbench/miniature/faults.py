"""Defects on demand: from the environment when a process starts, and from a file of the checkout while it runs.

A fault is `name=task[:pass[:instances]][@value]`; the pass is a rollout's index, `baseline` or `*`; the instances are positions in
the pass, `3`, `3-5`, `3+` or `*`. `CLBENCH_MINIATURE_FAULTS` holds a comma list, `faults.json` in the checkout's root a JSON list.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.clbench.miniature.registry import LIVELOCKS, TASKS

ENVIRONMENT = "CLBENCH_MINIATURE_FAULTS"
FILE = "faults.json"
KNOWN: dict[str, str] = {
    "livelock": "the system says a word that the task does not know, for ever",
    "stall": "the system says nothing until the fault is gone",
    "slow": "every turn takes so many seconds more (value, 0.2)",
    "poison": "an answer without content at no cost, as behind a refused key",
    "null": "an answer without content at the usual cost",
    "forfeit": "the adapter gives up: the empty action of the schema, with latency_timeout",
    "refused": "the provider refuses: a rollout is blocked, a baseline has a gap",
    "crash": "the pass raises",
    "long_argv": "the pass raises, because a prompt is too long for a command line",
    "kill": "the pool's worker dies by signal 9",
    "kill_run": "the process of `clbench run` dies by signal 9",
    "kill_suite": "the process of `clbench run-all` dies by signal 9",
    "full_disk": "a live snapshot cannot be written",
    "unpriced": "no call has a price",
    "wide": "observations of so many characters more (value, 100000)",
    "same_order": "the task never hears of the rollout's index",
    "sandbox": "the workspace of the shop has expired",
    "outage": "the host's network is gone, for so many seconds from its first look (value) or until the fault is gone",
    "oom": "the worker of so many of a question's tasks dies by signal 9 (value, 1); the third within a minute turns the pool off",
    "key_limit": "the engine's calls are refused with 402, as with a key that has the word `spent` in it",
    "transport_death": "so many attempts of a call die after they were sent (value, 3; more break the engine's own rule)",
    "blip": "so many attempts of a call fail at the provider (value, 1)",
    "prose": "the engine leaves its answer in prose",
    "repair_broken": "the round that repairs the form of an answer raises a NameError",
    "truncated": "the engine's task ends at its limit of rounds",
    "other_key": "the engine has another key in its settings than the benchmark's, and that one is spent",
    "late_error": "an answered task fails afterwards",
    "no_shim": "the engine cannot reach the benchmark: it answers without a single query",
    "partial_mount": "the engine has workers, and none is alive",
    "uid_clash": "the engine's folder belongs to another user",
    "leak": "the engine is never stopped",
}
_LIVE = {"livelock"}


class BadFault(ValueError):
    """A fault that nobody knows, or that its task cannot have."""


@dataclass(frozen=True)
class Fault:
    """One defect and where it strikes.

    Attributes:
        name: which.
        task: an id, or `*`.
        run: a rollout's index, `baseline` or `*`.
        first: the first position that it strikes.
        last: the last one, None for all after it.
        value: what it needs beside, None for its default.
    """

    name: str
    task: str
    run: str
    first: int
    last: int | None
    value: float | None

    def strikes(self, task: str, run_index: int | None, position: int) -> bool:
        """Whether it strikes there."""
        here = "baseline" if run_index is None else str(run_index)
        inside = position >= self.first and (self.last is None or position <= self.last)
        return self.task in {task, "*"} and self.run in {here, "*"} and inside


def fault(text: str) -> Fault:
    """A fault as it is written.

    Raises:
        BadFault: the text says why.
    """
    head, _, value = text.strip().partition("@")
    name, _, where = head.partition("=")
    task, run, at, *more = [*where.split(":"), "", ""]
    if name not in KNOWN:
        raise BadFault(f"unknown fault {name!r}; known: {', '.join(KNOWN)}")
    if any(more) or (task not in TASKS and task != "*"):
        raise BadFault(
            f"{text!r}: write {name}=task[:pass[:instances]][@value]; tasks: {', '.join(TASKS)}, *"
        )
    if name in _LIVE and task not in LIVELOCKS:
        raise BadFault(f"{text!r}: only {', '.join(sorted(LIVELOCKS))} can be held up by unknown actions")
    if run not in {"", "*", "baseline"} and not run.isdecimal():
        raise BadFault(f"{text!r}: a pass is a rollout's index, 'baseline' or '*'")
    try:
        return Fault(name, task, run or "*", *_positions(at), float(value) if value else None)
    except ValueError:
        raise BadFault(f"{text!r}: instances are N, N-M, N+ or *, a value is a number") from None


def _positions(text: str) -> tuple[int, int | None]:
    if text in {"", "*"}:
        return 0, None
    if text.endswith("+"):
        return int(text[:-1]), None
    first, dash, last = text.partition("-")
    return int(first), int(last) if dash else int(first)


class Faults:
    """The faults of a checkout, read again whenever its file has changed."""

    def __init__(self, root: Path, environment: str | None = None) -> None:
        told = os.environ.get(ENVIRONMENT, "") if environment is None else environment
        self.standing = tuple(fault(one) for one in told.split(",") if one.strip())
        self.file = root / FILE
        self.seen: tuple[int, int] | None = None
        self.held: tuple[Fault, ...] = ()

    def striking(self, name: str, task: str, run_index: int | None, position: int) -> Fault | None:
        """The fault of that name that strikes there, None if there is none.

        Raises:
            BadFault: the file holds one that nobody knows.
        """
        for one in (*self.standing, *self._from_file()):
            if one.name == name and one.strikes(task, run_index, position):
                return one
        return None

    def _from_file(self) -> tuple[Fault, ...]:
        try:
            stat = self.file.stat()
        except OSError:
            self.seen, self.held = None, ()
            return ()
        now = (stat.st_mtime_ns, stat.st_ino)
        if now != self.seen:
            told = json.loads(self.file.read_text() or "[]")
            self.held = tuple(fault(str(one)) for one in told)
            self.seen = now
        return self.held
