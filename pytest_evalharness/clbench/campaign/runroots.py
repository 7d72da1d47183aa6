"""What engines leave in their own folders: how their tasks ended, and the rows of their logs. Every field may be missing.

A runroot is the folder of one engine, `obo_dockerclbench_XXXXXXXX/` or `obo_clbench_XXXXXXXX/`, below the campaign's runs root
(`OUROBOROS_BENCH_RUNS_ROOT`). Nobody removes it, so a runs root can hold those of earlier campaigns.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalharness.base.clock import parse_iso
from pytest_evalharness.clbench.artifact import Unreadable
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles

RUNS_ROOT = "OUROBOROS_BENCH_RUNS_ROOT"
NAME = re.compile(r"obo_(?:docker)?clbench_\w+")
_TASK_RESULT = "data/task_results"
_LOGS = "data/logs"
_ENDED = frozenset({"completed", "failed", "cancelled", "rejected_duplicate"})
_ROWS = (b"llm_api_error", b"network_wait", b"crash_storm", b'"attempt"')
"""One of these is in every row that is kept: the other traffic of an engine is ten times as much."""
_GRAIN = 0.05
"""Seconds by which a file system's clock may be behind: Linux stamps files by its last tick."""
_JSON = msgspec.json.Decoder()
_ANSWER = json.JSONDecoder()


@dataclass(frozen=True)
class EngineTask:
    """How one task of an engine ended: one question of the benchmark, or its repair.

    Attributes:
        id: the engine's.
        status: `completed`, `failed`, `cancelled`, …
        reason: its reason code, empty without one.
        signal: that killed its worker, None if none did.
        answered: whether it holds an answer that can be delivered: a typed one, or JSON in its text.
        typed: whether the typed answer is one.
        text: what it says of itself.
        cost: dollars, None where the record does not tell.
        at: when it was written, in seconds since 1970.
        where: its file.
    """

    id: str
    status: str
    reason: str
    signal: int | None
    answered: bool
    typed: bool
    text: str
    cost: float | None
    at: float
    where: Path

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.status in _ENDED


@dataclass(frozen=True)
class Row:
    """One row of `events.jsonl` or `supervisor.jsonl`.

    Attributes:
        kind: its type.
        task: the engine task's id, empty without one.
        at: seconds since 1970, None where it does not tell.
        told: everything in it.
    """

    kind: str
    task: str
    at: float | None
    told: Mapping[str, Any]

    def word(self, *names: str) -> str:
        """The first of these fields that holds text, empty if none does."""
        return next((told for name in names if isinstance(told := self.told.get(name), str) and told), "")

    def number(self, *names: str) -> float | None:
        """The first of these fields that holds a number, None if none does."""
        return next((value for name in names if (value := number(self.told.get(name))) is not None), None)


@dataclass(frozen=True)
class Rows:
    """The rows of one file that are kept.

    Attributes:
        rows: in the file's order.
        unreadable: lines that are no JSON object: torn by a crash, or still being written.
    """

    rows: tuple[Row, ...] = ()
    unreadable: int = 0


@dataclass(frozen=True)
class Runroot:
    """One engine's folder, as far as it can be read.

    Attributes:
        folder: where it is.
        tasks: by the time at which they were written.
        events: of `events.jsonl`.
        supervisor: of `supervisor.jsonl`.
        server: lines of `server.log` that tell of something missing or forbidden.
        refused: whether a tool's row says that nobody listens where the shim should.
        unreadable: files that cannot be read, and why.
    """

    folder: Path
    tasks: tuple[EngineTask, ...]
    events: Rows
    supervisor: Rows
    server: tuple[str, ...]
    refused: bool
    unreadable: Mapping[str, str]

    @property
    def events_file(self) -> Path:
        """Where its events are."""
        return self.folder / _LOGS / "events.jsonl"


def runs_root_of(environment: Mapping[str, str], checkout: Path, *, embedded: bool) -> Path:
    """Where a campaign's engines have their folders.

    Args:
        environment: the campaign's variables.
        checkout: its root.
        embedded: whether it is the miniature, which keeps them in its checkout.
    """
    told = environment.get(RUNS_ROOT) or ("cl_bench_runs" if embedded else "~/cl_bench_runs")
    return checkout / Path(told).expanduser()  # the benchmark runs in its checkout's root


def runroot_folders(runs_root: Path, since: float = 0.0) -> list[Path]:
    """Engines' folders directly below a runs root, or below its `runner_state`, by name.

    Args:
        runs_root: a folder; none at all holds none.
        since: seconds since 1970: folders of engines that were silent since before are left out.
    """
    found = []
    for parent in (runs_root, runs_root / "runner_state"):
        try:
            entries = sorted(parent.iterdir())
        except OSError:
            continue
        found += [one for one in entries if NAME.fullmatch(one.name) and _is_engines(one, since)]
    return found


def _is_engines(folder: Path, since: float) -> bool:
    data = folder / "data"
    if folder.is_symlink() or not data.is_dir():
        return False
    return since <= 0.0 or any(_changed(path) > since - _GRAIN for path in (data, *_touched(data)))


