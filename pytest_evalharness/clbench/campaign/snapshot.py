"""A campaign at one moment: its domains, their passes, and what each has earned and cost so far. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_evalharness.clbench.domains import short_of
from pytest_evalharness.clbench.shapes import Outcome

FINISHED = frozenset({"ok", "failed"})
"""States of a task in the campaign's manifest whose program has ended."""
ENDED = frozenset({"completed", "completed_with_gaps", "blocked", "failed"})
"""What the runner says of a pass that goes on no more."""


class PassState(StrEnum):
    """How far a pass is."""

    WAITING = "waiting"
    """Nothing of it is written yet."""
    RUNNING = "running"
    COMPLETE = "complete"
    SHORT = "short"
    """It ended, by itself or blocked by a provider, without all its instances."""
    INTERRUPTED = "interrupted"
    """Its program ended and the pass did not: memory is what is measured, so a rollout cannot be gone on with."""
    QUARANTINED = "quarantined"
    """It measured an outage and was moved aside."""

    @property
    def open(self) -> bool:
        """Whether it may still earn something."""
        return self in {PassState.WAITING, PassState.RUNNING}


@dataclass(frozen=True)
class LivePass:
    """A rollout, or the stateless baseline, up to its last interaction.

    Attributes:
        task: its task's id.
        run_index: the rollout's seed, from 0; None for the baseline.
        group: the run group whose live folder it is written to.
        state: how far it is.
        status: what the runner says of it; it calls a baseline completed as soon as one instance is.
        expected: instances of the whole pass; None where nobody tells.
        outcomes: an instance each: in the order in which they were met, of a baseline in the order of the sequence.
        interactions: turns so far.
        open_turns: turns of instances that have no outcome yet.
        open_instance: the instance of the last of these turns.
        open_forfeits: how many of them the adapter, or an error, answered in the system's place.
        forfeited: instances of which a turn was.
        blocked: instances of a baseline that a provider refused.
        cost: dollars so far; None where nobody tells.
        unpriced: whether calls were made whose price is not known.
        seconds: how long it had run when it was last written; None where that is not told.
        started: when it began, as the program wrote it (local time, without a zone).
        changed: when it was last written, in seconds since 1970; None before.
        problem: why the file's present content cannot be read: the numbers are those of the last that could.
    """

    task: str
    run_index: int | None
    group: str = ""
    state: PassState = PassState.WAITING
    status: str | None = None
    expected: int | None = None
    outcomes: tuple[Outcome, ...] = ()
    interactions: int = 0
    open_turns: int = 0
    open_instance: str | None = None
    open_forfeits: int = 0
    forfeited: frozenset[str] = frozenset()
    blocked: int = 0
    cost: float | None = None
    unpriced: bool = False
    seconds: float | None = None
    started: str | None = None
    changed: float | None = None
    problem: str | None = None

    @property
    def key(self) -> tuple[str, int | None]:
        """What it is called in one campaign: its task, and its rollout or None."""
        return self.task, self.run_index

    @property
    def name(self) -> str:
        """How messages call it."""
        return "baseline" if self.run_index is None else f"rollout {self.run_index}"

    @property
    def done(self) -> int:
        """Instances that have their outcome."""
        return len(self.outcomes)

    @property
    def left(self) -> int | None:
        """Instances to come; None where nobody tells how many."""
        return None if self.expected is None else max(0, self.expected - self.done)


@dataclass(frozen=True)
class LiveTask:
    """One domain.

    Attributes:
        task: its id.
        status: in the campaign's manifest: pending, running, ok or failed; None where there is none.
        group: the run group of its live folder; empty before it began.
        passes: the baseline, if there is to be one, then rollouts by seed.
        problem: why a file that tells of it cannot be read.
    """

    task: str
    status: str | None = None
    group: str = ""
    passes: tuple[LivePass, ...] = ()
    problem: str | None = None

    @property
    def short(self) -> str:
        """How tables call it."""
        return short_of(self.task)

    @property
    def ended(self) -> bool:
        """Whether its program has ended."""
        return self.status in FINISHED

    @property
    def rollouts(self) -> tuple[LivePass, ...]:
        """Every pass but the baseline."""
        return tuple(one for one in self.passes if one.run_index is not None)

    @property
    def done(self) -> int:
        """Instances of all passes that have their outcome."""
        return sum(one.done for one in self.passes)

    @property
    def expected(self) -> int | None:
        """Instances of all passes; None where that of one is not known, or no pass is yet."""
        told = [one.expected for one in self.passes]
        known = [one for one in told if one is not None]
        return sum(known) if told and len(known) == len(told) else None


