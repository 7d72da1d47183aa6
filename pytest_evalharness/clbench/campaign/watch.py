"""What goes wrong in a running campaign, told from successive snapshots. Pure: the snapshots tell the time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.forecast import pass_forecast
from pytest_evalharness.clbench.campaign.snapshot import LivePass, LiveTask, PassState, Snapshot
from pytest_evalharness.clbench.campaign.streaks import measures_nothing, streaks
from pytest_evalharness.clbench.poisoning import STREAK

_FEW_TURNS = 10
"""Turns without an outcome that say something once they have taken very long."""
_FORFEITS = 2
"""Turns of one open instance that the adapter answered: a domain that honours a forfeit ends the instance at the first."""
Key = tuple[str, int | None]


class AlarmKind(StrEnum):
    """What is wrong."""

    LIVELOCK = "livelock"
    """Interactions rise, outcomes do not: some domains never end an instance that is answered wrongly."""
    STALL = "stall"
    """Nothing is written any more."""
    POISONED = "poisoned"
    """Instances that measure an outage."""
    TRUNCATION = "truncation"
    """The engine's own budget will end a rollout before its last instance: all later ones would earn nothing."""


@dataclass(frozen=True)
class Alarm:
    """Something that wants an operator, or the supervisor.

    Attributes:
        kind: what is wrong.
        task: in which domain.
        run_index: in which rollout; None of the baseline.
        text: a sentence with the numbers, fit to be printed.
        pause: whether going on spends money on what cannot count: the domain should be paused.
        instances: the ids concerned, as they came.
    """

    kind: AlarmKind
    task: str
    run_index: int | None
    text: str
    pause: bool
    instances: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[AlarmKind, str, int | None]:
        """What makes it the same alarm as one that was told before."""
        return self.kind, self.task, self.run_index


@dataclass(frozen=True)
class Limits:
    """From where on something is an alarm.

    Attributes:
        stall_seconds: nothing new for so long.
        livelock_turns: so many turns of instances without an outcome; the longest instance takes 40.
        livelock_seconds: turns, but no outcome, for so long.
        streak: so many poisoned instances in a row.
        budget: dollars that an engine may spend on one rollout of each domain; None where it is not known.
        budget_share: a rollout that has spent so much of it, and is not through, is as good as cut.
        priced: whether calls cost anything; None tells it from the snapshot, and from there being a budget: a key that never
            worked has cost nothing.
    """

    stall_seconds: float = 2_700.0
    livelock_turns: int = 150
    livelock_seconds: float = 5_400.0
    streak: int = STREAK
    budget: float | None = None
    budget_share: float = 0.9
    priced: bool | None = None


@dataclass(frozen=True)
class Seen:
    """What is remembered of a pass between snapshots; moments are on the clock that never jumps.

    Attributes:
        pass_of: its run group and beginning: another one is another pass.
        counts: interactions, outcomes and status.
        changed: when these changed last.
        outcome: when the last outcome came, or the pass was first seen.
        turns: interactions at that moment.
    """

    pass_of: tuple[str, str | None]
    counts: tuple[int, int, str | None]
    changed: float
    outcome: float
    turns: int


@dataclass(frozen=True)
class Watched:
    """The outcome of a look: what is wrong now, and what the next look has to know.

    Attributes:
        alarms: those that say "pause" first.
        seen: by pass.
        taken: when it was, on the clock that never jumps; None if there was none.
    """

    alarms: tuple[Alarm, ...] = ()
    seen: Mapping[Key, Seen] = field(default_factory=dict)
    taken: float | None = None


def watch(
    snapshot: Snapshot,
    before: Watched | None = None,
    limits: Limits | None = None,
    *,
    paused: Collection[str] = (),
) -> Watched:
    """One look at a campaign.

    Args:
        snapshot: how it is now.
        before: the look before; None at the first, which tells from one snapshot what it can.
        limits: from where on something is an alarm.
        paused: tasks that were stopped on purpose: their silence is none, and they are not told to be paused again.
    """
    limits = limits or Limits()
    before = before or Watched()
    seen = {one.key: _seen(snapshot, one, before) for one in snapshot.passes()}
    paid = snapshot.priced or limits.budget is not None
    priced = paid if limits.priced is None else limits.priced
    alarms: list[Alarm] = []
    for task in snapshot.tasks:
        alarms += _poisoned(task, limits, priced=priced)
        if task.ended or not snapshot.running or task.task in paused:
            continue
        alarms += _livelocked(task, snapshot, seen, limits)
        alarms += _stalled(task, snapshot, seen, limits)
        alarms += _truncated(task, limits)
    return Watched(tuple(sorted(alarms, key=lambda one: not one.pause)), seen, snapshot.taken)