def _touched(data: Path) -> Iterator[Path]:
    """Files are appended to in place: their folder's own time does not tell."""
    for name in ("logs", "task_results"):
        folder = data / name
        yield folder
        if name == "logs" and folder.is_dir():
            yield from folder.iterdir()


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def read_runroot(folder: Path, files: ChangedFiles | None = None) -> Runroot:
    """What an engine left.

    Args:
        folder: its runroot.
        files: keeps what was read, so that only what changed is read again.
    """
    files = files or ChangedFiles(time.time)
    unreadable: dict[str, str] = {}

    def read(path: Path, parse: Any, nothing: Any) -> Any:
        held = files.read(path, parse)
        if held.problem is not None:
            unreadable[str(path.relative_to(folder))] = held.problem
        return nothing if held.value is None else held.value

    logs, results = folder / _LOGS, folder / _TASK_RESULT
    named = sorted(path for path in _listed(results) if path.suffix == ".json")
    records = ((path, read(path, _record, None)) for path in named)
    tasks = [engine_task(path, told, _changed(path)) for path, told in records if told is not None]
    return Runroot(
        folder,
        tuple(sorted(tasks, key=lambda one: (one.at, one.id))),
        read(logs / "events.jsonl", rows_of, Rows()),
        read(logs / "supervisor.jsonl", rows_of, Rows()),
        read(logs / "server.log", _server_lines, ()),
        read(logs / "tools.jsonl", _refused, nothing=False),
        unreadable,
    )


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


# ------------------------------------------------------------------ records


def engine_task(where: Path, told: Mapping[str, Any], changed: float) -> EngineTask:
    """A task from its record.

    Args:
        where: the record's file.
        told: its content.
        changed: when the file was written; newer than anything that the record tells.
    """
    axes = told.get("outcome_axes")
    execution = axes.get("execution") if isinstance(axes, dict) else None
    inner = execution.get("reason_code") if isinstance(execution, dict) else None
    text, typed = _text(told.get("result")), _text(told.get("final_answer"))
    signal = number(told.get("crash_signal"))
    if signal is None and (named := re.search(r"worker process crashed \(signal (\d+)\)", text)):
        signal = float(named[1])
    cost = number(told.get("cost_usd_with_children"))
    return EngineTask(
        id=_text(told.get("task_id")) or where.stem,
        status=_text(told.get("status")),
        reason=_text(told.get("reason_code")) or _text(inner),
        signal=None if signal is None else int(signal),
        answered=holds_answer(typed) or holds_answer(text),
        typed=holds_answer(typed),
        text=text,
        cost=number(told.get("cost_usd")) if cost is None else cost,
        at=changed,
        where=where,
    )


def holds_answer(text: str) -> bool:
    """Whether a JSON object with something in it stands anywhere in a text: what the adapter can deliver."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _ANSWER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and value:
                return True
        at = text.find("{", end)
    return False


def rows_of(raw: bytes) -> Rows:
    """The rows of a log of JSON lines that say how calls went; a last line without its end is still being written."""
    rows, unreadable = [], 0
    for line in raw.split(b"\n"):
        if not any(word in line for word in _ROWS):
            continue
        try:
            told = _JSON.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            unreadable += 1
            continue
        if isinstance(told, dict):
            rows.append(Row(_text(told.get("type")), _text(told.get("task_id")), _instant(told), told))
        else:
            unreadable += 1
    return Rows(tuple(rows), unreadable)


def _record(raw: bytes) -> Mapping[str, Any]:
    try:
        told = _JSON.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Unreadable(str(problem)) from None
    if not isinstance(told, dict):
        raise Unreadable("it is no JSON object")
    return told


_SERVER = re.compile(rb"ModuleNotFoundError|shim_target\.txt", re.IGNORECASE)
_NOBODY_LISTENS = re.compile(rb"connection refused", re.IGNORECASE)
_SHIM = re.compile(rb"curl: \(7\)|remote_work|submit_action|get_observation|host\.docker\.internal")
"""What a row about the shim has: its skill speaks through curl, and agents are refused connections of their own too."""
_MOST_LINES = 50


def _server_lines(raw: bytes) -> tuple[str, ...]:
    lines = (line for line in raw.split(b"\n") if _SERVER.search(line))
    return tuple(
        line.decode("utf-8", "replace")[:300] for line, _ in zip(lines, range(_MOST_LINES), strict=False)
    )


def _refused(raw: bytes) -> bool:
    for hit in _NOBODY_LISTENS.finditer(raw):  # rows are many and long, refusals few
        start, end = raw.rfind(b"\n", 0, hit.start()) + 1, raw.find(b"\n", hit.end())
        if _SHIM.search(raw, start, len(raw) if end < 0 else end):
            return True
    return False


# ------------------------------------------------------------------- values


def number(told: object) -> float | None:
    """A JSON number, None of anything else."""
    return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None


def _text(told: object) -> str:
    return told if isinstance(told, str) else ""


def _instant(told: Mapping[str, Any]) -> float | None:
    for name in ("ts", "timestamp", "at"):
        value = told.get(name)
        if isinstance(value, str):
            try:
                return parse_iso(value)
            except (ValueError, OverflowError):
                continue
        if (seconds := number(value)) is not None:
            return seconds
    return None
