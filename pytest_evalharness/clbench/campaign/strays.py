"""Processes of a campaign that no ledger may know: whatever they write is not to be salvaged yet.

A killed `run-all` leaves its children, and a killed child its pool workers; both go on, spend, and write. Where the campaign was
typed by hand they are told by their command lines, and workers by the checkout in which they stand. Reads only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.ended_folder import EndedFolder
from pytest_evalharness.clbench.campaign.process_table import Process, processes
from pytest_evalharness.clbench.campaign.remains import folder_name

_PROC = Path("/proc")
_WORKER = ("--multiprocessing-fork", "spawn_main")
_GROUP, _NAME, _SUITE = "--run-group-id", "--name", "run-all"


@dataclass(frozen=True)
class Stray:
    """A process that is alive.

    Attributes:
        pid: its id.
        what: what it does, as far as its command line tells.
    """

    pid: int
    what: str

    def __str__(self) -> str:
        """For messages: `process 4711 runs database_exploration`."""
        return f"process {self.pid} {self.what}"


def strays(folder: EndedFolder, *, tokens: frozenset[str] = frozenset(), proc: Path = _PROC) -> list[Stray]:
    """The processes of a campaign that are alive, by pid.

    Args:
        folder: its run directory.
        tokens: those of its starts, where a ledger knows them.
        proc: where process files are.
    """
    table = {pid: one for pid, one in processes(tokens, proc=proc).items() if pid != os.getpid()}
    groups = {group for task in folder.entries for group in folder.groups(task)}
    told = (folder.manifest.get(key) for key in ("run_group_id", "current_batch_id"))
    groups |= {folder_name(str(one)) for one in told if one}
    root = folder.root.resolve()
    found = []
    for pid, one in sorted(table.items()):
        there = _stands_in(pid, root, proc)
        if (what := _role(folder, one, groups)) is not None and (there is not False or one.tokens):
            found.append(Stray(pid, what))
        elif one.tokens:
            found.append(Stray(pid, "carries the token of one of its starts"))
        elif there and _is_stray_worker(one, table, groups):
            found.append(
                Stray(pid, "is a pool worker in this checkout, of this campaign or of a task that has died")
            )
    return found


def _role(folder: EndedFolder, one: Process, groups: set[str]) -> str | None:
    """What a process does for the campaign, if its command line says so."""
    group = _value(one.argv, _GROUP)
    if group is not None and folder_name(group) in groups:
        task = next((word for before, word in _pairs(one.argv) if before == "run"), "a task")
        return f"runs {printable(task, 60)}"
    if _SUITE in one.argv and _value(one.argv, _NAME) in {folder.name, folder.folder.name}:
        return f"is its {_SUITE}"
    return None


def _is_stray_worker(one: Process, table: Mapping[int, Process], groups: set[str]) -> bool:
    """Whether a process is a pool worker that no living task of another campaign has."""
    if not any(mark in word for word in one.argv for mark in _WORKER):
        return False
    seen, parent = {one.pid}, table.get(one.parent)
    while parent is not None and parent.pid not in seen:
        group = _value(parent.argv, _GROUP)
        if group is not None:
            return folder_name(group) in groups
        seen.add(parent.pid)
        parent = table.get(parent.parent)
    return True


def _stands_in(pid: int, root: Path, proc: Path) -> bool | None:
    """Whether a process works in a folder: the benchmark has to be started there, and another checkout may have the same names.

    None where that cannot be known: it is another user's, or there is no /proc.
    """
    try:
        return Path(os.readlink(proc / str(pid) / "cwd")) == root  # noqa: PTH115 - it may say "(deleted)"
    except PermissionError:
        return None
    except OSError:
        return False if (proc / "self").exists() else None


def _value(argv: Sequence[str], option: str) -> str | None:
    for before, word in _pairs(argv):
        if before == option:
            return word
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _pairs(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(("", *argv), argv, strict=False)
