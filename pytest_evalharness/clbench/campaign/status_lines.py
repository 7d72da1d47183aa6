"""How a campaign stands, in lines for people; whatever names come from outside are made harmless."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.forecast import (
    Candidate,
    Forecast,
    TaskForecast,
    least_complete_first,
)
from pytest_evalharness.clbench.campaign.loss_classes import CLOSURES, Count
from pytest_evalharness.clbench.campaign.snapshot import LivePass, LiveTask, PassState, Snapshot
from pytest_evalharness.clbench.campaign.standing import Standing
from pytest_evalharness.clbench.campaign.watch import Alarm

_HEAD = f"  {'task':<12}{'state':<9}{'instances':>12}{'per hour':>10}{'$/instance':>12}{'cost':>11}{'projected':>11}{'left':>13}"
_MARKS = {
    PassState.WAITING: "-",
    PassState.SHORT: " short",
    PassState.INTERRUPTED: " lost",
    PassState.QUARANTINED: "quarantined",
}
_MOST_PROBLEMS = 5
_SMALL = 0.1
"""Dollars below which cents are too coarse."""


def lines(standing: Standing) -> Iterator[str]:
    """All of it: a summary, a line and a line of passes for each domain, then what is wrong."""
    told = standing.told
    yield summary(standing, told)
    if standing.embedded:
        yield "  embedded miniature: invented domains, no result of the benchmark"
    if standing.supervision.words:
        yield f"  {printable(standing.supervision.words)}"
    if told.tasks:
        yield _HEAD
    for one in told.tasks:
        yield _task(one, _state(one.live, standing))
        yield f"    {_passes(one, standing.snapshot)}"
    yield from _wrong(standing, told)


def summary(standing: Standing, told: Forecast | None = None) -> str:
    """How far it is, in a line."""
    snapshot = standing.snapshot
    told = told or standing.told
    of = "" if told.expected is None else f" of {told.expected:,}"
    parts = [f"{told.done:,}{of} instances", f"${told.cost:,.2f}"]
    orphaned = standing.supervision.orphaned
    if snapshot.running and not orphaned and told.tasks:
        if told.projected > told.cost:
            parts[-1] += f" of about ${told.projected:,.2f}{_without(told.unpriced)}"
        if told.seconds_left:
            parts.append(f"about {span(told.seconds_left)} left{_without(told.untimed)}")
    alarms = len(standing.alarms)
    if alarms:
        parts.append(f"{alarms} alarm{'' if alarms == 1 else 's'}")
    state = printable(snapshot.status or "not begun", 40).replace("_", " ")
    state += " in name only" if orphaned else ""
    if not told.tasks:
        return f"{printable(snapshot.name, 60)}: {state}, nothing is written yet"
    return f"{printable(snapshot.name, 60)}: {state}, {', '.join(parts)}"


def _without(domains: Sequence[str]) -> str:
    count = len(domains)
    return f" ({count} domain{'' if count == 1 else 's'} not counted)" if count else ""


def alarm_line(alarm: Alarm) -> str:
    """An alarm; one that asks for its domain to be paused says so."""
    return f"  ALARM {alarm.kind}: {printable(alarm.text, 400)}{' [pause]' if alarm.pause else ''}"


def _state(live: LiveTask, standing: Standing) -> str:
    if live.task in standing.supervision.paused:
        return "paused"
    over = not standing.snapshot.running and not live.ended
    return "cut off" if over else printable(live.status or "-", 8)


def _task(one: TaskForecast, state: str) -> str:
    live = one.live
    of = "?" if live.expected is None else str(live.expected)
    return (
        f"  {printable(live.short, 11):<12}{state:<9}{f'{live.done}/{of}':>12}{_number(one.per_hour):>10}"
        f"{_dollars(one.per_instance):>12}{_dollars(one.cost):>11}{_dollars(one.projected):>11}{_left(one):>13}"
    )


def _left(one: TaskForecast) -> str:
    if one.live.ended or not any(each.live.state.open for each in one.passes):
        return "-"
    return "unknown" if one.seconds_left is None else span(one.seconds_left)


def _passes(one: TaskForecast, snapshot: Snapshot) -> str:
    """Each pass: how far it is, how long ago anything came of those that run."""
    told = []
    for each in one.passes:
        live = each.live
        mark = _MARKS.get(live.state, "")
        count = "" if live.state in {PassState.WAITING, PassState.QUARANTINED} else str(live.done)
        if live.state is PassState.INTERRUPTED and not live.interactions:
            count, mark = "", "never begun"
        age = snapshot.age(live) if live.state is PassState.RUNNING and not one.live.ended else None
        told.append(f"{live.name} {count}{mark}{'' if age is None else f' ({span(age)} ago)'}")
    return "; ".join(told) or "nothing yet"


def doubts(standing: Standing) -> Iterator[str]:
    """What is wrong with what there is: domains that failed, passes that ended early, losses, and files that cannot be read."""
    for task in standing.snapshot.tasks:
        if task.task in standing.last_words:
            yield f"  failed: {printable(task.short, 40)}: {printable(standing.last_words[task.task], 300)}"
        for one in task.passes:
            if one.state is PassState.SHORT:
                yield f"  short: {printable(task.short, 40)}, {one.name}: {one.done} of {one.expected} instances"
    for kind, count in standing.losses.items():
        yield f"  {kind}: {_fates(count)}; closed by: {CLOSURES[kind].closure}"
    problems = standing.snapshot.problems
    for name, why in problems[:_MOST_PROBLEMS]:
        yield f"  cannot be read: {printable(name, 80)}: {printable(why)}; its last sound content is told"
    if len(problems) > _MOST_PROBLEMS:
        yield f"  cannot be read: {len(problems) - _MOST_PROBLEMS} files more"


def _wrong(standing: Standing, told: Forecast) -> Iterator[str]:
    yield from map(alarm_line, standing.alarms)
    for state, domains in (("paused", standing.supervision.paused), ("ended", standing.supervision.ended)):
        for task, why in domains.items():
            yield f"  {state}: {printable(task, 40)}: {printable(why, 300)}"
    yield from doubts(standing)
    missing = standing.short_of_money
    if missing is not None:
        yield f"  money: ${standing.money:,.2f} for about ${told.dollars_left:,.2f}: ${missing:,.2f} are missing"
        yield "  least complete first; a part of a rollout is worth nothing:"
        for one in least_complete_first(standing.snapshot, standing.prices):
            yield f"    {_candidate(one)}"


def _fates(count: Count) -> str:
    told = {"lost": count.lost, "survived": count.survived, "of unknown fate": count.unknown}
    return ", ".join(f"{number} {how}" for how, number in told.items() if number)


def _candidate(one: Candidate) -> str:
    live = one.live
    saves = (
        "nothing tells what ending it saves"
        if one.saves is None
        else f"ending it saves about ${one.saves:,.2f}"
    )
    return f"{printable(live.task, 40)}, {live.name}: {live.done} of {live.expected} instances, ${one.spent:,.2f} spent, {saves}"


def as_json(standing: Standing) -> dict[str, object]:
    """The same as data. Texts are as they came: whoever prints them makes them harmless."""
    told = standing.told
    snapshot = standing.snapshot
    return {
        "name": snapshot.name,
        "status": snapshot.status,
        "at": snapshot.at,
        "embedded": standing.embedded,
        "supervision": standing.supervision.words or None,
        "orphaned": standing.supervision.orphaned,
        "instances": {"done": told.done, "expected": told.expected},
        "dollars": {"spent": told.cost, "projected": told.projected, "left": told.dollars_left},
        "seconds_left": told.seconds_left if snapshot.running else 0.0,
        "untimed": list(told.untimed),
        "unpriced": list(told.unpriced),
        "tasks": [_task_json(one, standing) for one in told.tasks],
        "alarms": [
            {
                "kind": str(one.kind),
                "task": one.task,
                "run_index": one.run_index,
                "text": one.text,
                "pause": one.pause,
                "instances": list(one.instances),
            }
            for one in standing.alarms
        ],
        "losses": {
            str(kind): {"lost": count.lost, "survived": count.survived, "unknown": count.unknown}
            for kind, count in standing.losses.items()
        },
        "problems": [{"file": name, "why": why} for name, why in snapshot.problems],
        "money": standing.money,
        "least_complete_first": [
            {
                "task": one.live.task,
                "run_index": one.live.run_index,
                "completion": one.completion,
                "spent": one.spent,
                "saves": one.saves,
            }
            for one in least_complete_first(snapshot, standing.prices)
        ],
    }


def _task_json(one: TaskForecast, standing: Standing) -> dict[str, object]:
    live = one.live
    return {
        "task": live.task,
        "status": live.status,
        "paused": standing.supervision.paused.get(live.task),
        "ended": standing.supervision.ended.get(live.task),
        "instances": {"done": live.done, "expected": live.expected},
        "per_hour": one.per_hour,
        "dollars": {"spent": one.cost, "an_instance": one.per_instance, "projected": one.projected},
        "seconds_left": one.seconds_left,
        "passes": [
            {
                "run_index": each.live.run_index,
                "state": str(each.live.state),
                "instances": {"done": each.live.done, "expected": each.live.expected},
                "interactions": each.live.interactions,
                "open_turns": each.live.open_turns,
                "per_hour": each.per_hour,
                "dollars": {
                    "spent": each.live.cost,
                    "an_instance": each.per_instance,
                    "projected": each.projected,
                },
                "seconds_left": each.seconds_left,
                "seconds_since_change": standing.snapshot.age(each.live),
                "last": _tail(each.live),
            }
            for each in one.passes
        ],
    }


def _tail(live: LivePass, count: int = 5) -> list[dict[str, object]]:
    return [
        {"instance_id": one.instance_id, "reward": one.reward, "cost_usd": one.cost_usd}
        for one in live.outcomes[-count:]
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _dollars(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if 0.0 < value < _SMALL else f"{value:,.2f}"
