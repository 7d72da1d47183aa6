"""What a campaign lost, and to what: engines' task results and events, the adapter's log, and the container engine's events together.

A loss is of one question, as far as logs and folders tell which; else of one task of an engine, of which a question can have three.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.artifact import Unreadable
from pytest_evalharness.clbench.campaign.asked_again import by_question
from pytest_evalharness.clbench.campaign.bridge_log import BridgeLog, Question, bridge_log
from pytest_evalharness.clbench.campaign.bridge_rows import missing_rows
from pytest_evalharness.clbench.campaign.capacity import Family, family
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.loss_classes import Fate, Loss, LossClass
from pytest_evalharness.clbench.campaign.retries import waits_of
from pytest_evalharness.clbench.campaign.runroots import (
    Runroot,
    read_runroot,
    runroot_folders,
)
from pytest_evalharness.clbench.campaign.task_losses import Around, of_task, refused_for_money
from pytest_evalharness.containers.events import Cause, Death
from pytest_evalharness.containers.state import Container

_STORM = "crash_storm_detected"
_TWO_HOURS = 7200.0
_EARLY = 60.0


@dataclass(frozen=True)
class Seen:
    """Everything that a campaign left, read.

    Attributes:
        runroots: of its engines.
        logs: of its tasks, by the benchmark's task.
        folder: where the logs are.
        deaths: of containers.
        containers: that run now.
        missing: rows that the bridge path lacks.
    """

    runroots: Sequence[Runroot]
    logs: Mapping[str, BridgeLog]
    folder: Path
    deaths: Sequence[Death] = ()
    containers: Sequence[Container] = ()
    missing: Sequence[Loss] = ()


def losses_of(
    runs_root: Path,
    logs: Path,
    *,
    since: float = 0.0,
    deaths: Iterable[Death] = (),
    containers: Iterable[Container] = (),
    files: ChangedFiles | None = None,
) -> tuple[Loss, ...]:
    """What a campaign lost, by class and time.

    Args:
        runs_root: where engines have their folders (`OUROBOROS_BENCH_RUNS_ROOT`); one that is not there holds none.
        logs: `final_results/runs/NAME/logs`.
        since: seconds since 1970: engines that were silent since before are another campaign's.
        deaths: of containers, as the engine's events tell them.
        containers: that run now.
        files: keeps what was read, so that a second reading only reads what changed.
    """
    return losses(read_all(runs_root, logs, since=since, deaths=deaths, containers=containers, files=files))


def read_all(
    runs_root: Path,
    logs: Path,
    *,
    since: float = 0.0,
    deaths: Iterable[Death] = (),
    containers: Iterable[Container] = (),
    files: ChangedFiles | None = None,
) -> Seen:
    """Everything that a campaign left; arguments as of `losses_of`."""
    files = files or ChangedFiles(time.time)
    named = sorted(logs.glob("*.log")) if logs.is_dir() else []
    read = {path.stem: files.read(path, _log).value for path in named}
    return Seen(
        [read_runroot(folder, files) for folder in runroot_folders(runs_root, since)],
        {task: told for task, told in read.items() if told is not None},
        logs,
        tuple(deaths),
        tuple(containers),
        tuple(missing_rows(runs_root, files)),
    )


def losses(seen: Seen) -> tuple[Loss, ...]:
    """What was lost, by class and time."""
    places = {one.id: (task, one) for task, log in seen.logs.items() for one in log.questions.values()}
    repairs = {name for log in seen.logs.values() for name in log.repairs}
    found: dict[tuple[LossClass, str, Path], Loss] = {}
    for one in _all(seen, places, repairs):
        told = places.get(one.question)
        if told is not None:
            one = _placed(one, *told)  # noqa: PLW2901 - the same loss, placed
        # A task's result and its log may tell of the same loss.
        key = (one.kind, one.question, one.where if not one.question else Path())
        found.setdefault(key, one)
    for one in _unexplained(seen, places, {one.question for one in found.values()}):
        found[one.kind, one.question, Path()] = one
    questions = [one for log in seen.logs.values() for one in log.questions.values()]
    each = by_question(found.values(), seen.runroots, questions)
    order = list(LossClass)
    return tuple(sorted(each, key=lambda one: (order.index(one.kind), one.at or 0.0, one.task, one.question)))


def _unexplained(
    seen: Seen, places: Mapping[str, tuple[str, Question]], explained: set[str]
) -> Iterator[Loss]:
    """Questions that were given up, and of which no file says more."""
    for name, (task, question) in places.items():
        if question.lost and name not in explained:
            where = seen.folder / f"{task}.log"
            loss = Loss(LossClass.UNEXPLAINED, Fate.LOST, question.lost, where, question=name)
            yield _placed(loss, task, question)


def _placed(loss: Loss, task: str, question: Question) -> Loss:
    """A loss with what the log says of its question: what was delivered is not lost, whatever an engine's file says."""
    fate = loss.fate
    if question.delivered or question.lost:
        fate = Fate.SURVIVED if question.delivered else Fate.LOST
    return replace(loss, task=task, position=question.position, fate=fate)


def _log(raw: bytes) -> BridgeLog:
    if not raw:
        raise Unreadable("it is empty")
    return bridge_log(raw)


