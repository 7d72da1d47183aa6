"""What the adapter says of each question in a task's log. Pure.

The adapter writes `[live-bridge] …` lines to standard error, which `run-all` keeps in `logs/<task>.log`. They have no time of their own,
and those of several processes stand between one another; each tells the engine task that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MARK = b"[live-bridge] "
_SUBMITTED = re.compile(r"submitted live task (\S+) \(scope=\w+.*?(?:q_index=(\d+))?\)")
_ABOUT = re.compile(r"\btask[ =]([\w-]+)")
_HELD = re.compile(r"host network DOWN .*? (\d+)s/(\d+)s")
_REPAIR = re.compile(r"format-repair: task (\S+) .*-> repair task (\S+) submitted")
_UID = re.compile(r"PermissionError.*shim_target\.txt|shim_target\.txt.*Permission", re.IGNORECASE)
_SANDBOX = re.compile(
    r"(?:No such container|container \S+ is not running).*minisweagent|minisweagent-\w+.*(?:No such container|is not running)"
)


@dataclass
class Question:
    """What the adapter says of one engine task.

    Attributes:
        id: the engine's.
        position: of the question in its pass, None where it is not told. Baseline instances all have 0.
        delivered: how its answer reached the benchmark, empty if nothing says that it did.
        lost: why it did not, empty if nothing says so.
        held: the longest wait for the host's network that is told, in seconds; None without one. The adapter tells it every five
            minutes only, so it was at least as long.
        hold: how long it may be, in seconds.
        queued: whether no worker ever took it.
        prose: whether its final text held no answer, at first.
        salvaged: whether it failed after its answer.
    """

    id: str
    position: int | None = None
    delivered: str = ""
    lost: str = ""
    held: float | None = None
    hold: float = 0.0
    queued: bool = False
    prose: bool = False
    salvaged: bool = False


@dataclass
class BridgeLog:
    """One task's log.

    Attributes:
        questions: by the engine task's id.
        repairs: ids of the tasks that only repaired the form of an answer.
        held: the longest wait for the host's network before a question was sent, in seconds; None without one.
        hold: how long it may be, in seconds.
        broken_repairs: answers that were given up because the adapter's own repair is broken.
        foreign_files: lines that say that a file belongs to another user.
        sandboxes: lines that say that a task's workspace is gone.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    repairs: set[str] = field(default_factory=set)
    held: float | None = None
    hold: float = 0.0
    broken_repairs: int = 0
    foreign_files: list[str] = field(default_factory=list)
    sandboxes: list[str] = field(default_factory=list)

    def question(self, task: str) -> Question:
        """What is said of an engine task, begun if nothing was yet."""
        return self.questions.setdefault(task, Question(task))


def bridge_log(raw: bytes) -> BridgeLog:
    """What a task's log says."""
    log = BridgeLog()
    for line, bridged in _lines(raw):
        if bridged:
            _said(log, line)
        elif _UID.search(line):
            log.foreign_files.append(line[:300])
        elif _SANDBOX.search(line):
            log.sandboxes.append(line[:300])
    return log


def _lines(raw: bytes) -> Iterator[tuple[str, bool]]:
    for line in raw.split(b"\n"):
        at = line.find(MARK)
        if at >= 0:
            yield line[at + len(MARK) :].decode("utf-8", "replace").rstrip("\r"), True
        elif b"shim_target" in line or b"minisweagent" in line:
            yield line.decode("utf-8", "replace"), False


def _said(log: BridgeLog, line: str) -> None:
    if told := _SUBMITTED.search(line):
        log.question(told[1]).position = None if told[2] is None else int(told[2])
        return
    if told := _REPAIR.search(line):
        log.question(told[1]).prose = True
        log.repairs.add(told[2])
        return
    about = _ABOUT.search(line)
    if held := _HELD.search(line):
        _outage(log, about[1] if about else "", float(held[1]), float(held[2]))
    elif "respond failed: NameError" in line:
        log.broken_repairs += 1
    elif _UID.search(line):
        log.foreign_files.append(line[:300])
    elif about is not None and about[1] != "None":
        _of_question(log.question(about[1]), line)


def _outage(log: BridgeLog, task: str, seconds: float, hold: float) -> None:
    if task and task != "None":
        one = log.question(task)
        one.held, one.hold = max(one.held or 0.0, seconds), hold
    else:
        log.held, log.hold = max(log.held or 0.0, seconds), hold


def _of_question(one: Question, line: str) -> None:
    """A line about one engine task; a later one that says more of it counts."""
    if " REPAIRED via " in line:
        one.prose, one.delivered, one.lost = True, "its form was repaired", ""
    elif "COERCED from final text" in line:
        one.prose, one.delivered, one.lost = True, "it was read out of the prose", ""
    elif "salvaged instead of abandoning" in line:
        one.salvaged, one.delivered, one.lost = True, "it was salvaged from a task that failed afterwards", ""
    elif "finalized item" in line:
        # A task that was given up is not asked again: its item ended with an empty answer.
        one.delivered = one.delivered or ("" if one.lost else "as it was")
    elif "no deliverable answer" in line or "repair produced no usable payload" in line:
        one.prose, one.lost = True, "no answer could be delivered"
    elif "repair submission failed" in line:
        one.prose, one.lost = True, "its repair could not be sent"
    elif "workers presumed dead" in line:
        one.queued, one.lost = True, "no worker took it"
    elif "abandoning" in line:
        one.lost = "it was given up"