@dataclass(frozen=True)
class Snapshot:
    """A campaign at one moment.

    Attributes:
        name: the campaign's, as its manifest or its folder tells it.
        status: in its manifest: running, completed or completed_with_failures; None where there is no manifest yet.
        at: when it was taken, in seconds since 1970.
        taken: the same on a clock that never jumps: differences count, nothing else.
        tasks: the domains, in the manifest's order.
        problems: why files that are there cannot be read, by name.
        system: under test; empty where no manifest tells it.
        began: when it began, in seconds since 1970; None where no manifest tells it.
    """

    name: str
    status: str | None
    at: float
    taken: float
    tasks: tuple[LiveTask, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    system: str = ""
    began: float | None = None

    @property
    def running(self) -> bool:
        """Whether the campaign says that it goes on; one without a manifest is about to begin."""
        return self.status in {None, "running"}

    @property
    def priced(self) -> bool:
        """Whether anything cost anything: else a cost of 0 says nothing."""
        return any(one.cost or any(told.cost_usd for told in one.outcomes) for one in self.passes())

    def passes(self) -> Iterator[LivePass]:
        """Every pass of every domain."""
        for task in self.tasks:
            yield from task.passes

    def age(self, one: LivePass) -> float | None:
        """Seconds since a pass was last written; 0 where the machine's clock was set back since."""
        return None if one.changed is None else max(0.0, self.at - one.changed)


def merged(before: LivePass, now: LivePass) -> LivePass:
    """Two looks at one pass as one that has every instance of both, whichever came first.

    The look with more interactions tells everything else. A pass that was begun anew is another pass: `now` counts.
    """
    if before.key != now.key or before.group != now.group or before.started != now.started:
        return now
    newer, older = (now, before) if _progress(now) >= _progress(before) else (before, now)
    found = {_identity(one): one for one in newer.outcomes}
    missed = [one for one in older.outcomes if _identity(one) not in found]
    return replace(newer, outcomes=(*newer.outcomes, *missed), problem=now.problem) if missed else newer


def _progress(one: LivePass) -> tuple[int, int, bool, float]:
    return one.interactions, one.done, one.status in ENDED, one.seconds or 0.0


def _identity(one: Outcome) -> tuple[str, int | None]:
    """As the runner's own: the index tells repeated ids apart; all instances of a baseline may have index 0."""
    return one.instance_id, one.instance_index


def unique(outcomes: Iterator[Outcome] | list[Outcome]) -> tuple[Outcome, ...]:
    """Outcomes without repetitions: the last of each, at the place of the first."""
    return tuple({_identity(one): one for one in outcomes}.values())


def sound(value: float | None, *, least: float = -math.inf, most: float = 1e9) -> bool:
    """Whether a number is one that a run can earn, cost or take; a missing one is."""
    return value is None or (least <= value <= most and abs(value) <= most)


def settled(one: LivePass, expected: int | None, *, ended: bool) -> LivePass:
    """A pass with the state that follows from what is known of it.

    Args:
        one: the pass as its file tells it.
        expected: instances that it has where its own file does not tell.
        ended: whether its task's program has ended.
    """
    one = one if one.expected else replace(one, expected=expected)
    return one if one.state is PassState.QUARANTINED else replace(one, state=_state(one, ended=ended))


def broken_off(snapshot: Snapshot, status: str) -> Snapshot:
    """A campaign that is over, whatever its files say: nobody was left to write down that it is.

    Args:
        snapshot: as its files tell it.
        status: what is known of its end.
    """
    if not snapshot.running:
        return snapshot
    tasks = (
        replace(task, passes=tuple(settled(one, one.expected, ended=True) for one in task.passes))
        for task in snapshot.tasks
    )
    return replace(snapshot, status=status, tasks=tuple(tasks))


def _state(one: LivePass, *, ended: bool) -> PassState:
    whole = one.expected is None or one.done >= one.expected
    if one.run_index is None:
        if one.expected and one.done + one.blocked >= one.expected:
            return PassState.COMPLETE if whole else PassState.SHORT
    elif one.status in ENDED:
        return PassState.COMPLETE if whole and one.status == "completed" else PassState.SHORT
    if ended:
        return PassState.INTERRUPTED
    return PassState.RUNNING if one.status else PassState.WAITING