def _all(seen: Seen, places: Mapping[str, tuple[str, Question]], repairs: set[str]) -> Iterator[Loss]:
    for root in seen.runroots:
        limited = refused_for_money(root.events.rows)
        around = Around(root.folder, limited, seen.deaths, seen.containers)
        for task in root.tasks:
            if task.ended and task.id not in repairs:
                question = places.get(task.id, ("", Question(task.id)))[1]
                yield from of_task(task, question, around)
        yield from _of_root(root)
    storm = any(row.kind == _STORM for root in seen.runroots for row in root.supervisor.rows)
    for name, log in seen.logs.items():
        yield from _of_log(name, log, seen.folder / f"{name}.log", storm=storm)
    yield from _of_workspaces(seen)
    yield from seen.missing


# --------------------------------------------------------------- one engine


def _of_root(root: Runroot) -> Iterator[Loss]:
    tasks = {task.id: task for task in root.tasks}
    logs = root.folder / "data" / "logs"
    for wait in waits_of(root.events.rows):
        fate = Fate.UNKNOWN
        if wait.over == "recovered":
            fate = Fate.SURVIVED
        elif (task := tasks.get(wait.task)) is not None and task.ended:
            fate = Fate.SURVIVED if task.answered else Fate.LOST
        words = f"the engine waited {span(wait.seconds)} for the network ({wait.over or 'no end is told'})"
        yield Loss(LossClass.NETWORK_OUTAGE, fate, words, root.events_file, question=wait.task, at=wait.began)
    for row in root.supervisor.rows:
        if row.kind == _STORM:
            words = "the engine switched its pool off: too many workers crashed within a minute"
            yield Loss(LossClass.WORKER_CRASH, Fate.UNKNOWN, words, logs / "supervisor.jsonl", at=row.at)
    if missing := [line for line in root.server if "ModuleNotFoundError" in line]:
        words = f"{len(missing)} times a module was missing: {printable(missing[0], 120)}"
        yield Loss(LossClass.PARTIAL_MOUNT, Fate.UNKNOWN, words, logs / "server.log")
    if any("shim_target" in line and "Permission" in line for line in root.server):
        words = "the engine may not write the address of its shim"
        yield Loss(LossClass.FOREIGN_FILES, Fate.UNKNOWN, words, logs / "server.log")
    if root.refused:
        yield Loss(
            LossClass.SHIM_UNREACHABLE, Fate.UNKNOWN, "a tool's connection was refused", logs / "tools.jsonl"
        )


# ------------------------------------------------------------------ one log


def _of_log(task: str, log: BridgeLog, where: Path, *, storm: bool) -> Iterator[Loss]:
    for one in log.questions.values():
        if one.held is not None:
            fate = Fate.LOST if one.lost or one.held >= one.hold > 0.0 else Fate.SURVIVED
            words = f"the adapter held the question at least {span(one.held)} of {span(one.hold)}"
            yield Loss(LossClass.NETWORK_OUTAGE, fate, words, where, question=one.id)
        if one.queued:
            kind = LossClass.WORKER_CRASH if storm else LossClass.PARTIAL_MOUNT
            words = "no worker took the question" + (": the pool was off" if storm else "")
            yield Loss(kind, Fate.LOST, words, where, question=one.id)
        if one.prose:
            fate = Fate.SURVIVED if one.delivered else Fate.LOST
            words = one.delivered or one.lost or "its final text holds no answer"
            yield Loss(LossClass.PROSE_FINAL, fate, words, where, question=one.id)
        if one.salvaged:
            yield Loss(LossClass.LATE_ERRORS, Fate.SURVIVED, one.delivered, where, question=one.id)
    if log.held is not None:
        words = f"the adapter held questions back, at least {span(log.held)} of {span(log.hold)}"
        fate = Fate.LOST if log.held >= log.hold > 0.0 else Fate.SURVIVED
        yield Loss(LossClass.NETWORK_OUTAGE, fate, words, where, task=task)
    if log.broken_repairs:
        words = f"{log.broken_repairs} times the adapter's own format repair broke (NameError)"
        yield Loss(LossClass.PROSE_FINAL, Fate.UNKNOWN, words, where, task=task)
    if log.foreign_files:
        yield Loss(
            LossClass.FOREIGN_FILES, Fate.UNKNOWN, printable(log.foreign_files[0], 160), where, task=task
        )
    if log.sandboxes:
        words = f"{len(log.sandboxes)} times: {printable(log.sandboxes[0], 160)}"
        yield Loss(LossClass.SANDBOX, Fate.LOST, words, where, task=task)


def _of_workspaces(seen: Seen) -> Iterator[Loss]:
    """Workspaces that ended by themselves when their two hours were over: whoever works in one removes it before."""
    for death in seen.deaths:
        lived = death.lived
        if family(death.name) is not Family.WORKSPACE or death.cause is not Cause.ENDED or lived is None:
            continue
        if lived >= _TWO_HOURS - _EARLY:
            words = f"the workspace {printable(death.name, 60)} ended by itself after {span(lived)}"
            yield Loss(LossClass.SANDBOX, Fate.UNKNOWN, words, Path(death.name), at=death.at)