def _seen(snapshot: Snapshot, one: LivePass, before: Watched) -> Seen:
    pass_of, counts = (one.group, one.started), (one.interactions, one.done, one.status)
    now, known = snapshot.taken, before.seen.get(one.key)
    if known is None or known.pass_of != pass_of:
        # Only the first look of all has nothing but the files' times, by a clock that may have been set since.
        most = math.inf if before.taken is None else now - before.taken
        return Seen(pass_of, counts, now - min(snapshot.age(one) or 0.0, most), now, one.interactions)
    changed = now if counts != known.counts else known.changed
    if one.done > known.counts[1]:
        return Seen(pass_of, counts, changed, now, one.interactions)
    return Seen(pass_of, counts, changed, known.outcome, known.turns)


def _livelocked(
    task: LiveTask, snapshot: Snapshot, seen: Mapping[Key, Seen], limits: Limits
) -> Iterator[Alarm]:
    for one in task.passes:
        if one.state is not PassState.RUNNING:
            continue
        told = seen[one.key]
        since, turns = snapshot.taken - told.outcome, one.interactions - told.turns
        where = f"{_where(task, one)}: {one.open_turns} turns on {printable(one.open_instance, 60)} and no outcome"
        if one.open_forfeits >= _FORFEITS:
            why = f"{where}; {one.open_forfeits} were answered by the adapter for an engine that is silent"
        elif one.open_turns >= limits.livelock_turns:
            why = where
        elif since >= limits.livelock_seconds and turns >= _FEW_TURNS:
            why = f"{where}; the last outcome came {span(since)} and {turns} turns ago"
        else:
            continue
        ids = () if one.open_instance is None else (one.open_instance,)
        yield Alarm(AlarmKind.LIVELOCK, one.task, one.run_index, why, pause=True, instances=ids)


def _stalled(task: LiveTask, snapshot: Snapshot, seen: Mapping[Key, Seen], limits: Limits) -> Iterator[Alarm]:
    """Rollouts that are silent; the baseline only where no rollout runs, for they have its workers first."""
    running = [one for one in task.rollouts if one.state is PassState.RUNNING]
    for one in running:
        quiet = snapshot.taken - seen[one.key].changed
        if quiet >= limits.stall_seconds:
            last = f"nothing new for {span(quiet)} after {one.done} instances and {one.interactions} turns"
            yield _stall(task, one, last)
    left = [one for one in task.passes if one.state.open]
    if running or not left or task.status != "running":
        return
    quiet = snapshot.taken - max(seen[one.key].changed for one in task.passes)
    if quiet >= limits.stall_seconds:
        hint = (
            "; a baseline shows its turns only once an instance is through"
            if left[0].run_index is None
            else ""
        )
        yield _stall(
            task, left[0], f"nothing new for {span(quiet)}, {left[0].done} instances are through{hint}"
        )


def _stall(task: LiveTask, one: LivePass, what: str) -> Alarm:
    text = f"{_where(task, one)}: {what}; it may wait for the network, or its engine or process is gone"
    # What writes nothing may still be held on purpose, through an outage of hours: pausing it gains nothing.
    return Alarm(AlarmKind.STALL, one.task, one.run_index, text, pause=False)


def _poisoned(task: LiveTask, limits: Limits, *, priced: bool) -> Iterator[Alarm]:
    for one in task.passes:
        found = streaks(one, priced=priced, least=limits.streak)
        if found:
            worst = max(found, key=lambda streak: (streak.lasting, len(streak.instances)))
            lasts = worst.lasting and one.state is PassState.RUNNING
            text = f"{_where(task, one)}: {len(worst.instances)} instances in a row: {worst.words}"
            if not lasts and one.run_index is not None:
                text += "; what it remembers of them is in every later answer"
            yield Alarm(
                AlarmKind.POISONED, one.task, one.run_index, text, pause=lasts, instances=worst.instances
            )
        elif why := measures_nothing(one):
            yield Alarm(
                AlarmKind.POISONED, one.task, one.run_index, f"{_where(task, one)}: {why}", pause=False
            )


def _truncated(task: LiveTask, limits: Limits) -> Iterator[Alarm]:
    """Rollouts only: every instance of a baseline has an engine, and a budget, of its own."""
    if limits.budget is None:
        return
    for one in task.rollouts:
        if one.state is not PassState.RUNNING or one.cost is None or not one.left:
            continue
        spent = f"{_where(task, one)}: ${one.cost:,.2f} after {one.done} of {one.expected} instances"
        if one.cost >= limits.budget * limits.budget_share:
            text = f"{spent}, of a budget of ${limits.budget:,.2f} a rollout: it is as good as cut"
            yield Alarm(AlarmKind.TRUNCATION, one.task, one.run_index, text, pause=True)
            continue
        told = pass_forecast(one)
        if one.done >= STREAK and told.projected is not None and told.projected > limits.budget:
            cut = int(limits.budget / (one.cost / one.done))
            text = f"{spent} makes ${told.projected:,.2f}, above the budget of ${limits.budget:,.2f} a rollout: it would be cut at about instance {cut}"
            yield Alarm(AlarmKind.TRUNCATION, one.task, one.run_index, text, pause=False)


def _where(task: LiveTask, one: LivePass) -> str:
    return f"{printable(task.short, 40)}, {one.name}"
