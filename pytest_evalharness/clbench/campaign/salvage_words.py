"""A salvage in words, a line each, and as plain data. Names from outside are made harmless. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.artifact import pass_words
from pytest_evalharness.clbench.campaign.quarantine import Quarantined
from pytest_evalharness.clbench.campaign.remains import PassLeft
from pytest_evalharness.clbench.campaign.rerun import Rerun
from pytest_evalharness.clbench.campaign.salvage import Salvage
from pytest_evalharness.clbench.campaign.salvage_plan import Source, TaskLeft, TaskState
from pytest_evalharness.clbench.domains import short_of

_SOURCES = {
    Source.PUBLISHED: "published",
    Source.COPIED: "written by its own process, now published",
    Source.REBUILT: "put together from its snapshots",
    Source.NONE: "no artifact",
}


def report(found: Salvage, quarantined: Sequence[Quarantined] = ()) -> Iterator[str]:
    """What is whole, what is written off, what was changed, and what is to be run again at what cost.

    Args:
        found: the salvage.
        quarantined: passes that were moved aside before: they are missing here.
    """
    yield f"{printable(found.name)}: {_decision(found)}"
    for left in found.tasks:
        yield from _task(left)
    for one in quarantined:
        yield f"  in quarantine: {short_of(one.task)}, {pass_words(one.run_index)}: {printable(one.why)}; it counts as missing"
    if lost := found.written_off:
        dollars = [one.cost for _, one in lost if one.cost is not None]
        spent = f", ${sum(dollars):,.2f}" if dollars else ""
        yield f"  written off in all: {len(lost)} interrupted {'rollout' if len(lost) == 1 else 'rollouts'}{spent}"
    yield from _changes(found)
    if found.to_run:
        yield from _to_run(found)
    yield f"  evalharness clbench check {shlex.quote(str(found.folder))} says what of it may be believed"


def _decision(found: Salvage) -> str:
    total = len(found.tasks)
    whole = sum(one.state is TaskState.WHOLE for one in found.tasks)
    told = f"{whole} of {total} tasks whole"
    if gaps := sum(one.state is TaskState.GAPS for one in found.tasks):
        told += f", {gaps} ended with gaps"
    if partial := sum(one.state is TaskState.PARTIAL for one in found.tasks):
        told += f", {partial} partial"
    if not found.to_run:
        return f"{told}, nothing is to be run again"
    cost, all_of_it = found.cost
    price = "at a cost that nothing here tells" if cost is None else f"${cost:,.2f}"
    bound = "" if cost is None else "about " if all_of_it else "at least "
    return f"{told}, {len(found.to_run)} to be run again, {bound}{price}"


def _task(left: TaskLeft) -> Iterator[str]:
    of = "" if left.rollouts is None else f" of {left.rollouts}"
    rollouts = f"{len(left.complete)}{of} rollouts complete"
    yield f"  {left.state:<16} {short_of(left.task)}: {rollouts}, {_SOURCES[left.source]}"
    if left.aside is not None:
        yield f"                   set aside: {left.aside[0].name}: {printable(left.aside[1])}"
    if len({one.group for one in left.kept}) > 1:
        yield f"                   its rollouts are of {len({one.group for one in left.kept})} starts of the campaign"
    for one in left.written_off:
        yield f"                   written off: {_lost(left, one)}"
    if (base := left.unfinished_baseline) is not None:
        yield f"                   unfinished: {short_of(left.task)}, {printable(base.words)}; the benchmark cannot add to it"


def _lost(left: TaskLeft, one: PassLeft) -> str:
    told = f"{short_of(left.task)}, {one.words}"
    return f"{told}; {printable(one.why)}" if one.why else told


def _changes(found: Salvage) -> Iterator[str]:
    verb = "would be" if found.dry_run else "are"
    if not found.written and not found.aside:
        yield f"  nothing {'would change' if found.dry_run else 'changed'} in {printable(found.folder, 400)}"
        return
    if found.written:
        yield f"  written{' (not yet)' if found.dry_run else ''}: {', '.join(map(printable, found.written))}"
    if found.backup is not None:
        yield f"  originals {verb} in {printable(found.backup, 400)}"
    if found.dry_run:
        yield "  nothing was written: the same command without --dry-run does it"


def _to_run(found: Salvage) -> Iterator[str]:
    yield "  to be run again, each task as a whole, since the benchmark cannot run single rollouts:"
    for left in found.to_run:
        needed = left.rerun
        lost = ""
        if needed is not None and left.complete:
            lost = f"; only {_indices(needed) if needed.lost else 'its baseline'} would be needed"
        yield f"    {short_of(left.task)}: {needed.words if needed else 'all of it'}{lost}"
    if any(one.complete and one.rerun is not None and one.rerun.lost for one in found.to_run):
        yield "  or score what is there: rollouts that ended first are no random sample of all, and the artifact says so"


def _indices(needed: Rerun) -> str:
    numbers = ", ".join(map(str, needed.lost))
    return f"rollout{'' if len(needed.lost) == 1 else 's'} {numbers}"


def as_data(found: Salvage, quarantined: Sequence[Quarantined] = ()) -> dict[str, Any]:
    """The same as plain data."""
    cost, whole = found.cost
    return {
        "name": found.name,
        "folder": str(found.folder),
        "dry_run": found.dry_run,
        "complete": found.complete,
        "tasks": [_data(one) for one in found.tasks],
        "written": list(found.written),
        "aside": list(found.aside),
        "backup": None if found.backup is None else str(found.backup),
        "rerun_cost_usd": cost,
        "rerun_cost_is_whole": whole,
        "quarantined": [
            {"task": one.task, "run_index": one.run_index, "why": one.why} for one in quarantined
        ],
    }


def _data(left: TaskLeft) -> dict[str, Any]:
    needed = left.rerun
    return {
        "task": left.task,
        "state": str(left.state),
        "source": str(left.source),
        "rollouts_complete": list(left.complete),
        "rollouts_expected": left.rollouts,
        "run_groups": list(left.groups),
        "written_off": [one.to_json() for one in left.written_off],
        "unfinished_baseline": left.unfinished_baseline and left.unfinished_baseline.to_json(),
        "set_aside": None if left.aside is None else {"file": left.aside[0].name, "why": left.aside[1]},
        "rerun": None
        if needed is None
        else {
            "rollouts": needed.rollouts,
            "lost": list(needed.lost),
            "baseline": needed.baseline,
            "cost_usd": needed.cost,
            "cost_is_whole": needed.whole_cost,
            "basis": needed.basis,
        },
    }
