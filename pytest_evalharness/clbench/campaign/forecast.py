"""How long a campaign still takes, what it will have cost, and which rollouts to end first when money runs short. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_evalharness.clbench.campaign.snapshot import LivePass, LiveTask, PassState, Snapshot

_HOUR = 3_600.0


@dataclass(frozen=True)
class Pace:
    """What an instance takes, on average: of one pass, or of a domain's passes of one kind.

    Attributes:
        seconds: of wall clock; None where nothing is done, or nothing tells how long it took.
        dollars: likewise.
    """

    seconds: float | None = None
    dollars: float | None = None


@dataclass(frozen=True)
class PassForecast:
    """How a pass will go on.

    Attributes:
        live: the pass.
        per_hour: instances an hour so far; None before the first.
        per_instance: dollars an instance so far.
        seconds_left: of work, once it has a worker; None where nothing tells; 0 where nothing more comes.
        projected: dollars in the end; None where nothing tells.
    """

    live: LivePass
    per_hour: float | None
    per_instance: float | None
    seconds_left: float | None
    projected: float | None

    @property
    def dollars_left(self) -> float | None:
        """Dollars still to come."""
        return None if self.projected is None else max(0.0, self.projected - (self.live.cost or 0.0))


@dataclass(frozen=True)
class TaskForecast:
    """How a domain will go on; fields as of a pass, of all its passes together.

    Attributes:
        live: the domain.
        passes: each of its passes.
        per_hour: instances an hour over the passes that run now.
        per_instance: dollars an instance so far.
        cost: dollars so far.
        seconds_left: until its last pass is through, with as many passes at a time as run now; None where nothing tells.
        projected: dollars in the end.
    """

    live: LiveTask
    passes: tuple[PassForecast, ...]
    per_hour: float | None
    per_instance: float | None
    cost: float
    seconds_left: float | None
    projected: float | None


@dataclass(frozen=True)
class Forecast:
    """How a campaign will go on.

    Attributes:
        tasks: each domain.
        done: instances of all passes that have their outcome.
        expected: of all passes; None where that of one is not known.
        cost: dollars so far.
        projected: dollars in the end, of the domains that can be told.
        seconds_left: until the last of these is through; None where nothing of any can be told.
        untimed: domains of which nothing tells how long they take: `seconds_left` is without them.
        unpriced: domains of which nothing tells what they cost: `projected` has what they have cost so far.
    """

    tasks: tuple[TaskForecast, ...]
    done: int
    expected: int | None
    cost: float
    projected: float
    seconds_left: float | None
    untimed: tuple[str, ...]
    unpriced: tuple[str, ...]

    @property
    def dollars_left(self) -> float:
        """Dollars still to come, of the domains that can be told."""
        return max(0.0, self.projected - self.cost)


@dataclass(frozen=True)
class Candidate:
    """A rollout that could be ended: a part of one is worth nothing.

    Attributes:
        live: the rollout.
        completion: finished instances of the expected ones, 0 to 1.
        spent: dollars that are lost then.
        saves: dollars that are not spent then; None where nothing tells.
    """

    live: LivePass
    completion: float
    spent: float
    saves: float | None


def forecast(snapshot: Snapshot, prices: Mapping[str, float] | None = None) -> Forecast:
    """A campaign's future, from what its passes took and cost so far.

    Args:
        snapshot: how it is.
        prices: dollars of a whole rollout by task, where no rollout of it tells any; from the plan.
    """
    tasks = tuple(_task(snapshot, one, (prices or {}).get(one.task)) for one in snapshot.tasks)
    expected = [one.live.expected for one in tasks]
    known = [count for count in expected if count is not None]
    return Forecast(
        tasks=tasks,
        done=sum(one.live.done for one in tasks),
        expected=sum(known) if len(known) == len(expected) else None,
        cost=math.fsum(one.cost for one in tasks),
        projected=math.fsum(one.cost if one.projected is None else one.projected for one in tasks),
        seconds_left=max((one.seconds_left for one in tasks if one.seconds_left is not None), default=None),
        untimed=tuple(one.live.task for one in tasks if one.seconds_left is None),
        unpriced=tuple(one.live.task for one in tasks if one.projected is None),
    )


def least_complete_first(
    snapshot: Snapshot, prices: Mapping[str, float] | None = None
) -> tuple[Candidate, ...]:
    """Rollouts that are not through, in the order in which to end them when money runs short.

    Rollouts that never began cost nothing yet and come first; of equals the one that saves most.
    """
    found = [
        Candidate(one.live, one.live.done / one.live.expected, one.live.cost or 0.0, one.dollars_left)
        for task in forecast(snapshot, prices).tasks
        for one in task.passes
        if one.live.run_index is not None and one.live.state.open and one.live.expected
    ]
    return tuple(
        sorted(
            found, key=lambda one: (one.completion, -(one.saves or 0.0), one.live.task, one.live.run_index)
        )
    )


def pass_forecast(one: LivePass, kin: Pace | None = None, *, silent: float = 0.0) -> PassForecast:
    """A pass's future.

    Args:
        one: the pass.
        kin: what an instance takes in passes like it, for one that has none yet.
        silent: seconds since it was last written, if it runs: what it waits for takes time too.
    """
    own, kin = _pace([one], silent), kin or Pace()
    seconds = kin.seconds if own.seconds is None else own.seconds
    dollars = kin.dollars if own.dollars is None else own.dollars
    left = one.left if one.state.open else 0
    per_hour = _HOUR / own.seconds if own.seconds else None
    projected = one.cost if left == 0 else None
    if left and dollars is not None:
        projected = (one.cost or 0.0) + left * dollars
    return PassForecast(one, per_hour, own.dollars, _times(left, seconds), projected)


def _task(snapshot: Snapshot, task: LiveTask, price: float | None) -> TaskForecast:
    rollouts, baselines = _pace(task.rollouts), _pace(one for one in task.passes if one.run_index is None)
    if rollouts.dollars is None and price is not None:
        size = next((one.expected for one in task.rollouts if one.expected), None)
        rollouts = Pace(rollouts.seconds, price / size if size else None)
    # An instance costs about the same in both kinds of pass, until one of its own kind tells better.
    baselines = Pace(baselines.seconds, rollouts.dollars if baselines.dollars is None else baselines.dollars)
    passes = tuple(
        pass_forecast(
            one, baselines if one.run_index is None else rollouts, silent=_silence(snapshot, task, one)
        )
        for one in task.passes
    )
    cost = math.fsum(one.cost or 0.0 for one in task.passes)
    running = [one.per_hour for one in passes if one.live.state is PassState.RUNNING and one.per_hour]
    projected = [one.projected for one in passes]
    return TaskForecast(
        task,
        passes,
        math.fsum(running) if running else None,
        cost / task.done if cost and task.done else None,
        cost,
        _until_last(passes),
        math.fsum(one or 0.0 for one in projected) if _told(passes, projected) else None,
    )


def _silence(snapshot: Snapshot, task: LiveTask, one: LivePass) -> float:
    going = snapshot.running and not task.ended and one.state is PassState.RUNNING
    return (snapshot.age(one) or 0.0) if going else 0.0


def _pace(passes: Iterable[LivePass], silent: float = 0.0) -> Pace:
    ones = [one for one in passes if one.done]
    timed = [one for one in ones if one.seconds]
    paid = [one for one in ones if one.cost is not None]
    seconds = (
        (silent + math.fsum(one.seconds or 0.0 for one in timed)) / sum(one.done for one in timed)
        if timed
        else None
    )
    dollars = math.fsum(one.cost or 0.0 for one in paid) / sum(one.done for one in paid) if paid else None
    return Pace(seconds, dollars)


def _times(left: int | None, each: float | None) -> float | None:
    if left == 0:
        return 0.0
    return None if left is None or each is None else left * each


def _until_last(passes: tuple[PassForecast, ...]) -> float | None:
    """The longest pass, or all work by as many workers as there are passes running, whichever is longer."""
    left = [one.seconds_left for one in passes]
    known = [one for one in left if one is not None]
    if not passes or len(known) < len(left):
        return None
    workers = max(1, sum(one.live.state is PassState.RUNNING for one in passes))
    return max(*known, math.fsum(known) / workers)


def _told(passes: tuple[PassForecast, ...], projected: list[float | None]) -> bool:
    return bool(passes) and all(
        told is not None or not one.live.state.open for one, told in zip(passes, projected, strict=True)
    )
