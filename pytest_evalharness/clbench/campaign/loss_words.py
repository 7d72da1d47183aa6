"""What a campaign lost in words, a line each, and as plain data. Names from outside are made harmless. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_evalharness.base.clock import iso
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.loss_classes import CLOSURES, Count, Fate, Loss, counted
from pytest_evalharness.clbench.campaign.recipe import OUROBOROS
from pytest_evalharness.clbench.checking import Check, State
from pytest_evalharness.clbench.domains import short_of

_SHOWN = 3
_ORDER = (Fate.LOST, Fate.UNKNOWN, Fate.SURVIVED)


@dataclass(frozen=True)
class LossReport:
    """Everything that is known of a campaign's losses.

    Attributes:
        name: the campaign's, or of its folder.
        losses: each of them.
        retries: the rules of the retry budget.
        settings: who can read the engines' keys.
        engines: folders of engines that were read.
        logs: tasks whose log was read.
        notes: what was not read, and why.
        embedded: whether it ran on the miniature.
        system: under test; empty where nothing tells.
    """

    name: str
    losses: tuple[Loss, ...]
    retries: tuple[Check, ...]
    settings: Check
    engines: int
    logs: tuple[str, ...]
    notes: tuple[str, ...] = ()
    embedded: bool = False
    system: str = ""

    @property
    def engineless(self) -> bool:
        """Whether its system is a part of the benchmark, whose only losses are those that its logs tell."""
        return bool(self.system) and OUROBOROS not in self.system.lower() and not self.engines

    @property
    def checks(self) -> tuple[Check, ...]:
        """What has to hold of its engines."""
        return () if self.engineless else (*self.retries, self.settings)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, as far as the engines tell, no rule of the retry budget broken, and no key open to others."""
        lost = any(one.fate is not Fate.SURVIVED for one in self.losses)
        if self.engineless:
            return not lost
        kept = all(check.state is State.OK for check in self.retries)
        return bool(self.engines) and not lost and kept and self.settings.state is not State.FAILED


def report(told: LossReport) -> Iterator[str]:
    """The counts by class with what closes each, the first occurrences, the retry budget, and what was not read."""
    counts = counted(told.losses)
    every = Count(
        *(sum(getattr(one, fate) for one in counts.values()) for fate in ("lost", "survived", "unknown"))
    )
    where = " (embedded miniature)" if told.embedded else ""
    yield f"{printable(told.name)}{where}: {_decision(every, len(counts))}"
    engines = f"{told.engines} engines' folders"
    if told.engineless:
        engines = f"no engines, which {printable(told.system)} does not have"
    yield f"  read: {engines}, logs of {', '.join(map(short_of, told.logs)) or 'no task'}"
    for kind, count in counts.items():
        yield f"  {kind}: {fates(count)}"
        yield f"      closed by: {CLOSURES[kind].closure}"
        mine = sorted(
            (one for one in told.losses if one.kind is kind), key=lambda one: _ORDER.index(one.fate)
        )
        yield from (f"      {_occurrence(one)}" for one in mine[:_SHOWN])
        if more := len(mine) - _SHOWN if len(mine) > _SHOWN else 0:
            yield f"      and {more} more (--json tells all)"
    for check in told.checks:
        yield f"  {check.state:<10} {check.name}: {printable(check.seen, 400)}"
        if check.state is not State.OK:
            yield f"             needed: {check.needed}"
        if check.mend:
            yield f"             mend:   {check.mend}"
    yield from (f"  not read: {printable(note, 300)}" for note in told.notes)


def fates(count: Count) -> str:
    """A count in words, without what is zero."""
    told = ((count.lost, "lost"), (count.survived, "survived"), (count.unknown, "of which nothing tells"))
    return ", ".join(f"{number} {word}" for number, word in told if number) or "none"


def as_data(told: LossReport) -> dict[str, Any]:
    """The same as JSON types, every occurrence among it."""
    return {
        "name": told.name,
        "embedded": told.embedded,
        "engines": told.engines,
        "logs": list(told.logs),
        "classes": [
            {
                "class": str(kind),
                "lost": count.lost,
                "survived": count.survived,
                "unknown": count.unknown,
                "signature": CLOSURES[kind].signature,
                "closure": CLOSURES[kind].closure,
            }
            for kind, count in counted(told.losses).items()
        ],
        "losses": [_loss(one) for one in told.losses],
        "checks": [
            {
                "name": check.name,
                "state": str(check.state),
                "seen": check.seen,
                "needed": check.needed,
                "mend": check.mend,
            }
            for check in told.checks
        ],
        "not_read": list(told.notes),
    }


def _decision(count: Count, classes: int) -> str:
    if not count.total:
        return "nothing that is known was lost"
    return f"{fates(count)}, in {classes} {'class' if classes == 1 else 'classes'}"


def _occurrence(one: Loss) -> str:
    place = short_of(one.task) if one.task else ""
    if one.position is not None:
        place += f", question {one.position}"
    question = f"{printable(one.question, 60)}, " if one.question else ""
    when = "" if one.at is None else f", {iso(one.at)}"
    return f"{one.fate}: {place + ': ' if place else ''}{question}{one.words}{when}"


def _loss(one: Loss) -> dict[str, Any]:
    return {
        "class": str(one.kind),
        "fate": str(one.fate),
        "words": one.words,
        "where": str(one.where),
        "question": one.question,
        "task": one.task,
        "position": one.position,
        "at": None if one.at is None else iso(one.at),
    }
