"""Whether an engine's calls kept to their retry budget, from the rows of its `events.jsonl`.

The rules: of one call at most three attempts die after they were sent; all its attempts are within the budget; waiting for a dead
network costs nothing; and no wait is longer than the supervisor's ceiling of one task.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pytest_evalharness.base.clock import span
from pytest_evalharness.base.text import printable
from pytest_evalharness.clbench.campaign.changed_files import ChangedFiles
from pytest_evalharness.clbench.campaign.runroots import Row, Rows, rows_of, runroot_folders
from pytest_evalharness.clbench.checking import Check, State

MOST_DEATHS = 3
"""The first and two repeats, each of which reserves the most that an attempt may cost."""
DEFAULT_ATTEMPTS = 6
"""Of the engine, where nothing sets them."""
DEFAULT_CEILING = 21_600.0
_FEWEST = 3
"""The engine takes no fewer, whatever is set."""
_ATTEMPTS = "OUROBOROS_TRANSIENT_RETRY_MAX"
_CEILING = "OUROBOROS_TASK_ABS_CEILING_SEC"
_WAIT = "network_wait"
_ERROR = "llm_api_error"
_ATTEMPT_ROWS = frozenset(
    {_ERROR, "llm_round", "llm_empty_response", "provider_incomplete_response", "provider_body_error"}
)
"""Rows that end an attempt, one each; others tell of the same attempt again."""
_DEATHS = frozenset({"provider_outcome_unknown", "transport_death"})
"""How an attempt is typed whose connection died after it was sent."""
_UNSENT = frozenset({"transport_unavailable"})
"""How one is typed that never left the host."""
_OVER = frozenset({"recovered", "ended", "exhausted"})
_SLACK = 60.0
"""Seconds that a wait may be longer than its ceiling: who ends it looks now and then."""
_SHOWN = 5


@dataclass(frozen=True)
class Limits:
    """What is allowed.

    Attributes:
        attempts: of one call, repeats included.
        ceiling: seconds of one task.
    """

    attempts: int = DEFAULT_ATTEMPTS
    ceiling: float = DEFAULT_CEILING


def limits_of(environment: Mapping[str, str]) -> Limits:
    """The limits that a campaign's variables set; what is no number, or not set, is the engine's own."""
    attempts, ceiling = _positive(environment.get(_ATTEMPTS)), _positive(environment.get(_CEILING))
    return Limits(
        DEFAULT_ATTEMPTS if attempts is None else max(_FEWEST, int(attempts)),
        DEFAULT_CEILING if ceiling is None else ceiling,
    )


class Rule(StrEnum):
    """What has to hold."""

    DEATHS = "transport deaths"
    ATTEMPTS = "attempts"
    FREE = "free waits"
    CEILING = "length of waits"


@dataclass(frozen=True)
class Violation:
    """A call, or a wait, that did not keep to a rule.

    Attributes:
        rule: which.
        task: the engine task's id.
        words: what was seen.
    """

    rule: Rule
    task: str
    words: str


@dataclass(frozen=True)
class Wait:
    """One wait for a network that was gone.

    Attributes:
        task: the engine task's id.
        seconds: how long, as far as its rows tell.
        over: how it ended, empty while it lasts or where nothing tells.
        began: seconds since 1970, None where nothing tells.
    """

    task: str
    seconds: float
    over: str
    began: float | None


@dataclass(frozen=True)
class Retries:
    """What the rows of a campaign tell.

    Attributes:
        files: that were read.
        calls: that failed at least once.
        deaths: attempts that died after they were sent.
        attempts: the most of one call.
        waits: for the network.
        unreadable: lines that are no rows.
        violations: of the rules.
    """

    files: int = 0
    calls: int = 0
    deaths: int = 0
    attempts: int = 0
    waits: tuple[Wait, ...] = ()
    unreadable: int = 0
    violations: tuple[Violation, ...] = ()


@dataclass
class _Call:
    task: str
    deaths: int = 0
    attempts: int = 0
    most: int = 0
    """The most attempts between two waits: a call that is dialled again after one has its whole budget."""
    failed: bool = False


def retries(files: Iterable[tuple[Path, Rows]], limits: Limits) -> Retries:
    """What the events of all engines of a campaign tell together.

    Args:
        files: of each engine.
        limits: of the campaign.
    """
    calls: list[_Call] = []
    waits: list[Wait] = []
    found: list[Violation] = []
    count = unreadable = 0
    for _, rows in files:
        count += 1
        unreadable += rows.unreadable
        calls += _calls(rows.rows)
        mine = waits_of(rows.rows)
        waits += mine
        found += _costly(rows.rows)
        found += _too_long(mine, limits)
    for call in calls:
        found += _broken(call, limits)
    return Retries(
        count,
        sum(call.failed for call in calls),
        sum(call.deaths for call in calls),
        max((call.most for call in calls), default=0),
        tuple(waits),
        unreadable,
        tuple(found),
    )


def retry_checks(seen: Retries, limits: Limits) -> tuple[Check, ...]:
    """The four rules, each as a check; nothing is known where there are no events."""
    longest = max((wait.seconds for wait in seen.waits), default=0.0)
    fine = {
        Rule.DEATHS: f"{seen.deaths} attempts died after they were sent, in {seen.calls} calls that failed",
        Rule.ATTEMPTS: f"at most {seen.attempts} attempts of a call",
        Rule.FREE: f"{len(seen.waits)} waits, none of them paid for",
        Rule.CEILING: f"{len(seen.waits)} waits, the longest {span(longest)}",
    }
    needed = {
        Rule.DEATHS: f"at most {MOST_DEATHS} of one call",
        Rule.ATTEMPTS: f"at most {limits.attempts} of one call, repeats included ({_ATTEMPTS})",
        Rule.FREE: "waiting for the network costs nothing",
        Rule.CEILING: f"at most {span(limits.ceiling)} of one task ({_CEILING})",
    }
    return tuple(_check(rule, seen, fine[rule], needed[rule]) for rule in Rule)


def retry_checks_of(
    runs_root: Path,
    environment: Mapping[str, str],
    *,
    since: float = 0.0,
    files: ChangedFiles | None = None,
) -> tuple[Check, ...]:
    """The four rules on the events of all engines below a runs root.

    Args:
        runs_root: where engines have their folders (`OUROBOROS_BENCH_RUNS_ROOT`).
        environment: the campaign's variables, which set its limits.
        since: seconds since 1970: engines that were silent since before are another campaign's.
        files: keeps what was read.
    """
    files = files or ChangedFiles(time.time)
    limits = limits_of(environment)
    named = (folder / "data" / "logs" / "events.jsonl" for folder in runroot_folders(runs_root, since))
    read = ((path, files.read(path, rows_of).value) for path in named)
    return retry_checks(retries(((path, rows) for path, rows in read if rows is not None), limits), limits)


def _check(rule: Rule, seen: Retries, fine: str, needed: str) -> Check:
    name = f"retries: {rule}"
    if not seen.files:
        where = "give the campaign's runs root (OUROBOROS_BENCH_RUNS_ROOT)"
        return Check(name, State.UNKNOWN, "no events.jsonl of an engine was found", needed, where)
    bad = [one.words for one in seen.violations if one.rule is rule]
    if bad:
        more = f"; and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        mend = "the engine's revision repeats what it should not: what was paid for it is in its events.jsonl"
        return Check(name, State.FAILED, "; ".join(bad[:_SHOWN]) + more, needed, mend)
    return Check(name, State.OK, fine, needed)


# -------------------------------------------------------------------- calls


def _calls(rows: Iterable[Row]) -> list[_Call]:
    """Attempts by call; a redial after a wait goes on with the same call."""
    calls: dict[tuple[str, ...], _Call] = {}
    by_task: dict[str, list[_Call]] = {}
    for row in rows:
        kind = row.word("error_kind", "kind", "error_type")
        if row.kind == _WAIT or kind in _UNSENT:
            for call in by_task.get(row.task, ()):
                call.attempts = 0
            continue
        key = _key(row)
        if key is None:
            continue
        call = calls.setdefault(key, _Call(row.task))
        if call.attempts == call.deaths == call.most == 0:
            by_task.setdefault(row.task, []).append(call)
        call.attempts += 1
        call.most = max(call.most, call.attempts)
        if row.kind == _ERROR:
            call.failed = True
            call.deaths += kind in _DEATHS
    return list(calls.values())


def _key(row: Row) -> tuple[str, ...] | None:
    """Which call an attempt belongs to; None of a row that is no attempt.

    A round of the engine is one call, however many requests it takes; where no round is told, the call's own name.
    """
    if row.kind not in _ATTEMPT_ROWS or (row.kind != _ERROR and row.number("attempt") is None):
        return None
    if told := row.word("round_id"):
        return ("round", row.task, told)
    if (told := row.word("call_id", "llm_call_id")) and row.number("round") is None:
        return ("call", row.task, told)
    number = row.number("round")
    return ("round", row.task, row.word("execution_id"), "" if number is None else f"{number:g}")


def _broken(call: _Call, limits: Limits) -> Iterator[Violation]:
    task = printable(call.task, 60) or "a call without a task"
    if call.deaths > MOST_DEATHS:
        yield Violation(Rule.DEATHS, call.task, f"{task}: {call.deaths} attempts died after they were sent")
    if call.most > limits.attempts:
        yield Violation(Rule.ATTEMPTS, call.task, f"{task}: {call.most} attempts")


# -------------------------------------------------------------------- waits


def waits_of(rows: Iterable[Row]) -> list[Wait]:
    """Each wait for the network once, however many rows tell of it."""
    open_: dict[str, list[Row]] = {}
    found: list[Wait] = []
    for row in rows:
        if row.kind != _WAIT:
            continue
        phase = row.word("phase")
        if phase == "entered" and row.task in open_:
            found.append(_wait(row.task, open_.pop(row.task), ""))
        open_.setdefault(row.task, []).append(row)
        if phase in _OVER:
            found.append(_wait(row.task, open_.pop(row.task), phase))
    return found + [_wait(task, told, "") for task, told in open_.items()]


def _wait(task: str, rows: list[Row], over: str) -> Wait:
    times = [row.at for row in rows if row.at is not None]
    told = [row.number("elapsed_sec", "waited_sec", "elapsed") or 0.0 for row in rows]
    return Wait(task, max(*told, max(times) - min(times) if times else 0.0), over, min(times, default=None))


def _costly(rows: Iterable[Row]) -> Iterator[Violation]:
    spent: dict[str, float] = {}
    for row in rows:
        kind = row.word("error_kind", "kind", "error_type")
        if row.kind == _WAIT or (row.kind == _ERROR and kind in _UNSENT):
            cost = row.number("cost_usd", "cost", "reserved_usd")
            if cost:
                spent[row.task] = spent.get(row.task, 0.0) + cost
    for task, cost in spent.items():
        shown = printable(task, 60) or "a wait without a task"
        yield Violation(Rule.FREE, task, f"{shown}: ${cost:.4f} for attempts that never left the host")


def _too_long(waits: Iterable[Wait], limits: Limits) -> Iterator[Violation]:
    for wait in waits:
        if wait.seconds > limits.ceiling + _SLACK:
            task = printable(wait.task, 60) or "a wait without a task"
            yield Violation(Rule.CEILING, wait.task, f"{task}: waited {span(wait.seconds)}")


def _positive(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0.0 < value < float("inf") else None
